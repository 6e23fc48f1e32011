//! How a command ran.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::layer::Layer;
use crate::limits::Resource;
use crate::plan::InForce;

/// How a command ran.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended by itself; `None` where it was ended.
    pub ended: Option<Ended>,
    /// What it was ended for, or what was found after its end.
    pub violated: Vec<Violation>,
    /// What it used, with all processes that it started.
    pub usage: Usage,
    /// What confined it.
    pub in_force: InForce,
    /// What it wrote to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// What it changed, where it ran on a [`crate::View`].
    pub captured: Option<Layer>,
}

/// How the command itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// What a command did that it may not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// It used more than it may, and was ended.
    #[error("the command exceeded its limit of {0} and was terminated")]
    Limit(Resource),
    /// One of its processes kept itself from being watched, and all were ended.
    #[error(
        "a process could not be monitored, or killed the monitor; all processes were terminated"
    )]
    Unwatched,
    /// It made a path that was to stay absent.
    #[error("the command created the protected path `{}`", .0.display())]
    Made(PathBuf),
    /// Whoever ran it wanted it to stop.
    #[error("the command was interrupted and terminated")]
    Interrupted,
}

/// What a command used, with all processes that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Time from its start to its end, in milliseconds.
    pub wall: u64,
    /// Processor time, in milliseconds. Of processes whose parent ignores `SIGCHLD` it is counted only as
    /// far as it was seen while they ran, unless there is a control group.
    pub cpu: u64,
    /// The most memory that was seen, in bytes; shared pages count once for each process unless that
    /// came near the limit.
    pub memory: u64,
    /// Bytes read from storage, and not out of the page cache.
    pub storage_read: u64,
    /// Bytes written to storage.
    pub storage_write: u64,
    /// The most processes and threads that were seen at one time.
    pub processes: u64,
    /// Bytes of standard output and standard error.
    pub output: u64,
}
