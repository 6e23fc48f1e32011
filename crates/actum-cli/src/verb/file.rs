//! `actum file`: the File Executor.

mod restore;
mod run;
mod verify;

use std::path::{Path, PathBuf};

use actum::reason::Reason;
use actum_core::path::Quoted;
use actum_file::{
    BaseDirectories, BaseDirectoriesError, HostError, RecoveryReferenceError, RestoreError,
    ResultProblem,
};
use actum_record::lease::BaseDirectory;

use super::Session;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::policy;

/// Move, copy and delete files under a lease, by a process that owns nothing
#[derive(clap::Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    Run(run::Arguments),
    Verify(verify::Arguments),
    Restore(restore::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, session),
        Command::Verify(arguments) => verify::run(arguments, session),
        Command::Restore(arguments) => restore::run(arguments, session),
    }
}

/// Base directories of the policy in force.
fn base_directories(session: &Session) -> Result<BaseDirectories, Failure> {
    let listed = policy::in_force(&session.start)?.base_directories;
    Ok(BaseDirectories::new(listed.iter().map(String::as_str)).map_err(FileFailure::Bases)?)
}

/// Root of a base directory, as the kernel takes it.
fn root_of(base: &BaseDirectory) -> PathBuf {
    Path::new(base.as_str()).components().collect()
}

/// Failure of `actum file` without a signed result.
#[derive(Debug, thiserror::Error)]
enum FileFailure {
    #[error("`[file] base_directories` cannot be used: {0}")]
    Bases(BaseDirectoriesError),
    #[error(transparent)]
    Host(HostError),
    #[error("{input} is no execution result of this task: {source}")]
    Result { input: String, source: Box<ResultProblem> },
    #[error(transparent)]
    Reference(RecoveryReferenceError),
    #[error("cannot restore `{}`: {source}", Quoted(reference.as_bytes()))]
    Restore { reference: String, source: RestoreError },
}

/// The reason of a permanent name.
fn named(name: &str, otherwise: Reason) -> Reason {
    Reason::ALL.iter().find(|reason| reason.name() == name).copied().unwrap_or(otherwise)
}

impl FailureKind for FileFailure {
    fn reason(&self) -> Reason {
        match self {
            Self::Bases(_) => Reason::PolicyInvalid,
            Self::Host(HostError::Engine(error)) => actum::reason::of_engine(error),
            Self::Host(HostError::Open(cause)) => named(cause.reason(), Reason::OutcomeUnknown),
            Self::Host(HostError::Log(error)) => actum::reason::of_ledger(error),
            Self::Host(HostError::Sign(_)) => Reason::KeyUnusable,
            Self::Host(HostError::Stored(_)) => Reason::LedgerDamaged,
            Self::Result { source, .. } => named(source.reason(), Reason::ResultInvalid),
            Self::Reference(_) | Self::Restore { source: RestoreError::Unknown, .. } => {
                Reason::RecoveryReferenceInvalid
            }
            Self::Restore { source: RestoreError::Engine(error), .. } => {
                actum::reason::of_engine(error)
            }
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Host(HostError::Engine(error))
            | Self::Restore { source: RestoreError::Engine(error), .. } => Exit::of(error),
            // The change may be made; the next request settles it.
            Self::Host(
                HostError::Open(_) | HostError::Log(_) | HostError::Sign(_) | HostError::Stored(_),
            ) => Exit::NeedsAttention,
            Self::Bases(_)
            | Self::Result { .. }
            | Self::Reference(_)
            | Self::Restore { source: RestoreError::Unknown, .. } => Exit::Refused,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Bases(_) => "list absolute paths of directories in the operator's policy",
            Self::Host(_) => "ask for the same task again: that settles it, and gives its result",
            Self::Result { .. } => "`actum file run` of the same manifest gives the stored result",
            Self::Reference(_) | Self::Restore { .. } => {
                "use `undo_metadata.recovery` of the result of the deletion as it is"
            }
        };
        vec![hint.to_owned()]
    }

    fn state(&self) -> Option<String> {
        match self {
            Self::Host(HostError::Engine(error)) => Some(error.workspace().to_string()),
            Self::Host(
                HostError::Open(_) | HostError::Log(_) | HostError::Sign(_) | HostError::Stored(_),
            ) => None,
            Self::Bases(_) | Self::Result { .. } | Self::Reference(_) | Self::Restore { .. } => {
                Some(actum_workspace::State::Unchanged.to_string())
            }
        }
    }
}
