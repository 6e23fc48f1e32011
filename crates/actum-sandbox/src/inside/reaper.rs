//! Watch over a command: reaps ended processes, polls its usage, and in the end kills the rest.
//!
//! In tier N this is the first process of the PID namespace, which nothing in it can end or stop.
//! In tier L it is the helper, to which all descendants fall whose parents have ended
//! (PR_SET_CHILD_SUBREAPER).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, WaitStatus, pidfd_open, pidfd_send_signal, wait,
};

use super::processes::{Kin, Look, Processes};
use crate::channel::{Channel, Report};
use crate::limits::{Enforcement, Limits, Resource};
use crate::outcome::{Ended, Usage, Violation};
use crate::plan::{InForce, Plan};
use crate::sys;

/// Interval between two looks.
const EVERY: Duration = Duration::from_millis(10);

/// Keeps a command that was started until all is over.
pub(super) struct Reaper<'a> {
    channel: &'a Channel,
    limits: &'a Limits,
    in_force: &'a InForce,
    command: Pid,
    ended: Option<WaitStatus>,
    processes: Processes,
    started: Instant,
    most: Usage,
}

/// Result of a finished watch over a command.
struct Watched {
    /// True if the supervisor still waits for the command.
    wanted: bool,
    violated: Option<Violation>,
}

impl<'a> Reaper<'a> {
    pub(super) fn new(
        channel: &'a Channel,
        plan: &'a Plan,
        command: Pid,
        processes: Processes,
    ) -> Self {
        Self {
            channel,
            limits: &plan.policy.limits,
            in_force: &plan.in_force,
            command,
            ended: None,
            processes,
            started: Instant::now(),
            most: Usage { processes: 1, ..Usage::default() },
        }
    }

    /// Waits until the command has ended, has exceeded a limit, or is to be ended. Then it kills
    /// all remaining processes, whatever the result of the waiting.
    pub(super) fn keep(mut self, is_wanted: bool) -> io::Result<Report> {
        let watched =
            if is_wanted { self.watch() } else { Ok(Watched { wanted: false, violated: None }) };
        self.most.wall = self.elapsed();
        self.end_all()?;
        let Watched { wanted, mut violated } = watched?;
        let ended = self.processes.ended()?;
        self.add(ended);
        // Usage between the last look and the end counts as well; the time does not, if the command
        // ended in time.
        violated = violated.or_else(|| self.over());
        let ended = self.ended.filter(|_| wanted && violated.is_none()).map(told);
        Ok(Report { ended, violated, usage: self.most })
    }

    fn watch(&mut self) -> io::Result<Watched> {
        let command = pidfd_open(self.command, PidfdFlags::empty())?;
        loop {
            let wanted = self.pause(&command)?;
            self.reap()?;
            if self.ended.is_some() || !wanted {
                return Ok(Watched { wanted, violated: None });
            }
            let violated = self.look()?;
            if violated.is_some() {
                return Ok(Watched { wanted, violated });
            }
        }
    }

    /// Waits for an event, for no longer than until the next look. Returns whether the command is
    /// still wanted.
    fn pause(&self, command: &OwnedFd) -> io::Result<bool> {
        let wall = Duration::from_millis(self.limits.of(Resource::Wall).max);
        let left = wall.saturating_sub(self.started.elapsed()).min(EVERY);
        let left = Timespec::try_from(left).unwrap_or_default();
        let mut ends = [
            PollFd::new(command, PollFlags::IN),
            PollFd::from_borrowed_fd(self.channel.as_fd(), PollFlags::RDHUP),
        ];
        match poll(&mut ends, Some(&left)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [_, supervisor] = ends;
        Ok(supervisor.revents().is_empty())
    }

    /// Reaps all processes that have ended. Returns true if any are left.
    fn reap(&mut self) -> io::Result<bool> {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((process, status))) => {
                    if process == self.command {
                        self.ended = Some(status);
                    }
                }
                Ok(None) => return Ok(true),
                Err(Errno::CHILD) => return Ok(false),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the violation for which the command is to be ended, if there is one.
    fn look(&mut self) -> io::Result<Option<Violation>> {
        let memory_max = self.limits.of(Resource::Memory).max;
        if self.elapsed() >= self.limits.of(Resource::Wall).max {
            return Ok(Some(Violation::Limit(Resource::Wall)));
        }
        match self.processes.look(memory_max)? {
            Look::Seen(now) => {
                self.add(now);
                Ok(self.over())
            }
            Look::Hidden => Ok(Some(Violation::Unwatched)),
        }
    }

    fn elapsed(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn add(&mut self, now: Usage) {
        let most = &mut self.most;
        most.cpu = most.cpu.max(now.cpu);
        most.memory = most.memory.max(now.memory);
        most.storage_read = most.storage_read.max(now.storage_read);
        most.storage_write = most.storage_write.max(now.storage_write);
        most.processes = most.processes.max(now.processes);
    }

    /// Returns the first exceeded limit, except for that of time.
    fn over(&self) -> Option<Violation> {
        let used = [
            (Resource::Cpu, self.most.cpu),
            (Resource::Memory, self.most.memory),
            (Resource::StorageRead, self.most.storage_read),
            (Resource::StorageWrite, self.most.storage_write),
            (Resource::Processes, self.most.processes),
        ];
        // The kernel refuses the other ones, so they need no watch.
        let polled = |resource| self.in_force.limits.get(&resource) == Some(&Enforcement::Polled);
        let over = used
            .into_iter()
            .find(|(resource, used)| *used > self.limits.of(*resource).max && polled(*resource));
        over.map(|(resource, _)| Violation::Limit(resource))
    }

    /// Ends all processes that are left, and waits for them.
    fn end_all(&mut self) -> io::Result<()> {
        while self.reap()? {
            match self.processes.kin() {
                Kin::Namespace => sys::kill_all_others()?,
                Kin::Descendants => {
                    for process in self.processes.list()? {
                        self.end(process)?;
                    }
                }
            }
            // They end in their own time; any process that is left then is ended again.
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Ends one process of the tree. Its number may have been given to another process since it was
    /// listed, one of the host: so it is held first, and then looked at again.
    fn end(&mut self, process: Pid) -> io::Result<()> {
        let held = match pidfd_open(process, PidfdFlags::empty()) {
            Ok(held) => held,
            // It ended, or is just being made or removed: kernels answer each of these. A process
            // that is left is met again.
            Err(Errno::SRCH | Errno::NOENT | Errno::INVAL) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if !self.processes.is_ours(process)? {
            return Ok(());
        }
        match pidfd_send_signal(held, Signal::KILL) {
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn told(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}
