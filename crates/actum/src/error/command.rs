//! Errors from running a sandboxed command and capturing its changes.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::{PathProblem, Quoted};
use actum_gate::CommandLineError;
use actum_sandbox::{LayerError, NoProgram, SpawnError, Unsatisfiable, WaitError};

/// Maximum total size in bytes of the changes that a command makes and of the files that it leaves behind. The changes
/// are held in memory until they are staged.
pub(crate) const CAPTURED_BYTES_MAX: u64 = 1 << 30;
/// Maximum total size in bytes of a command's changes that are captured on disk instead of in memory.
pub(crate) const CAPTURED_ON_DISK_BYTES_MAX: u64 = 16 << 30;

/// Error from running a command or capturing its changes. The workspace is always unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line is invalid, so it can be neither recorded nor judged by the gates.
    #[error("cannot run the command: {0}; nothing was started")]
    Line(#[from] CommandLineError),
    /// A command-line argument or path is not UTF-8, so it cannot be recorded.
    #[error(
        "cannot run the command: its argument `{}` is not UTF-8, so it cannot be recorded; nothing was started",
        Quoted(.0.as_bytes())
    )]
    NoText(OsString),
    /// The program was not found.
    #[error("cannot find `{}`: {why}; nothing was started", Quoted(name.as_bytes()))]
    NotFound {
        /// Program name as given on the command line.
        name: String,
        /// Reason why the search for the program failed.
        why: NoProgram,
    },
    /// This host cannot provide the required sandbox.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// The sandboxed process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Waiting for the command failed, so its exit status is unknown.
    #[error("{0}; the changes of the command were discarded")]
    Wait(#[from] WaitError),
    /// The changes captured from the command could not be read.
    #[error("cannot determine what the command changed: {0}; its changes were discarded")]
    Layer(#[from] LayerError),
    /// The request has checks, but the caller provided no runner for commands.
    #[error("cannot run the checks of the request: no command runner was provided")]
    NoRunner,
    /// The view of the staged change, which the checks run on, could not be created.
    #[error("cannot create a view of the staged change for its checks: {0}")]
    Staged(LayerError),
    /// The sandbox hides a workspace path from commands, so a check of the change would be incomplete.
    #[error(
        "cannot check the change: `{}` is hidden from commands, so a check would not see it",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Unseen(PathBuf),
    /// The caller requested a stop while the command was running.
    #[error("stopped on request; no further command was started")]
    Interrupted,
    /// The command made changes that cannot be part of a run, such as creating a socket.
    #[error("cannot keep the changes of the command: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
}

impl CommandError {
    /// Returns true if the message already states the outcome, so that the caller need not add the state of the workspace.
    pub fn includes_state(&self) -> bool {
        match self {
            Self::Line(_)
            | Self::NoText(_)
            | Self::NotFound { .. }
            | Self::Unsatisfiable(_)
            | Self::Spawn(_)
            | Self::Wait(_)
            | Self::Interrupted => true,
            Self::Layer(_)
            | Self::NoRunner
            | Self::Staged(_)
            | Self::Unseen(_)
            | Self::Unkept(_) => false,
        }
    }
}

/// Change made by a command that cannot be part of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", Quoted(path.as_os_str().as_bytes()))]
pub struct Unkept {
    /// Path of the change, relative to the root of the workspace.
    pub path: PathBuf,
    /// Reason why the change cannot be kept.
    pub why: WhyUnkept,
}

/// Reason why a change made by a command cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyUnkept {
    /// A symbolic link was changed, which is not allowed for task plans (EX-5) and plugins.
    #[error(
        "is a symbolic link that was created, changed or removed; task plans and plugins cannot change links"
    )]
    Symlink,
    /// The path is a special file. A run can change only regular files, symbolic links and directories.
    #[error("is a pipe, a socket or a device")]
    Special,
    /// The file has the set-user-ID or set-group-ID bit, so it would run with the rights of its owner or group.
    #[error(
        "has the set-user-ID or set-group-ID bit, so it would run with the rights of its owner or group"
    )]
    SetId,
    /// The permissions of an existing directory changed, which is not allowed for task plans (EX-5) and plugins.
    #[error(
        "is an existing directory whose permissions changed; task plans and plugins cannot change them"
    )]
    DirectoryMode,
    /// The command changed the permissions of the workspace root, which a run cannot do.
    #[error("is the root of the workspace, whose permissions changed")]
    RootMode,
    /// The path is not allowed in a run.
    #[error("cannot be part of a run: {0}")]
    Path(PathProblem),
    /// The command left more data than actum captures, which could fill the memory or the disk.
    #[error("is too large: a command may leave at most {max} bytes in files")]
    TooLarge {
        /// Maximum total size of the files, in bytes.
        max: u64,
    },
    /// Another process changed the file after the command started.
    #[error("was changed by another process while the command ran")]
    ChangedMeanwhile,
}

/// Maximum number of paths listed in an error message.
const NAMED_MAX: usize = 5;

pub(crate) fn list_unkept(unkept: &[Unkept]) -> String {
    let named = unkept.iter().take(NAMED_MAX).map(ToString::to_string);
    let more = unkept.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
