//! Byte workers: a process that reads one file and writes another through handles it is given, and can do nothing else.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use crate::child::HelperProcess;
use crate::program::Helper;
use crate::stop::Stop;

/// Size of a job as it is sent.
const JOB_BYTES: usize = 48;
/// Size of an answer.
pub(crate) const ANSWER_BYTES: usize = 40;
/// Most files of a job.
const FILES_MAX: usize = 2;
/// How often cancellation is looked for, at least.
const TICK: Duration = Duration::from_millis(10);
/// How long a worker that has answered may take to end.
const END_MAX: Duration = Duration::from_secs(1);

/// Job of a byte worker. Absent limits are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Which work, as the embedding program knows it.
    pub work: u64,
    /// Size of the source.
    pub size: u64,
    /// Most bytes that are read and written, together.
    pub storage_max: Option<u64>,
    /// Largest size of the file that is written.
    pub size_max: Option<u64>,
    /// Most memory.
    pub memory_max: Option<u64>,
}

/// Answer of a byte worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It did its work; these bytes are what it computed.
    Done([u8; 32]),
    /// It stopped before it exceeded the bytes that it may read and write.
    OverStorage,
    /// It has more memory than it may.
    OverMemory,
    /// A system call failed with this error.
    Failed(i32),
}

/// End of a worker without an answer.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// Cancellation was asked for; it was killed.
    #[error("it was cancelled")]
    Stopped,
    /// Its time was over; it was killed.
    #[error("its time was over")]
    Late,
    /// It grew the file beyond its limit, for which the kernel ended it.
    #[error("it exceeded the size of the file")]
    OverSize,
    /// It ended, or was ended, without an answer.
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
    /// Starts a worker: this program under the name that its `main` gives to [`crate::inside::enter_worker`]. It ends with the
    /// thread that started it.
    ///
    /// # Errors
    /// What the system says.
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

    /// Gives it its job, and waits until it has ended. When this returns no process can write to `staged` any more.
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

    /// Waits until there is an answer, or the line has ended.
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

    /// Whether it ends by itself, as one that has answered does.
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

    /// Kills it, and waits until it is gone. Gives how it ended.
    fn kill(&mut self) -> Result<WorkerError, WorkerError> {
        let failed = |source| WorkerError::System { doing: "end the worker", source };
        // One whose line has ended is about to be gone by itself, for a reason that counts.
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

/// An absent limit as it is sent.
const NO_LIMIT: u64 = u64::MAX;

fn send_job(line: &UnixStream, job: &Job, files: &[BorrowedFd<'_>]) -> io::Result<()> {
    let Job { work, size, storage_max, size_max, memory_max } = *job;
    let numbers = [
        work,
        size,
        storage_max.unwrap_or(NO_LIMIT),
        size_max.unwrap_or(NO_LIMIT),
        memory_max.unwrap_or(NO_LIMIT),
        0,
    ];
    let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(files)) {
        return Err(io::Error::other("too many files"));
    }
    match sendmsg(line, &[IoSlice::new(&bytes)], &mut ancillary, SendFlags::NOSIGNAL)? {
        JOB_BYTES => Ok(()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}

/// Receives a job and its files; none where nobody gives one any more.
pub(crate) fn receive_job(line: impl AsFd) -> io::Result<Option<(Job, Vec<OwnedFd>)>> {
    let mut bytes = [0; JOB_BYTES];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(FILES_MAX))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::WAITALL;
        match recvmsg(&line, &mut [IoSliceMut::new(&mut bytes)], &mut ancillary, flags) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    let mut files = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            files.extend(rights);
        }
    }
    let (numbers, rest) = bytes.as_chunks::<8>();
    let numbers: Vec<u64> = numbers.iter().map(|number| u64::from_le_bytes(*number)).collect();
    let &[work, size, storage, size_max, memory, _] = numbers.as_slice() else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    if received.bytes != JOB_BYTES || !rest.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let limit = |number: u64| (number != NO_LIMIT).then_some(number);
    let job = Job {
        work,
        size,
        storage_max: limit(storage),
        size_max: limit(size_max),
        memory_max: limit(memory),
    };
    Ok(Some((job, files)))
}

impl Answer {
    /// The bytes of it: a kind, an error, and what was computed.
    pub(crate) fn to_bytes(self) -> [u8; ANSWER_BYTES] {
        let (kind, error, computed) = match self {
            Self::Done(computed) => (1u32, 0, computed),
            Self::OverStorage => (2, 0, [0; 32]),
            Self::OverMemory => (3, 0, [0; 32]),
            Self::Failed(error) => (4, error, [0; 32]),
        };
        let mut bytes = [0; ANSWER_BYTES];
        let parts = kind.to_le_bytes().into_iter().chain(error.to_le_bytes()).chain(computed);
        for (to, from) in bytes.iter_mut().zip(parts) {
            *to = from;
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; ANSWER_BYTES]) -> Option<Self> {
        let (kind, rest) = bytes.split_first_chunk::<4>()?;
        let (error, computed) = rest.split_first_chunk::<4>()?;
        let computed: [u8; 32] = computed.try_into().ok()?;
        match u32::from_le_bytes(*kind) {
            1 => Some(Self::Done(computed)),
            2 => Some(Self::OverStorage),
            3 => Some(Self::OverMemory),
            4 => Some(Self::Failed(i32::from_le_bytes(*error))),
            _ => None,
        }
    }
}
