//! Ends a task by writing its reports (EX-13 to EX-15, EX-18).

use actum_core::plain_id::PlainId;
use actum_core::{RelPath, RunId};
use actum_task::ErrorCode;
use actum_task::report::{
    ChangeLog, ErrorReport, ErrorStatus, ExecutionReport, Phase, ReportName, RollbackMethod,
    RunDetails, RunEnd, RunFacts,
};
use actum_workspace::State;

use super::make::{After, Made};
use super::{Outcome, Place, Stored, TaskActions, TaskContext, TaskEnd};
use crate::error::{Error, Result};
use crate::task::documents::{ErrorFacts, clean};
use crate::task::git::CommittedRun;
use crate::task::input::{Task, Unread};
use crate::task::notes::Notes;
use crate::task::outputs::{EndReports, OutputError, ReportDirectory};
use crate::task::problem::TaskProblem;
use crate::task::rehearsal::{RehearsalObserver, Verdict};
use crate::task::status_writer::EndLine;

pub(super) struct Documents {
    pub(super) report: ExecutionReport,
    pub(super) log: ChangeLog,
    pub(super) error: Option<ErrorReport>,
}

/// End of a task's run, in the form that its report states.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    how: RunEnd,
    run: Option<RunId>,
    /// Whether the changes of the actions are visible in the workspace.
    is_visible: bool,
}

impl End {
    pub(super) fn new(rehearsed: &TaskActions, run: Option<RunId>) -> Self {
        let how = match rehearsed.verdict {
            Verdict::Keep => RunEnd::Finished,
            Verdict::TakeBack => RunEnd::RolledBack,
            Verdict::Cancel => RunEnd::Cancelled,
        };
        Self { how, run, is_visible: false }
    }
}

impl TaskContext<'_> {
    /// Writes the reports of a task that was executed.
    pub(super) fn ended(
        &mut self,
        place: Place<'_>,
        mut rehearsed: TaskActions,
        made: Option<Made>,
    ) -> TaskEnd {
        self.status.phase(Phase::Reporting);
        let mut end = End::new(&rehearsed, None);
        let (mut receipt, mut cause, mut commit) = (None, None, Ok(None));
        match made {
            None | Some(Made::Nothing) => {}
            Some(Made::Done(done, After { changed, committed, external })) => {
                // The notes are complete only if nothing happened after publishing that the reports would add.
                self.is_noted =
                    changed.is_empty() && matches!(committed, Ok(None)) && external.is_empty();
                rehearsed.take_external(external);
                commit = committed;
                (end.run, end.is_visible) = (Some(done.statement.predicate.run), true);
                if !changed.is_empty() {
                    end.how = RunEnd::RollbackFailed;
                    rehearsed.problems.extend(changed);
                }
                receipt = Some(*done);
            }
            Some(Made::Not(problem, error)) if is_refusal(&problem, error.as_ref()) => {
                let refusal = place.task.refusal(vec![problem]);
                return self.reject_in(place.directory, Some(place.task), (refusal, error));
            }
            Some(Made::Not(problem, error)) => {
                let is_cancelled = problem.code == ErrorCode::Cancelled;
                end.how = if is_cancelled { RunEnd::Cancelled } else { RunEnd::RolledBack };
                rehearsed.problems.insert(0, problem);
                self.attribute(&place.task.plan, &mut rehearsed);
                cause = error;
            }
            Some(Made::Open { run, problem, error, external }) => {
                self.is_noted = true;
                rehearsed.take_external(external);
                (end.how, end.run) = (RunEnd::RollbackFailed, Some(run));
                rehearsed.problems.insert(0, problem);
                cause = Some(error);
            }
        }
        let mut documents = self.documents(&place, &rehearsed, end);
        if let Some(receipt) = &receipt {
            let at = format!("entry {} of the ledger", receipt.index);
            documents.report = record_commit(documents.report, &at, commit);
        }
        let directory = &place.directory;
        let Documents { report, log, error } = documents;
        let ended = EndReports {
            is_as_before: report.is_as_before(),
            report: Some(report.clone()),
            log: Some(log.clone()),
            error: error.clone(),
        };
        // Raise the alert before writing the report, so that every written report has its alert.
        let alert = match &error {
            Some(error) => self.alerts.raise(&place.task.id, error, Some(&directory.name)),
            None => Ok(None),
        };
        let ids = (&place.task.id, Some(&place.task.plan_id));
        let unwritten = self.write_end(directory, ids, ended);
        self.status.end(EndLine::Executed(&report, error.as_ref()), Some(&directory.name));
        TaskEnd {
            task: place.task.id.clone(),
            directory: Some(directory.name.clone()),
            outcome: Outcome::Executed {
                report: Box::new(report),
                log: Box::new(log),
                error: error.map(Box::new),
            },
            receipt,
            cause,
            alert,
            is_repeated: false,
            unwritten,
            finished: std::mem::take(&mut self.finished),
        }
    }

    /// Returns the stored result of a task that was already executed, without doing anything again (D-8).
    pub(super) fn repeat(&mut self, task: &Task, stored: Stored) -> TaskEnd {
        let Stored { receipt, directory, report, log, error } = stored;
        let run = receipt.statement.predicate.run;
        self.status.note(
            Phase::Reporting,
            &format!("Run {run} already executed this task; nothing was changed"),
        );
        self.status.end(EndLine::Executed(&report, error.as_ref()), Some(&directory.name));
        TaskEnd {
            task: task.id.clone(),
            directory: Some(directory.name),
            outcome: Outcome::Executed {
                report: Box::new(report),
                log: Box::new(log),
                error: error.map(Box::new),
            },
            receipt: Some(receipt),
            cause: None,
            alert: Ok(None),
            is_repeated: true,
            unwritten: None,
            finished: std::mem::take(&mut self.finished),
        }
    }

    /// Writes the final documents of a task. Syncs them to disk unless the notes already contain everything. If writing
    /// fails, saves the documents in the notes so that the next process can write them.
    fn write_end(
        &self,
        directory: &ReportDirectory,
        (task, plan): (&PlainId, Option<&PlainId>),
        ended: EndReports,
    ) -> Option<OutputError> {
        let written = directory.write_end(&ended).and_then(|()| match self.is_noted {
            true => Ok(()),
            false => self.outputs.sync(),
        });
        let error = written.err()?;
        let notes = self.notes(&directory.name, (task, plan));
        // If saving the notes fails as well, report both errors.
        match notes.ended(ended).keep_durably(&self.mark) {
            Ok(()) => Some(error),
            Err(also) => Some(OutputError {
                source: std::io::Error::other(format!("{}; and {also}", error.source)),
                ..error
            }),
        }
    }

    /// Creates notes that contain only the final documents.
    fn notes(&self, name: &ReportName, (task, plan): (&PlainId, Option<&PlainId>)) -> Notes {
        let ids = (&self.report_id, task, plan.unwrap_or(task));
        Notes::new(name, ids, self.started, Vec::new())
    }

    pub(super) fn documents(
        &mut self,
        place: &Place<'_>,
        rehearsed: &TaskActions,
        end: End,
    ) -> Documents {
        let task = place.task;
        let now = self.status.now().max(self.started);
        let outcomes = rehearsed.actions.iter();
        let outcomes = outcomes.map(|it| task.outcome(it, &rehearsed.problems)).collect();
        let facts = RunFacts {
            report_id: self.report_id.clone(),
            plan_id: task.plan_id.clone(),
            started_at: self.started,
            completed_at: now,
            rollback_manifest_id: self.manifest.clone(),
            more: RunDetails {
                task_id: Some(task.id.clone()),
                run: end.run,
                archived_to: self.archived_to.as_deref().map(clean),
                rollback_method: Some(RollbackMethod::Checkpoint),
                ..RunDetails::default()
            },
        };
        let report = ExecutionReport::new(facts, outcomes, end.how);
        let left = |path: &RelPath| end.is_visible.then(|| self.outputs.modified(path)).flatten();
        let log = ChangeLog {
            log_id: self.ids.next(),
            plan_id: task.plan_id.clone(),
            execution_report_id: self.report_id.clone(),
            created_at: now,
            changes: task.changes(&rehearsed.actions, &rehearsed.modified, left, &mut self.ids),
        };
        // A report without problems whose external pipelines have not run yet does not need an error report.
        let is_pending = rehearsed.problems.is_empty() && rehearsed.deferred().next().is_some();
        let error =
            ErrorStatus::from_report(report.status()).filter(|_| !is_pending).map(|status| {
                let facts = ErrorFacts {
                    report_id: self.report_id.clone(),
                    plan_id: Some(task.plan_id.clone()),
                    status,
                    run: end.run,
                    time: now,
                    task: Some(task),
                    named: &[],
                };
                facts.report(&rehearsed.problems, &mut self.ids)
            });
        Documents { report, log, error }
    }

    /// Rejects a task before it begins. Creates a report directory if the task does not have one yet.
    pub(super) fn reject(
        &mut self,
        task: Option<&Task>,
        refusal: Unread,
        cause: Option<Error>,
    ) -> TaskEnd {
        let report = self.rejection(task, &refusal);
        let directory = match (self.unfilled.take(), &refusal.id) {
            (Some(directory), _) => Ok(directory),
            (None, Some(task)) => self.rejected_directory(task, &refusal, &report),
            // Without a task id there is no directory to write a report to, so only the caller gets the error.
            (None, None) => Err(None),
        };
        match directory {
            Ok(directory) => self.rejected_in(directory, (refusal, report), cause),
            Err(unwritten) => {
                let alert = self.alerts.raise(&refusal.task(), &report, None);
                self.rejected(refusal, report, (None, unwritten), (alert, cause))
            }
        }
    }

    /// Creates the report directory of a rejected task, after recording the report in the notes.
    fn rejected_directory(
        &mut self,
        task: &PlainId,
        refusal: &Unread,
        report: &ErrorReport,
    ) -> std::result::Result<ReportDirectory, Option<OutputError>> {
        let name = self.outputs.report_name(self.started, task)?;
        let notes = self.notes(&name, (task, refusal.plan_id.as_ref()));
        // Continue even if this fails, because the report is lost only if this process is killed before it writes the
        // report.
        if let Err(error) = notes.ending(refused(report)).keep(&self.mark) {
            self.status.note(
                Phase::Reporting,
                &format!("failed to save the report for recovery: {error}"),
            );
        }
        Ok(self.outputs.report(name)?)
    }

    /// Rejects a task before it begins and writes the report to the given directory.
    pub(super) fn reject_in(
        &mut self,
        directory: ReportDirectory,
        task: Option<&Task>,
        (refusal, cause): (Unread, Option<Error>),
    ) -> TaskEnd {
        let report = self.rejection(task, &refusal);
        self.rejected_in(directory, (refusal, report), cause)
    }

    fn rejected_in(
        &mut self,
        directory: ReportDirectory,
        (refusal, report): (Unread, ErrorReport),
        cause: Option<Error>,
    ) -> TaskEnd {
        let ended = refused(&report);
        let task = refusal.task();
        let alert = self.alerts.raise(&task, &report, Some(&directory.name));
        let ids = (&task, refusal.plan_id.as_ref());
        let unwritten = self.write_end(&directory, ids, ended);
        self.rejected(refusal, report, (Some(&directory), unwritten), (alert, cause))
    }

    fn rejection(&mut self, task: Option<&Task>, refusal: &Unread) -> ErrorReport {
        let facts = ErrorFacts {
            report_id: self.report_id.clone(),
            plan_id: refusal.plan_id.clone(),
            status: ErrorStatus::Rejected,
            run: None,
            time: self.status.now().max(self.started),
            task,
            named: &refusal.named,
        };
        facts.report(&refusal.problems, &mut self.ids)
    }

    fn rejected(
        &mut self,
        refusal: Unread,
        report: ErrorReport,
        (directory, unwritten): (Option<&ReportDirectory>, Option<OutputError>),
        (alert, cause): (Result<Option<u64>>, Option<Error>),
    ) -> TaskEnd {
        let name = directory.map(|directory| &directory.name);
        self.status.end(EndLine::Rejected(&report), name);
        TaskEnd {
            task: refusal.task(),
            directory: name.cloned(),
            outcome: Outcome::Rejected(Box::new(report)),
            receipt: None,
            cause,
            alert,
            is_repeated: false,
            unwritten,
            finished: std::mem::take(&mut self.finished),
        }
    }
}

/// Returns the final documents of a rejected task. No change became visible, so there is nothing to roll back.
fn refused(report: &ErrorReport) -> EndReports {
    EndReports { is_as_before: true, report: None, log: None, error: Some(report.clone()) }
}

/// Checks whether a problem means that the task was rejected. A change that was visible and then rolled back is a
/// failure instead, because the task had begun.
fn is_refusal(problem: &TaskProblem, cause: Option<&Error>) -> bool {
    let was_visible = cause.is_some_and(|error| matches!(error.workspace(), State::Restored));
    problem.code.response().is_refusal() && !was_visible
}

/// Adds the ledger entry of the run to the report, and its commit or the reason why it has no commit.
fn record_commit(
    report: ExecutionReport,
    receipt: &str,
    commit: std::result::Result<Option<CommittedRun>, String>,
) -> ExecutionReport {
    match commit {
        Ok(None) => report.recorded(clean(receipt), None),
        Ok(Some(CommittedRun { id, note })) => {
            let report = report.recorded(clean(receipt), Some(clean(&id)));
            note.into_iter().fold(report, |report, note| report.noted(clean(&note), None))
        }
        Err(why) => report.recorded(clean(receipt), None).noted(clean(&why), None),
    }
}
