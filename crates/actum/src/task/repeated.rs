//! Handles repeated tasks. If a task was already executed and its effect is still in force, its stored result is
//! returned and nothing is executed again (D-8).

use std::path::Path;

use actum_core::plain_id::PlainId;
use actum_core::{Digest, RunId, Status};
use actum_record::ledger::{RequestKey, WorkspaceId};
use actum_record::receipt::{ExternalEnd, ExternalRun, PathEffect};
use actum_task::ErrorCode;
use actum_task::report::{
    CHANGE_LOG_FILE, ChangeLog, CleanText, ERROR_REPORT_FILE, ErrorReport, ErrorStatus,
    ExecutionReport,
};
use actum_workspace::View;

use super::external::external_pipelines;
use super::git::reverting_run;
use super::input::Task;
use super::outputs::{OutputError, Outputs, ReportDirectory};
use super::problem::TaskProblem;
use super::rehearsal::Script;
use super::rollback::{read_report, rollback_label};
use crate::engine::stage::Earlier;
use crate::error::{Error, Result};
use crate::reason;
use crate::recorded::{Receipt, RecordedRun};
use crate::records::Records;
use crate::request::{EntryPoint, TaskDocuments};

/// Result of looking up earlier executions of tasks with the same id.
pub(super) enum Standing {
    /// No earlier effect is in force, so the task may run. Contains the number of the next attempt.
    Attempt(u32),
    /// The task was already executed and is in force. Contains its stored result.
    Stored(Box<Stored>),
    /// The task must not run, for example because its id belongs to a different executed task, or because the reports of
    /// its earlier execution are missing or altered.
    Taken(TaskProblem),
}

/// Stored result of a task that was executed earlier.
pub(super) struct Stored {
    pub(super) receipt: Receipt,
    pub(super) directory: ReportDirectory,
    pub(super) report: ExecutionReport,
    pub(super) log: ChangeLog,
    pub(super) error: Option<ErrorReport>,
}

/// Returns the request key of a task, which is long enough for every valid task id.
pub(super) fn request_key(task: &PlainId) -> Option<RequestKey> {
    RequestKey::of_task(&task.to_string())
}

impl Task {
    /// Returns the documents of the task in the form that a request refers to.
    ///
    /// # Errors
    /// `Record` if the declaration of an external pipeline cannot be serialized.
    pub(super) fn documents(&self, script: Script<'_>) -> Result<TaskDocuments> {
        let documents = TaskDocuments::new(Digest::of(&self.input.plan), &self.input.config);
        Ok(documents.with_external(external_pipelines(script)?))
    }

    /// Checks whether this task, or a different task with the same id, was executed and is still in force.
    ///
    /// # Errors
    /// `Ledger`, `Workspace`, `Output`.
    pub(super) fn standing(
        &self,
        records: &Records,
        outputs: &Outputs,
        (root, workspace, documents): (&Path, WorkspaceId, Digest),
    ) -> Result<Standing> {
        let Some(key) = request_key(&self.id) else { return Ok(Standing::Attempt(1)) };
        let asked = (workspace, &key, documents);
        // The undone runs are read only once, because a task may have been executed and rolled back many times.
        let mut undone_by = None;
        let is_undone = |receipt: &Receipt| {
            let run = receipt.statement.predicate.run;
            let undone_by = match &undone_by {
                Some(undone_by) => undone_by,
                None => undone_by.insert(View::open(root)?.undone_by()?),
            };
            let undone_by = undone_by.get(&run);
            if undone_by.is_none() {
                records.check_forgotten(workspace, &key, run)?;
            }
            let paths = &receipt.statement.predicate.paths;
            // The rollback script restores files without creating a run, so the files themselves are compared.
            Ok(undone_by.copied().flatten().is_some()
                || (!paths.is_empty() && is_as_before(outputs, paths))
                || self.is_reverted(records, receipt, root)?)
        };
        let taken = |message| Standing::Taken(TaskProblem::new(ErrorCode::TaskIdTaken, message));
        let receipt = match records.earlier(asked, is_undone) {
            Ok(Earlier { done: Some(receipt), .. }) => *receipt,
            Ok(Earlier { done: None, next }) => return Ok(Standing::Attempt(next)),
            Err(Error::RequestKeyTaken { run, .. }) => {
                return Ok(taken(format!(
                    "the task id `{}` is taken: the run {run} executed it with a different plan, config or external pipeline",
                    self.id
                )));
            }
            Err(error @ Error::WorkspaceIsACopy { .. }) => {
                let reason = Some(reason::of_engine(&error).name());
                let code = ErrorCode::TaskIdTaken;
                let problem = TaskProblem { reason, ..TaskProblem::new(code, error.to_string()) };
                return Ok(Standing::Taken(problem));
            }
            Err(error @ Error::OutcomeUnknown { .. }) => {
                return Ok(Standing::Taken(TaskProblem::of_error(&error)));
            }
            Err(error) => return Err(error),
        };
        let run = receipt.statement.predicate.run;
        let outcomes = receipt.statement.predicate.rollback_files.and_then(|files| files.outcomes);
        let external = receipt.statement.predicate.external.clone();
        let later = external.iter().map(|run| run.pipeline.action.as_str()).collect();
        let stored = match report_of(outputs, (&self.id, run))? {
            None => None,
            Some((directory, report)) => {
                let is_as_recorded = outcomes.is_none_or(|outcomes| {
                    report.outcomes_digest(&later).is_ok_and(|digest| digest == outcomes)
                }) && external.iter().all(|run| ended_as(&report, run));
                if !is_as_recorded {
                    return Ok(taken(format!(
                        "the run {run} executed the task `{}`, but its execution report in `{}` was changed since: it does not \
                         match the digest in the receipt",
                        self.id,
                        directory.name.directory()
                    )));
                }
                let report = report.in_force();
                let log = directory.read(CHANGE_LOG_FILE)?;
                let error = directory.read(ERROR_REPORT_FILE)?;
                let error = error.and_then(|bytes| ErrorReport::read(&bytes).ok());
                let error = error.filter(|_| ErrorStatus::from_report(report.status()).is_some());
                log.and_then(|bytes| ChangeLog::read(&bytes).ok()).map(|log| Stored {
                    receipt,
                    directory,
                    report,
                    log,
                    error,
                })
            }
        };
        Ok(match stored {
            Some(stored) => Standing::Stored(Box::new(stored)),
            None => taken(format!(
                "the task `{}` was executed by the run {run}, but its reports are missing",
                self.id
            )),
        })
    }

    /// Returns whether a git commit reverts the run of the task.
    ///
    /// The ledger must have recorded the reverting run as a rollback of the task, and that run must be in force. Reports in
    /// the workspace are not trusted, because any process can write them.
    fn is_reverted(&self, records: &Records, receipt: &Receipt, root: &Path) -> Result<bool> {
        let result = &receipt.statement.predicate;
        // If the repository cannot be read, the run is treated as not reverted.
        let Ok(Some(reverting)) = reverting_run(root, result.run, &result.paths) else {
            return Ok(false);
        };
        let Some(recorded) = records.recorded(reverting)? else { return Ok(false) };
        let RecordedRun { started, intent, receipt: ended } = recorded;
        let is_rollback = intent.workspace == result.workspace
            && intent.door == EntryPoint::TaskPlan.as_str()
            && intent.label == rollback_label(self.id.as_str())
            && started > receipt.index
            && ended.is_some_and(|(ended, _)| ended.status() == Status::Succeeded);
        if !is_rollback {
            return Ok(false);
        }
        // The workspace may have forgotten the reverting run. Such a run counts as in force, because it had not been
        // undone when it was forgotten.
        let shown = View::open(root)?.show(reverting);
        Ok(shown.ok().is_none_or(|shown| shown.undone_by.is_none()))
    }
}

/// Returns whether the report agrees with the receipt about the result of an external pipeline. If the result is unknown
/// according to the receipt, the report may state any outcome.
fn ended_as(report: &ExecutionReport, run: &ExternalRun) -> bool {
    let is_it = |id: &CleanText| id.as_str() == run.pipeline.action;
    let is_completed = report.completed().iter().any(|it| is_it(&it.action_id));
    let is_failed = report.failed().iter().any(|it| is_it(&it.action_id));
    let is_skipped = report.skipped().iter().any(|it| is_it(&it.action_id));
    match run.ended {
        ExternalEnd::Succeeded => is_completed,
        ExternalEnd::Failed => is_failed,
        ExternalEnd::NotStarted => is_failed || is_skipped,
        ExternalEnd::Unknown => is_completed || is_failed || is_skipped,
    }
}

/// Returns whether every file of a change has the same state as before the change.
fn is_as_before(outputs: &Outputs, effects: &[PathEffect]) -> bool {
    effects.iter().filter(|effect| effect.effect.is_of_file()).all(|effect| {
        let was_at = effect.from.as_ref().unwrap_or(&effect.path);
        let is_gone = |path| matches!(outputs.stat(path), Ok(None));
        let is_back = match effect.before {
            None => is_gone(&was_at.0),
            Some(before) => {
                let stat = outputs.stat(&was_at.0);
                matches!(stat, Ok(Some(stat)) if (stat.size, stat.mode) == (before.size, before.mode))
                    && matches!(outputs.has_content(&was_at.0, (before.sha256, before.size)), Ok(true))
            }
        };
        is_back && (effect.from.is_none() || is_gone(&effect.path.0))
    })
}

/// Finds the execution report of a task's run, and returns it with its directory.
fn report_of(
    outputs: &Outputs,
    (task, run): (&PlainId, RunId),
) -> std::result::Result<Option<(ReportDirectory, ExecutionReport)>, OutputError> {
    let names = outputs.reports()?;
    for name in names.into_iter().filter(|name| name.task() == task.as_str()).rev() {
        let Some(directory) = outputs.reports_named(name)? else { continue };
        let report = read_report(&directory)?;
        if let Some(report) = report.filter(|report| report.facts().more.run == Some(run)) {
            return Ok(Some((directory, report)));
        }
    }
    Ok(None)
}
