//! Quotas of a task, and their limits on the worker (FE-12).

use actum_core::Timestamp;
use actum_record::lease::Quotas;

use crate::worker_error::{Quota, WorkerError};

/// Longest time of a task whose lease does not limit it, in milliseconds: an hour.
pub const WALL_MS_DEFAULT: u64 = 60 * 60 * 1000;

/// Limits on a worker.
pub struct Bounds<'b> {
    /// Quotas of the lease.
    pub quotas: Quotas,
    /// Time by which the task has to be done.
    pub deadline: Timestamp,
    /// Clock of the host.
    pub now: &'b dyn Fn() -> Timestamp,
    /// Returns true once cancellation is requested.
    pub is_cancelled: &'b dyn Fn() -> bool,
}

impl Bounds<'_> {
    /// Computes the deadline of a task that was requested at `from`.
    pub fn deadline(quotas: &Quotas, from: Timestamp) -> Timestamp {
        let wall = quotas.wall_ms.unwrap_or(WALL_MS_DEFAULT).min(WALL_MS_DEFAULT);
        let micros = i64::try_from(wall.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp::from_micros(from.micros().saturating_add(micros))
    }

    /// Checks that the task may continue.
    ///
    /// # Errors
    /// `Cancelled`; `Exceeded` for the time.
    pub fn check(&self) -> Result<(), WorkerError> {
        if (self.is_cancelled)() {
            return Err(WorkerError::Cancelled);
        }
        match (self.now)() > self.deadline {
            true => Err(WorkerError::Exceeded { quota: Quota::Wall }),
            false => Ok(()),
        }
    }

    /// Checks the number of bytes that were read and written.
    ///
    /// # Errors
    /// `Exceeded`
    pub fn check_storage(&self, bytes: u64) -> Result<(), WorkerError> {
        within(self.quotas.storage_bytes, bytes, Quota::Storage)
    }

    /// Checks the size of the file that the task changes.
    ///
    /// # Errors
    /// `Exceeded`
    pub fn check_space(&self, bytes: u64) -> Result<(), WorkerError> {
        within(self.quotas.space_bytes, bytes, Quota::Space)
    }

    /// Checks the number of files that the task changes.
    ///
    /// # Errors
    /// `Exceeded`
    pub fn check_files(&self, files: u64) -> Result<(), WorkerError> {
        within(self.quotas.files, files, Quota::Files)
    }
}

fn within(max: Option<u64>, used: u64, quota: Quota) -> Result<(), WorkerError> {
    match max {
        Some(max) if used > max => Err(WorkerError::Exceeded { quota }),
        Some(_) | None => Ok(()),
    }
}
