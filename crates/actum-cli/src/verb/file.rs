//! `actum file`: commands of the File Executor, which moves, copies and deletes files under a lease.

mod release;
mod restore;
mod run;
mod verify;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use actum::reason::Reason;
use actum::{Engine, PolicyFiles, Records};
use actum_core::RunId;
use actum_core::path::Quoted;
use actum_file::{
    BaseDirectories, BaseDirectoriesError, FileTaskEnd, Host, HostError, InProcess, LedgerLog,
    OpenError, PresentedLease, RecoveryError, RecoveryReference, RecoveryReferenceError,
    ResultProblem, Settled, TaskLog, TaskStart, TaskStatus,
};
use actum_record::lease::{BaseDirectory, TaskName};
use actum_workspace::{LinuxDisk, View};

use super::Session;
use crate::exit::Exit;
use crate::failure::{Failure, FailureKind};
use crate::output::Screen;
use crate::{actor, policy, records};

/// Move, copy and delete files under a lease, in a sandboxed process that has no access of its own
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
    Release(release::Arguments),
}

pub(crate) fn run(arguments: &Arguments, session: &Session) -> Result<Exit, Failure> {
    match &arguments.command {
        Command::Run(arguments) => run::run(arguments, session),
        Command::Verify(arguments) => verify::run(arguments, session),
        Command::Restore(arguments) => restore::run(arguments, session),
        Command::Release(arguments) => release::run(arguments, session),
    }
}

/// Returns the base directories that the policy in force lists under `[file]`.
fn base_directories(session: &Session) -> Result<BaseDirectories, Failure> {
    let listed = policy::in_force(&session.start)?.base_directories;
    Ok(BaseDirectories::new(listed.iter().map(String::as_str)).map_err(FileFailure::Bases)?)
}

/// Returns the runs of a workspace that must be kept because recovery references of deleted files point to them. Returns an
/// empty set if the workspace or the user has no ledger.
pub(super) fn pinned_runs(view: &View, session: &Session) -> Result<BTreeSet<RunId>, Failure> {
    let (Some(workspace), (Some(_), _)) =
        (view.workspace_id()?, records::ledger_and_keys(&session.tenant)?)
    else {
        return Ok(BTreeSet::new());
    };
    let records = records::open(&session.tenant)?;
    let pinned = actum_file::pinned_runs(&LedgerLog::new(&records), workspace);
    Ok(pinned.map_err(actum::Error::from)?)
}

/// Parses a recovery reference from the command line.
fn parse_reference(text: &str) -> Result<RecoveryReference, Failure> {
    Ok(text.parse().map_err(FileFailure::Reference)?)
}

/// Returns the root of the base directory from which the file of a recovery reference was deleted.
fn find_base_directory(
    reference: &RecoveryReference,
    session: &Session,
) -> Result<PathBuf, Failure> {
    let records = records::open(&session.tenant)?;
    reference.check(&records).map_err(|source| unusable_reference(reference, source))?;
    let bases = base_directories(session)?;
    let is_named = |root: &PathBuf| {
        let id = View::open(root).and_then(|view| view.workspace_id());
        id.is_ok_and(|id| id == Some(reference.workspace))
    };
    let root = bases.iter().map(root_of).find(is_named);
    root.ok_or_else(|| unusable_reference(reference, RecoveryError::Unknown))
}

fn unusable_reference(reference: &RecoveryReference, source: RecoveryError) -> Failure {
    FileFailure::Recovery { reference: reference.to_string(), source }.into()
}

/// Settles file tasks, in any base directory, whose processes ended before they recorded a result.
pub(super) fn settle(session: &Session, records: &Records) -> Result<Settled, Failure> {
    let log = LedgerLog::new(records);
    if log.open().map_err(actum::Error::from)?.is_empty() {
        return Ok(Settled::default());
    }
    let files = policy::files()?;
    let settled = Host {
        records: records.clone(),
        bases: base_directories(session)?,
        open: &|base| open_base(base, records, &files),
        worker: &mut InProcess(LinuxDisk),
        leases: &PresentedLease::new(records, Ok(None)),
        log: &log,
        actor: actor::from_agent(None),
        is_cancelled: &|| false,
    }
    .recover();
    Ok(settled.map_err(FileFailure::Host)?)
}

/// Prints a note for each file task that was settled after its process ended, and for each one that is still open.
pub(super) fn note_settled_tasks(screen: &Screen, settled: &Settled) {
    for FileTaskEnd { result, .. } in &settled.ends {
        let task = result.task_id.as_ref().map(TaskName::as_str).unwrap_or_default();
        let status = match result.status {
            TaskStatus::Success => "SUCCESS",
            TaskStatus::Failed => "FAILED",
        };
        screen.note(format_args!(
            "the process of file task {task} ended before it recorded the result, which has been recorded now: {status}"
        ));
    }
    for TaskStart { task, .. } in &settled.open {
        let task = task.as_str();
        screen.note(format_args!(
            "file task {task} is still open: it is running, or one of its base directories cannot be used"
        ));
    }
}

/// Opens the engine for a base directory after checking that its location may be used.
fn open_base(
    base: &BaseDirectory,
    records: &Records,
    files: &PolicyFiles,
) -> Result<Engine, OpenError> {
    let root = root_of(base);
    let failed = |failure: Failure| OpenError { message: failure.to_string() };
    let engine = records::checked(&root).map_err(failed)?.engine(records.clone())?;
    Ok(engine.under_files(files.clone(), &root))
}

/// Returns the path of a base directory, without trailing or repeated slashes.
fn root_of(base: &BaseDirectory) -> PathBuf {
    Path::new(base.as_str()).components().collect()
}

/// Failure of an `actum file` command that produced no signed result.
#[derive(Debug, thiserror::Error)]
enum FileFailure {
    #[error("`[file] base_directories` cannot be used: {0}")]
    Bases(BaseDirectoriesError),
    #[error(transparent)]
    Host(HostError),
    #[error("{input} is not a valid execution result for this task: {source}")]
    Result { input: String, source: Box<ResultProblem> },
    #[error(transparent)]
    Reference(RecoveryReferenceError),
    #[error("cannot use the recovery reference `{}`: {source}", Quoted(reference.as_bytes()))]
    Recovery { reference: String, source: RecoveryError },
}

/// Returns the reason with the given permanent name, or `otherwise` if no reason has this name.
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
            Self::Reference(_) | Self::Recovery { source: RecoveryError::Unknown, .. } => {
                Reason::RecoveryReferenceInvalid
            }
            Self::Recovery { source: RecoveryError::Engine(error), .. } => {
                actum::reason::of_engine(error)
            }
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Host(HostError::Engine(error))
            | Self::Recovery { source: RecoveryError::Engine(error), .. } => {
                Exit::from_error(error)
            }
            // The change may have been made. The next request for the task settles it.
            Self::Host(
                HostError::Open(_) | HostError::Log(_) | HostError::Sign(_) | HostError::Stored(_),
            ) => Exit::NeedsAttention,
            Self::Bases(_)
            | Self::Result { .. }
            | Self::Reference(_)
            | Self::Recovery { source: RecoveryError::Unknown, .. } => Exit::Refused,
        }
    }

    fn hints(&self) -> Vec<String> {
        let hint = match self {
            Self::Bases(_) => "list the absolute paths of directories in the operator's policy",
            Self::Host(_) => "request the same task again to settle it and get its result",
            Self::Result { .. } => {
                "run `actum file run` with the same manifest to get the stored result"
            }
            Self::Recovery { source: RecoveryError::Engine(_), .. } => return Vec::new(),
            Self::Reference(_) | Self::Recovery { source: RecoveryError::Unknown, .. } => {
                "copy `undo_metadata.recovery` unchanged from the result of the deletion"
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
            Self::Bases(_) | Self::Result { .. } | Self::Reference(_) | Self::Recovery { .. } => {
                Some(actum_workspace::State::Unchanged.to_string())
            }
        }
    }
}
