//! Starts a command in its sandbox according to a plan.

use std::cell::Cell;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::io::fcntl_dupfd_cloexec;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{PidfdFlags, pidfd_open};
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::SCRATCH;
use crate::cgroup::{Delegated, Group};
use crate::channel::{Channel, Start};
use crate::child::{Child, HelperProcess, WaitError};
use crate::host::Missing;
use crate::inside::{self, declared::is_absent};
use crate::layer::open_lower;
use crate::limits::Resource;
use crate::plan::Plan;
use crate::policy::{SandboxPolicy, Stdin, Tier};
use crate::program::Helper;
use crate::scratch::{Scratch, unique_name};
use crate::spawn_error::SpawnError;
use crate::streams::{Feed, Output, Stream, input};
use crate::terminal::Terminal;

impl Plan {
    /// Starts a command, which consists of the absolute path of a program and its arguments. Returns once
    /// the command is running.
    ///
    /// # Errors
    /// Returns [`SpawnError`] if the command cannot be started.
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

    /// Sets up the sandbox without running a command in it, and tears it down again.
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
        let helper = HelperProcess(process);
        let end = pidfd_open(helper.id()?, PidfdFlags::empty()).map_err(io::Error::from)?;
        let Files { theirs: [input, output, error], stdin, stdout, stderr, terminal } =
            Files::new(&self.policy.stdin)?;
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
        // Determine this before the command is started, because it could create such a path.
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

    /// Creates a control group for one command.
    fn group(&self) -> Result<Group, SpawnError> {
        let made = match Delegated::ours() {
            Some(ours) => ours.group(&unique_name()?, &self.policy.limits),
            None => Err(io::Error::other("no control group is delegated to this process")),
        };
        made.map_err(|why| {
            let step = "create a control group".to_owned();
            SpawnError::Sandbox(Missing::new(step, &why))
        })
    }

    /// Returns a copy of the plan for the helper, without standard input, which the supervisor handles, and
    /// with `HOME` and `TMPDIR` set to the scratch directory.
    fn for_helper(&self, scratch: Option<&Scratch>) -> Self {
        // The supervisor passes the input through a descriptor, so do not send its bytes.
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

/// Standard streams of a command, and the supervisor's ends of them.
struct Files {
    theirs: [OwnedFd; 3],
    stdin: Option<Feed>,
    stdout: Stream,
    stderr: Stream,
    terminal: Option<Terminal>,
}

impl Files {
    fn new(stdin: &Stdin) -> io::Result<Self> {
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

    /// Opens one terminal for all three streams. All its output is treated as standard output.
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

/// Waits until the kernel's timestamps for files are later than `time`. It updates them only a few hundred
/// times a second, so this takes up to 4 ms on common kernels.
fn wait_for_stamps_after(time: Timespec) {
    let stamp = || clock_gettime(ClockId::RealtimeCoarse);
    // Limit the number of attempts, because the clock may be set back in the meantime.
    for _ in 0..STAMP_WAITS_MAX {
        let stamp = stamp();
        if (stamp.tv_sec, stamp.tv_nsec) > (time.tv_sec, time.tv_nsec) {
            return;
        }
        std::thread::sleep(STAMP_WAIT);
    }
}

/// Pause between two reads of the kernel's clock for file timestamps.
const STAMP_WAIT: Duration = Duration::from_micros(250);
/// Maximum number of reads of the kernel's clock for file timestamps.
const STAMP_WAITS_MAX: u32 = 100;

/// Returns the path of the scratch directory as the command sees it.
fn place_of(scratch: Option<&Scratch>) -> PathBuf {
    scratch.map_or_else(|| PathBuf::from(SCRATCH), |scratch| scratch.path().to_owned())
}
