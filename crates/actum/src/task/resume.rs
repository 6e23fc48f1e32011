//! Completes interrupted tasks. The next process that works in the workspace writes their missing reports (EX-13).

use std::path::Path;

use actum_core::plain_id::PlainId;
use actum_core::{RunId, Status, Timestamp};
use actum_ledger::{Activity, ActivityMark, Marks, TaskTurn};
use actum_record::ledger::WorkspaceId;
use actum_record::lifecycle::{self, Event, State};
use actum_task::ErrorCode;
use actum_task::report::{
    ActionOutcome, CHANGE_LOG_FILE, ChangeLog, CleanText, ERROR_REPORT_FILE, EXECUTION_REPORT_FILE,
    ErrorReport, ErrorStatus, ExecutionReport, ReportName, ReportStatus, RollbackMethod,
    RunDetails, RunEnd, RunFacts, SkippedAction,
};
use actum_workspace::ErrorKind;

use super::OutputError;
use super::alert::Alerts;
use super::documents::{ErrorFacts, Ids, clean};
use super::external::NotedPipeline;
use super::git::{Found, is_reverted, resumed_revert, resumed_run};
use super::manifests::{self, Backups};
use super::notes::{Noted, Notes, Prepared, RollbackNotes};
use super::outputs::{EndReports, Outputs, ReportDirectory};
use super::problem::TaskProblem;
use super::rollback::{report_late_rollback, unreported};
use crate::engine::Engine;
use crate::error::Result;
use crate::records::Records;

/// Interrupted task whose reports were now written on its behalf.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinishedTask {
    /// Id of the interrupted task.
    pub task: PlainId,
    /// Report directory of the task.
    pub report: ReportName,
    /// Final status of the task. `None` if there is no execution report because the task never started.
    pub status: Option<ReportStatus>,
}

/// Writes the reports of interrupted tasks in the workspace at `root`, and updates the rollback manifests. Executing a
/// task or rolling one back also writes these reports first.
///
/// # Errors
/// Returns the errors of [`Engine::resume`], or `Output` if reports cannot be written. The next call then tries again.
pub fn finish(engine: &mut Engine, root: &Path) -> Result<Vec<FinishedTask>> {
    let Turn { lock, finished, reported, .. } = take_turn(engine, root)?;
    let outputs = Outputs::new(root)?;
    reported.sync(&outputs)?;
    manifests::update(&lock, (root, &outputs), engine.records.clock.now(), Backups::Keep)?;
    remove_left_views();
    Ok(finished)
}

/// Removes temporary workspace views of pipelines and checks that killed processes left behind.
fn remove_left_views() {
    // Errors are ignored, because the removal is attempted again when the next view is created.
    drop(actum_sandbox::remove_left_scratch());
}

/// Lists the tasks in the workspace at `root` that were interrupted, during execution or rollback, and whose reports do
/// not state the outcome. Changes nothing.
///
/// # Errors
/// `Home`, `Output`.
pub fn cut_off_tasks(marks: &Marks, root: &Path, workspace: WorkspaceId) -> Result<Vec<String>> {
    let mut cut_off = Vec::new();
    for left in marks.abandoned(Activity::Task, workspace)? {
        let noted = left?.noted()?.map(|notes| Noted::read(&notes)).transpose()?;
        let Some(noted) = noted.flatten() else { continue };
        let Some(name) = ReportName::read(noted.report().as_bytes()) else { continue };
        let outputs = Outputs::new(root)?;
        let directory = outputs.reports_named(name.clone())?;
        let is_reported = match (&noted, &directory) {
            (Noted::Task(notes), None) => !notes.is_untold,
            (Noted::Task(notes), Some(_)) if notes.ended.is_some() => false,
            (Noted::Task(notes), Some(directory)) => {
                matches!(Reports::read(directory, notes.prepared.is_some())?, Reports::Whole)
            }
            (Noted::Rollback(_), None) => true,
            (Noted::Rollback(notes), Some(directory)) => {
                let has_commit = notes.reverts().is_some_and(|commit| is_reverted(root, commit));
                unreported(&outputs, directory, has_commit)?.is_none()
            }
        };
        cut_off.extend((!is_reported).then(|| name.task().to_owned()));
    }
    Ok(cut_off)
}

/// Exclusive access to the tasks of a workspace, after interrupted tasks were completed.
pub(super) struct Turn {
    pub(super) lock: TaskTurn,
    pub(super) workspace: WorkspaceId,
    /// Interrupted tasks whose reports were written when the lock was taken.
    pub(super) finished: Vec<FinishedTask>,
    /// Interrupted tasks whose reports already existed.
    pub(super) reported: Reported,
}

/// Tasks whose reports exist but may not be durable yet. The notes about these tasks are kept until then, so that the
/// reports can be written again if they are lost.
#[derive(Debug, Default)]
#[must_use = "the reports exist but may not be durable yet"]
pub(super) struct Reported(Vec<ActivityMark>);

impl Reported {
    /// Removes the notes about the tasks. The caller must have made the reports durable.
    pub(super) fn end(self) -> std::result::Result<(), OutputError> {
        self.0.into_iter().try_for_each(ActivityMark::end).map_err(OutputError::of_home)
    }

    /// Makes the reports durable, and then removes the notes about the tasks.
    pub(super) fn sync(self, outputs: &Outputs) -> std::result::Result<(), OutputError> {
        if !self.0.is_empty() {
            outputs.sync()?;
        }
        self.end()
    }
}

/// Takes the task lock and completes interrupted tasks. A process holds the lock from its first check until its reports
/// are written, so only one process at a time works on the tasks of a workspace.
///
/// # Errors
/// `Workspace` with `Busy` if another process holds the lock, or the errors of [`finish`].
pub(super) fn take_turn(engine: &mut Engine, root: &Path) -> Result<Turn> {
    let workspace = engine.resume()?;
    let Some(lock) = engine.records.marks().begin_tasks(workspace)? else {
        let holder = Some("a process that executes a task".to_owned());
        return Err(actum_workspace::Error::from(ErrorKind::Busy { holder }).into());
    };
    let (finished, reported) = engine.records.finish_abandoned_tasks(&lock, root, workspace)?;
    Ok(Turn { lock, workspace, finished, reported })
}

impl Records {
    /// Writes the reports of interrupted tasks in the workspace at `root`. The results of their runs must already be
    /// recorded in the ledger.
    ///
    /// # Errors
    /// `Home`, `Ledger`, or `Output` if reports cannot be written. The next call then tries again.
    pub(super) fn finish_abandoned_tasks(
        &self,
        turn: &TaskTurn,
        root: &Path,
        workspace: WorkspaceId,
    ) -> Result<(Vec<FinishedTask>, Reported)> {
        let (mut finished, mut reported) = (Vec::new(), Reported::default());
        let mut is_any_left = false;
        for left in self.marks().abandoned_tasks(turn, workspace)? {
            let left = left?;
            is_any_left = true;
            // A task without notes had not started yet.
            let noted = left.noted()?.map(|notes| Noted::read(&notes)).transpose()?;
            let found = match noted.flatten() {
                Some(Noted::Task(notes)) => self.finish((root, workspace), *notes)?,
                Some(Noted::Rollback(notes)) => finish_rollback(root, &notes)?,
                None => Left::Nothing,
            };
            match found {
                Left::Nothing => left.end()?,
                Left::Reported => reported.0.push(left),
                Left::Finished(task) => {
                    finished.push(*task);
                    left.end()?;
                }
                // The result of the run is not recorded yet, so a later call completes the task.
                Left::Unsettled => {}
            }
        }
        if is_any_left {
            remove_left_views();
        }
        Ok((finished, reported))
    }

    fn finish(&self, (root, workspace): (&Path, WorkspaceId), mut notes: Notes) -> Result<Left> {
        let outputs = Outputs::new(root)?;
        let Some(name) = ReportName::read(notes.report.as_bytes()) else {
            return Ok(Left::Nothing);
        };
        let task = notes.task.clone();
        let alerts = Alerts::new(self, (workspace, root), None);
        if let (true, Some(error)) =
            (notes.is_untold, notes.ended.as_ref().and_then(|it| it.error.as_ref()))
        {
            alerts.raise(&task, error, Some(&name))?;
        }
        let run = notes.prepared.as_ref().map(|prepared| prepared.run);
        let directory = match outputs.reports_named(name.clone())? {
            Some(directory) => directory,
            // The process was interrupted before it created the directory.
            None if notes.is_untold => outputs.report(name.clone())?,
            // A directory that the user removed is not created again, but leftovers in git are still cleaned up.
            None => {
                self.committed(root, run)?;
                return Ok(Left::Nothing);
            }
        };
        directory.remove_unfinished()?;
        let ended = match notes.ended.take() {
            Some(ended) => ended,
            None => {
                let reports = Reports::read(&directory, run.is_some())?;
                if matches!(reports, Reports::Whole) {
                    return Ok(Left::Reported);
                }
                let end = match self.state((run, &reports))? {
                    (State::Ended(status), entry) => (status, entry),
                    (State::Recorded(_), _) => return Ok(Left::Reported),
                    (State::New | State::Begun | State::Changing | State::Unsettled, _) => {
                        return Ok(Left::Unsettled);
                    }
                };
                let cut_off = match reports {
                    Reports::Unsettled(why) => format!("{OPEN_BEFORE}: {why}"),
                    Reports::Whole | Reports::Missing => CUT_OFF.to_owned(),
                };
                let committed = self.committed(root, run)?;
                let mut ended = report_end(notes, (end, committed), &cut_off, self.clock.now())?;
                let manifest = directory.manifest()?.map(|manifest| manifest.id().clone());
                ended.report = ended.report.map(|report| report.with_manifest(manifest));
                if let Some(error) = &ended.error {
                    alerts.raise(&task, error, Some(&name))?;
                }
                ended
            }
        };
        let status = ended.report.as_ref().map(ExecutionReport::status);
        directory.write_end(&ended)?;
        outputs.sync()?;
        Ok(Left::Finished(Box::new(FinishedTask { task, report: name, status })))
    }

    /// Determines the state of an interrupted task from its reports and the ledger. Also returns the ledger index of the
    /// run's receipt, if there is one.
    fn state(&self, (run, reports): (Option<RunId>, &Reports)) -> Result<(State, Option<u64>)> {
        let recorded = run.map(|run| self.recorded(run)).transpose()?.flatten();
        let is_open = matches!(reports, Reports::Unsettled(_));
        let receipt = recorded.as_ref().and_then(|run| run.receipt.as_ref());
        let ended = match (&recorded, receipt) {
            (_, Some((receipt, _))) => Some(Event::EndRun(receipt.status())),
            // The reports say that the run had not ended, but its intent never reached the ledger.
            (None, None) if is_open => Some(Event::EndRun(Status::Rejected)),
            (None | Some(_), None) => None,
        };
        let is_started = is_open || recorded.is_some();
        let started = is_started.then_some(Event::StartRun);
        let events = [Some(Event::Start), started, is_open.then_some(Event::Record), ended];
        let events = events.into_iter().flatten().chain([Event::CutOff]);
        let state = lifecycle::after(events).map_err(|source| OutputError {
            doing: "determine the state of a task from",
            path: "the ledger".to_owned(),
            source: std::io::Error::other(source),
        })?;
        Ok((state, receipt.map(|(receipt, _)| receipt.index)))
    }

    /// Returns the git commit of a successful run, if there is one, and notes about git for the user.
    fn committed(&self, root: &Path, run: Option<RunId>) -> Result<Found> {
        let Some(run) = run else { return Ok(Found::default()) };
        let receipt = self.recorded(run)?.and_then(|recorded| recorded.receipt);
        let done = receipt.filter(|(receipt, _)| receipt.status() == Status::Succeeded);
        let found =
            done.map(|(receipt, _)| resumed_run(root, run, &receipt.statement.predicate.paths));
        Ok(found.unwrap_or_default())
    }
}

/// Completes the reports of a task whose rollback took effect but was interrupted before the report was written. A
/// rollback took effect if every file is as it was before the task, or if a commit reverts the task.
fn finish_rollback(root: &Path, notes: &RollbackNotes) -> Result<Left> {
    let outputs = Outputs::new(root)?;
    let reverted = notes.reverts().map(|commit| resumed_revert(root, commit));
    let Some(name) = ReportName::read(notes.report.as_bytes()) else { return Ok(Left::Nothing) };
    let Some(directory) = outputs.reports_named(name.clone())? else { return Ok(Left::Nothing) };
    directory.remove_unfinished()?;
    let reverted = reverted.unwrap_or_default();
    let Some(report) = report_late_rollback(&outputs, &directory, reverted)? else {
        return Ok(Left::Nothing);
    };
    let Some(task) = report.facts().more.task_id.clone() else { return Ok(Left::Nothing) };
    let status = Some(report.status());
    Ok(Left::Finished(Box::new(FinishedTask { task, report: name, status })))
}

/// Completeness of the reports of a task.
enum Reports {
    /// The reports are complete.
    Whole,
    /// The reports are complete, but state that the run had not ended. Contains the reason that they give.
    Unsettled(String),
    /// The reports are missing or incomplete.
    Missing,
}

impl Reports {
    /// Reads the reports and determines whether they are complete. The reports become durable together, so any of them may
    /// be missing or truncated after the machine stopped. If the run had not ended, its reports state that and are later
    /// replaced.
    fn read(directory: &ReportDirectory, had_run: bool) -> Result<Self> {
        let error = directory.read(ERROR_REPORT_FILE)?;
        let error = error.and_then(|bytes| ErrorReport::read(&bytes).ok());
        if error.as_ref().is_some_and(|it| it.status == ErrorStatus::Rejected) {
            return Ok(Self::Whole);
        }
        let report = directory.read(EXECUTION_REPORT_FILE)?;
        let Some(report) = report.and_then(|bytes| ExecutionReport::read(&bytes).ok()) else {
            return Ok(Self::Missing);
        };
        let log = directory.read(CHANGE_LOG_FILE)?;
        let has_log = log.is_some_and(|bytes| ChangeLog::read(&bytes).is_ok());
        // A run that took effect and was rolled back later needs no error report.
        let is_undone = report.rollback_performed() && report.facts().more.receipt.is_some();
        let needs_error = ErrorStatus::from_report(report.status()).is_some() && !is_undone;
        let is_whole = has_log && (!needs_error || error.is_some());
        // The status alone does not show this, because a run that has ended may also be reported as failed.
        let is_open = had_run
            && report.status() == ReportStatus::Failed
            && error
                .as_ref()
                .is_some_and(|it| it.error.error_code == ErrorCode::RollbackFailed.number());
        Ok(match error {
            Some(error) if is_whole && is_open => {
                Self::Unsettled(error.error.message.as_str().to_owned())
            }
            _ if is_whole => Self::Whole,
            _ => Self::Missing,
        })
    }
}

/// Result of completing one interrupted task.
enum Left {
    /// The task needs no report.
    Nothing,
    /// The reports already existed.
    Reported,
    /// The reports were written now.
    Finished(Box<FinishedTask>),
    /// The result of the run is not recorded yet.
    Unsettled,
}

const CUT_OFF: &str = "the task's process ended before the task was finished";
const COMMITTED: &str =
    "the task's process ended after the run was committed but before it wrote its reports";
const MAYBE_COMMITTED: &str = "the task's process ended after the run but before it wrote its reports; the run may or may not \
                               have been committed to git";
const OPEN_BEFORE: &str =
    "the run had not ended when the task was first reported, but has ended since";

/// Creates the reports of an interrupted task from its notes. `status` is the final status of the run, and `entry` the
/// ledger index of its receipt.
fn report_end(
    mut notes: Notes,
    ((status, entry), found): ((Status, Option<u64>), Found),
    cut_off: &str,
    now: Timestamp,
) -> Result<EndReports> {
    match (status, entry, notes.prepared.take()) {
        (Status::Succeeded, Some(entry), Some(prepared)) => {
            report_committed((prepared, &notes.external), (entry, found), now)
        }
        (_, _, prepared) => report_interrupted(Notes { prepared, ..notes }, status, cut_off, now),
    }
}

/// Creates the reports of an interrupted task whose run succeeded.
fn report_committed(
    (Prepared { run, report, log, error }, external): (Prepared, &[NotedPipeline]),
    (entry, (commit, more)): (u64, Found),
    now: Timestamp,
) -> Result<EndReports> {
    let report = report.with_outcomes(external.iter().map(NotedPipeline::outcome).collect());
    let problems: Vec<_> = external.iter().filter_map(NotedPipeline::problem).collect();
    let error = match ErrorStatus::from_report(report.status()) {
        Some(status) if error.is_none() && !problems.is_empty() => {
            let facts = ErrorFacts {
                report_id: report.facts().report_id.clone(),
                plan_id: Some(report.facts().plan_id.clone()),
                status,
                run: Some(run),
                time: now,
                task: None,
                named: &[],
            };
            Some(facts.report(&problems, &mut Ids::new()?))
        }
        Some(_) | None => error,
    };
    let receipt = clean(&format!("entry {entry} of the ledger"));
    let commit_note = if commit.is_some() { COMMITTED } else { MAYBE_COMMITTED };
    let report = report.ended(now).recorded(receipt, commit.map(|id| clean(&id)));
    let report = report.noted(CleanText::fixed(commit_note), None);
    let noted = |report: ExecutionReport, note: String| report.noted(clean(&note), None);
    let report = Some(more.into_iter().fold(report, noted));
    Ok(EndReports { is_as_before: false, report, log: Some(log), error })
}

/// Creates the reports of an interrupted task whose run did not succeed or never started.
fn report_interrupted(
    notes: Notes,
    status: Status,
    cut_off: &str,
    now: Timestamp,
) -> Result<EndReports> {
    let mut ids = Ids::new()?;
    let Notes { report_id, task, plan, started, archived_to, actions, prepared, .. } = notes;
    let run = prepared.as_ref().map(|prepared| prepared.run);
    let (end, report_status) = match status {
        Status::Reverted | Status::Rejected => (RunEnd::RolledBack, ErrorStatus::RolledBack),
        Status::Succeeded | Status::Failed | Status::Queued => {
            (RunEnd::RollbackFailed, ErrorStatus::Failed)
        }
    };
    let code = match end {
        RunEnd::RollbackFailed => ErrorCode::RollbackFailed,
        RunEnd::Finished | RunEnd::RolledBack | RunEnd::Cancelled => ErrorCode::InternalError,
    };
    let problem = TaskProblem { reason: Some("INTERRUPTED"), ..TaskProblem::new(code, cut_off) };
    let facts = ErrorFacts {
        report_id: report_id.clone(),
        plan_id: Some(plan.clone()),
        status: report_status,
        run,
        time: now,
        task: None,
        named: &[],
    };
    let error = Some(facts.report(&[problem], &mut ids));
    let (report, log) = match prepared {
        Some(Prepared { report, log, .. }) => (report.ended_as(end, now), Some(log)),
        None => {
            let skipped = |action_id| {
                let reason = clean(cut_off);
                ActionOutcome::Skipped(SkippedAction { action_id, reason })
            };
            let facts = RunFacts {
                report_id: report_id.clone(),
                plan_id: plan.clone(),
                started_at: started,
                completed_at: now.max(started),
                rollback_manifest_id: None,
                more: RunDetails {
                    task_id: Some(task),
                    archived_to: archived_to.as_deref().map(clean),
                    ..RunDetails::default()
                },
            };
            let actions = actions.into_iter().map(skipped).collect();
            let log = ChangeLog {
                log_id: ids.next(),
                plan_id: plan,
                execution_report_id: report_id,
                created_at: now,
                changes: Vec::new(),
            };
            (ExecutionReport::new(facts, actions, end), Some(log))
        }
    };
    let report = report.noted(clean(cut_off), Some(RollbackMethod::Checkpoint));
    Ok(EndReports { is_as_before: report.is_as_before(), report: Some(report), log, error })
}
