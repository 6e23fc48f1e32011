//! Handles the events before and after an edit by a client.

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

/// Context in which a client calls a hook.
pub struct Caller<'a> {
    /// Client that calls the hook.
    pub client: Client,
    /// Root of the workspace, with all symbolic links resolved.
    pub root: &'a Path,
    /// Actor to whom the runs are attributed.
    pub actor: Actor,
    /// Home directory of the user, to which some clients expand `~`.
    pub home: Option<&'a Path>,
    /// Returns true for a file outside of the workspace that no agent may edit, such as a key or a client's
    /// settings.
    pub is_closed: &'a dyn Fn(&Path) -> bool,
}

/// Result of handling the event before an edit.
#[derive(Debug)]
pub enum Before {
    /// actum does not object to the edit, so the client may continue.
    Free,
    /// An approver had already approved this change, so actum applied it itself in the given run.
    Made(RunId),
    /// The files of the edit cannot be determined, so the edit must not be made.
    Unreadable(EditError),
    /// The edit would change this file outside of the workspace, which no agent may edit.
    Closed(PathBuf),
}

/// Result of handling the event after an edit.
#[derive(Debug)]
pub enum After {
    /// The edit changed no file in the workspace.
    Unchanged,
    /// The change was adopted as a run.
    Adopted(Box<Done>),
    /// The edit was not recorded as a run, because the previous content of these files is unknown.
    Unknown(Vec<PathBuf>),
    /// The gates refused the change, and a second run undid it.
    TakenBack {
        /// Reason why the gates refused the change.
        refused: Box<Error>,
        /// Run that undid the change.
        run: RunId,
    },
    /// The gates refused the change, but it could not be undone and is still in the workspace.
    UndoFailed {
        /// Reason why the gates refused the change.
        refused: Box<Error>,
        /// Reason why the change could not be undone.
        error: Box<Error>,
    },
}

/// Maximum number of attempts to adopt or undo a change if its files change concurrently.
const ATTEMPTS_MAX: usize = 3;

/// Evaluates the gates for an edit that a client is about to make, and takes a snapshot of the files. If the
/// gates allow the edit, the client makes it without further questions.
///
/// # Errors
/// Returns the errors of [`Engine::run`]. The edit must not be made.
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
            // If the edit does not apply to the files, the client's tool reports that itself.
            Err(Stop::Refused(_)) => {}
        }
    }
    let request = request_of(Request::adopt(id), caller, &label);
    engine.take_snapshot(id, &inside, request)?;
    Ok(Before::Free)
}

/// Adopts a client's change as a run, or undoes it if the gates refuse it.
///
/// # Errors
/// Returns the errors of [`Engine::run`], except refusals by the gates. The change is then still in the
/// workspace, but it is not recorded as a run.
pub fn after(engine: &mut Engine, caller: &Caller<'_>, event: &Event) -> Result<After, Error> {
    let (id, label) = (event.snapshot(caller.client), label(caller, event));
    // The snapshot determines the files of the call, because the paths may resolve differently by now.
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

/// Returns the files of an event's edit, with all symbolic links resolved.
///
/// # Errors
/// Returns [`EditError`] if the files cannot be determined for certain.
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

/// Returns the label that describes the edit in the log.
fn label(caller: &Caller<'_>, event: &Event) -> String {
    format!("{} by {}", event.tool, caller.client.name())
}

fn request_of(request: Request, caller: &Caller<'_>, label: &str) -> Request {
    let request = request.labelled(label).asked_by(caller.actor.clone());
    Request { entry_point: EntryPoint::ClientHook, wait: true, ..request }
}

/// Undoes a change that the gates refused, and retries if its files change concurrently.
fn restore(
    engine: &mut Engine,
    caller: &Caller<'_>,
    (id, label): (SnapshotId, &str),
    (plan, found, refused): (RunId, BTreeMap<RelPath, Option<Digest>>, Error),
) -> After {
    let label = format!("undo the refused {label}");
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
            Err(error) => return After::UndoFailed { refused, error: Box::new(error) },
        }
    }
}

/// Returns true if the edit does not apply to the files. The client's tool detects such an error as well.
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

/// Returns true if the change itself was refused, so that it has to be undone.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Denied { .. }
            | Error::ApprovalRequired { .. }
            | Error::RepositoryWithin { .. }
            | Error::WorkspaceWithin { .. }
    )
}

/// Observer that takes a snapshot of the files and stops the run once the gates allow it, so that the client
/// makes the edit. A run that an approver approved continues.
struct TakeSnapshot {
    id: SnapshotId,
}

/// Reason why a run was stopped before it was published.
enum Stop {
    /// The gates allow the edit, and a snapshot was taken.
    Kept,
    /// The run failed or was refused.
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

/// Observer that records the run id of a staged change and its files, which are needed to undo the change if the
/// gates refuse it.
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
