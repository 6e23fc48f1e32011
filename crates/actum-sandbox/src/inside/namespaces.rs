//! Namespaces of tier N, and the process that waits outside of them for the command to end.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    PidfdFlags, Signal, getegid, geteuid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal,
};
use rustix::thread::UnshareFlags;

use super::{Result, Trying};
use crate::channel::{Channel, HelperMessage};
use crate::policy::Net;
use crate::sys::{self, Forked};

/// Enters new namespaces, including a network namespace unless `net` is [`Net::Host`], and forks. The
/// parent gets a pidfd of the first process in the new PID namespace, and that process gets `None`.
pub(super) fn enter(channel: &Channel, net: Net) -> Result<Option<OwnedFd>> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP
        | match net {
            Net::None | Net::PrivateLoopback => UnshareFlags::NEWNET,
            Net::Host => UnshareFlags::empty(),
        };
    sys::unshare(flags).map_err(why).trying(|| super::MAKES_NAMESPACES.to_owned())?;
    write("/proc/self/setgroups", "deny").trying(|| "disable setgroups(2)".to_owned())?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))
        .trying(|| "map the user ID".to_owned())?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))
        .trying(|| "map the group ID".to_owned())?;
    let gate = pipe_with(PipeFlags::CLOEXEC).trying(|| "create a pipe".to_owned())?;
    match sys::fork().trying(|| "start the first process of the namespaces".to_owned())? {
        Forked::Parent(init) => {
            let doing = || "report the first process to the supervisor".to_owned();
            let init = pidfd_open(init, PidfdFlags::empty()).trying(doing)?;
            channel.send(&HelperMessage::Init, &[init.as_fd()]).trying(doing)?;
            // Let the first process continue: it may write to the channel from now on.
            rustix::io::write(&gate.1, b"!").trying(doing)?;
            Ok(Some(init))
        }
        Forked::Child => {
            drop(gate.1);
            set_parent_process_death_signal(Some(Signal::KILL))
                .trying(|| "set the parent-death signal".to_owned())?;
            let opened = rustix::io::read(&gate.0, &mut [0; 1]);
            match opened.trying(|| "wait for the helper".to_owned())? {
                0 => std::process::exit(1), // the parent exited
                _ => Ok(None),
            }
        }
    }
}

/// Replaces the misleading message of ENOSPC, by which unshare(2) reports that a limit on namespaces was
/// reached.
fn why(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ENOSPC) {
        return io::Error::other("the limit on namespaces is reached (`user.max_user_namespaces`)");
    }
    error
}

fn write(path: &str, text: &str) -> rustix::io::Result<()> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// Limits the process IDs of this PID namespace. Callers must have checked that the kernel has a separate
/// limit for each namespace, because otherwise root would change the limit of the host.
pub(super) fn limit_processes(pid_max: u64) -> Result<()> {
    write("/proc/sys/kernel/pid_max", &pid_max.to_string())
        .trying(|| format!("limit process IDs to {pid_max}"))
}

/// Waits until the first process ends, which also ends all others in its namespace. If the supervisor
/// closes the channel or exits, the first process has some time to end them before it is killed.
pub(super) fn wait_outside(channel: &Channel, init: &OwnedFd) -> io::Result<()> {
    /// Time that the first process has to end all others and report their usage, in milliseconds.
    const GRACE: i64 = 2000;
    let mut supervised = true;
    loop {
        let end = PollFd::new(init, PollFlags::IN);
        let line = PollFd::new(channel, PollFlags::RDHUP);
        let grace = rustix::event::Timespec { tv_sec: GRACE / 1000, tv_nsec: 0 };
        let ready =
            if supervised { poll(&mut [end, line], None) } else { poll(&mut [end], Some(&grace)) };
        match ready {
            Ok(0) => pidfd_send_signal(init, Signal::KILL)?,
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let mut end = [PollFd::new(init, PollFlags::IN)];
        if poll(&mut end, Some(&rustix::event::Timespec::default()))? > 0 {
            return Ok(());
        }
        supervised = false;
    }
}
