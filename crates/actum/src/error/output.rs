//! Why outputs of a task could not be read or written.

use std::io;

use actum_ledger::HomeError;

/// What a task leaves behind could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {doing} `{path}`: {source}")]
pub struct OutputError {
    /// What was attempted.
    pub doing: &'static str,
    /// The path, from the root of the workspace.
    pub path: String,
    /// What the system says.
    pub source: io::Error,
}

impl OutputError {
    /// What is noted of a task in the home of the ledger.
    pub(crate) fn of_home(error: HomeError) -> Self {
        let path = "the home of the ledger".to_owned();
        Self { doing: "keep or end the notes on a task in", path, source: io::Error::other(error) }
    }
}
