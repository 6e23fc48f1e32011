//! The helper: this program once more, started with nothing but a line to its supervisor. It makes the
//! sandbox from the inside and stays with the command.
//!
//! It has one thread, an empty environment, and no descriptor but the line and what came over it.

pub(crate) mod declared;
mod keeper;
mod landlock;
mod namespaces;
mod payload;
mod processes;
mod root;
mod view;

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use rustix::process::{
    Pid, Signal, getpid, getppid, set_child_subreaper, set_parent_process_death_signal,
};
use rustix::stdio::{self, dup2_stdin};

use crate::channel::{Channel, Said, Start};
use crate::host::Missing;
use crate::policy::{Net, Tier};
use crate::sys;
use keeper::Keeper;
use processes::Kin;

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
    sys::default_signals();
    let channel = Channel::from_fd(fcntl_dupfd_cloexec(stdio::stdin(), 3)?);
    // Nobody but us holds the line any more, so that its end is heard at the other end.
    dup2_stdin(openat(CWD, "/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)?;
    let Some((start, stdio)) = channel.receive::<Start>()? else { return Ok(()) };
    let kin = match start.plan.in_force.tier {
        Tier::N => match namespaces::enter(&channel) {
            Ok(Some(init)) => return namespaces::wait_outside(&channel, &init),
            Ok(None) => Ok(Kin::Namespace),
            Err(missing) => Err(missing),
        },
        Tier::L => set_child_subreaper(Some(getpid()))
            .trying(|| "take in the processes of the command".to_owned())
            .map(|()| Kin::Descendants),
    };
    let begun = kin.and_then(|kin| {
        if kin == Kin::Namespace {
            settle(&channel, &start)?;
        }
        begin(&start, &stdio).map(|command| (command, kin))
    });
    let (command, kin) = match begun {
        Ok((Ok(command), kin)) => (command, kin),
        Ok((Err(said), _)) => return channel.send(&said, &[]),
        Err(missing) => return channel.send(&Said::NotStarted(missing), &[]),
    };
    drop(stdio);
    // Where nobody hears it any more the command is ended at once.
    let is_wanted = channel.send(&Said::Running, &[]).is_ok();
    let keeper = Keeper::new(&channel, &start.plan, command, kin);
    let report = keeper.keep(is_wanted)?;
    channel.send(&Said::Ended(report), &[])
}

/// Makes the namespaces a place for the command, from their first process.
fn settle(channel: &Channel, start: &Start) -> Result<()> {
    let policy = &start.plan.policy;
    if let Some(captures) = root::enter(policy)? {
        let doing = || "hand over the layer of changes".to_owned();
        channel.send(&Said::Captures, &[captures.as_fd()]).trying(doing)?;
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

/// Starts the command. The inner error is what to say where it was not started or not executed.
fn begin(start: &Start, stdio: &[OwnedFd]) -> Result<std::result::Result<Pid, Said>> {
    let mut failed = None;
    let keeper = getpid();
    let mut become_command = || {
        let tied = set_parent_process_death_signal(Some(Signal::KILL))
            .trying(|| "tie its life to the helper".to_owned());
        if getppid() != Some(keeper) {
            sys::exit_at_once(1); // it was gone before
        }
        failed = Some(match tied.and_then(|()| payload::execute(start, stdio)) {
            Ok((missing, errno)) => Said::NotExecuted(missing, errno),
            Err(missing) => Said::NotStarted(missing),
        });
    };
    let command = sys::spawn_sharing_memory(&mut become_command)
        .trying(|| "start the command's process".to_owned())?;
    Ok(failed.map_or(Ok(command), Err))
}
