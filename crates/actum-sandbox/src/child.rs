//! Supervisor's handle of a running command: forwards its streams, enforces deadlines and waits for its end.

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

/// Time after the wall-clock limit within which the helper must end the command and report it.
const GRACE: Duration = Duration::from_secs(5);
/// Minimum timeout of a single poll for events.
const TICK: Duration = Duration::from_millis(10);

/// Error while waiting for a command that was started, which leaves its outcome unknown.
#[derive(Debug, thiserror::Error)]
pub enum WaitError {
    /// The helper was killed by another process, or sent a malformed message.
    #[error(
        "lost the sandbox helper: {0}; the command had been started, and in tier L some of its \
         processes may still be running"
    )]
    Helper(#[from] io::Error),
}

/// A command that is running in its sandbox. Dropping this ends the command and all its processes.
pub struct Child {
    pub(crate) channel: Channel,
    /// Pidfd of the helper, which becomes readable when the helper exits.
    pub(crate) end: OwnedFd,
    /// Pidfd of the first process in the PID namespace, or `None` in tier L. If that process ends, the
    /// kernel kills all others in the namespace.
    pub(crate) init: Option<OwnedFd>,
    /// Upper directory of the view, in which overlayfs stores the command's changes.
    pub(crate) captures: Option<OwnedFd>,
    /// Lower directories of the command's view, opened before the command was started.
    pub(crate) lower: Vec<OwnedFd>,
    /// Control group of the command, if one was delegated to this process.
    pub(crate) group: Option<Group>,
    /// Scratch directory on the host in tier L, which is removed when this is dropped.
    pub(crate) _scratch: Option<Scratch>,
    /// Paths in `deny_write` that did not exist when the command was started.
    pub(crate) absent: Vec<PathBuf>,
    pub(crate) stdin: Option<Feed>,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// Terminal that serves as the command's standard input and outputs, if it has one.
    pub(crate) terminal: Option<Terminal>,
    pub(crate) plan: Plan,
    /// Whether [`Self::kill_tree`] was called, so that a missing report is no surprise.
    pub(crate) is_killed: Cell<bool>,
    /// Stop request that is checked while waiting for the command.
    pub(crate) stop: Option<Stop>,
    /// Wall-clock time read before the command was started.
    pub(crate) since: Timespec,
    pub(crate) started: Instant,
    /// Wall-clock limit of the command.
    pub(crate) wall: Duration,
    /// Helper process. As the last field it is dropped last, after the helper had time to end the command.
    pub(crate) _helper: HelperProcess,
}

impl Child {
    /// Receives messages from the helper until the command is running or has failed to start.
    pub(crate) fn begin(&mut self) -> Result<(), SpawnError> {
        loop {
            let Some((message, descriptors)) = self.channel.receive()? else {
                return Err(io::Error::other(
                    "it exited before reporting whether the command started",
                )
                .into());
            };
            let mut descriptors = descriptors.into_iter();
            match message {
                HelperMessage::Init => self.init = descriptors.next(),
                HelperMessage::Captures => self.captures = descriptors.next(),
                HelperMessage::Running => return Ok(()),
                HelperMessage::NotStarted(missing) => return Err(SpawnError::Sandbox(missing)),
                HelperMessage::NotExecuted(missing, errno) => {
                    return Err(SpawnError::Command { missing, errno });
                }
                HelperMessage::Ended(_) => {
                    return Err(io::Error::other(
                        "it reported the end of a command that had not started",
                    )
                    .into());
                }
            }
        }
    }

    /// Returns a descriptor that becomes readable when the command and all processes that it started have
    /// ended (pidfd_open(2)).
    pub fn end(&self) -> BorrowedFd<'_> {
        self.end.as_fd()
    }

    /// Ends the command and all processes that it started. In tier N the kernel kills all of them
    /// immediately. In tier L the helper kills one after the other, and [`Self::wait`] waits until it has
    /// finished.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects the signal.
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

    /// Kills the helper without giving it time to report anything.
    fn kill_helper(&self) -> io::Result<()> {
        match pidfd_send_signal(&self.end, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Closes the channel to the helper, which then ends the command and reports its usage.
    fn dismiss(&self) -> io::Result<()> {
        match self.channel.finish() {
            Err(error) if error.kind() != io::ErrorKind::NotConnected => Err(error),
            _ => Ok(()),
        }
    }

    /// Registers a stop request. If it is raised while waiting for the command, the command and all
    /// processes that it started are ended.
    pub fn stop_when(&mut self, stop: Stop) {
        self.stop = Some(stop);
    }

    /// Waits until the command and all processes that it started have ended.
    ///
    /// # Errors
    /// Returns an error if waiting for the helper fails, or if another process killed the helper.
    pub fn wait(self) -> Result<Outcome, WaitError> {
        self.wait_with(|_, _| ControlFlow::Continue(()))
    }

    /// Waits like [`Self::wait`], and passes the command's output to `sink` as it arrives. If `sink`
    /// returns [`ControlFlow::Break`], the reading end of that output is closed.
    ///
    /// # Errors
    /// Same as [`Self::wait`].
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
            // Normally the helper enforces the time limit. If it hangs or was stopped, enforce it here.
            if self.started.elapsed() > self.wall + GRACE {
                late = true;
                self.kill_tree()?;
                self.kill_helper()?;
            }
        }
        over |= self.drain(&mut sink)?;
        let report = match self.channel.receive()? {
            Some((HelperMessage::Ended(report), _)) => report,
            // After `kill_tree` in tier N, the helper had no time to report, so only the time is known.
            None if self.init.is_some() && self.is_killed.get() => {
                let wall = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
                Report { usage: Usage { wall, ..Usage::default() }, ..Report::default() }
            }
            None if self.init.is_some() => {
                Report { violated: Some(Violation::Unwatched), ..Report::default() }
            }
            Some(_) | None => {
                return Err(
                    io::Error::other("it exited without reporting how the command ended").into()
                );
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

    /// Returns a violation for each protected path that was absent at the start and exists now. Paths
    /// below the base of a view are looked up in the captured layer.
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

    /// Waits for input, output or the command's end, and then forwards the available bytes. Returns
    /// whether the output exceeded its limit.
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
                // No events are requested because poll(2) always reports a closed reading end.
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

    /// Forwards bytes from the supervisor's standard input to the command, as many as the pipe accepts.
    fn feed(&mut self) -> io::Result<()> {
        let Some(feed) = &mut self.stdin else { return Ok(()) };
        if feed.bytes.is_empty() && feed.has_more {
            feed.refill()?;
        }
        if !feed.bytes.is_empty() {
            match rustix::io::write(&feed.pipe, &feed.bytes) {
                Ok(written) => drop(feed.bytes.drain(..written)),
                Err(Errno::AGAIN | Errno::INTR) => return Ok(()),
                Err(Errno::PIPE) => (feed.bytes, feed.has_more) = (Vec::new(), false), // no reader left
                Err(error) => return Err(error.into()),
            }
        }
        if feed.bytes.is_empty() && !feed.has_more {
            self.stdin = None;
        }
        Ok(())
    }

    /// Reads the available output of both streams. Returns whether the output limit was exceeded.
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
    /// Ends the command and all processes that it started, because no caller can wait for them now.
    fn drop(&mut self) {
        drop(self.dismiss()); // fails if the helper has exited already
        let grace = Timespec { tv_sec: 5, tv_nsec: 0 };
        let mut end = [PollFd::new(&self.end, PollFlags::IN)];
        // Ignore the result because the helper is killed next in any case.
        poll(&mut end, Some(&grace)).ok();
    }
}

/// Helper process, which is killed and reaped on drop. In tier N all processes of the command die with
/// it, but in tier L only the command's first process does.
pub(crate) struct HelperProcess(pub(crate) std::process::Child);

impl Drop for HelperProcess {
    fn drop(&mut self) {
        drop(self.0.kill()); // fails if the helper has exited already
        drop(self.0.wait());
    }
}

impl HelperProcess {
    pub(crate) fn id(&self) -> io::Result<Pid> {
        let id = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        id.ok_or_else(|| io::Error::other("the helper has an invalid process ID"))
    }
}
