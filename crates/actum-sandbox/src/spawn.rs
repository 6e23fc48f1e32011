//! Starts a command by its plan, and waits for it.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::SCRATCH;
use crate::cgroup::{Delegated, Group};
use crate::channel::{Channel, Start};
use crate::child::{Child, WaitError};
use crate::host::{HostReport, Missing};
use crate::inside::{self, declared::is_absent};
use crate::layer::open_lower;
use crate::limits::Resource;
use crate::plan::{Plan, Unsatisfiable};
use crate::policy::{SandboxPolicy, Stdin, Tier};
use crate::program::Helper;
use crate::streams::{Feed, Output, Stream, input};
use crate::terminal::Terminal;

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A command is an absolute path and its arguments.
    #[error("cannot run `{}`: a command is given by its absolute path; nothing was started", .0.display())]
    Relative(PathBuf),
    /// No argument can hold one.
    #[error("the command holds a NUL byte; nothing was started")]
    Nul,
    /// There is no command.
    #[error("there is no command to run; nothing was started")]
    Empty,
    /// The sandbox could not be made.
    #[error("the sandbox could not be made: {0}; nothing was started")]
    Sandbox(Missing),
    /// The command could not be executed.
    #[error("cannot run the command: {missing}; nothing was started")]
    Command {
        /// What was tried.
        missing: Missing,
        /// Why, as execve(2) told it.
        errno: Option<i32>,
    },
    /// The helper could not be started, or did not say anything sensible.
    #[error("cannot start the sandbox helper: {0}; nothing was started")]
    Helper(#[from] io::Error),
}

/// Why nothing was started, or could be.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The host cannot hold the policy.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// It was not started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}

impl SandboxPolicy {
    /// Plans and starts a command. Where the sandbox cannot be made as a kept report of the host says, the host is tried
    /// anew, and the command planned by what it holds now.
    ///
    /// # Errors
    /// [`StartError`]; nothing was started then.
    pub fn start(
        &self,
        host: &HostReport,
        helper: &Helper,
        command: &[OsString],
    ) -> Result<Child, StartError> {
        match self.plan(host)?.spawn(helper, command) {
            Err(SpawnError::Sandbox(missing)) => match host.renewed(helper) {
                Some(found) => Ok(self.plan(&found)?.spawn(helper, command)?),
                None => Err(SpawnError::Sandbox(missing).into()),
            },
            started => Ok(started?),
        }
    }
}

impl Plan {
    /// Starts a command as planned: a program by its absolute path, and its arguments. Returns when it
    /// is running.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing was started then.
    pub fn spawn(&self, helper: &Helper, command: &[OsString]) -> Result<Child, SpawnError> {
        let program = command.first().map(Path::new).ok_or(SpawnError::Empty)?;
        if !program.is_absolute() {
            return Err(SpawnError::Relative(program.to_owned()));
        }
        if command.iter().any(|word| word.as_bytes().contains(&0)) {
            return Err(SpawnError::Nul);
        }
        self.start(helper, command)
    }

    /// Makes the sandbox without a command in it, and takes it down again.
    pub(crate) fn try_out(&self, helper: &Helper) -> Result<(), SpawnError> {
        let tried = self.start(helper, &[])?.wait();
        tried.map(drop).map_err(|WaitError::Helper(error)| SpawnError::Helper(error))
    }

    fn start(&self, helper: &Helper, command: &[OsString]) -> Result<Child, SpawnError> {
        let since = clock_gettime(ClockId::Realtime);
        let (channel, theirs) = Channel::pair()?;
        let process = Command::new(helper.program())
            .arg0(inside::NAME)
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let helper = Reaped(process);
        let end = pidfd_open(helper.id()?, PidfdFlags::empty()).map_err(io::Error::from)?;
        let Files { theirs: [input, output, error], stdin, stdout, stderr, terminal } =
            Files::of(&self.policy.stdin)?;
        let scratch = match (self.policy.scratch, self.in_force.tier) {
            (Some(_), Tier::L) => Some(Scratch::new()?),
            (Some(_), Tier::N) | (None, _) => None,
        };
        let start = Start {
            plan: self.for_helper(scratch.as_ref()),
            command: command.to_vec(),
            has_terminal: self.policy.stdin == Stdin::Terminal,
            scratch: self.policy.scratch.map(|_| place_of(scratch.as_ref())),
        };
        let group = if self.has_group { Some(self.group()?) } else { None };
        let entrance = group.as_ref().map(Group::entrance).transpose()?;
        let mut descriptors = vec![input.as_fd(), output.as_fd(), error.as_fd()];
        descriptors.extend(entrance.as_ref().map(AsFd::as_fd));
        // Before the command can begin, and so make any of it.
        let deny_write = self.policy.deny_write.iter();
        let absent = deny_write.filter(|path| is_absent(path)).cloned().collect();
        let lower = match &self.policy.view {
            Some(view) => {
                wait_for_stamps_after(since);
                open_lower(view)?
            }
            None => Vec::new(),
        };
        channel.send(&start, &descriptors)?;
        drop((input, output, error, entrance));
        let mut child = Child {
            channel,
            end,
            init: None,
            captures: None,
            lower,
            group,
            _scratch: scratch,
            absent,
            stdin,
            stdout,
            stderr,
            terminal,
            plan: self.clone(),
            is_killed: Cell::new(false),
            stop: None,
            since,
            started: Instant::now(),
            wall: Duration::from_millis(self.policy.limits.of(Resource::Wall).max),
            _helper: helper,
        };
        child.begin()?;
        Ok(child)
    }

    /// A control group for one command.
    fn group(&self) -> Result<Group, SpawnError> {
        let made = match Delegated::ours() {
            Some(ours) => ours.group(&unique_name()?, &self.policy.limits),
            None => Err(io::Error::other("none was delegated to this process")),
        };
        made.map_err(|why| {
            let step = "make a control group".to_owned();
            SpawnError::Sandbox(Missing::new(step, &why))
        })
    }

    /// The plan without what only the supervisor needs, and with what it adds.
    fn for_helper(&self, scratch: Option<&Scratch>) -> Self {
        // What the command reads comes through its own files.
        let mut policy = SandboxPolicy { stdin: Stdin::Empty, ..self.policy.clone() };
        if policy.scratch.is_some() {
            let place = place_of(scratch).display().to_string();
            for variable in ["HOME", "TMPDIR"] {
                policy.env.entry(variable.to_owned()).or_insert_with(|| place.clone());
            }
        }
        Self { policy, ..self.clone() }
    }
}

/// The three files of a command, and our ends of them.
struct Files {
    theirs: [OwnedFd; 3],
    stdin: Option<Feed>,
    stdout: Stream,
    stderr: Stream,
    terminal: Option<Terminal>,
}

impl Files {
    fn of(stdin: &Stdin) -> io::Result<Self> {
        if *stdin == Stdin::Terminal {
            return Self::terminal();
        }
        let (input, stdin) = input(stdin)?;
        let (stdout, output) = pipe_with(PipeFlags::CLOEXEC)?;
        let (stderr, error) = pipe_with(PipeFlags::CLOEXEC)?;
        Ok(Self {
            theirs: [input, output, error],
            stdin,
            stdout: Stream::new(Output::Stdout, stdout),
            stderr: Stream::new(Output::Stderr, stderr),
            terminal: None,
        })
    }

    /// One terminal for all of them; what comes from it is taken for standard output.
    fn terminal() -> io::Result<Self> {
        let (terminal, theirs) = Terminal::open()?;
        let another = || fcntl_dupfd_cloexec(&theirs, 0);
        let theirs = [another()?, another()?, theirs];
        let stdin = Feed { pipe: terminal.handle()?, bytes: Vec::new(), has_more: true };
        Ok(Self {
            theirs,
            stdin: Some(stdin),
            stdout: Stream::passing(Output::Stdout, terminal.handle()?),
            stderr: Stream::closed(Output::Stderr),
            terminal: Some(terminal),
        })
    }
}

/// Waits until the kernel stamps files with a later time than this. It reads its clock for that a few hundred
/// times a second, so this takes four milliseconds at most.
fn wait_for_stamps_after(time: Timespec) {
    let stamp = || clock_gettime(ClockId::RealtimeCoarse);
    // A clock that is set back meanwhile must not keep anyone waiting.
    for _ in 0..STAMP_WAITS_MAX {
        let stamp = stamp();
        if (stamp.tv_sec, stamp.tv_nsec) > (time.tv_sec, time.tv_nsec) {
            return;
        }
        std::thread::sleep(STAMP_WAIT);
    }
}

/// How long is waited before the clock is looked at again.
const STAMP_WAIT: Duration = Duration::from_micros(250);
/// How often it is looked at.
const STAMP_WAITS_MAX: u32 = 100;

/// A directory of the host for temporary files, which is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn new() -> io::Result<Self> {
        let place = Path::new(SCRATCH).canonicalize()?;
        let path = place.join(unique_name()?);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

/// A name that nobody else has.
fn unique_name() -> io::Result<String> {
    let mut name = [0; 8];
    rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("actum-{:016x}", u64::from_le_bytes(name)))
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.0).is_err() {
            // The command may have taken our permissions from its directories.
            drop(make_removable(&self.0).and_then(|()| std::fs::remove_dir_all(&self.0)));
        }
    }
}

/// Gives us all permissions of the directories at and below `directory`. Each is held while its permissions change, and so
/// is never another one that a link leads to.
fn make_removable(directory: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::open(directory, flags, Mode::empty())?;
    let held_path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    std::fs::set_permissions(&held_path, std::fs::Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(&held_path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_removable(&entry.path())?;
        }
    }
    Ok(())
}

/// The scratch directory as the command sees it.
fn place_of(scratch: Option<&Scratch>) -> PathBuf {
    scratch.map_or_else(|| PathBuf::from(SCRATCH), |scratch| scratch.0.clone())
}

/// The helper, which is ended and waited for. In tier N all end with it; in tier L only the command's
/// first process does.
pub(crate) struct Reaped(std::process::Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        drop(self.0.kill()); // it may have ended by itself
        drop(self.0.wait());
    }
}

impl Reaped {
    fn id(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| io::Error::other("a process without a number"))
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::CapabilitySet;

    use super::*;

    /// AA-10, FE-12: what a command does to its scratch directory does not keep it there. Root is held to modes only
    /// without the capabilities that pass over them.
    #[test]
    fn a_scratch_directory_without_permissions_is_removed() {
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let scratch = Scratch::new().unwrap();
        let (place, outside) = (scratch.path().to_owned(), Scratch::new().unwrap());
        let inner = place.join("inner/deep");
        std::fs::DirBuilder::new().recursive(true).create(&inner).unwrap();
        std::os::unix::fs::symlink(outside.path(), inner.join("link")).unwrap();
        mode(outside.path(), 0o500);
        for path in [inner.as_path(), place.join("inner").as_path(), place.as_path()] {
            mode(path, 0o000);
        }
        let removed = std::thread::spawn(move || {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            rustix::thread::set_capabilities(None, sets).unwrap();
            assert!(std::fs::read_dir(scratch.path()).is_err(), "modes do not hold here");
            drop(scratch);
        });
        removed.join().unwrap();
        assert!(place.symlink_metadata().is_err());
        let left = std::fs::metadata(outside.path()).unwrap().permissions().mode();
        assert_eq!(left & 0o777, 0o500, "a link leads nowhere");
    }
}
