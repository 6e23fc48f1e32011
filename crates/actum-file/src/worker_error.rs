//! Errors of a byte worker, and the quotas that a file task can exceed.

use std::fmt;
use std::io;

/// Reason why a byte worker could not finish a job.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The task exceeded a quota, so the worker was stopped.
    #[error("the task exceeded its quota for {quota}")]
    Exceeded {
        /// Quota that was exceeded.
        quota: Quota,
    },
    /// The task was cancelled, so the worker was stopped.
    #[error("the task was cancelled")]
    Cancelled,
    /// A system call failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step that failed, as a verb phrase.
        doing: &'static str,
        /// Error from the operating system.
        source: io::Error,
    },
    /// The worker process exited without a valid answer.
    #[error("the worker process failed: {why}")]
    Failed {
        /// Description of the failure.
        why: String,
    },
}

/// Resource of a file task that a lease limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Wall-clock time from the request to the change.
    Wall,
    /// Memory that the worker uses.
    Memory,
    /// Total number of bytes that the worker reads and writes.
    Storage,
    /// Size of the file after the change.
    Space,
    /// Number of files that the task changes.
    Files,
}

impl fmt::Display for Quota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wall => "time",
            Self::Memory => "memory",
            Self::Storage => "bytes read and written",
            Self::Space => "space",
            Self::Files => "changed files",
        })
    }
}
