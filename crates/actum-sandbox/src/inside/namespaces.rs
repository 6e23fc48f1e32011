//! Tier N: namespaces of its own, and the process that waits outside of them.

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

/// Enters namespaces of its own, also of the network if `net` is not that of the host. Returns the
/// first process in them, or `None` in that process.
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
    write("/proc/self/setgroups", "deny").trying(|| "give up groups".to_owned())?;
    write("/proc/self/uid_map", &format!("{user} {user} 1"))
        .trying(|| "map the user".to_owned())?;
    write("/proc/self/gid_map", &format!("{group} {group} 1"))
        .trying(|| "map the group".to_owned())?;
    let gate = pipe_with(PipeFlags::CLOEXEC).trying(|| "make a pipe".to_owned())?;
    match sys::fork().trying(|| "start the first process".to_owned())? {
        Forked::Parent(init) => {
            let doing = || "tell of the first process".to_owned();
            let init = pidfd_open(init, PidfdFlags::empty()).trying(doing)?;
            channel.send(&HelperMessage::Init, &[init.as_fd()]).trying(doing)?;
            // From here on it may write to the channel.
            rustix::io::write(&gate.1, b"!").trying(doing)?;
            Ok(Some(init))
        }
        Forked::Child => {
            drop(gate.1);
            set_parent_process_death_signal(Some(Signal::KILL))
                .trying(|| "tie its life to the helper".to_owned())?;
            let opened = rustix::io::read(&gate.0, &mut [0; 1]);
            match opened.trying(|| "wait for the helper".to_owned())? {
                0 => std::process::exit(1), // the helper is gone
                _ => Ok(None),
            }
        }
    }
}

/// Replaces an answer of unshare(2) whose own words mislead.
fn why(error: io::Error) -> io::Error {
    if error.raw_os_error() == Some(libc::ENOSPC) {
        return io::Error::other("no more of them are allowed (`user.max_user_namespaces`)");
    }
    error
}

fn write(path: &str, text: &str) -> rustix::io::Result<()> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// Limits the number of process numbers. The caller has seen that this is a limit of its own
/// namespace: root would set one of the host.
pub(super) fn limit_processes(pid_max: u64) -> Result<()> {
    write("/proc/sys/kernel/pid_max", &pid_max.to_string())
        .trying(|| format!("limit process numbers to {pid_max}"))
}

/// Waits for the end of the first process, with which all others end. If the supervisor closes the
/// channel or is gone, the first process ends them; if it does not, it is ended itself.
pub(super) fn wait_outside(channel: &Channel, init: &OwnedFd) -> io::Result<()> {
    /// Time in which the first process must end all others and report their usage, in milliseconds.
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
