//! Byte worker as a sandboxed process (FE-1, FE-16), and the work that it does.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use actum_core::{Digest, Hasher};
use actum_sandbox::inside::{Files, enter_worker};
use actum_sandbox::worker::{Answer, Job, Worker, WorkerError as Ended};
use actum_sandbox::{Helper, Stop};
use actum_workspace::LinuxDisk;
use rustix::fs::{SeekFrom, copy_file_range, ftruncate, ioctl_ficlone, seek};
use rustix::io::{Errno, read, write};

use crate::quota::{Bounds, Quota};
use crate::worker::{ByteWorker, WorkerError};

/// Name under which this program is started as byte worker.
const NAME: &str = "actum-file-worker";
/// Job: copies the source to the staged file.
const COPY: u64 = 1;
/// Job: computes the SHA-256 of the source.
const HASH: u64 = 2;
/// Most bytes that the kernel copies at once, so that no call takes long.
const AT_ONCE: u64 = 64 << 20;

/// Does the work of a byte worker where this program was started as one, and never returns then. A program that uses
/// [`Sandboxed`] calls it first of all in `main`.
pub fn enter() {
    enter_worker(NAME, work);
}

/// Worker in a process of its own, started anew for each job. Its process is this program, or another whose `main` calls
/// [`enter`] first.
pub struct Sandboxed {
    helper: Helper,
    stop: Option<Stop>,
    /// Started ahead of its job.
    ready: Option<Worker>,
}

impl Sandboxed {
    /// Starts the first process, which gets ready while the host opens its ledger. It ends with the thread that calls this.
    pub fn new(helper: Helper, stop: Option<Stop>) -> Self {
        // One that cannot be started is started again, and that error counts.
        let ready = Worker::start(&helper, NAME).ok();
        Self { helper, stop, ready }
    }

    fn run(
        &mut self,
        work: u64,
        source: &OwnedFd,
        staged: Option<&OwnedFd>,
        bounds: &Bounds<'_>,
    ) -> Result<[u8; 32], WorkerError> {
        bounds.check()?;
        let system = |doing, source: std::io::Error| WorkerError::System { doing, source };
        let exceeded = |quota| Err(WorkerError::Exceeded { quota });
        let stat = rustix::fs::fstat(source);
        let size = stat.map_err(|error| system("look at the file", error.into()))?.st_size;
        let job = Job {
            work,
            size: u64::try_from(size).unwrap_or(0),
            storage_max: bounds.quotas.storage_bytes,
            size_max: bounds.quotas.space_bytes,
            memory_max: bounds.quotas.memory_bytes,
        };
        let worker = match self.ready.take() {
            Some(ready) => ready,
            None => Worker::start(&self.helper, NAME)
                .map_err(|error| system("start the process that reads the bytes", error))?,
        };
        let left = bounds.deadline.micros().saturating_sub((bounds.now)().micros());
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let staged = staged.map(AsFd::as_fd);
        match worker.run(&job, source.as_fd(), staged, left, self.stop.as_ref()) {
            Ok(Answer::Done(computed)) => Ok(computed),
            Ok(Answer::OverStorage) => exceeded(Quota::Storage),
            Ok(Answer::OverMemory) => exceeded(Quota::Memory),
            Ok(Answer::Failed(error)) => {
                Err(system("read or write the bytes", std::io::Error::from_raw_os_error(error)))
            }
            Err(Ended::Stopped) => Err(WorkerError::Cancelled),
            Err(Ended::Late) => exceeded(Quota::Wall),
            Err(Ended::OverSize) => exceeded(Quota::Space),
            Err(Ended::System { doing, source }) => Err(system(doing, source)),
            Err(ended @ Ended::Ended { .. }) => Err(WorkerError::Failed { why: ended.to_string() }),
        }
    }
}

impl ByteWorker<LinuxDisk> for Sandboxed {
    fn copy(
        &mut self,
        source: &OwnedFd,
        staged: &OwnedFd,
        bounds: &Bounds<'_>,
    ) -> Result<(), WorkerError> {
        self.run(COPY, source, Some(staged), bounds).map(drop)
    }

    fn hash(&mut self, source: &OwnedFd, bounds: &Bounds<'_>) -> Result<Digest, WorkerError> {
        self.run(HASH, source, None, bounds).map(Digest::from_bytes)
    }
}

/// Bytes that were read and written, and the most of them.
struct Storage {
    used: u64,
    max: u64,
}

/// Reason to stop.
enum Stopped {
    OverStorage,
    Failed(Errno),
}

impl From<Errno> for Stopped {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

impl Storage {
    /// Counts bytes before they are read or written.
    fn take(&mut self, bytes: u64) -> Result<(), Stopped> {
        self.used = self.used.saturating_add(bytes);
        if self.used > self.max { Err(Stopped::OverStorage) } else { Ok(()) }
    }
}

/// Work of the process: no memory is mapped, and no descriptor opened or closed.
fn work(job: &Job, files: &mut Files) -> Answer {
    let mut storage = Storage { used: 0, max: job.storage_max.unwrap_or(u64::MAX) };
    let Files { source, staged, buffer } = files;
    let done = match (job.work, staged) {
        (COPY, Some(staged)) => {
            copy(source, staged, job.size, buffer, &mut storage).map(|()| [0; 32])
        }
        (HASH, None) => hash(source, buffer, &mut storage),
        _ => Err(Stopped::Failed(Errno::INVAL)),
    };
    match done {
        Ok(computed) => Answer::Done(computed),
        Err(Stopped::OverStorage) => Answer::OverStorage,
        Err(Stopped::Failed(error)) => Answer::Failed(error.raw_os_error()),
    }
}

fn hash(source: &OwnedFd, buffer: &mut [u8], storage: &mut Storage) -> Result<[u8; 32], Stopped> {
    let mut hasher = Hasher::new();
    loop {
        let count = read(source, &mut *buffer)?;
        let piece = buffer.get(..count).unwrap_or_default();
        if piece.is_empty() {
            return Ok(*hasher.finish().as_bytes());
        }
        storage.take(u64::try_from(count).unwrap_or(u64::MAX))?;
        hasher.update(piece);
    }
}

/// Copies data and leaves holes: by sharing blocks where the file system can, inside the kernel where it can, else piece by piece.
fn copy(
    source: &OwnedFd,
    staged: &OwnedFd,
    size: u64,
    buffer: &mut [u8],
    storage: &mut Storage,
) -> Result<(), Stopped> {
    let both = size.saturating_mul(2);
    if storage.used.saturating_add(both) <= storage.max && ioctl_ficlone(staged, source).is_ok() {
        return storage.take(both);
    }
    let (mut at, mut in_kernel) = (0, true);
    while at < size {
        let data = match seek(source, SeekFrom::Data(at)) {
            Ok(data) => data.min(size),
            Err(Errno::NXIO) => break, // a hole up to the end
            Err(_) => at,
        };
        let hole = match seek(source, SeekFrom::Hole(data)) {
            Ok(hole) if hole > data => hole.min(size),
            Ok(_) | Err(_) => size,
        };
        seek(source, SeekFrom::Start(data))?;
        seek(staged, SeekFrom::Start(data))?;
        at = data;
        while at < hole {
            let count = piece(source, staged, hole - at, &mut in_kernel, buffer, storage)?;
            if count == 0 {
                return Ok(ftruncate(staged, at)?); // the source became shorter, which the host finds out
            }
            at = at.saturating_add(count);
        }
    }
    Ok(ftruncate(staged, size)?)
}

/// Copies the next piece; gives its size.
fn piece(
    source: &OwnedFd,
    staged: &OwnedFd,
    left: u64,
    in_kernel: &mut bool,
    buffer: &mut [u8],
    storage: &mut Storage,
) -> Result<u64, Stopped> {
    let most = left.min(AT_ONCE).min(storage.max.saturating_sub(storage.used).div_ceil(2).max(1));
    if *in_kernel {
        let length = usize::try_from(most).unwrap_or(usize::MAX);
        match copy_file_range(source, None, staged, None, length) {
            Ok(0) | Err(_) => *in_kernel = false,
            Ok(count) => {
                let count = u64::try_from(count).unwrap_or(u64::MAX);
                storage.take(count.saturating_mul(2))?;
                return Ok(count);
            }
        }
    }
    let length = usize::try_from(most).unwrap_or(usize::MAX).min(buffer.len());
    let count = read(source, buffer.get_mut(..length).unwrap_or_default())?;
    let mut bytes = buffer.get(..count).unwrap_or_default();
    storage.take(u64::try_from(count).unwrap_or(u64::MAX).saturating_mul(2))?;
    while !bytes.is_empty() {
        let written = write(staged, bytes)?;
        bytes = bytes.get(written..).unwrap_or_default();
    }
    Ok(u64::try_from(count).unwrap_or(u64::MAX))
}
