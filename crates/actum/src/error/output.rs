//! Reasons for task outputs that could not be read or written.

use std::io;

use actum_ledger::HomeError;

/// Failure to read or write outputs of a task.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{path}`: {source}")]
pub struct OutputError {
    /// Attempted operation.
    pub doing: &'static str,
    /// Path from the root of the workspace.
    pub path: String,
    /// Error of the system.
    pub source: io::Error,
}

impl OutputError {
    /// Creates the error for task notes in the home of the ledger.
    pub(crate) fn of_home(error: HomeError) -> Self {
        let path = "the home of the ledger".to_owned();
        Self { doing: "keep or end the notes on a task in", path, source: io::Error::other(error) }
    }
}
