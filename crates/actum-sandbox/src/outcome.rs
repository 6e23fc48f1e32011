//! Outcome of a sandboxed command: its end, its violations and its resource usage.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::layer::Layer;
use crate::limits::Resource;
use crate::plan::InForce;

/// Outcome of a command that ran in the sandbox.
#[derive(Debug)]
pub struct Outcome {
    /// Exit code or signal of the command, or `None` if the sandbox ended it.
    pub ended: Option<Ended>,
    /// Violations for which the command was ended, or that were found afterwards.
    pub violated: Vec<Violation>,
    /// Resource usage of the command and all processes that it started.
    pub usage: Usage,
    /// Confinement that was in force while the command ran.
    pub in_force: InForce,
    /// Bytes that the command wrote to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Bytes that the command wrote to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Captured changes, if the command ran on a [`crate::View`].
    pub captured: Option<Layer>,
}

/// Way in which the command itself ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this code.
    Code(i32),
    /// The command was killed by this signal.
    Signal(i32),
}

/// Violation of the sandbox policy, or another reason why the sandbox ended the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The command exceeded a resource limit.
    #[error("the command exceeded its limit of {0} and was terminated")]
    Limit(Resource),
    /// A process of the command could not be monitored, so all of them were ended.
    #[error(
        "a process could not be monitored, or killed the monitor; all processes were terminated"
    )]
    Unwatched,
    /// The command created a protected path that did not exist before.
    #[error("the command created the protected path `{}`", .0.display())]
    Made(PathBuf),
    /// The caller requested the command to be stopped.
    #[error("the command was interrupted and terminated")]
    Interrupted,
}

/// Resource usage of a command and all processes that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Elapsed time from the start of the command to its end, in milliseconds.
    pub wall: u64,
    /// CPU time, in milliseconds. Without a control group, processes whose parent ignores `SIGCHLD` count
    /// only up to the last time they were polled.
    pub cpu: u64,
    /// Highest memory usage that was measured, in bytes. Shared pages count once for each process, unless
    /// the total exceeded the limit and was measured again.
    pub memory: u64,
    /// Bytes read from storage, not counting reads from the page cache.
    pub storage_read: u64,
    /// Bytes written to storage.
    pub storage_write: u64,
    /// Highest number of processes and threads that was measured.
    pub processes: u64,
    /// Total bytes written to standard output and standard error.
    pub output: u64,
}
