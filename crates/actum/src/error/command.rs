//! Reasons for a command that did not run, or whose changes could not be kept.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::{PathProblem, Quoted};
use actum_gate::CommandLineError;
use actum_sandbox::{LayerError, NoProgram, SpawnError, Unsatisfiable, WaitError};

/// Largest total size of a command's changes, and of the files that it leaves, in bytes. They are held in memory
/// until they are staged.
pub(crate) const CAPTURED_BYTES_MAX: u64 = 1 << 30;
/// Largest total size of a command's changes on the disk, in bytes.
pub(crate) const CAPTURED_ON_DISK_BYTES_MAX: u64 = 16 << 30;

/// Failure to run a command or to capture its changes. The workspace is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The command line cannot be recorded or judged.
    #[error("cannot run the command: {0}; nothing was started")]
    Line(#[from] CommandLineError),
    /// An argument is not UTF-8 text.
    #[error(
        "cannot run the command: its argument `{}` is not UTF-8 text, and could not be recorded; nothing was \
         started",
        Quoted(.0.as_bytes())
    )]
    NoText(OsString),
    /// The program does not exist.
    #[error("cannot find `{}`: {why}; nothing was started", Quoted(name.as_bytes()))]
    NotFound {
        /// Requested name.
        name: String,
        /// Reason for the failed search.
        why: NoProgram,
    },
    /// The host cannot provide the sandbox.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// The command could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// The end of the command could not be determined.
    #[error("{0}; nothing of what it did is kept")]
    Wait(#[from] WaitError),
    /// The changes of the command could not be read.
    #[error("cannot tell what the command changed: {0}; nothing of it is kept")]
    Layer(#[from] LayerError),
    /// The request has checks, and there is no runner for commands.
    #[error("cannot run the checks of the request: nothing was given that runs commands")]
    NoRunner,
    /// The staged change could not be shown to the checks.
    #[error("cannot show the staged change to its checks: {0}")]
    Staged(LayerError),
    /// Something in the workspace is hidden from commands, so a check would miss it.
    #[error(
        "cannot check the change: `{}` is hidden from commands, so a check would not see it",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Unseen(PathBuf),
    /// The caller asked for a stop.
    #[error("it was asked to stop; nothing more was started")]
    Interrupted,
    /// The command created or changed something that no run can.
    #[error("the command did what cannot be kept: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
}

impl CommandError {
    /// Returns true if the message states the outcome of the command, and so the state of the workspace.
    pub fn says_state(&self) -> bool {
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

/// Effect of a command that no run can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", Quoted(path.as_os_str().as_bytes()))]
pub struct Unkept {
    /// Path, relative to the root of the workspace.
    pub path: PathBuf,
    /// Reason why it cannot be kept.
    pub why: WhyUnkept,
}

/// Reason why an effect cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyUnkept {
    /// Task plans (EX-5) and plugins change no links.
    #[error(
        "is a symbolic link that was created, changed or removed, which task plans and plugins may not do"
    )]
    Symlink,
    /// Runs change regular files, links and directories.
    #[error("is a pipe, a socket or a device")]
    Special,
    /// A user who starts the file would act with the rights of another.
    #[error("would run with the rights of its owner or group")]
    SetId,
    /// Task plans (EX-5) and plugins change no permissions of directories.
    #[error(
        "is an existing directory whose permissions changed, which task plans and plugins may not do"
    )]
    DirectoryMode,
    /// A run does not change the root of its workspace.
    #[error("is the root of the workspace, and got other permissions")]
    RootMode,
    /// The path cannot be in a run.
    #[error("cannot be in a run: {0}")]
    Path(PathProblem),
    /// Memory or disk would be full.
    #[error("is too large: what a command leaves in files may be {max} bytes in all")]
    TooLarge {
        /// Largest size of all files together, in bytes.
        max: u64,
    },
    /// The file has changed since the command started.
    #[error("was changed by another process while the command ran")]
    ChangedMeanwhile,
}

/// Most paths that a message names.
const NAMED_MAX: usize = 5;

pub(crate) fn list_unkept(unkept: &[Unkept]) -> String {
    let named = unkept.iter().take(NAMED_MAX).map(ToString::to_string);
    let more = unkept.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
