//! Errors that prevent a command from being started.

use std::io;
use std::path::PathBuf;

use crate::host::Missing;

/// Reason why a command was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The path of the program is not absolute.
    #[error("cannot run `{}`: the path of the program must be absolute; nothing was started", .0.display())]
    Relative(PathBuf),
    /// An argument contains a NUL byte, which execve(2) cannot pass.
    #[error("the command contains a NUL byte; nothing was started")]
    Nul,
    /// The command is empty, so there is no program to run.
    #[error("no command was given; nothing was started")]
    Empty,
    /// The sandbox could not be set up.
    #[error("cannot set up the sandbox: {0}; nothing was started")]
    Sandbox(Missing),
    /// The kernel refused to execute the command.
    #[error("cannot run the command: {missing}; nothing was started")]
    Command {
        /// Step that failed, and the reason.
        missing: Missing,
        /// Error number returned by execve(2).
        errno: Option<i32>,
    },
    /// The helper could not be started, or sent a malformed message.
    #[error("cannot start the sandbox helper: {0}; nothing was started")]
    Helper(#[from] io::Error),
}
