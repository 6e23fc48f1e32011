//! Helper process: a second instance of this program that sets up the sandbox from the inside and stays
//! with the command until it ends.
//!
//! The helper has a single thread and an empty environment. Its only descriptors are the channel to the
//! supervisor and the ones received over that channel.

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

/// Program name (`argv[0]`) that makes this program run as the sandbox helper.
pub const NAME: &str = "actum-sandbox";

/// Steps whose failure often has a known remedy.
pub(crate) const MAKES_NAMESPACES: &str = "create namespaces";
pub(crate) const MOUNTS_PROC: &str = "mount a fresh /proc";

/// Returns the Landlock ABI version to use on a kernel that supports `version`. A version newer than
/// the latest one known to this program is lowered to that one.
pub(crate) fn landlock_used(version: u32) -> u32 {
    landlock::used(version)
}

/// Names in `/dev` of the devices that every command may use, because they expose nothing of the host.
const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Name in `/dev` of the process's controlling terminal, for commands that have one.
const TERMINAL: &str = "tty";

/// Returns the paths of the devices that a command may use.
fn devices(policy: &SandboxPolicy) -> impl Iterator<Item = PathBuf> {
    let terminal = (policy.stdin == Stdin::Terminal).then_some(TERMINAL);
    DEVICES.into_iter().chain(terminal).map(|name| Path::new("/dev").join(name))
}

type Result<T> = std::result::Result<T, Missing>;

/// Adds the attempted step to an error, which turns it into a [`Missing`].
trait Trying<T> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: std::error::Error + 'static> Trying<T> for std::result::Result<T, E> {
    fn trying(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|error| Missing::new(step(), &error))
    }
}

/// Entry point of the helper, which the embedding program must call first in `main`. If the process was
/// started as a helper, this does the helper's work and never returns.
pub fn enter() {
    if std::env::args_os().next().is_some_and(|name| name == NAME) {
        std::process::exit(match run() {
            Ok(()) => 0,
            Err(_) => 1, // the supervisor is gone, so the error cannot be reported
        });
    }
}

fn run() -> io::Result<()> {
    sys::close_from(3)?;
    sys::default_signals();
    // Leave the terminal's session, so that its signals reach only the supervisor. If the supervisor
    // exits because of one, the channel closes and the helper ends the command.
    setsid()?;
    let channel = Channel::from_fd(fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    // Replace standard input, so that no child inherits the channel. The supervisor then notices when
    // this process ends.
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
            .trying(|| "become the subreaper of the command's processes".to_owned())
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
        Err(message) => return channel.send(&message, &[]),
    };
    drop(stdio);
    // If the supervisor is gone, the command is ended immediately.
    let is_wanted = channel.send(&HelperMessage::Running, &[]).is_ok();
    let keeper = Reaper::new(&channel, &start.plan, command, processes);
    let report = keeper.keep(is_wanted)?;
    channel.send(&HelperMessage::Ended(report), &[])
}

/// Sets up the new namespaces for the command: its root, its process limit and its network. Runs in the
/// first process of the PID namespace.
fn settle(channel: &Channel, start: &Start) -> Result<()> {
    let policy = &start.plan.policy;
    if let Some(captures) = root::enter(policy)? {
        let doing = || "send the layer of captured changes".to_owned();
        channel.send(&HelperMessage::Captures, &[captures.as_fd()]).trying(doing)?;
    }
    if let Some(pid_max) = start.plan.pid_max {
        namespaces::limit_processes(pid_max)?;
    }
    root::make_proc_read_only()?;
    if policy.net == Net::PrivateLoopback {
        let doing = || "bring up the loopback of a private network".to_owned();
        let kind = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None);
        sys::raise_loopback(socket.trying(doing)?).trying(doing)?;
    }
    Ok(())
}

/// Starts the command and returns its process ID. On failure, returns the message that reports it to
/// the supervisor.
fn begin(start: &Start, stdio: &[OwnedFd]) -> std::result::Result<Pid, HelperMessage> {
    let keeper = getpid();
    // The child shares this memory until it executes the command or exits. If it dies before that, this
    // initial value remains and reports that the command was not started.
    let mut failed = Some(HelperMessage::NotStarted(Missing {
        step: "confine the command".to_owned(),
        why: "its process ended before it was confined".to_owned(),
        // Limits of this process, which the caller sets, can kill the child.
        is_scarce: true,
    }));
    let mut become_command = || {
        let tied = set_parent_process_death_signal(Some(Signal::KILL))
            .trying(|| "set the parent-death signal".to_owned());
        if getppid() != Some(keeper) {
            sys::exit_at_once(1); // the helper exited before the signal was set
        }
        let ready = tied.and_then(|()| payload::confine(start, stdio));
        failed = match ready {
            Err(missing) => Some(HelperMessage::NotStarted(missing)),
            Ok(command) => {
                failed = None;
                std::hint::black_box(&failed); // read by the parent, which shares this memory
                Some(payload::execute(start, &command))
            }
        };
    };
    let command = sys::spawn_sharing_memory(&mut become_command)
        .trying(|| "start the command's process".to_owned())
        .map_err(HelperMessage::NotStarted)?;
    failed.map_or(Ok(command), Err)
}
