//! Quotas of a file task, which limit its worker (FE-12).

use actum_core::Timestamp;
use actum_record::lease::Quotas;

use crate::worker_error::{Quota, WorkerError};

/// Maximum wall-clock time of a file task in milliseconds: 1 hour. A lease can only set a shorter limit.
pub const WALL_MS_DEFAULT: u64 = 60 * 60 * 1000;

/// Limits that a worker must observe.
pub struct Bounds<'b> {
    /// Quotas of the lease.
    pub quotas: Quotas,
    /// Time by which the task must be finished.
    pub deadline: Timestamp,
    /// Clock of the host.
    pub now: &'b dyn Fn() -> Timestamp,
    /// Returns whether cancellation has been requested.
    pub is_cancelled: &'b dyn Fn() -> bool,
}

impl Bounds<'_> {
    /// Computes the deadline of a task that was requested at `from`.
    pub fn deadline(quotas: &Quotas, from: Timestamp) -> Timestamp {
        let wall = quotas.wall_ms.unwrap_or(WALL_MS_DEFAULT).min(WALL_MS_DEFAULT);
        let micros = i64::try_from(wall.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp::from_micros(from.micros().saturating_add(micros))
    }

    /// Checks that the task is not cancelled and has not passed its deadline.
    ///
    /// # Errors
    /// Returns `Cancelled`, or `Exceeded` if the deadline has passed.
    pub fn check(&self) -> Result<(), WorkerError> {
        if (self.is_cancelled)() {
            return Err(WorkerError::Cancelled);
        }
        match (self.now)() > self.deadline {
            true => Err(WorkerError::Exceeded { quota: Quota::Wall }),
            false => Ok(()),
        }
    }

    /// Checks the number of bytes that the task reads and writes.
    ///
    /// # Errors
    /// Returns `Exceeded` if the number is above the quota.
    pub fn check_storage(&self, bytes: u64) -> Result<(), WorkerError> {
        within(self.quotas.storage_bytes, bytes, Quota::Storage)
    }

    /// Checks the size of the file that the task changes.
    ///
    /// # Errors
    /// Returns `Exceeded` if the size is above the quota.
    pub fn check_space(&self, bytes: u64) -> Result<(), WorkerError> {
        within(self.quotas.space_bytes, bytes, Quota::Space)
    }

    /// Checks the number of files that the task changes.
    ///
    /// # Errors
    /// Returns `Exceeded` if the number is above the quota.
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
