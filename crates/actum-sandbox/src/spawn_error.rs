//! Errors of spawning a command.

use std::io;
use std::path::PathBuf;

use crate::host::Missing;

/// Reason why nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// A command is an absolute path and its arguments.
    #[error("cannot run `{}`: a command is given by its absolute path; nothing was started", .0.display())]
    Relative(PathBuf),
    /// No argument can hold one.
    #[error("the command holds a NUL byte; nothing was started")]
    Nul,
    /// The command is empty.
    #[error("there is no command to run; nothing was started")]
    Empty,
    /// The sandbox could not be made.
    #[error("the sandbox could not be made: {0}; nothing was started")]
    Sandbox(Missing),
    /// The command could not be executed.
    #[error("cannot run the command: {missing}; nothing was started")]
    Command {
        /// Failed step.
        missing: Missing,
        /// Error number of execve(2).
        errno: Option<i32>,
    },
    /// The helper could not be started, or sent a malformed message.
    #[error("cannot start the sandbox helper: {0}; nothing was started")]
    Helper(#[from] io::Error),
}
