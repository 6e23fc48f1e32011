//! Rollback of an executed task (EX-16, EX-17).

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

/// Rolled-back task.
#[derive(Debug)]
pub struct RolledBack {
    /// Id of the task.
    pub task: String,
    /// Directory of its reports.
    pub directory: ReportName,
    /// Updated report; `None` if it can no longer be read.
    pub report: Option<ExecutionReport>,
    /// Run that undid it; `None` if that was done before, but not reported.
    pub receipt: Option<Receipt>,
    /// Commit that reverts the one of the task, if any.
    pub commit: Option<String>,
    /// Notes for the user.
    pub notes: Vec<String>,
    /// Error in writing the reports, if any; the changes of the task are undone nevertheless.
    pub unwritten: Option<OutputError>,
    /// Interrupted tasks whose reports were written now.
    pub finished: Vec<FinishedTask>,
}

/// Rolls back a task: the newest of that name with an active rollback manifest, or the one with exactly this report
/// name. It undoes everything or nothing; later edits block it.
///
/// # Errors
/// `Rollback`; `Workspace` if something blocks the undo; as [`Engine::run`].
pub fn rollback(
    engine: &mut Engine,
    root: &Path,
    (task, actor): (&str, Actor),
) -> Result<RolledBack> {
    let Turn { lock, workspace, finished, reported } = take_turn(engine, root)?;
    let outputs = Outputs::new(root)?;
    // No process may write the earlier reports again once they state the rollback.
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
    let settled = settle::put_back_displaced(engine, &outputs, (&directory, &manifest))?;
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

/// Undoes the run and writes the reports. Returns the work done, the report, and the error in writing it, if any.
fn carry_out(
    engine: &mut Engine,
    (root, outputs): (&Path, &Outputs),
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
    (run, effects, workspace): (RunId, Vec<PathEffect>, WorkspaceId),
    actor: Actor,
) -> Result<(Done, Option<ExecutionReport>, Option<OutputError>)> {
    let alerts = Alerts::new(&engine.records, (workspace, root), Some(actor.clone()));
    let left = |code, why: &dyn std::fmt::Display| {
        told_of(&alerts.raise_left((run, &directory.name), (code, why)))
    };
    let commit = committed(directory)?;
    let outside = engine.records.describe_external(run)?;
    let meant = Meant { run, effects, directory, manifest, commit };
    let id = RunId::from_random(random()?);
    let mark = engine.records.marks().begin(Activity::Task, id, workspace)?;
    RollbackNotes::new(&directory.name, commit).keep(&mark)?;
    let done = match taken_back(engine, (root, outputs), &meant, &actor) {
        Ok(done) => Done { notes: [done.notes, outside].concat(), ..done },
        Err(error) if settled_status(error.workspace()).is_none() => {
            let alert = left(ErrorCode::RollbackFailed, &error.with_state());
            return Err(RollbackRefused::Open { alert, source: Box::new(error) }.into());
        }
        Err(error) => {
            // Nothing was changed, so no other process has to report anything; the reason is what counts.
            mark.end().ok();
            let Error::Rollback(RollbackRefused::Git { report, source, .. }) = error else {
                return Err(error);
            };
            let alert = left(code_of(&source), &source);
            return Err(RollbackRefused::Git { report, alert, source }.into());
        }
    };
    let (report, unwritten) = match told(outputs, directory, &done) {
        Ok(report) => (report, mark.end().err().map(OutputError::of_home)),
        // The next process writes them.
        Err(error) => (None, Some(error)),
    };
    Ok((done, report, unwritten))
}

/// Returns the note that the manifests of other tasks may be out of date.
fn manifests_not_updated(error: &Error) -> String {
    format!("the rollback manifests of other tasks were not updated: {error}")
}

/// Returns the label of runs that roll back a task.
pub(super) fn rollback_label(task: &str) -> String {
    format!("roll back task {task}")
}

/// Returns the end of a message, with the index of the alert.
fn told_of(raised: &Result<Option<u64>>) -> String {
    match raised {
        Ok(None) => String::new(),
        Ok(Some(alert)) => format!("; it waits in `actum queue` as alert {alert}"),
        Err(error) => format!("; the ledger has no alert of it: {error}"),
    }
}

/// Selected task, and its effects.
struct Meant<'m> {
    run: RunId,
    effects: Vec<PathEffect>,
    directory: &'m ReportDirectory,
    manifest: &'m RollbackManifest,
    /// Commit of the task, if any.
    commit: Option<CommitId>,
}

/// Result of a rollback.
struct Done {
    method: RollbackMethod,
    receipt: Option<Receipt>,
    commit: Option<String>,
    notes: Vec<String>,
}

/// Undoes a run: a committed one by a commit that reverts it, any other by its checkpoint.
fn taken_back(
    engine: &mut Engine,
    (root, outputs): (&Path, &Outputs),
    &Meant { run, ref effects, directory, manifest, commit }: &Meant<'_>,
    actor: &Actor,
) -> Result<Done> {
    let mut notes = Vec::new();
    if manifest.status() == ManifestStatus::Executed {
        // The task was redone after its rollback.
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
            // Edits that the checkpoint would lose as well are an error. For any other git problem the checkpoint is
            // used. If the files are as before already, another process restored them, or a rollback ended before its
            // commit.
            Err(_) if is_as_before(outputs, manifest, &mut Seen::default()) => notes.push(format!(
                "every file is as before the task already; the commit {commit} is not reverted, so commit them"
            )),
            Err(problem) if problem.is_about_edits() => {
                let (report, source) = (directory.name.directory(), Box::new(problem));
                return Err(RollbackRefused::Git { report, alert: String::new(), source }.into());
            }
            Err(problem) => notes.push(format!("taken back without a commit: {problem}")),
        }
    }
    let receipt = undone(engine, (outputs, run), (directory, manifest), actor)?;
    Ok(Done { method: RollbackMethod::Checkpoint, receipt, commit: None, notes })
}

/// Writes the files of a revert, and commits it.
fn reverted(
    engine: &mut Engine,
    reverting: &Reverting,
    report: &ReportName,
    actor: &Actor,
) -> Result<Done> {
    let request = Request {
        actor: actor.clone(),
        door: EntryPoint::TaskPlan,
        ..Request::apply(reverting.operations.clone())
    }
    .labelled(rollback_label(report.task()));
    let mut notes = Vec::new();
    if reverting.operations.is_empty() {
        let (commit, told) = reverting.done();
        if commit.is_none() {
            notes.push("later commits took back what the task did".to_owned());
        }
        notes.extend(told);
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

/// Undoes the run. Returns `None` if it was undone before without a report.
fn undone(
    engine: &mut Engine,
    (outputs, run): (&Outputs, RunId),
    (directory, manifest): (&ReportDirectory, &RollbackManifest),
    actor: &Actor,
) -> Result<Option<Receipt>> {
    let report = &directory.name;
    let request = |images| {
        let request = Request { actor: actor.clone(), images, ..Request::undo(Which::Run(run)) };
        Request { door: EntryPoint::TaskPlan, ..request }.labelled(rollback_label(report.task()))
    };
    let done = match engine.run(request(BTreeMap::new())) {
        // An interrupted script leaves renamed files at neither path, but in the backups.
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
        // The task was undone by `actum undo`, or by the script.
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
            Err(only_by_script(report, "the workspace has forgotten its run"))
        }
        // The backup of such a large file is not read into memory.
        Err(Error::Workspace(error))
            if matches!(error.kind, ErrorKind::LostImage { .. })
                && manifest.checkpoints().iter().any(is_large) =>
        {
            Err(only_by_script(report, &error.to_string()))
        }
        Err(error) => Err(error),
    }
}

/// Returns true if the backup of a file is too large to be read into memory.
fn is_large(checkpoint: &ManifestCheckpoint) -> bool {
    checkpoint.backup_location.is_some()
        && checkpoint.original_size.is_some_and(|size| size > FILE_BYTES_MAX)
}

/// Returns the error of a rollback that only the script can do.
fn only_by_script(report: &ReportName, why: &str) -> Error {
    let script = report.file(ROLLBACK_SCRIPT_FILE);
    let word = ShellWord::path(script.as_bytes());
    let why = format!("{why}; `sh {word}` takes the task back");
    RollbackRefused::Unusable { report: report.directory(), why }.into()
}

/// Digests of files that were read already, so that manifests with the same file do not read it again.
#[derive(Default)]
pub(super) struct Seen(BTreeMap<RelPath, Option<Digest>>);

/// Returns true if every file of a manifest is as before the task.
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
    /// Describes the external pipelines of a run that ran or may have run. For an undo or a redo, they are those of the
    /// original run.
    ///
    /// # Errors
    /// `Ledger`
    pub fn describe_external(&self, run: RunId) -> Result<Vec<String>> {
        let mut recorded = self.recorded(run)?;
        while let Some((undone, by)) =
            recorded.as_ref().and_then(|it| Some((it.intent.undoes?, it.started)))
        {
            // Each undo is recorded after its run, so the chain is finite even in a forged ledger.
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
                "the pipeline `{name}` {how} outside of the workspace; no undo takes that back, and no redo does it again"
            ))
        };
        Ok(external.into_iter().flatten().filter_map(describe).collect())
    }

    /// Returns the effects of a run from its receipt, if any. Any process can write files in the workspace, so only the
    /// ledger decides which runs belong to a task.
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
            let why = format!("the ledger does not know the run {run} as one of this task");
            return Err(RollbackRefused::Unusable { report: report.directory(), why }.into());
        };
        let result = recorded.receipt.map(|(receipt, _)| receipt.statement.predicate);
        Ok(result.map(|result| (result.paths, result.rollback_files)).unwrap_or_default())
    }
}

/// Rejects a task whose manifest, script or backup does not match the digest in its receipt. A missing one is harmless.
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

/// Finds the requested reports and their manifest, which is active, or whose run was redone since.
fn found(
    (root, outputs): (&Path, &Outputs),
    task: &str,
    now: Timestamp,
) -> Result<(ReportDirectory, RollbackManifest)> {
    let names = outputs.reports()?;
    let is_meant = |name: &&ReportName| name.as_str() == task || name.task() == task;
    let mut refused = None;
    for name in names.iter().filter(is_meant).rev() {
        let Some(directory) = outputs.reports_named(name.clone())? else { continue };
        match manifest((root, outputs), &directory, now)? {
            Ok(manifest) => return Ok((directory, manifest)),
            Err(why) => refused = refused.or(Some(why)),
        }
    }
    Err(refused.unwrap_or_else(|| RollbackRefused::Unknown { task: task.to_owned() }).into())
}

/// Returns the usable manifest of a task. Records the expiry of an expired one.
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

/// Returns true if a rolled-back task was redone since, by `actum undo` or `actum redo`. A task with a git commit never
/// counts as redone.
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

/// Reports the rollback of a task whose process could not. Returns `None` if it was not rolled back, or if its reports
/// state it already.
pub(super) fn told_late(
    outputs: &Outputs,
    directory: &ReportDirectory,
    (commit, told_by_git): Found,
) -> Result<Option<ExecutionReport>> {
    let Some(report) = unreported(outputs, directory, commit.is_some())? else { return Ok(None) };
    if report.rollback_performed() {
        directory.end_manifest(ManifestEvent::RolledBack)?;
        outputs.sync()?;
        return Ok(Some(report));
    }
    let mut notes =
        vec!["the process that took the task back ended before it could report".to_owned()];
    if let (None, Some(reverted)) = (&commit, &report.facts().more.commit) {
        let reverted = reverted.as_str();
        notes.push(format!("whether a commit reverts the commit {reverted} is not known"));
    }
    notes.extend(told_by_git);
    let is_reverted = commit.is_some();
    let method = if is_reverted { RollbackMethod::GitRevert } else { RollbackMethod::Checkpoint };
    Ok(told(outputs, directory, &Done { method, receipt: None, commit, notes })?)
}

/// Returns the report of a rolled-back task, unless all its reports state the rollback. `has_commit` states that a
/// commit reverts the one of the task; otherwise every file must be as before.
pub(super) fn unreported(
    outputs: &Outputs,
    directory: &ReportDirectory,
    has_commit: bool,
) -> Result<Option<ExecutionReport>> {
    let Some(manifest) = directory.manifest()? else { return Ok(None) };
    // Later commits may have changed its files, which stay.
    if !has_commit && !is_as_before(outputs, &manifest, &mut Seen::default()) {
        return Ok(None);
    }
    let Some(report) = read_report(directory)? else { return Ok(None) };
    let is_told = report.rollback_performed() && manifest.status() != ManifestStatus::Active;
    Ok((!is_told).then_some(report))
}

/// Returns the commit of a task that its report names.
fn committed(directory: &ReportDirectory) -> std::result::Result<Option<CommitId>, OutputError> {
    let report = read_report(directory)?;
    let commit = report.as_ref().and_then(|report| report.facts().more.commit.as_ref());
    Ok(commit.and_then(|commit| commit.as_str().parse().ok()))
}

/// Returns the report of a task, if it can be read.
pub(super) fn read_report(
    directory: &ReportDirectory,
) -> std::result::Result<Option<ExecutionReport>, OutputError> {
    let bytes = directory.read(EXECUTION_REPORT_FILE)?;
    Ok(bytes.and_then(|bytes| ExecutionReport::read(&bytes).ok()))
}

/// Records the rollback in the reports.
fn told(
    outputs: &Outputs,
    directory: &ReportDirectory,
    done: &Done,
) -> std::result::Result<Option<ExecutionReport>, OutputError> {
    let Done { method, receipt, commit, notes } = done;
    let note = match receipt {
        Some(receipt) => format!(
            "taken back by the run {}, entry {} of the ledger",
            receipt.statement.predicate.run, receipt.index
        ),
        None => "taken back before, by a run that the ledger tells of".to_owned(),
    };
    let commit = commit.as_ref().map(|commit| format!("reverted by the commit {commit}"));
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
