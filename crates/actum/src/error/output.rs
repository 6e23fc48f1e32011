//! Errors from reading or writing the outputs of a task.

use std::io;

use actum_ledger::HomeError;

/// Error from reading or writing an output of a task.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{path}`: {source}")]
pub struct OutputError {
    /// Attempted operation as a verb phrase, such as `read`.
    pub doing: &'static str,
    /// Path of the output, relative to the root of the workspace.
    pub path: String,
    /// Underlying I/O error.
    pub source: io::Error,
}

impl OutputError {
    /// Converts an error from the ledger's home directory, where task notes are stored.
    pub(crate) fn of_home(error: HomeError) -> Self {
        let path = "the home of the ledger".to_owned();
        Self { doing: "write or remove the task notes in", path, source: io::Error::other(error) }
    }
}
