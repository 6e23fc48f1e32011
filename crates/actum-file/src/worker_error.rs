//! Reasons why a byte worker did not do its work, and the quotas that it can exceed.

use std::fmt;
use std::io;

/// Reason why a worker did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum WorkerError {
    /// The worker exceeded a quota, and was ended.
    #[error("the task exceeded its quota of {quota}")]
    Exceeded {
        /// Quota.
        quota: Quota,
    },
    /// Cancellation was asked for, and it was ended.
    #[error("the task was cancelled")]
    Cancelled,
    /// The system failed.
    #[error("cannot {doing}: {source}")]
    System {
        /// Step.
        doing: &'static str,
        /// Error.
        source: io::Error,
    },
    /// The worker ended without an answer, or with an impossible one.
    #[error("the process that reads and writes the bytes failed: {why}")]
    Failed {
        /// Description of the failure.
        why: String,
    },
}

/// Resource that a lease limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Time from the request to the change.
    Wall,
    /// Memory of the worker.
    Memory,
    /// Bytes that the worker reads and writes, together.
    Storage,
    /// Size of the changed file afterwards.
    Space,
    /// Number of changed files.
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
