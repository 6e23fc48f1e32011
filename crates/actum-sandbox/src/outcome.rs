//! Outcome of a command.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::layer::Layer;
use crate::limits::Resource;
use crate::plan::InForce;

/// Outcome of a command.
#[derive(Debug)]
pub struct Outcome {
    /// End of the command by itself; `None` if it was ended.
    pub ended: Option<Ended>,
    /// Violations that ended it, or that were found after its end.
    pub violated: Vec<Violation>,
    /// Usage of resources, with all processes that it started.
    pub usage: Usage,
    /// Confinement that was in force.
    pub in_force: InForce,
    /// Bytes written to standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Bytes written to standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Captured changes, if it ran on a [`crate::View`].
    pub captured: Option<Layer>,
}

/// End of the command itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// The command exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
}

/// Violation of a policy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Violation {
    /// The command exceeded a limit, and was ended.
    #[error("the command exceeded its limit of {0} and was terminated")]
    Limit(Resource),
    /// One of its processes kept itself from being watched, and all were ended.
    #[error(
        "a process could not be monitored, or killed the monitor; all processes were terminated"
    )]
    Unwatched,
    /// The command made a path that was to stay absent.
    #[error("the command created the protected path `{}`", .0.display())]
    Made(PathBuf),
    /// The caller asked for it to stop.
    #[error("the command was interrupted and terminated")]
    Interrupted,
}

/// Resources that a command used, with all processes that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Time from its start to its end, in milliseconds.
    pub wall: u64,
    /// Processor time, in milliseconds. For processes whose parent ignores `SIGCHLD` it is counted
    /// only as far as it was seen while they ran, unless there is a control group.
    pub cpu: u64,
    /// Peak of the observed memory, in bytes. Shared pages count once for each process unless the
    /// sum came near the limit.
    pub memory: u64,
    /// Bytes read from storage, and not out of the page cache.
    pub storage_read: u64,
    /// Bytes written to storage.
    pub storage_write: u64,
    /// Peak of the observed processes and threads.
    pub processes: u64,
    /// Bytes of standard output and standard error.
    pub output: u64,
}
