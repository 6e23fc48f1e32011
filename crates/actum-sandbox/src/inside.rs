//! The helper: this program once more, started with nothing but a line to its supervisor. It makes the
//! sandbox from the inside and becomes its first process.
//!
//! It has one thread, an empty environment, and no descriptor but the line and what came over it.

mod landlock;
mod payload;
mod root;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    PidfdFlags, Signal, WaitOptions, getegid, geteuid, pidfd_open, pidfd_send_signal,
    set_parent_process_death_signal, wait,
};
use rustix::stdio::{self, dup2_stdin};
use rustix::thread::UnshareFlags;

use crate::channel::{Channel, Ended, Said, Start};
use crate::host::Missing;
use crate::policy::Tier;
use crate::sys::{self, Forked};

/// The name under which this program is started as helper.
pub const NAME: &str = "actum-sandbox";

/// Devices that hold nothing of the host, which every program may use, by their names in `/dev`.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

type Result<T> = std::result::Result<T, Missing>;

/// Says what was tried.
trait Trying<T> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: std::fmt::Display> Trying<T> for std::result::Result<T, E> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|why| Missing { step: step(), why: why.to_string() })
    }
}

/// What the embedding program calls first of all in `main`. Where it was started as helper this does
/// the helper's work and never returns.
pub fn enter() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        std::process::exit(match run() {
            Ok(()) => 0,
            Err(_) => 1, // nobody is there to be told
        });
    }
}

fn run() -> io::Result<()> {
    sys::close_from(3)?;
    let channel = Channel::from_fd(fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    // Nobody but us holds the line any more, so that its end is heard at the other end.
    dup2_stdin(openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    let Some((start, stdio)) = channel.receive::<Start>()? else { return Ok(()) };
    let made = match start.plan.tier {
        Tier::N => in_namespaces(&channel),
        Tier::L => {
            Err(Missing { step: "enter tier L".to_owned(), why: "not there yet".to_owned() })
        }
    };
    match made {
        Ok(Some(init)) => watch(&channel, init),
        Ok(None) => first_process(&channel, &start, &stdio),
        Err(missing) => channel.send(&Said::NotStarted(missing), &[]),
    }
}

/// Enters namespaces of its own. Gives the first process in them, or `None` in that process.
fn in_namespaces(channel: &Channel) -> Result<Option<OwnedFd>> {
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    let flags = UnshareFlags::NEWUSER
        | UnshareFlags::NEWNS
        | UnshareFlags::NEWPID
        | UnshareFlags::NEWNET
        | UnshareFlags::NEWIPC
        | UnshareFlags::NEWUTS
        | UnshareFlags::NEWCGROUP;
    sys::unshare(flags).trying(|| "make namespaces".to_owned())?;
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
            channel.send(&Said::Init, &[init.as_fd()]).trying(doing)?;
            // From here on it may speak.
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

fn write(path: &str, text: &str) -> rustix::io::Result<()> {
    let file = openat(CWD, path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes()).map(drop)
}

/// Waits for the end of the first process, with which all others end; or for that of the supervisor,
/// and then ends it.
fn watch(channel: &Channel, init: OwnedFd) -> io::Result<()> {
    loop {
        let mut ends = [PollFd::new(&init, PollFlags::IN), PollFd::new(channel, PollFlags::RDHUP)];
        match poll(&mut ends, None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        let [first, supervisor] = ends.map(|end| !end.revents().is_empty());
        if first {
            return Ok(());
        }
        if supervisor {
            pidfd_send_signal(&init, Signal::KILL)?;
            return Ok(());
        }
    }
}

/// The first process of the namespaces: makes the root, starts the command, and takes in all that
/// end. When it ends, the kernel ends all others.
fn first_process(channel: &Channel, start: &Start, stdio: &[OwnedFd]) -> io::Result<()> {
    let started = root::enter(&start.plan.policy)
        .and_then(|()| sys::fork().trying(|| "start the command's process".to_owned()));
    let command = match started {
        Ok(Forked::Parent(command)) => command,
        Ok(Forked::Child) => {
            let Err(missing) = payload::execute(start, stdio);
            channel.send(&Said::NotExecuted(missing), &[])?;
            std::process::exit(1);
        }
        Err(missing) => return channel.send(&Said::NotStarted(missing), &[]),
    };
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((process, status))) if process == command => {
                let ended = match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => Ended::Code(code),
                    (None, signal) => Ended::Signal(signal.unwrap_or(0)),
                };
                return channel.send(&Said::Ended(ended), &[]);
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}
