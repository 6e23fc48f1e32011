//! Rolls back an executed task, either by reverting its git commit or by restoring its checkpoint (EX-16, EX-17).

mod settle;

use std::collections::BTreeMap;
use std::path::Path;

use actum_core::{Digest, RelPath, RunId, ShellWord, Timestamp};
use actum_git::CommitId;
use actum_ledger::Activity;
use actum_record::ledger::{Actor, WorkspaceId};
use actum_record::receipt::{ExternalEnd, ExternalRun, PathEffect, RollbackFiles};
use actum_task::ErrorCode;
use actum_task::limits::FILE_BYTES_MAX;
use actum_task::report::{
    EXECUTION_REPORT_FILE, ExecutionReport, ManifestCheckpoint, ManifestEvent, ManifestStatus,
    ROLLBACK_MANIFEST_FILE, ROLLBACK_SCRIPT_FILE, ReportName, RollbackManifest, RollbackMethod,
};
use actum_workspace::{ErrorKind, View};

use super::alert::Alerts;
use super::checkpoint;
use super::documents::clean;
use super::git::{Found, Reverting, kept};
use super::git_code::code_of;
use super::manifests::{self, Backups};
use super::notes::RollbackNotes;
use super::outputs::{OutputError, Outputs, ReportDirectory};
use super::resume::{FinishedTask, Turn, take_turn};
use super::run::random;
use crate::engine::Engine;
use crate::engine::outcome::settled_status;
use crate::error::{Error, Result};
use crate::recorded::{Receipt, RecordedRun};

pub use crate::error::RollbackRefused;
use crate::records::Records;
use crate::request::{EntryPoint, Request, Which};

/// Result of rolling back a task.
#[derive(Debug)]
pub struct RolledBack {
    /// Id of the task that was rolled back.
    pub task: String,
    /// Directory with the task's reports.
    pub directory: ReportName,
    /// Execution report with the rollback added, or `None` if the existing report cannot be read.
    pub report: Option<ExecutionReport>,
    /// Receipt of the run that undid the task, or `None` if an earlier run undid it without updating the reports.
    pub receipt: Option<Receipt>,
    /// Commit that reverts the task's commit, if one was created.
    pub commit: Option<String>,
    /// Notes to show to the user.
    pub notes: Vec<String>,
    /// Error that occurred while writing the reports, if any. The task's changes are undone even in that case.
    pub unwritten: Option<OutputError>,
    /// Interrupted tasks whose missing reports were written by this call.
    pub finished: Vec<FinishedTask>,
}

/// Rolls back the newest task named `task` that has an active rollback manifest. `task` may also be the exact name of a
/// report directory. Either all changes are undone or none, and edits made after the task block the rollback.
///
/// # Errors
/// Returns `Rollback` if the task cannot be rolled back, `Workspace` if a later change blocks the undo, and otherwise
/// the errors of [`Engine::run`].
pub fn rollback(
    engine: &mut Engine,
    root: &Path,
    (task, actor): (&str, Actor),
) -> Result<RolledBack> {
    let Turn { lock, workspace, finished, reported } = take_turn(engine, root)?;
    let outputs = Outputs::new(root)?;
    // Once a report states the rollback, recovery must not overwrite it with an earlier version.
    reported.sync(&outputs)?;
    let now = engine.records.clock.now();
    let (directory, manifest) = found((root, &outputs), task, now)?;
    let report = || directory.name.directory();
    let Some(run) = manifest.run().filter(|_| !manifest.checkpoints().is_empty()) else {
        return Err(RollbackRefused::Nothing { report: report() }.into());
    };
    let (effects, files) = engine.records.effects_of_task(run, &directory.name)?;
    if let Some(files) = files {
        check_as_written(&outputs, (&directory, &manifest), (run, &effects, files))?;
    }
    let settled = settle::restore_displaced(engine, &outputs, (&directory, &manifest))?;
    let what = (run, effects, workspace);
    let carried_out = carry_out(engine, (root, &outputs), (&directory, &manifest), what, actor);
    let (done, report, unwritten) = carried_out.map_err(|error| settled.explain(error))?;
    let Done { receipt, commit, mut notes, .. } = done;
    notes.extend(directory.remove_replaced(&settled));
    notes.extend(settled.kept);
    let updated = manifests::update(&lock, (root, &outputs), now, Backups::Keep);
    notes.extend(updated.err().map(|error| manifests_not_updated(&error)));
    let task = directory.name.task().to_owned();
    let directory = directory.name;
    Ok(RolledBack { task, directory, report, receipt, commit, notes, unwritten, finished })
}

/// Undoes the run of a task and updates its reports. Returns the completed rollback, the updated report, and the error
/// that occurred while writing it, if any.
fn carry_out(
    engine: &mut Engine,
    (root, outputs): (&Path, &Outputs),
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
    (run, effects, workspace): (RunId, Vec<PathEffect>, WorkspaceId),
    actor: Actor,
) -> Result<(Done, Option<ExecutionReport>, Option<OutputError>)> {
    let alerts = Alerts::new(&engine.records, (workspace, root), Some(actor.clone()));
    let left = |code, why: &dyn std::fmt::Display| {
        alert_clause(&alerts.raise_left((run, &directory.name), (code, why)))
    };
    let commit = committed(directory)?;
    let outside = engine.records.describe_external(run)?;
    let target = RollbackTarget { run, effects, directory, manifest, commit };
    let id = RunId::from_random(random()?);
    let mark = engine.records.marks().begin(Activity::Task, id, workspace)?;
    RollbackNotes::new(&directory.name, commit).keep(&mark)?;
    let done = match undo_task_run(engine, (root, outputs), &target, &actor) {
        Ok(done) => Done { notes: [done.notes, outside].concat(), ..done },
        Err(error) if settled_status(error.workspace()).is_none() => {
            let alert = left(ErrorCode::RollbackFailed, &error.with_state());
            return Err(RollbackRefused::Open { alert, source: Box::new(error) }.into());
        }
        Err(error) => {
            // Nothing was changed, so recovery has nothing to report. The original error matters more than a failure to
            // remove the mark.
            mark.end().ok();
            let Error::Rollback(RollbackRefused::Git { report, source, .. }) = error else {
                return Err(error);
            };
            let alert = left(code_of(&source), &source);
            return Err(RollbackRefused::Git { report, alert, source }.into());
        }
    };
    let (report, unwritten) = match update_reports(outputs, directory, &done) {
        Ok(report) => (report, mark.end().err().map(OutputError::of_home)),
        // The mark stays in place, so the next process writes the reports.
        Err(error) => (None, Some(error)),
    };
    Ok((done, report, unwritten))
}

/// Returns the note that the rollback manifests of other tasks may be out of date.
fn manifests_not_updated(error: &Error) -> String {
    format!("the rollback manifests of other tasks were not updated: {error}")
}

/// Returns the label that the log shows for a run that rolls back `task`.
pub(super) fn rollback_label(task: &str) -> String {
    format!("roll back task {task}")
}

/// Returns the clause that an error message ends with: the index of the alert, or the reason why it could not be
/// raised.
fn alert_clause(raised: &Result<Option<u64>>) -> String {
    match raised {
        Ok(None) => String::new(),
        Ok(Some(alert)) => format!("; see alert {alert} in `actum queue`"),
        Err(error) => format!("; no alert could be recorded in the ledger: {error}"),
    }
}

/// Task selected for rollback, with the effects of its run.
struct RollbackTarget<'m> {
    run: RunId,
    effects: Vec<PathEffect>,
    directory: &'m ReportDirectory,
    manifest: &'m RollbackManifest,
    /// Git commit of the task, if it was committed.
    commit: Option<CommitId>,
}

/// Completed rollback, with the method that was used.
struct Done {
    method: RollbackMethod,
    receipt: Option<Receipt>,
    commit: Option<String>,
    notes: Vec<String>,
}

/// Undoes the run of a task. Reverts the task's git commit if it has one, and otherwise restores the files from the
/// checkpoint.
fn undo_task_run(
    engine: &mut Engine,
    (root, outputs): (&Path, &Outputs),
    &RollbackTarget { run, ref effects, directory, manifest, commit }: &RollbackTarget<'_>,
    actor: &Actor,
) -> Result<Done> {
    let mut notes = Vec::new();
    if manifest.status() == ManifestStatus::Executed {
        // The manifest is already executed, so the task must have been redone after an earlier rollback.
        let Some(receipt) = undone(engine, (outputs, run), (directory, manifest), actor)? else {
            let report = directory.name.directory();
            return Err(RollbackRefused::Executed { report }.into());
        };
        let (method, receipt) = (RollbackMethod::Checkpoint, Some(receipt));
        return Ok(Done { method, receipt, commit: None, notes });
    }
    if let Some(commit) = commit {
        match Reverting::new(root, outputs, (commit, run, effects)) {
            Ok(reverting) => return reverted(engine, &reverting, &directory.name, actor),
            // Later edits are an error because restoring the checkpoint would overwrite them as well. Any other git
            // problem falls back to the checkpoint. If the files already have their original content, another process
            // restored them, or an earlier rollback was interrupted before its commit.
            Err(_) if is_as_before(outputs, manifest, &mut Seen::default()) => notes.push(format!(
                "all files already have their original content; commit {commit} was not reverted, so commit them"
            )),
            Err(problem) if problem.is_about_edits() => {
                let (report, source) = (directory.name.directory(), Box::new(problem));
                return Err(RollbackRefused::Git { report, alert: String::new(), source }.into());
            }
            Err(problem) => notes.push(format!("rolled back without a commit: {problem}")),
        }
    }
    let receipt = undone(engine, (outputs, run), (directory, manifest), actor)?;
    Ok(Done { method: RollbackMethod::Checkpoint, receipt, commit: None, notes })
}

/// Applies the revert of a git commit to the workspace and commits the result.
fn reverted(
    engine: &mut Engine,
    reverting: &Reverting,
    report: &ReportName,
    actor: &Actor,
) -> Result<Done> {
    let request = Request {
        actor: actor.clone(),
        entry_point: EntryPoint::TaskPlan,
        ..Request::apply(reverting.operations.clone())
    }
    .labelled(rollback_label(report.task()));
    let mut notes = Vec::new();
    if reverting.operations.is_empty() {
        let (commit, git_notes) = reverting.done();
        if commit.is_none() {
            notes.push("later commits had already undone the task's changes".to_owned());
        }
        notes.extend(git_notes);
        return Ok(Done { method: RollbackMethod::GitRevert, receipt: None, commit, notes });
    }
    let receipt = engine.run(request)?.receipt;
    let (run, now) = (receipt.statement.predicate.run, engine.records.clock.now());
    let commit = match reverting.commit(run, (actor, now)) {
        Ok(committed) => committed.map(|committed| {
            notes.extend(committed.note);
            committed.id
        }),
        Err(why) => {
            notes.push(why);
            None
        }
    };
    let is_reverted = commit.is_some();
    let method = if is_reverted { RollbackMethod::GitRevert } else { RollbackMethod::Checkpoint };
    Ok(Done { method, receipt: Some(receipt), commit, notes })
}

/// Undoes the run from its checkpoint. Returns `None` if an earlier run already undid it without updating the reports.
fn undone(
    engine: &mut Engine,
    (outputs, run): (&Outputs, RunId),
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
    actor: &Actor,
) -> Result<Option<Receipt>> {
    let report = &directory.name;
    let request = |images| {
        let request = Request { actor: actor.clone(), images, ..Request::undo(Which::Run(run)) };
        Request { entry_point: EntryPoint::TaskPlan, ..request }
            .labelled(rollback_label(report.task()))
    };
    let done = match engine.run(request(BTreeMap::new())) {
        // An interrupted rollback script can leave a renamed file at neither path, so retry with the copies from the
        // backups.
        Err(Error::Workspace(error))
            if matches!(
                error.kind,
                ErrorKind::ChangedSince { .. } | ErrorKind::LostImage { .. }
            ) =>
        {
            let backups = directory.backups(outputs, manifest)?;
            match backups.is_empty() {
                true => Err(error.into()),
                false => engine.run(request(backups)),
            }
        }
        done => done,
    };
    match done {
        Ok(done) => Ok(Some(done.receipt)),
        // The run was already undone, by `actum undo` or by the rollback script.
        Err(Error::Workspace(error))
            if matches!(
                error.kind,
                ErrorKind::AlreadyUndone { .. } | ErrorKind::AsBefore { .. }
            ) =>
        {
            Ok(None)
        }
        Err(Error::NothingToChange) => Ok(None),
        Err(Error::Workspace(error)) if matches!(error.kind, ErrorKind::UnknownRun { .. }) => {
            Err(only_by_script(report, "the workspace no longer has the history of its run"))
        }
        // The missing file has a backup, but the backup is too large to read into memory.
        Err(Error::Workspace(error))
            if matches!(error.kind, ErrorKind::LostImage { .. })
                && manifest.checkpoints().iter().any(is_large) =>
        {
            Err(only_by_script(report, &error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Checks whether the backup of a file is too large to be read into memory.
fn is_large(checkpoint: &ManifestCheckpoint) -> bool {
    checkpoint.backup_location.is_some()
        && checkpoint.original_size.is_some_and(|size| size > FILE_BYTES_MAX)
}

/// Returns the error for a rollback that only the rollback script can perform, with the command that runs it.
fn only_by_script(report: &ReportName, why: &str) -> Error {
    let script = report.file(ROLLBACK_SCRIPT_FILE);
    let word = ShellWord::path(script.as_bytes());
    let why = format!("{why}; run `sh {word}` to roll back the task");
    RollbackRefused::Unusable { report: report.directory(), why }.into()
}

/// Cache of file digests, so that a file listed in several manifests is read only once.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<RelPath, Option<Digest>>);

/// Checks whether every file in a manifest has the content that it had before the task.
pub(super) fn is_as_before(
    outputs: &Outputs,
    manifest: &RollbackManifest,
    Seen(seen): &mut Seen,
) -> bool {
    manifest.checkpoints().iter().all(|checkpoint| {
        let path = &checkpoint.file_path.0;
        match (checkpoint.original_hash, outputs.stat(path)) {
            (None, Ok(None)) => true,
            (Some(kept), Ok(Some(found))) => {
                let digest = || outputs.digest(path).ok().flatten();
                Some(found.size) == checkpoint.original_size
                    && *seen.entry(path.clone()).or_insert_with(digest) == Some(kept)
            }
            (None, Ok(Some(_)) | Err(_)) | (Some(_), Ok(None) | Err(_)) => false,
        }
    })
}

impl Records {
    /// Describes the external pipelines that a run started or may have started. For an undo or a redo, these are the
    /// pipelines of the original run.
    ///
    /// # Errors
    /// Returns `Ledger` if the ledger cannot be read.
    pub fn describe_external(&self, run: RunId) -> Result<Vec<String>> {
        let mut recorded = self.recorded(run)?;
        while let Some((undone, by)) =
            recorded.as_ref().and_then(|it| Some((it.intent.undoes?, it.started)))
        {
            // An undo is always recorded after the run that it undoes. Requiring this makes the loop end even if the
            // ledger is forged.
            recorded = self.recorded(undone)?.filter(|earlier| earlier.started < by);
        }
        let receipt = recorded.and_then(|recorded| recorded.receipt);
        let external = receipt.map(|(receipt, _)| receipt.statement.predicate.external);
        let describe = |run: ExternalRun| {
            let how = match run.ended {
                ExternalEnd::NotStarted => return None,
                ExternalEnd::Succeeded | ExternalEnd::Failed => "ran",
                ExternalEnd::Unknown => "may have run",
            };
            let name = run.pipeline.name;
            Some(format!(
                "the pipeline `{name}` {how} outside the workspace; its effects there cannot be undone or redone"
            ))
        };
        Ok(external.into_iter().flatten().filter_map(describe).collect())
    }

    /// Returns the effects of a task's run, taken from its receipt, and the digests of its rollback files. Only the
    /// ledger is trusted to say which runs belong to a task, because any process can write files in the workspace.
    fn effects_of_task(
        &self,
        run: RunId,
        report: &ReportName,
    ) -> Result<(Vec<PathEffect>, Option<RollbackFiles>)> {
        let of_task = self.recorded(run)?.filter(|RecordedRun { intent, .. }| {
            intent.door == EntryPoint::TaskPlan.as_str()
                && intent.label == format!("task {}", report.task())
        });
        let Some(recorded) = of_task else {
            let why = format!("the ledger does not record run {run} as part of this task");
            return Err(RollbackRefused::Unusable { report: report.directory(), why }.into());
        };
        let result = recorded.receipt.map(|(receipt, _)| receipt.statement.predicate);
        Ok(result.map(|result| (result.paths, result.rollback_files)).unwrap_or_default())
    }
}

/// Returns an error if the rollback manifest, the script or a backup does not match the digest in the receipt. A
/// missing script or backup is accepted.
fn check_as_written(
    outputs: &Outputs,
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
    (run, effects, files): (RunId, &[PathEffect], RollbackFiles),
) -> Result<()> {
    let rewritten = |file| Err(RollbackRefused::Rewritten { file, run }.into());
    if manifest.digest().ok() != Some(files.manifest) {
        return rewritten(directory.name.file(ROLLBACK_MANIFEST_FILE));
    }
    let script = directory.read(ROLLBACK_SCRIPT_FILE)?;
    if script.is_some_and(|script| Digest::of(&script) != files.script) {
        return rewritten(directory.name.file(ROLLBACK_SCRIPT_FILE));
    }
    let checkpoints = manifest.checkpoints().iter();
    let deltas: BTreeMap<_, _> =
        checkpoints.filter_map(|it| Some((&it.file_path.0, it.backup_hash?))).collect();
    for (path, change) in checkpoint::apart(effects) {
        let (backup, kept) = (directory.name.backup(&path), kept(&change));
        let Ok(at) = RelPath::new(backup.as_bytes()) else { continue };
        let is_there = !matches!(outputs.stat(&at), Ok(None));
        let delta = deltas.get(&path).copied();
        let expected = delta.or_else(|| kept.map(|kept| kept.sha256));
        let is_as_written = || matches!(outputs.digest(&at), Ok(found) if found == expected);
        if is_there && (expected.is_none() || !is_as_written()) {
            return rewritten(backup);
        }
    }
    Ok(())
}

/// Finds the report directory and the manifest of the requested task. Returns an error if no manifest can be used.
fn found(
    (root, outputs): (&Path, &Outputs),
    task: &str,
    now: Timestamp,
) -> Result<(ReportDirectory, RollbackManifest)> {
    let names = outputs.reports()?;
    let is_selected = |name: &&ReportName| name.as_str() == task || name.task() == task;
    let mut refused = None;
    for name in names.iter().filter(is_selected).rev() {
        let Some(directory) = outputs.reports_named(name.clone())? else { continue };
        match manifest((root, outputs), &directory, now)? {
            Ok(manifest) => return Ok((directory, manifest)),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    Err(refused.unwrap_or_else(|| RollbackRefused::Unknown { task: task.to_owned() }).into())
}

/// Returns the manifest of a task if it can be used for a rollback. If the manifest has expired, records that first.
fn manifest(
    (root, outputs): (&Path, &Outputs),
    directory: &ReportDirectory,
    now: Timestamp,
) -> Result<std::result::Result<RollbackManifest, RollbackRefused>> {
    let report = directory.name.directory();
    let Some(bytes) = directory.read(ROLLBACK_MANIFEST_FILE)? else {
        return Ok(Err(RollbackRefused::Nothing { report }));
    };
    let manifest = match RollbackManifest::read(&bytes) {
        Ok(manifest) => manifest,
        Err(error) => {
            return Ok(Err(RollbackRefused::Unusable { report, why: error.to_string() }));
        }
    };
    let manifest = directory.expire_manifest(&manifest, now)?;
    Ok(match manifest.status() {
        ManifestStatus::Active if manifest.run().is_none() || manifest.checkpoints().is_empty() => {
            Err(RollbackRefused::Nothing { report })
        }
        ManifestStatus::Active => Ok(manifest),
        ManifestStatus::Executed if is_back(root, outputs, (directory, &manifest))? => Ok(manifest),
        ManifestStatus::Executed => Err(RollbackRefused::Executed { report }),
        ManifestStatus::Expired => Err(RollbackRefused::Expired { report }),
    })
}

/// Checks whether a rolled-back task was redone since, by `actum undo` or `actum redo`. Always returns false for a task
/// with a git commit.
fn is_back(
    root: &Path,
    outputs: &Outputs,
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
) -> Result<bool> {
    let report = read_report(directory)?;
    let is_committed = report.is_some_and(|report| report.facts().more.commit.is_some());
    let Some(run) = manifest.run().filter(|_| !is_committed) else { return Ok(false) };
    if is_as_before(outputs, manifest, &mut Seen::default()) {
        return Ok(false);
    }
    let shown = View::open(root)?.show(run);
    Ok(shown.is_ok_and(|shown| shown.undone_by.is_none()))
}

/// Adds a rollback to the reports of a task if the process that performed it ended before it could. Returns `None` if
/// the task was not rolled back or if its reports are already up to date.
pub(super) fn report_late_rollback(
    outputs: &Outputs,
    directory: &ReportDirectory,
    (commit, git_notes): Found,
) -> Result<Option<ExecutionReport>> {
    let Some(report) = unreported(outputs, directory, commit.is_some())? else { return Ok(None) };
    if report.rollback_performed() {
        directory.end_manifest(ManifestEvent::RolledBack)?;
        outputs.sync()?;
        return Ok(Some(report));
    }
    let mut notes = vec![
        "the process that rolled back the task ended before it could update the reports".to_owned(),
    ];
    if let (None, Some(reverted)) = (&commit, &report.facts().more.commit) {
        let reverted = reverted.as_str();
        notes.push(format!("it is unknown whether commit {reverted} was reverted"));
    }
    notes.extend(git_notes);
    let is_reverted = commit.is_some();
    let method = if is_reverted { RollbackMethod::GitRevert } else { RollbackMethod::Checkpoint };
    Ok(update_reports(outputs, directory, &Done { method, receipt: None, commit, notes })?)
}

/// Returns the execution report of a rolled-back task whose reports do not fully state the rollback yet. If
/// `has_commit` is set, a commit reverts the task; otherwise, every file must have its original content.
pub(super) fn unreported(
    outputs: &Outputs,
    directory: &ReportDirectory,
    has_commit: bool,
) -> Result<Option<ExecutionReport>> {
    let Some(manifest) = directory.manifest()? else { return Ok(None) };
    // A reverting commit proves the rollback. Commits after it may have changed the files again, so the files prove
    // nothing.
    if !has_commit && !is_as_before(outputs, &manifest, &mut Seen::default()) {
        return Ok(None);
    }
    let Some(report) = read_report(directory)? else { return Ok(None) };
    let is_reported = report.rollback_performed() && manifest.status() != ManifestStatus::Active;
    Ok((!is_reported).then_some(report))
}

/// Returns the git commit named in the execution report of a task, if any.
fn committed(directory: &ReportDirectory) -> std::result::Result<Option<CommitId>, OutputError> {
    let report = read_report(directory)?;
    let commit = report.as_ref().and_then(|report| report.facts().more.commit.as_ref());
    Ok(commit.and_then(|commit| commit.as_str().parse().ok()))
}

/// Reads the execution report of a task. Returns `None` if the report is missing or cannot be parsed.
pub(super) fn read_report(
    directory: &ReportDirectory,
) -> std::result::Result<Option<ExecutionReport>, OutputError> {
    let bytes = directory.read(EXECUTION_REPORT_FILE)?;
    Ok(bytes.and_then(|bytes| ExecutionReport::read(&bytes).ok()))
}

/// Adds the rollback to the execution report and marks the rollback manifest as executed.
fn update_reports(
    outputs: &Outputs,
    directory: &ReportDirectory,
    done: &Done,
) -> std::result::Result<Option<ExecutionReport>, OutputError> {
    let Done { method, receipt, commit, notes } = done;
    let note = match receipt {
        Some(receipt) => format!(
            "rolled back by run {}, entry {} of the ledger",
            receipt.statement.predicate.run, receipt.index
        ),
        None => "the changes of the task had already been undone".to_owned(),
    };
    let commit = commit.as_ref().map(|commit| format!("reverted by commit {commit}"));
    let report = read_report(directory)?.map(|report| {
        let report = report.rolled_back(*method, clean(&note));
        let more = notes.iter().chain(&commit);
        more.fold(report, |report, note| report.noted(clean(note), Some(*method)))
    });
    directory.put(EXECUTION_REPORT_FILE, report.as_ref().map(ExecutionReport::write))?;
    directory.end_manifest(ManifestEvent::RolledBack)?;
    directory.remove_unfinished()?;
    outputs.sync()?;
    Ok(report)
}
