//! Byte workers: a process that reads one file and writes another through handles it is given, and can do nothing else.

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

/// Interval between two checks for cancellation, at most.
const TICK: Duration = Duration::from_millis(10);
/// Time in which a worker that has answered must end.
const END_MAX: Duration = Duration::from_secs(1);

/// End of a worker without an answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Cancellation was asked for; it was killed.
    #[error("it was cancelled")]
    Stopped,
    /// The worker exceeded its time, and was killed.
    #[error("its time was over")]
    Late,
    /// The worker grew the file beyond its limit, for which the kernel ended it.
    #[error("it exceeded the size of the file")]
    OverSize,
    /// The worker ended, or was ended, without an answer.
    #[error("it ended without an answer{}", match signal {
        Some(signal) => format!(" (signal {signal})"),
        None => String::new(),
    })]
    Ended {
        /// Signal that ended it.
        signal: Option<i32>,
    },
    /// The system failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step.
        doing: &'static str,
        /// Error.
        source: io::Error,
    },
}

/// A worker that was started and waits for its one job. It is killed on drop.
pub struct Worker {
    line: UnixStream,
    process: HelperProcess,
}

impl Worker {
    /// Starts a worker: this program under the name that its `main` gives to
    /// [`crate::inside::enter_worker`]. It ends with the thread that started it.
    ///
    /// # Errors
    /// Those of the system.
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

    /// Number of the process.
    pub fn id(&self) -> u32 {
        self.process.0.id()
    }

    /// Sends the job to the worker, and waits until it has ended. When this returns no process can
    /// write to `staged`.
    ///
    /// # Errors
    /// [`WorkerError`]
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
        send_job(&self.line, job, &files)
            .map_err(|source| WorkerError::System { doing: "give a job to the worker", source })?;
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

    /// Waits until there is an answer, or the channel is closed.
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

    /// Waits for the worker to end without being killed, as after an answer.
    fn ends_soon(&mut self) -> Result<bool, WorkerError> {
        let failed = |source| WorkerError::System { doing: "wait for the worker", source };
        let until = Instant::now() + END_MAX;
        // The end of its line is its end: it holds the only other end.
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

    /// Kills it, and waits until it is gone. Returns its end as an error.
    fn kill(&mut self) -> Result<WorkerError, WorkerError> {
        let failed = |source| WorkerError::System { doing: "end the worker", source };
        // A worker that closed its channel is about to be gone by itself, for a reason that counts.
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
