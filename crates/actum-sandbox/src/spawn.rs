//! Starts a command by its plan, and waits for it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Signal, pidfd_send_signal};

use crate::channel::{Channel, Ended, Said, Start};
use crate::filter::Filters;
use crate::host::Missing;
use crate::inside;
use crate::limits::Resource;
use crate::plan::Plan;
use crate::policy::{Net, SandboxPolicy, Stdin};

/// The program that is started as helper: one whose `main` calls [`crate::inside::enter`] first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helper {
    program: PathBuf,
}

impl Helper {
    /// The program that is running.
    pub fn this_program() -> Self {
        Self { program: PathBuf::from("/proc/self/exe") }
    }

    /// Another program.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }
}

/// Why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A command is an absolute path and its arguments.
    #[error("cannot run `{}`: a command is given by its absolute path; nothing was started", .0.display())]
    Relative(PathBuf),
    /// There is no command.
    #[error("there is no command to run; nothing was started")]
    Empty,
    /// The sandbox could not be made.
    #[error("the sandbox could not be made: {0}; nothing was started")]
    Sandbox(Missing),
    /// The command could not be executed.
    #[error("cannot run the command: {0}; nothing was started")]
    Command(Missing),
    /// The helper could not be started, or did not say anything sensible.
    #[error("cannot start the sandbox helper: {0}; nothing was started")]
    Helper(#[from] io::Error),
}

/// How a command ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended by itself; `None` where it was ended.
    pub ended: Option<Ended>,
    /// The limit that it went over, for which it was ended.
    pub violated: Option<Resource>,
    /// What it wrote to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, up to the limit.
    pub stderr: Vec<u8>,
}

/// A command that is running.
pub struct Child {
    /// Dropped last of all, so that nothing is left behind where waiting fails.
    _helper: Reaped,
    channel: Channel,
    /// The first process of its namespaces: with it all end.
    init: OwnedFd,
    stdin: Option<Feed>,
    stdout: Stream,
    stderr: Stream,
    started: Instant,
    wall: Duration,
    output_max: u64,
}

/// A pipe, and what is still to be written to it.
type Feed = (OwnedFd, Vec<u8>);

/// One of the command's outputs.
struct Stream {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
}

impl Plan {
    /// Starts a command as planned: a program by its absolute path, and its arguments.
    ///
    /// # Errors
    /// [`SpawnError`]; nothing was started then.
    pub fn spawn(&self, helper: &Helper, command: &[OsString]) -> Result<Child, SpawnError> {
        let program = command.first().map(Path::new).ok_or(SpawnError::Empty)?;
        if !program.is_absolute() {
            return Err(SpawnError::Relative(program.to_owned()));
        }
        let (channel, theirs) = Channel::pair()?;
        let process = Command::new(&helper.program)
            .arg0(inside::NAME)
            .env_clear()
            .current_dir("/")
            .stdin(theirs)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let helper = Reaped(process);
        let (input, stdin) = input(&self.policy.stdin)?;
        let (stdout, output) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let (stderr, error) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let started = Instant::now();
        let filters = filters(self.policy.net)?;
        // What the command reads comes through its own pipe.
        let policy = SandboxPolicy { stdin: Stdin::Empty, ..self.policy.clone() };
        let plan = Self { policy, ..self.clone() };
        let start = Start { plan, filters, command: command.to_vec() };
        channel.send(&start, &[input.as_fd(), output.as_fd(), error.as_fd()])?;
        drop((input, output, error));
        let init = match channel.receive()? {
            Some((Said::Init, descriptors)) => descriptors.into_iter().next(),
            Some((Said::NotStarted(missing), _)) => return Err(SpawnError::Sandbox(missing)),
            Some((Said::NotExecuted(_) | Said::Ended(_), _)) | None => None,
        };
        let init = init.ok_or_else(|| io::Error::other("it ended before it said anything"))?;
        Ok(Child {
            _helper: helper,
            channel,
            init,
            stdin,
            stdout: Stream { pipe: Some(stdout), bytes: Vec::new() },
            stderr: Stream { pipe: Some(stderr), bytes: Vec::new() },
            started,
            wall: Duration::from_millis(self.policy.limits.of(Resource::Wall).max),
            output_max: self.policy.limits.of(Resource::Output).max,
        })
    }
}

/// The filters, which are made once for each kind of network.
fn filters(net: Net) -> io::Result<Filters> {
    static MADE: [OnceLock<Filters>; 2] = [OnceLock::new(), OnceLock::new()];
    let [none, loopback] = &MADE;
    let place = match net {
        Net::None => none,
        Net::PrivateLoopback => loopback,
    };
    if let Some(made) = place.get() {
        return Ok(made.clone());
    }
    let made = Filters::new(net).map_err(io::Error::other)?;
    Ok(place.get_or_init(|| made).clone())
}

/// The helper, which is ended and waited for. With it all end that it started.
struct Reaped(std::process::Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        drop(self.0.kill()); // it may have ended by itself
        drop(self.0.wait());
    }
}

/// What the command gets as standard input, and what is still to be written to it.
fn input(stdin: &Stdin) -> io::Result<(OwnedFd, Option<Feed>)> {
    match stdin {
        Stdin::Empty => Ok((std::fs::File::open("/dev/null")?.into(), None)),
        Stdin::Inherited => Ok((io::stdin().as_fd().try_clone_to_owned()?, None)),
        Stdin::Bytes(bytes) => {
            let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
            rustix::io::ioctl_fionbio(&write, true)?;
            Ok((read, Some((write, bytes.clone()))))
        }
    }
}

impl Child {
    /// Ends the command and all that it started.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn kill_tree(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.init, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the command and all that it started have ended.
    ///
    /// # Errors
    /// [`SpawnError`] where the command could not be executed; the helper could not be waited for.
    pub fn wait(mut self) -> Result<Outcome, SpawnError> {
        let mut violated = None;
        loop {
            let left = self.wall.saturating_sub(self.started.elapsed());
            if left.is_zero() && violated.is_none() {
                violated = Some(Resource::Wall);
                self.kill_tree()?;
            }
            let timeout = if violated.is_some() { None } else { Some(left) };
            let over = self.turn(timeout)?;
            if over && violated.is_none() {
                violated = Some(Resource::Output);
                self.kill_tree()?;
            }
            if self.has_ended()? {
                break;
            }
        }
        self.drain()?;
        let ended = match self.channel.receive()? {
            Some((Said::Ended(ended), _)) => Some(ended),
            Some((Said::NotExecuted(missing), _)) => return Err(SpawnError::Command(missing)),
            Some((Said::NotStarted(missing), _)) => return Err(SpawnError::Sandbox(missing)),
            Some((Said::Init, _)) | None => None,
        };
        let ended = ended.filter(|_| violated.is_none());
        Ok(Outcome { ended, violated, stdout: self.stdout.bytes, stderr: self.stderr.bytes })
    }

    /// Waits until something can be read or written, or the command has ended, and reads and writes it.
    /// Gives whether there was more output than is allowed.
    fn turn(&mut self, timeout: Option<Duration>) -> io::Result<bool> {
        let timeout = timeout.map(|left| Timespec::try_from(left).unwrap_or_default());
        let mut ends = vec![PollFd::new(&self.init, PollFlags::IN)];
        for stream in [&self.stdout, &self.stderr] {
            ends.extend(stream.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        }
        ends.extend(self.stdin.as_ref().map(|(pipe, _)| PollFd::new(pipe, PollFlags::OUT)));
        match poll(&mut ends, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.feed()?;
        self.drain()
    }

    fn has_ended(&self) -> io::Result<bool> {
        let mut end = [PollFd::new(&self.init, PollFlags::IN)];
        let zero = Timespec::default();
        Ok(poll(&mut end, Some(&zero))? > 0)
    }

    /// Writes as much of standard input as fits.
    fn feed(&mut self) -> io::Result<()> {
        let Some((pipe, bytes)) = &mut self.stdin else { return Ok(()) };
        match rustix::io::write(&*pipe, bytes) {
            Ok(written) => {
                bytes.drain(..written);
            }
            Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
            Err(Errno::PIPE) => bytes.clear(), // it reads no more
            Err(error) => return Err(error.into()),
        }
        if bytes.is_empty() {
            self.stdin = None;
        }
        Ok(())
    }

    /// Reads what there is.
    fn drain(&mut self) -> io::Result<bool> {
        let mut over = false;
        for stream in [&mut self.stdout, &mut self.stderr] {
            over |= stream.read(self.output_max)?;
        }
        Ok(over)
    }
}

impl Stream {
    /// Reads what there is; gives whether it is more than `max` bytes, of which the rest is dropped.
    fn read(&mut self, max: u64) -> io::Result<bool> {
        const STEP: usize = 64 << 10;
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        let mut buffer = vec![0; STEP];
        loop {
            let mut ready = [PollFd::new(pipe, PollFlags::IN)];
            if poll(&mut ready, Some(&Timespec::default()))? == 0 {
                return Ok(false);
            }
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => {
                    self.pipe = None;
                    return Ok(false);
                }
                Ok(count) => {
                    let room = max.saturating_sub(self.bytes.len());
                    let bytes = buffer.get(..count.min(room)).unwrap_or_default();
                    self.bytes.extend_from_slice(bytes);
                    if count > room {
                        self.pipe = None;
                        return Ok(true);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}
