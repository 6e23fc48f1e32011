//! Byte workers: processes that read one file and write another through inherited descriptors, and can do nothing else.

use std::io::{self, Read};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::child::HelperProcess;
use crate::job::{ANSWER_BYTES, send_job};
use crate::program::Helper;
use crate::stop::Stop;

pub use crate::job::{Answer, Job};

/// Maximum interval between two checks for cancellation.
const TICK: Duration = Duration::from_millis(10);
/// Time within which a worker must exit after it has sent its answer.
const END_MAX: Duration = Duration::from_secs(1);

/// Reason why a worker returned no answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The caller cancelled the job, so the worker was killed.
    #[error("the worker was cancelled")]
    Stopped,
    /// The worker exceeded its time limit and was killed.
    #[error("the worker exceeded its time limit")]
    Late,
    /// The worker tried to grow the file beyond the size limit, so the kernel killed it with SIGXFSZ.
    #[error("the worker exceeded the file size limit")]
    OverSize,
    /// The worker exited or was killed before it sent a valid answer.
    #[error("the process ended without an answer{}", match signal {
        Some(signal) => format!(" (signal {signal})"),
        None => String::new(),
    })]
    Ended {
        /// Signal that killed the worker, or `None` if it exited.
        signal: Option<i32>,
    },
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step that failed, as a verb phrase.
        doing: &'static str,
        /// Error from the operating system.
        source: io::Error,
    },
}

/// Worker process that was started and waits for its only job. It is killed on drop.
pub struct Worker {
    line: UnixStream,
    process: HelperProcess,
}

impl Worker {
    /// Starts a worker process. It runs this program under the name that its `main` passes to
    /// [`crate::inside::enter_worker`]. The kernel kills the worker if the thread that started it exits.
    ///
    /// # Errors
    /// Returns the error of the operating system if the process cannot be started.
    pub fn start(helper: &Helper, name: &str) -> io::Result<Self> {
        let (line, theirs) = UnixStream::pair()?;
        let process = Command::new(helper.program())
            .arg0(name)
            .env_clear()
            .current_dir("/")
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { line, process: HelperProcess(process) })
    }

    /// Returns the process id of the worker.
    pub fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Sends the job to the worker and waits until the worker has exited. After this call, no process can write to
    /// `staged`.
    ///
    /// # Errors
    /// Returns [`WorkerError`] if the worker returned no answer.
    pub fn run(
        mut self,
        job: &Job,
        source: BorrowedFd<'_>,
        staged: Option<BorrowedFd<'_>>,
        time: Duration,
        stop: Option<&Stop>,
    ) -> Result<Answer, WorkerError> {
        let until = Instant::now().checked_add(time);
        let files: Vec<BorrowedFd<'_>> = [source].into_iter().chain(staged).collect();
        send_job(&self.line, job, &files).map_err(|source| WorkerError::System {
            doing: "send the job to the worker",
            source,
        })?;
        if let Err(error) = self.wait(until, stop) {
            self.kill()?;
            return Err(error);
        }
        let mut bytes = [0; ANSWER_BYTES];
        let answer =
            (&self.line).read_exact(&mut bytes).ok().and_then(|()| Answer::from_bytes(&bytes));
        if answer.is_none() || !self.ends_soon()? {
            return Err(self.kill()?);
        }
        answer.ok_or(WorkerError::Ended { signal: None })
    }

    /// Waits until the worker sends an answer or closes the channel.
    fn wait(&self, until: Option<Instant>, stop: Option<&Stop>) -> Result<(), WorkerError> {
        let failed = |source| WorkerError::System { doing: "wait for the worker", source };
        loop {
            if stop.map_or(Ok(false), Stop::is_asked_for).map_err(failed)? {
                return Err(WorkerError::Stopped);
            }
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Err(WorkerError::Late);
            }
            let tick = left.map_or(TICK, |left| left.min(TICK));
            let mut ends = vec![PollFd::new(&self.line, PollFlags::IN)];
            ends.extend(stop.map(Stop::end));
            let tick = Timespec::try_from(tick).unwrap_or_default();
            match poll(&mut ends, Some(&tick)) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(failed(error.into())),
            }
            if ends.first().is_some_and(|line| !line.revents().is_empty()) {
                return Ok(());
            }
        }
    }

    /// Returns whether the worker exits successfully by itself within [`END_MAX`], as it must after its answer.
    fn ends_soon(&mut self) -> Result<bool, WorkerError> {
        let failed = |source| WorkerError::System { doing: "wait for the worker", source };
        let until = Instant::now() + END_MAX;
        // The worker holds the only other end of the channel, so the channel is closed when the worker exits.
        let mut line = [PollFd::new(&self.line, PollFlags::IN)];
        let tick = Timespec::try_from(END_MAX).unwrap_or_default();
        match poll(&mut line, Some(&tick)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
        while Instant::now() < until {
            if let Some(status) = self.process.0.try_wait().map_err(failed)? {
                return Ok(status.success());
            }
            std::thread::yield_now();
        }
        Ok(false)
    }

    /// Kills the worker unless it is exiting by itself, and waits until it is gone. Returns the reason for its end as
    /// an error.
    fn kill(&mut self) -> Result<WorkerError, WorkerError> {
        let failed = |source| WorkerError::System { doing: "stop the worker", source };
        // A worker that closed its channel is about to exit by itself, and its exit status contains the actual reason.
        let ended = self.process.0.try_wait().map_err(failed)?;
        let status = match ended {
            Some(status) => status,
            None => {
                if !self.is_hung_up() {
                    self.process.0.kill().map_err(failed)?;
                }
                self.process.0.wait().map_err(failed)?
            }
        };
        let signal = std::os::unix::process::ExitStatusExt::signal(&status);
        Ok(match signal {
            Some(libc::SIGXFSZ) => WorkerError::OverSize,
            signal => WorkerError::Ended { signal },
        })
    }

    fn is_hung_up(&self) -> bool {
        let mut line = [PollFd::new(&self.line, PollFlags::IN)];
        let now = Timespec::default();
        poll(&mut line, Some(&now)).is_ok()
            && line.first().is_some_and(|line| line.revents().contains(PollFlags::HUP))
    }
}
