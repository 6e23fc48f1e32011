//! Monitor of a command: reaps ended processes, polls resource usage, and finally kills remaining processes.
//!
//! In tier N the monitor is the first process of the PID namespace, which no other process in the
//! namespace can kill or stop. In tier L it is the helper, which becomes the parent of all descendants
//! whose own parent has ended (PR_SET_CHILD_SUBREAPER).

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

/// Interval at which resource usage is polled.
const EVERY: Duration = Duration::from_millis(10);

/// Monitors a started command until all its processes have ended.
pub(super) struct Reaper<'a> {
    channel: &'a Channel,
    limits: &'a Limits,
    in_force: &'a InForce,
    command: Pid,
    /// Exit status of the command's first process, once it has been reaped.
    ended: Option<WaitStatus>,
    processes: Processes,
    started: Instant,
    /// Highest usage seen so far of each resource.
    most: Usage,
}

/// Reason why the monitor stopped waiting for the command.
struct Watched {
    /// Whether the supervisor still waits for the command.
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

    /// Waits until the command ends, exceeds a limit, or is no longer wanted by the supervisor. Then kills
    /// all remaining processes, even if waiting failed.
    pub(super) fn keep(mut self, is_wanted: bool) -> io::Result<Report> {
        let watched =
            if is_wanted { self.watch() } else { Ok(Watched { wanted: false, violated: None }) };
        self.most.wall = self.elapsed();
        self.end_all()?;
        let Watched { wanted, mut violated } = watched?;
        let ended = self.processes.ended()?;
        self.add(ended);
        // Include usage since the last poll. The time limit is not checked again because the command
        // may have ended in time.
        violated = violated.or_else(|| self.over());
        let ended = self.ended.filter(|_| wanted && violated.is_none()).map(ended_from_status);
        Ok(Report { ended, violated, usage: self.most })
    }

    /// Polls the command until it ends, violates the policy, or is no longer wanted.
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

    /// Waits for an event until the next poll is due. Returns whether the supervisor still wants the
    /// command.
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

    /// Reaps all children that have ended. Returns whether any child is left.
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

    /// Measures the current usage. Returns a violation if the command must be ended because of it.
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

    /// Returns the first polled limit that was exceeded, not including the time limit.
    fn over(&self) -> Option<Violation> {
        let used = [
            (Resource::Cpu, self.most.cpu),
            (Resource::Memory, self.most.memory),
            (Resource::StorageRead, self.most.storage_read),
            (Resource::StorageWrite, self.most.storage_write),
            (Resource::Processes, self.most.processes),
        ];
        // The kernel enforces hard limits, so they need no check here.
        let polled = |resource| self.in_force.limits.get(&resource) == Some(&Enforcement::Polled);
        let over = used
            .into_iter()
            .find(|(resource, used)| *used > self.limits.of(*resource).max && polled(*resource));
        over.map(|(resource, _)| Violation::Limit(resource))
    }

    /// Kills all remaining processes and waits until they have ended.
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
            // Killed processes need some time to end. Kill any that are left again afterwards.
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// Kills one process of the tree. Its process ID may have been reused by a process of the host since
    /// it was listed. To prevent a wrong kill, opens a pidfd first and then checks the ancestry again.
    fn end(&mut self, process: Pid) -> io::Result<()> {
        let held = match pidfd_open(process, PidfdFlags::empty()) {
            Ok(held) => held,
            // The process has ended, or is just being created or removed. Which error is returned depends
            // on the kernel. If the process is still alive, the next round kills it.
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

fn ended_from_status(status: WaitStatus) -> Ended {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Ended::Code(code),
        (None, signal) => Ended::Signal(signal.unwrap_or(0)),
    }
}
