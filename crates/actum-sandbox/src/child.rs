//! A command that is running, from the outside.

use std::cell::Cell;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, pidfd_send_signal};

use crate::cgroup::{Counted, Group};
use crate::channel::{Channel, HelperMessage, Report};
use crate::inside::declared::is_absent;
use crate::layer::{Layer, is_in};
use crate::limits::Resource;
use crate::outcome::{Ended, Outcome, Usage, Violation};
use crate::plan::Plan;
use crate::scratch::Scratch;
use crate::spawn_error::SpawnError;
use crate::stop::Stop;
use crate::streams::{Feed, Output, Stream, is_any_ready};
use crate::terminal::{SIZE_STEP, Terminal};

/// Time beyond its limit in which a command must be ended and reported.
const GRACE: Duration = Duration::from_secs(5);
/// Shortest wait for an event.
const TICK: Duration = Duration::from_millis(10);

/// Reason why the end of a started command could not be reported.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The helper was killed by another process, or sent a malformed message.
    #[error(
        "lost the sandbox helper: {0}; the command had been started, and in tier L processes of it may be \
         left"
    )]
    Helper(#[from] io::Error),
}

/// A command that is running.
pub struct Child {
    pub(crate) channel: Channel,
    /// Ends when the helper does, and then all is over.
    pub(crate) end: OwnedFd,
    /// The first process of its namespaces: with it all end. `None` in tier L.
    pub(crate) init: Option<OwnedFd>,
    pub(crate) captures: Option<OwnedFd>,
    /// Directories below the layer of its view, opened before it was started.
    pub(crate) lower: Vec<OwnedFd>,
    /// Its control group.
    pub(crate) group: Option<Group>,
    /// Removed with the child.
    pub(crate) _scratch: Option<Scratch>,
    /// Protected paths that were absent at the start.
    pub(crate) absent: Vec<PathBuf>,
    pub(crate) stdin: Option<Feed>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// Terminal behind the three files of the command, if it has one.
    pub(crate) terminal: Option<Terminal>,
    pub(crate) plan: Plan,
    /// True if it was ended at once.
    pub(crate) is_killed: Cell<bool>,
    /// Request to end the command.
    pub(crate) stop: Option<Stop>,
    /// The command began after this.
    pub(crate) since: Timespec,
    pub(crate) started: Instant,
    /// Its limit of time.
    pub(crate) wall: Duration,
    /// Helper, dropped last of all, when it has had its time to end what it keeps.
    pub(crate) _helper: HelperProcess,
}

impl Child {
    /// Hears from the helper until the command is running.
    pub(crate) fn begin(&mut self) -> Result<(), SpawnError> {
        loop {
            let Some((said, descriptors)) = self.channel.receive()? else {
                return Err(io::Error::other("it ended before it said how it went").into());
            };
            let mut descriptors = descriptors.into_iter();
            match said {
                HelperMessage::Init => self.init = descriptors.next(),
                HelperMessage::Captures => self.captures = descriptors.next(),
                HelperMessage::Running => return Ok(()),
                HelperMessage::NotStarted(missing) => return Err(SpawnError::Sandbox(missing)),
                HelperMessage::NotExecuted(missing, errno) => {
                    return Err(SpawnError::Command { missing, errno });
                }
                HelperMessage::Ended(_) => {
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
    /// Those of the kernel.
    pub fn kill_tree(&self) -> io::Result<()> {
        self.is_killed.set(true);
        if let Some(group) = &self.group {
            group.kill()?;
        }
        let Some(init) = &self.init else { return self.dismiss() };
        match pidfd_send_signal(init, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Kills the helper, which has no time left to report anything.
    fn kill_helper(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.end, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the helper end the command and report its usage.
    fn dismiss(&self) -> io::Result<()> {
        match self.channel.finish() {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            _ => Ok(()),
        }
    }

    /// Sets the request that ends the command with all that it started. It is checked while the
    /// command is waited for.
    pub fn stop_when(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Waits until the command and all that it started have ended.
    ///
    /// # Errors
    /// The helper could not be waited for, or was killed by another process.
    pub fn wait(self) -> Result<Outcome, WaitError> {
        self.wait_with(|_, _| ControlFlow::Continue(()))
    }

    /// Waits as [`Self::wait`] does, and passes the command's output to `sink` as it comes. If
    /// `sink` breaks off, that output is closed, as it is for a program whose pipe has no reader
    /// left.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn wait_with(
        mut self,
        mut sink: impl FnMut(Output, &[u8]) -> ControlFlow<()>,
    ) -> Result<Outcome, WaitError> {
        let (mut over, mut late, mut interrupted) = (false, false, false);
        while !self.has_ended()? {
            if self.stop.as_ref().map_or(Ok(false), Stop::is_asked_for)? {
                (interrupted, self.stop) = (true, None);
                self.kill_tree()?;
            }
            if self.turn(&mut sink)? && !over {
                over = true;
                self.dismiss()?;
            }
            // The supervising process ends it in time. If that is stopped or hangs, we do.
            if self.started.elapsed() > self.wall + GRACE {
                late = true;
                self.kill_tree()?;
                self.kill_helper()?;
            }
        }
        over |= self.drain(&mut sink)?;
        let report = match self.channel.receive()? {
            Some((HelperMessage::Ended(report), _)) => report,
            // It was ended at once, and had no time to report.
            None if self.init.is_some() && self.is_killed.get() => {
                let wall = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
                Report { usage: Usage { wall, ..Usage::default() }, ..Report::default() }
            }
            None if self.init.is_some() => {
                Report { violated: Some(Violation::Unwatched), ..Report::default() }
            }
            Some(_) | None => {
                return Err(io::Error::other("it ended before it told the end").into());
            }
        };
        let Report { ended, violated, mut usage } = report;
        let mut violated: Vec<_> = violated.into_iter().collect();
        if interrupted {
            violated.insert(0, Violation::Interrupted);
        }
        if late && violated.is_empty() {
            violated.push(Violation::Limit(Resource::Wall));
        }
        if over {
            violated.push(Violation::Limit(Resource::Output));
        }
        if ended == Some(Ended::Signal(libc::SIGXFSZ)) {
            violated.push(Violation::Limit(Resource::FileSize));
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
            let limit = Violation::Limit(Resource::Cpu);
            if cpu > self.plan.policy.limits.of(Resource::Cpu).max && !violated.contains(&limit) {
                violated.push(limit);
            }
        }
        let captured = match (self.captures.take(), &self.plan.policy.view) {
            (Some(layer), Some(view)) => {
                let lower = std::mem::take(&mut self.lower);
                Some(Layer::captured(layer, view, lower, self.since))
            }
            _ => None,
        };
        let is_ended_by_us = |violation: &Violation| {
            matches!(violation, Violation::Limit(_) | Violation::Interrupted)
        };
        Ok(Outcome {
            ended: ended.filter(|_| !violated.iter().any(is_ended_by_us)),
            violated,
            usage,
            in_force: self.plan.in_force.clone(),
            stdout: std::mem::take(&mut self.stdout.bytes),
            stderr: std::mem::take(&mut self.stderr.bytes),
            captured,
        })
    }

    /// Paths that were to stay absent, and were made: in the layer, if they lie in a view.
    fn made(&self) -> Vec<Violation> {
        let base = self.plan.policy.view.as_ref().map(|view| &view.base);
        let made = self.absent.iter().filter(|path| {
            match (base.and_then(|base| path.strip_prefix(base).ok()), &self.captures) {
                (Some(inside), Some(layer)) => is_in(layer, inside),
                _ => !is_absent(path),
            }
        });
        made.map(|path| Violation::Made(path.clone())).collect()
    }

    /// Waits until something can be read or written, or the command has ended, and reads and writes it.
    /// Gives whether there was more output than is allowed.
    fn turn(
        &mut self,
        sink: &mut impl FnMut(Output, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<bool> {
        let mut ends = vec![PollFd::new(&self.end, PollFlags::IN)];
        ends.extend(self.stop.as_ref().map(Stop::end));
        for stream in [&self.stdout, &self.stderr] {
            ends.extend(stream.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN)));
        }
        let ours = io::stdin();
        match &self.stdin {
            Some(feed) if feed.bytes.is_empty() => {
                ends.push(PollFd::new(&ours, PollFlags::IN));
                // A closed reading end is always reported.
                ends.push(PollFd::new(&feed.pipe, PollFlags::empty()));
            }
            Some(feed) => ends.push(PollFd::new(&feed.pipe, PollFlags::OUT)),
            None => {}
        }
        let left = (self.wall + GRACE + TICK).saturating_sub(self.started.elapsed());
        let left = match &mut self.terminal {
            Some(terminal) => {
                terminal.follow_size();
                left.min(SIZE_STEP)
            }
            None => left,
        };
        let left = Timespec::try_from(left.max(TICK)).unwrap_or_default();
        match poll(&mut ends, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        self.feed()?;
        self.drain(sink)
    }

    fn has_ended(&self) -> io::Result<bool> {
        let mut end = [PollFd::new(&self.end, PollFlags::IN)];
        is_any_ready(&mut end)
    }

    /// Reads available bytes from our standard input, and writes as many to that of the command as
    /// fit.
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

    /// Reads the available output.
    fn drain(
        &mut self,
        sink: &mut impl FnMut(Output, &[u8]) -> ControlFlow<()>,
    ) -> io::Result<bool> {
        let max = self.plan.policy.limits.of(Resource::Output).max;
        let mut over = self.stdout.read(max.saturating_sub(self.stderr.kept()), sink)?;
        over |= self.stderr.read(max.saturating_sub(self.stdout.kept()), sink)?;
        Ok(over)
    }
}

impl Drop for Child {
    /// Ends the command with all that it started, once no caller waits for it.
    fn drop(&mut self) {
        drop(self.dismiss()); // the helper may be gone
        let grace = Timespec { tv_sec: 5, tv_nsec: 0 };
        let mut end = [PollFd::new(&self.end, PollFlags::IN)];
        // With any result, the helper is ended next.
        poll(&mut end, Some(&grace)).ok();
    }
}

/// The process of the helper, killed and reaped on drop. In tier N all processes of the command end with it; in tier L
/// only the first does.
pub(crate) struct HelperProcess(pub(crate) std::process::Child);

impl Drop for HelperProcess {
    fn drop(&mut self) {
        drop(self.0.kill()); // it may have ended by itself
        drop(self.0.wait());
    }
}

impl HelperProcess {
    pub(crate) fn id(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| io::Error::other("a process without a number"))
    }
}
