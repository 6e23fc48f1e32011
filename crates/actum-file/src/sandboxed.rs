//! Byte worker that runs as a sandboxed process (FE-1, FE-16), and the jobs that this process carries out.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use actum_core::{Digest, Hasher};
use actum_sandbox::inside::{Files, enter_worker};
use actum_sandbox::worker::{Answer, Job, Worker, WorkerError as Ended};
use actum_sandbox::{Helper, Stop};
use actum_workspace::LinuxDisk;
use actum_workspace::disk::Disk;

use crate::quota::Bounds;
use crate::worker::ByteWorker;
use crate::worker_error::{Quota, WorkerError};

/// Name that marks a process of this program as a byte worker.
const NAME: &str = "actum-file-worker";
/// Job number for copying the source to the staged file.
const COPY: u64 = 1;
/// Job number for computing the SHA-256 of the source.
const HASH: u64 = 2;

/// Runs the byte worker if this process was started as one, and never returns in that case.
///
/// A program that uses [`Sandboxed`] must call this function first in `main`.
pub fn enter() {
    enter_worker(NAME, work);
}

/// Byte worker that starts a separate sandboxed process for each job. The process runs this program or another one
/// whose `main` calls [`enter`] first.
pub struct Sandboxed {
    helper: Helper,
    stop: Option<Stop>,
    /// Process that was started ahead of the first job, until that job takes it.
    ready: Option<Worker>,
}

impl Sandboxed {
    /// Creates the worker and starts its first process early, so that the process becomes ready while the host opens
    /// its ledger. The process is killed when the calling thread exits.
    pub fn new(helper: Helper, stop: Option<Stop>) -> Self {
        // If this start fails, the first job starts the process again and reports the error of that attempt.
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
        let stat = LinuxDisk.stat(source).map_err(|error| system("read the file size", error))?;
        let job = Job {
            work,
            size: stat.size,
            storage_max: bounds.quotas.storage_bytes,
            size_max: bounds.quotas.space_bytes,
            memory_max: bounds.quotas.memory_bytes,
        };
        let worker = match self.ready.take() {
            Some(ready) => ready,
            None => Worker::start(&self.helper, NAME)
                .map_err(|error| system("start the worker process", error))?,
        };
        let left = bounds.deadline.micros().saturating_sub((bounds.now)().micros());
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        let staged = staged.map(AsFd::as_fd);
        match worker.run(&job, source.as_fd(), staged, left, self.stop.as_ref()) {
            Ok(Answer::Done(computed)) => Ok(computed),
            Ok(Answer::OverStorage) => exceeded(Quota::Storage),
            Ok(Answer::OverMemory) => exceeded(Quota::Memory),
            Ok(Answer::Failed(error)) => {
                Err(system("read or copy the file", std::io::Error::from_raw_os_error(error)))
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

/// Carries out a job inside the worker process, whose sandbox does not allow it to map memory or to open or close
/// descriptors.
fn work(job: &Job, files: &mut Files) -> Answer {
    match job.work {
        COPY => files.copy(job).map_or_else(Answer::from, |()| Answer::Done([0; 32])),
        HASH => {
            let mut hasher = Hasher::new();
            let read = files.read(job, |piece| hasher.update(piece));
            read.map_or_else(Answer::from, |()| Answer::Done(*hasher.finish().as_bytes()))
        }
        _ => Answer::Failed(0),
    }
}
