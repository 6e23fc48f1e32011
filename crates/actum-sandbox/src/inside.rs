//! Helper process: this program once more, started with nothing but a channel to its supervisor. It
//! makes the sandbox from the inside and stays with the command.
//!
//! It has one thread, an empty environment, and no descriptor except the channel and those that
//! came over it.

mod bytes;
pub(crate) mod declared;
mod landlock;
mod namespaces;
mod payload;
mod processes;
mod reaper;
mod root;
mod view;
mod worker;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{
    Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal, setsid,
};
use rustix::stdio::{self, dup2_stdin};

use crate::channel::{Channel, HelperMessage, Start};
use crate::host::Missing;
use crate::policy::{Net, SandboxPolicy, Stdin, Tier};
use crate::sys;
use processes::{Kin, Processes};
use reaper::Reaper;

pub use bytes::Stopped;
pub use worker::{Files, enter_worker};

/// The name under which this program is started as helper.
pub const NAME: &str = "actum-sandbox";

/// Steps by which a remedy is known.
pub(crate) const MAKES_NAMESPACES: &str = "make namespaces";
pub(crate) const MOUNTS_PROC: &str = "mount a fresh /proc";

/// Returns the version of Landlock's interface that is used on a kernel with `version`: never one
/// that we do not know.
pub(crate) fn landlock_used(version: u32) -> u32 {
    landlock::used(version)
}

/// Devices that hold nothing of the host, which every program may use, by their names in `/dev`.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Controlling terminal of the opening process, for a command that has one.
const TERMINAL: &str = "tty";

/// The devices that a command may use.
fn devices(policy: &SandboxPolicy) -> impl Iterator<Item = PathBuf> {
    let terminal = (policy.stdin == Stdin::Terminal).then_some(TERMINAL);
    DEVICES.into_iter().chain(terminal).map(|name| Path::new("/dev").join(name))
}

type Result<T> = std::result::Result<T, Missing>;

/// Adds the attempted step to an error.
trait Trying<T> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: std::error::Error + 'static> Trying<T> for std::result::Result<T, E> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Missing::new(step(), &error))
    }
}

/// Entry point of the helper. The embedding program calls it first of all in `main`. In a process
/// that was started as helper this does the helper's work and never returns.
pub fn enter() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        std::process::exit(match run() {
            Ok(()) => 0,
            Err(_) => 1, // no process is left to report to
        });
    }
}

fn run() -> io::Result<()> {
    sys::close_from(3)?;
    sys::default_signals();
    // Signals of a terminal are for the supervisor. When that ends the channel does, and then all
    // is ended.
    setsid()?;
    let channel = Channel::from_fd(fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    // Only we hold the channel now, so the other end notices when this process ends.
    dup2_stdin(openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    let Some((mut start, stdio)) = channel.receive::<Start>()? else { return Ok(()) };
    if start.has_terminal {
        start.plan.policy.stdin = Stdin::Terminal;
    }
    let kin = match start.plan.in_force.tier {
        Tier::N => match namespaces::enter(&channel, start.plan.policy.net) {
            Ok(Some(init)) => return namespaces::wait_outside(&channel, &init),
            Ok(None) => Ok(Kin::Namespace),
            Err(missing) => Err(missing),
        },
        Tier::L => set_child_subreaper(Some(getpid()))
            .trying(|| "take in the processes of the command".to_owned())
            .map(|()| Kin::Descendants),
    };
    let begun = kin.map_err(HelperMessage::NotStarted).and_then(|kin| {
        if kin == Kin::Namespace {
            settle(&channel, &start).map_err(HelperMessage::NotStarted)?;
        }
        let processes = Processes::new(kin).map_err(HelperMessage::NotStarted)?;
        begin(&start, &stdio).map(|command| (command, processes))
    });
    let (command, processes) = match begun {
        Ok(begun) => begun,
        Err(said) => return channel.send(&said, &[]),
    };
    drop(stdio);
    // If the supervisor is gone the command is ended at once.
    let is_wanted = channel.send(&HelperMessage::Running, &[]).is_ok();
    let keeper = Reaper::new(&channel, &start.plan, command, processes);
    let report = keeper.keep(is_wanted)?;
    channel.send(&HelperMessage::Ended(report), &[])
}

/// Makes the namespaces a place for the command, from their first process.
fn settle(channel: &Channel, start: &Start) -> Result<()> {
    let policy = &start.plan.policy;
    if let Some(captures) = root::enter(policy)? {
        let doing = || "hand over the layer of changes".to_owned();
        channel.send(&HelperMessage::Captures, &[captures.as_fd()]).trying(doing)?;
    }
    if let Some(pid_max) = start.plan.pid_max {
        namespaces::limit_processes(pid_max)?;
    }
    root::make_proc_read_only()?;
    if policy.net == Net::PrivateLoopback {
        let doing = || "raise the loopback of a private network".to_owned();
        let kind = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None);
        sys::raise_loopback(socket.trying(doing)?).trying(doing)?;
    }
    Ok(())
}

/// Starts the command; the error is the message about a failure to start or execute it.
fn begin(start: &Start, stdio: &[OwnedFd]) -> std::result::Result<Pid, HelperMessage> {
    let keeper = getpid();
    // This value is the result when the other process has left our memory. If it ends on the way,
    // that is no end of the command.
    let mut failed = Some(HelperMessage::NotStarted(Missing {
        step: "confine the command".to_owned(),
        why: "its process ended before that was done".to_owned(),
        // A limit of this process can end it, and the caller sets those.
        is_scarce: true,
    }));
    let mut become_command = || {
        let tied = set_parent_process_death_signal(Some(Signal::KILL))
            .trying(|| "tie its life to the helper".to_owned());
        if getppid() != Some(keeper) {
            sys::exit_at_once(1); // it was gone before
        }
        let ready = tied.and_then(|()| payload::confine(start, stdio));
        failed = match ready {
            Err(missing) => Some(HelperMessage::NotStarted(missing)),
            Ok(command) => {
                failed = None;
                std::hint::black_box(&failed); // who reads it is the other process
                Some(payload::execute(start, &command))
            }
        };
    };
    let command = sys::spawn_sharing_memory(&mut become_command)
        .trying(|| "start the command's process".to_owned())
        .map_err(HelperMessage::NotStarted)?;
    failed.map_or(Ok(command), Err)
}
