//! Starts a command by its plan, and waits for it.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::SCRATCH;
use crate::cgroup::{Counted, Delegated, Group};
use crate::channel::{Channel, Report, Said, Start};
use crate::host::Missing;
use crate::inside::{self, declared::is_absent};
use crate::layer::Layer;
use crate::limits::Resource;
use crate::outcome::{Outcome, Violation};
use crate::plan::Plan;
use crate::policy::{SandboxPolicy, Stdin, Tier};
use crate::program::Helper;

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
    #[error("cannot run the command: {0}; nothing was started")]
    Command(Missing),
    /// The helper could not be started, or did not say anything sensible.
    #[error("cannot start the sandbox helper: {0}; nothing was started")]
    Helper(#[from] io::Error),
}

/// Which of the command's outputs bytes came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A command that is running.
pub struct Child {
    channel: Channel,
    /// Ends when the helper does, and then all is over.
    end: OwnedFd,
    /// The first process of its namespaces: with it all end. There is none in tier L.
    init: Option<OwnedFd>,
    captures: Option<OwnedFd>,
    /// Its control group.
    group: Option<Group>,
    /// Removed with the child.
    _scratch: Option<Scratch>,
    /// What is to stay as it is and was not there at the beginning.
    absent: Vec<PathBuf>,
    stdin: Option<Feed>,
    stdout: Stream,
    stderr: Stream,
    plan: Plan,
    /// Dropped last of all, when it has had its time to end what it keeps.
    _helper: Reaped,
}

/// What goes to the command's standard input.
struct Feed {
    pipe: OwnedFd,
    /// What is still to be written to it.
    bytes: Vec<u8>,
    /// Whether more comes from our own standard input. The command never gets that itself: it could
    /// write to a terminal by it, and set flags that others share.
    has_more: bool,
}

/// One of the command's outputs.
struct Stream {
    output: Output,
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    count: u64,
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
    pub(crate) fn try_out(&self, helper: &Helper) -> Result<Outcome, SpawnError> {
        self.start(helper, &[])?.wait()
    }

    fn start(&self, helper: &Helper, command: &[OsString]) -> Result<Child, SpawnError> {
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
        let (input, stdin) = input(&self.policy.stdin)?;
        let (stdout, output) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let (stderr, error) = pipe_with(PipeFlags::CLOEXEC).map_err(io::Error::from)?;
        let scratch = match (self.policy.scratch, self.in_force.tier) {
            (Some(_), Tier::L) => Some(Scratch::new()?),
            (Some(_), Tier::N) | (None, _) => None,
        };
        let start = Start {
            plan: self.for_helper(scratch.as_ref()),
            command: command.to_vec(),
            scratch: self.policy.scratch.map(|_| place_of(scratch.as_ref())),
        };
        let group = if self.has_group { Some(self.group()?) } else { None };
        let entrance = group.as_ref().map(Group::entrance).transpose()?;
        let mut descriptors = vec![input.as_fd(), output.as_fd(), error.as_fd()];
        descriptors.extend(entrance.as_ref().map(AsFd::as_fd));
        channel.send(&start, &descriptors)?;
        drop((input, output, error, entrance));
        let mut child = Child {
            channel,
            end,
            init: None,
            captures: None,
            group,
            _scratch: scratch,
            absent: self.policy.deny_write.iter().filter(|path| is_absent(path)).cloned().collect(),
            stdin,
            stdout: Stream::new(Output::Stdout, stdout),
            stderr: Stream::new(Output::Stderr, stderr),
            plan: self.clone(),
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
            SpawnError::Sandbox(Missing { step, why: why.to_string() })
        })
    }

    /// The plan without what only the supervisor needs, and with what it adds.
    fn for_helper(&self, scratch: Option<&Scratch>) -> Self {
        // What the command reads comes through its own pipe.
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

/// A directory of the host for temporary files, which is removed with all that is in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> io::Result<Self> {
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
        drop(std::fs::remove_dir_all(&self.0)); // what is left is a temporary file among others
    }
}

/// The scratch directory as the command sees it.
fn place_of(scratch: Option<&Scratch>) -> PathBuf {
    scratch.map_or_else(|| PathBuf::from(SCRATCH), |scratch| scratch.0.clone())
}

/// The helper, which is ended and waited for. With it all end that it started.
struct Reaped(std::process::Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        drop(self.0.kill()); // it may have ended by itself
        drop(self.0.wait());
    }
}

/// What the command gets as standard input, and what feeds it.
fn input(stdin: &Stdin) -> io::Result<(OwnedFd, Option<Feed>)> {
    let (bytes, has_more) = match stdin {
        Stdin::Empty => return Ok((std::fs::File::open("/dev/null")?.into(), None)),
        Stdin::Inherited => (Vec::new(), true),
        Stdin::Bytes(bytes) => (bytes.clone(), false),
    };
    let (read, pipe) = pipe_with(PipeFlags::CLOEXEC)?;
    rustix::io::ioctl_fionbio(&pipe, true)?;
    Ok((read, Some(Feed { pipe, bytes, has_more })))
}

impl Reaped {
    fn id(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| io::Error::other("a process without a number"))
    }
}

impl Child {
    /// Hears from the helper until the command is running.
    fn begin(&mut self) -> Result<(), SpawnError> {
        loop {
            let Some((said, descriptors)) = self.channel.receive()? else {
                return Err(io::Error::other("it ended before it said how it went").into());
            };
            let mut descriptors = descriptors.into_iter();
            match said {
                Said::Init => self.init = descriptors.next(),
                Said::Captures => self.captures = descriptors.next(),
                Said::Running => return Ok(()),
                Said::NotStarted(missing) => return Err(SpawnError::Sandbox(missing)),
                Said::NotExecuted(missing) => return Err(SpawnError::Command(missing)),
                Said::Ended(_) => {
                    return Err(io::Error::other("it told of an end before a beginning").into());
                }
            }
        }
    }

    /// A descriptor that can be polled: it is readable when the command and all that it started have
    /// ended (pidfd_open(2)).
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Ends the command and all that it started. In tier N all are ended by the kernel at once; in tier
    /// L one after the other, which [`Self::wait`] waits for.
    ///
    /// # Errors
    /// What the kernel says.
    pub fn kill_tree(&self) -> io::Result<()> {
        if let Some(group) = &self.group {
            group.kill()?;
        }
        let Some(init) = &self.init else { return self.dismiss() };
        match pidfd_send_signal(init, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Has the helper end the command and tell what it used.
    fn dismiss(&self) -> io::Result<()> {
        match self.channel.finish() {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            _ => Ok(()),
        }
    }

    /// Waits until the command and all that it started have ended.
    ///
    /// # Errors
    /// The helper could not be waited for, or was ended by somebody else.
    pub fn wait(self) -> Result<Outcome, SpawnError> {
        self.wait_with(|_, _| Ok(()))
    }

    /// The same; and what the command writes is told as it comes. Where that fails, the command is
    /// ended.
    ///
    /// # Errors
    /// As [`Self::wait`], and what `sink` gave.
    pub fn wait_with(
        mut self,
        mut sink: impl FnMut(Output, &[u8]) -> io::Result<()>,
    ) -> Result<Outcome, SpawnError> {
        let mut over = false;
        while !self.has_ended()? {
            if self.turn(&mut sink)? && !over {
                over = true;
                self.dismiss()?;
            }
        }
        over |= self.drain(&mut sink)?;
        let report = match self.channel.receive()? {
            Some((Said::Ended(report), _)) => report,
            // It was ended at once, and had no time to tell.
            None if self.init.is_some() => Report::default(),
            Some(_) | None => {
                return Err(io::Error::other("it ended before it told the end").into());
            }
        };
        let Report { ended, violated, mut usage } = report;
        let mut violated: Vec<_> = violated.into_iter().collect();
        if over {
            violated.push(Violation::Limit(Resource::Output));
        }
        violated.extend(self.made());
        usage.output = self.stdout.count + self.stderr.count;
        if let Some(group) = &self.group {
            let Counted { cpu, memory, is_out_of_memory } = group.counted()?;
            (usage.cpu, usage.memory) = (usage.cpu.max(cpu), memory.unwrap_or(usage.memory));
            let limit = Violation::Limit(Resource::Memory);
            if is_out_of_memory && !violated.contains(&limit) {
                violated.push(limit);
            }
        }
        let captured = match (self.captures.take(), &self.plan.policy.view) {
            (Some(layer), Some(view)) => Some(Layer::captured(layer, view)?),
            _ => None,
        };
        Ok(Outcome {
            ended: ended.filter(|_| !over),
            violated,
            usage,
            in_force: self.plan.in_force.clone(),
            stdout: std::mem::take(&mut self.stdout.bytes),
            stderr: std::mem::take(&mut self.stderr.bytes),
            captured,
        })
    }

    /// What was to stay absent, and was made.
    fn made(&self) -> Vec<Violation> {
        let made = self.absent.iter().filter(|path| !is_absent(path));
        made.map(|path| Violation::Made(path.clone())).collect()
    }

    /// Waits until something can be read or written, or the command has ended, and reads and writes it.
    /// Gives whether there was more output than is allowed.
    fn turn(&mut self, sink: &mut impl FnMut(Output, &[u8]) -> io::Result<()>) -> io::Result<bool> {
        let mut ends = vec![PollFd::new(&self.end, PollFlags::IN)];
        for stream in [&self.stdout, &self.stderr] {
            ends.extend(stream.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        }
        let ours = io::stdin();
        match &self.stdin {
            Some(feed) if feed.bytes.is_empty() => {
                ends.push(PollFd::new(&ours, PollFlags::IN));
                // That nobody reads any more is always told.
                ends.push(PollFd::new(&feed.pipe, PollFlags::empty()));
            }
            Some(feed) => ends.push(PollFd::new(&feed.pipe, PollFlags::OUT)),
            None => {}
        }
        match poll(&mut ends, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.feed()?;
        self.drain(sink)
    }

    fn has_ended(&self) -> io::Result<bool> {
        let mut end = [PollFd::new(&self.end, PollFlags::IN)];
        let zero = Timespec::default();
        Ok(poll(&mut end, Some(&zero))? > 0)
    }

    /// Reads from our standard input what there is, and writes to that of the command what fits.
    fn feed(&mut self) -> io::Result<()> {
        let Some(feed) = &mut self.stdin else { return Ok(()) };
        if feed.bytes.is_empty() && feed.has_more {
            feed.refill()?;
        }
        if !feed.bytes.is_empty() {
            match rustix::io::write(&feed.pipe, &feed.bytes) {
                Ok(written) => drop(feed.bytes.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(Errno::PIPE) => (feed.bytes, feed.has_more) = (Vec::new(), false), // it reads no more
                Err(error) => return Err(error.into()),
            }
        }
        if feed.bytes.is_empty() && !feed.has_more {
            self.stdin = None;
        }
        Ok(())
    }

    /// Reads what there is.
    fn drain(
        &mut self,
        sink: &mut impl FnMut(Output, &[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        let max = self.plan.policy.limits.of(Resource::Output).max;
        let mut over = self.stdout.read(max.saturating_sub(self.stderr.kept()), sink)?;
        over |= self.stderr.read(max.saturating_sub(self.stdout.kept()), sink)?;
        Ok(over)
    }
}

impl Feed {
    /// Reads what our standard input has, if it has anything.
    fn refill(&mut self) -> io::Result<()> {
        const STEP: usize = 64 << 10;
        let mut reader = [PollFd::new(&self.pipe, PollFlags::empty())];
        if poll(&mut reader, Some(&Timespec::default()))? > 0 {
            self.has_more = false; // nobody reads it any more
            return Ok(());
        }
        let stdin = io::stdin();
        let mut ready = [PollFd::new(&stdin, PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::default()))? == 0 {
            return Ok(());
        }
        self.bytes.resize(STEP, 0);
        let read = rustix::io::read(&stdin, &mut self.bytes);
        self.bytes.truncate(*read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => self.has_more = false,
            Ok(_) | Err(Errno::INTR | Errno::AGAIN) => {}
            // A terminal that went away, or none at all.
            Err(Errno::IO | Errno::BADF) => self.has_more = false,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Drop for Child {
    /// Where nobody waits for it any more, it is ended with all that it started.
    fn drop(&mut self) {
        drop(self.dismiss()); // the helper may be gone
        let grace = Timespec { tv_sec: 5, tv_nsec: 0 };
        let mut end = [PollFd::new(&self.end, PollFlags::IN)];
        // Whatever comes of it, the helper is ended next.
        poll(&mut end, Some(&grace)).ok();
    }
}

impl Stream {
    fn new(output: Output, pipe: OwnedFd) -> Self {
        Self { output, pipe: Some(pipe), bytes: Vec::new(), count: 0 }
    }

    fn kept(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Reads what there is; gives whether it is more than `max` bytes, of which the rest is dropped.
    fn read(
        &mut self,
        max: u64,
        sink: &mut impl FnMut(Output, &[u8]) -> io::Result<()>,
    ) -> io::Result<bool> {
        const STEP: usize = 64 << 10;
        let mut buffer = Vec::new();
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        while let Some(pipe) = &self.pipe {
            let mut ready = [PollFd::new(pipe, PollFlags::IN)];
            if poll(&mut ready, Some(&Timespec::default()))? == 0 {
                return Ok(false);
            }
            buffer.resize(STEP, 0);
            match rustix::io::read(pipe, &mut buffer) {
                Ok(0) => self.pipe = None,
                Ok(count) => {
                    let room = max.saturating_sub(self.bytes.len());
                    let bytes = buffer.get(..count.min(room)).unwrap_or_default();
                    sink(self.output, bytes)?;
                    self.bytes.extend_from_slice(bytes);
                    self.count += count as u64;
                    if count > room {
                        self.pipe = None;
                        return Ok(true);
                    }
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(false)
    }
}
