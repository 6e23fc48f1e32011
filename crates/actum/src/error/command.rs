//! Why a command did not run, or its changes could not be kept.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use actum_core::path::{PathProblem, Quoted};
use actum_gate::CommandLineError;
use actum_sandbox::{LayerError, NoProgram, SpawnError, Unsatisfiable, WaitError};

/// The most bytes that the changes of a command may take, and the files that it leaves taken together. They are held
/// in memory until they are staged.
pub(crate) const CAPTURED_BYTES_MAX: u64 = 1 << 30;
/// The same limit for changes on the disk.
pub(crate) const CAPTURED_ON_DISK_BYTES_MAX: u64 = 16 << 30;

/// Failure to run a command or to capture its changes. The workspace is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It cannot be recorded or judged as it is.
    #[error("cannot run the command: {0}; nothing was started")]
    Line(#[from] CommandLineError),
    /// An argument that is no text.
    #[error(
        "cannot run the command: its argument `{}` is no UTF-8 text, and could not be recorded; nothing was \
         started",
        Quoted(.0.as_bytes())
    )]
    NoText(OsString),
    /// There is no such program.
    #[error("cannot find `{}`: {why}; nothing was started", Quoted(name.as_bytes()))]
    NotFound {
        /// As it was asked for.
        name: String,
        /// Why not.
        why: NoProgram,
    },
    /// The host cannot hold the sandbox.
    #[error(transparent)]
    Unsatisfiable(#[from] Unsatisfiable),
    /// It could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Its end could not be told.
    #[error("{0}; nothing of what it did is kept")]
    Wait(#[from] WaitError),
    /// What it changed could not be read.
    #[error("cannot tell what the command changed: {0}; nothing of it is kept")]
    Layer(#[from] LayerError),
    /// Nobody said how to run the checks of a request.
    #[error("cannot run the checks of the request: nothing was given that runs commands")]
    NoRunner,
    /// What is staged could not be shown to the checks.
    #[error("cannot show the staged change to its checks: {0}")]
    Staged(LayerError),
    /// Something in the workspace is hidden from commands, so a check would pass on what it does not see.
    #[error(
        "cannot check the change: `{}` is hidden from commands, so a check would not see it",
        Quoted(.0.as_os_str().as_bytes())
    )]
    Unseen(PathBuf),
    /// Whoever asked for it wants it to stop.
    #[error("it was asked to stop; nothing more was started")]
    Interrupted,
    /// It made or changed what no run can.
    #[error("the command did what cannot be kept: {}", list_unkept(.0))]
    Unkept(Vec<Unkept>),
}

impl CommandError {
    /// Whether the message says what became of the command, and so of the workspace.
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

/// Something that a command did, and no run can.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` {why}", Quoted(path.as_os_str().as_bytes()))]
pub struct Unkept {
    /// Where, relative to the root of the workspace.
    pub path: PathBuf,
    /// What it is.
    pub why: WhyUnkept,
}

/// Why something cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WhyUnkept {
    /// Task plans (EX-5) and plugins change no links.
    #[error(
        "is a symbolic link that was made, changed or removed, which no task plan and no plugin may"
    )]
    Symlink,
    /// Runs change regular files, links and directories.
    #[error("is a pipe, a socket or a device")]
    Special,
    /// Who starts the file would act for somebody else.
    #[error("would run with the rights of its owner or group")]
    SetId,
    /// Task plans (EX-5) and plugins change no permissions of directories.
    #[error(
        "is a directory that was there, and got other permissions, which no task plan and no plugin may give"
    )]
    DirectoryMode,
    /// A run does not change the root of its workspace.
    #[error("is the root of the workspace, and got other permissions")]
    RootMode,
    /// No run speaks of it.
    #[error("cannot be in a run: {0}")]
    Path(PathProblem),
    /// Memory or disk would be full.
    #[error("is too large: what a command leaves in files may be {max} bytes in all")]
    TooLarge {
        /// Largest size of all files together, in bytes.
        max: u64,
    },
    /// The command worked on something else than what is there now.
    #[error("was changed by another process while the command ran")]
    ChangedMeanwhile,
}

/// How many paths a message names.
const NAMED_MAX: usize = 5;

pub(crate) fn list_unkept(unkept: &[Unkept]) -> String {
    let named = unkept.iter().take(NAMED_MAX).map(ToString::to_string);
    let more = unkept.len().saturating_sub(NAMED_MAX);
    let more = (more > 0).then(|| format!("and {more} more"));
    named.chain(more).collect::<Vec<_>>().join("; ")
}
