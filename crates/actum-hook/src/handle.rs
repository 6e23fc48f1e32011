//! Actions of a hook before and after an edit.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use actum::{Cleared, Done, Engine, EntryPoint, Error, Observer, Request, Staged};
use actum_core::{Digest, RelPath, RunId};
use actum_record::ledger::Actor;
use actum_workspace::disk::Disk;
use actum_workspace::{ErrorKind, ExistingFiles, Limits, SnapshotId};

use crate::client::Client;
use crate::edit::{EditError, Located, PathReader};
use crate::event::Event;

/// Caller of a hook, and its place.
pub struct Caller<'a> {
    /// The client.
    pub client: Client,
    /// Root of the workspace, without links.
    pub root: &'a Path,
    /// Actor of the runs.
    pub actor: Actor,
    /// Home of the user, for which some clients take `~`.
    pub home: Option<&'a Path>,
    /// Returns true if no edit of an agent may change a file outside of the workspace, such as one
    /// of keys or of settings of clients.
    pub is_closed: &'a dyn Fn(&Path) -> bool,
}

/// Result of an event before an edit.
#[derive(Debug)]
pub enum Before {
    /// The client may continue as far as actum is concerned.
    Free,
    /// The user agreed to this change before, so actum made it itself, as this run.
    Made(RunId),
    /// The files of the edit cannot be determined.
    Unreadable(EditError),
    /// A file outside of the workspace that no edit leads to.
    Closed(PathBuf),
}

/// Result of an event after an edit.
#[derive(Debug)]
pub enum After {
    /// The edit changed no file of the workspace.
    Unchanged,
    /// The change is a run.
    Adopted(Box<Done>),
    /// The former content of these files is not known, so the edit is no run.
    Unknown(Vec<PathBuf>),
    /// The gates refused the change, and a run undid it.
    TakenBack {
        /// Reason of the refusal.
        refused: Box<Error>,
        /// The run that took it back.
        run: RunId,
    },
    /// The gates refused the change, and it could not be undone.
    Stands {
        /// Reason of the refusal.
        refused: Box<Error>,
        /// Reason why it could not be undone.
        error: Box<Error>,
    },
}

/// Number of adoptions that are tried if a file changes meanwhile.
const ATTEMPTS_MAX: usize = 3;

/// Judges the edit that a client is about to make, and keeps what its files hold. The client is
/// asked nothing if the gates allow the edit.
///
/// # Errors
/// Those of [`Engine::run`]: the edit must not be made.
pub fn before(engine: &mut Engine, caller: &Caller<'_>, event: &Event) -> Result<Before, Error> {
    let Located { inside, outside, operations } = match locate(caller, event) {
        Ok(located) => located,
        Err(error) => return Ok(Before::Unreadable(error)),
    };
    if let Some(closed) = outside.into_iter().find(|path| (caller.is_closed)(path)) {
        return Ok(Before::Closed(closed));
    }
    if inside.is_empty() {
        return Ok(Before::Free);
    }
    let (id, label) = (event.snapshot(caller.client), label(caller, event));
    if let Some(operations) = operations {
        let limits = Limits { existing_files: ExistingFiles::Replace, ..Limits::default() };
        let request = Request::apply(operations).within(limits);
        let request = request_of(request, caller, &label);
        match engine.run_with(request, &mut TakeSnapshot { id }) {
            Ok(done) => return Ok(Before::Made(done.run())),
            Err(Stop::Kept) => return Ok(Before::Free),
            Err(Stop::Refused(error)) if matches!(*error, Error::NothingToChange) => {
                return Ok(Before::Free);
            }
            Err(Stop::Refused(error)) if !is_unfit(&error) => return Err(*error),
            // The tool of the client decides about an edit that does not fit.
            Err(Stop::Refused(_)) => {}
        }
    }
    let request = request_of(Request::adopt(id), caller, &label);
    engine.take_snapshot(id, &inside, request)?;
    Ok(Before::Free)
}

/// Makes a run of a client's change, or undoes it if the gates refuse it.
///
/// # Errors
/// Those of [`Engine::run`] except for a refusal by the gates: the change stands, and it is no run.
pub fn after(engine: &mut Engine, caller: &Caller<'_>, event: &Event) -> Result<After, Error> {
    let (id, label) = (event.snapshot(caller.client), label(caller, event));
    // The snapshot has the files of the call, wherever its paths lead by now.
    let Some(snapshot) = engine.workspace().snapshot(id)? else {
        let inside = locate(caller, event).map_or(Vec::new(), |located| located.inside);
        let path = |path: &RelPath| caller.root.join(OsStr::from_bytes(path.as_bytes()));
        return Ok(match inside.is_empty() {
            true => After::Unchanged,
            false => After::Unknown(inside.iter().map(path).collect()),
        });
    };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let mut request = request_of(Request::adopt(id), caller, &label);
        request.key = event.key(snapshot);
        let mut plan = NotePlan::default();
        let error = match engine.run_with(request, &mut plan) {
            Ok(done) => return Ok(After::Adopted(Box::new(done))),
            Err(error) => error,
        };
        if matches!(error, Error::NothingToChange) {
            engine.workspace_mut().drop_snapshot(id)?;
            return Ok(After::Unchanged);
        }
        if let Error::Workspace(problem) = &error
            && matches!(problem.kind, ErrorKind::Conflict { .. })
            && attempts < ATTEMPTS_MAX
        {
            continue;
        }
        return match plan.plan {
            Some(run) if is_refusal(&error) => {
                Ok(restore(engine, caller, (id, &label), (run, plan.files, error)))
            }
            Some(_) | None => Err(error),
        };
    }
}

fn locate(caller: &Caller<'_>, event: &Event) -> Result<Located, EditError> {
    match &event.edit {
        Some(edit) => edit.locate(caller.root, &reader(caller.client, event, caller.home)),
        None => Ok(Located::default()),
    }
}

/// Files of the edit, without links.
///
/// # Errors
/// [`EditError`].
pub fn files(
    client: Client,
    event: &Event,
    home: Option<&Path>,
) -> Result<Vec<PathBuf>, EditError> {
    let reader = reader(client, event, home);
    event.edit.as_ref().map_or(Ok(Vec::new()), |edit| edit.files(&reader))
}

fn reader<'a>(client: Client, event: &'a Event, home: Option<&'a Path>) -> PathReader<'a> {
    PathReader { client, directory: &event.directory, home }
}

/// Line for the log.
fn label(caller: &Caller<'_>, event: &Event) -> String {
    format!("{} by {}", event.tool, caller.client.name())
}

fn request_of(request: Request, caller: &Caller<'_>, label: &str) -> Request {
    let request = request.labelled(label).asked_by(caller.actor.clone());
    Request { door: EntryPoint::ClientHook, wait: true, ..request }
}

/// Undoes a change that the gates refused.
fn restore(
    engine: &mut Engine,
    caller: &Caller<'_>,
    (id, label): (SnapshotId, &str),
    (plan, found, refused): (RunId, BTreeMap<RelPath, Option<Digest>>, Error),
) -> After {
    let label = format!("take back the refused {label}");
    let request = request_of(Request::restore(id, plan, found), caller, &label);
    let refused = Box::new(refused);
    let mut attempts = 1;
    loop {
        match engine.run(request.clone()) {
            Ok(done) => return After::TakenBack { refused, run: done.run() },
            Err(Error::Workspace(problem))
                if matches!(problem.kind, ErrorKind::Conflict { .. })
                    && attempts < ATTEMPTS_MAX =>
            {
                attempts += 1;
            }
            Err(error) => return After::Stands { refused, error: Box::new(error) },
        }
    }
}

/// Returns true if the edit does not fit the files, which the tool finds as well.
fn is_unfit(error: &Error) -> bool {
    let Error::Workspace(problem) = error else { return false };
    matches!(
        problem.kind,
        ErrorKind::Hunk { .. }
            | ErrorKind::Edit { .. }
            | ErrorKind::TooLargeToSearch { .. }
            | ErrorKind::Expected { .. }
            | ErrorKind::Missing { .. }
            | ErrorKind::Exists { .. }
            | ErrorKind::NotAFile { .. }
            | ErrorKind::UnderAFile { .. }
    )
}

/// Returns true if gates or checks refuse the change itself.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Denied { .. }
            | Error::ApprovalRequired { .. }
            | Error::RepositoryWithin { .. }
            | Error::WorkspaceWithin { .. }
    )
}

/// Stops a run once the gates allow it, and keeps what its files hold. An approved change
/// continues.
struct TakeSnapshot {
    id: SnapshotId,
}

/// Reason why a run ended before it was published.
enum Stop {
    /// The gates allow it, and a snapshot is kept.
    Kept,
    Refused(Box<Error>),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Refused(Box::new(error))
    }
}

impl<D: Disk> Observer<D> for TakeSnapshot {
    type Stop = Stop;

    fn cleared(&mut self, cleared: &mut Cleared<'_, D>) -> Result<(), Stop> {
        if cleared.is_approved() {
            return Ok(());
        }
        cleared.take_snapshot(self.id)?;
        Err(Stop::Kept)
    }
}

/// Notes the id that a plan gets when gates refuse it, and the files that they judge.
#[derive(Default)]
struct NotePlan {
    plan: Option<RunId>,
    files: BTreeMap<RelPath, Option<Digest>>,
}

impl<D: Disk> Observer<D> for NotePlan {
    type Stop = Error;

    fn staged(&mut self, staged: &mut Staged<'_, D>) -> Result<(), Error> {
        self.plan = Some(staged.transaction().run());
        self.files = staged.transaction().files_left();
        Ok(())
    }
}
