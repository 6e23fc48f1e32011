//! Builds the documents that a task writes, such as its reports and the change log, from the results of the task (EX-13
//! to EX-16, EX-18, EX-23).

use std::collections::BTreeMap;

use actum_core::path::Quoted;
use actum_core::plain_id::PlainId;
use actum_core::{FileState, RelPath, RunId, Timestamp};
use actum_gate::credential;
use actum_task::report::{
    ActionOutcome, Change, CleanText, CompletedAction, CompletedWord, ErrorDetails, ErrorObject,
    ErrorReport, ErrorStatus, FailedAction, FailedWord, FileAt, FilePath, NewPath, PlannedAction,
    PlannedSummary, SkippedAction, Violation, implementation_summary,
};
use actum_task::{Action, ErrorCategory, ErrorCode, Graph, NamedTarget, RecoveryAction, TaskPlan};
use actum_workspace::LinuxDisk;
use actum_workspace::disk::Disk;

use super::external::NOT_STARTED;
use super::input::Task;
use super::problem::TaskProblem;
use super::rehearsal::{ActionChange, ActionEnd, Rehearsed};
use crate::error::Result;

/// Removes everything that looks like a credential from `text`.
pub(super) fn clean(text: &str) -> CleanText {
    CleanText::new(text, &credential::spans)
}

/// Generates a new random id.
pub(super) fn new_id() -> Result<PlainId> {
    let random = || {
        LinuxDisk.random().map_err(|source| {
            let kind =
                actum_workspace::ErrorKind::Io { action: "generate an id".to_owned(), source };
            actum_workspace::Error::from(kind)
        })
    };
    let [high, low] = [random()?, random()?];
    let bits = (u128::from(high) << 64) | u128::from(low);
    Ok(PlainId::random(bits.to_be_bytes()))
}

/// Generates ids from a random id that is drawn only once, so that creating further ids cannot fail.
pub(super) struct Ids(PlainId, u128);

impl Ids {
    /// Creates a generator of new ids.
    pub(super) fn new() -> Result<Self> {
        Ok(Self(new_id()?, 0))
    }

    /// Returns the next id, which is a digest of the random id and a counter and therefore looks random.
    pub(super) fn next(&mut self) -> PlainId {
        self.1 += 1;
        let digest = actum_core::Digest::tagged(
            "actum/task-id/v1",
            &[self.0.as_str().as_bytes(), &self.1.to_be_bytes()],
        );
        PlainId::random(digest.as_bytes().first_chunk().copied().unwrap_or_default())
    }
}

impl Task {
    fn action(&self, index: usize) -> Option<&Action> {
        self.plan.actions.get(index)
    }

    fn action_id(&self, index: usize) -> CleanText {
        self.action(index).map_or_else(CleanText::default, |action| clean(action.id.as_str()))
    }

    /// Returns the outcome of an action for the execution report. A completed action is reported as failed if one of
    /// `problems` is attributed to it.
    pub(super) fn outcome(&self, rehearsed: &Rehearsed, problems: &[TaskProblem]) -> ActionOutcome {
        let action_id = self.action_id(rehearsed.action);
        let of_pipeline = || rehearsed.pipeline.as_ref().and_then(|ran| ran.details());
        let details = rehearsed.sql.as_ref().map(|ran| ran.details()).or_else(of_pipeline);
        let late = || problems.iter().find(|problem| problem.action == Some(rehearsed.action));
        match &rehearsed.end {
            ActionEnd::Completed { .. } if let Some(problem) = late() => {
                ActionOutcome::Failed(FailedAction {
                    action_id,
                    status: FailedWord::Failed,
                    error_code: problem.code.number(),
                    error_message: clean(&problem.message),
                    stack_trace: problem.stack_trace().as_deref().map(clean),
                    details,
                })
            }
            ActionEnd::Completed { output, .. } => ActionOutcome::Completed(CompletedAction {
                action_id,
                status: CompletedWord::Success,
                started_at: rehearsed.started,
                completed_at: rehearsed.completed,
                output: clean(output),
                details,
            }),
            ActionEnd::Failed(problem) => ActionOutcome::Failed(FailedAction {
                action_id,
                status: FailedWord::Failed,
                error_code: problem.code.number(),
                error_message: clean(&problem.message),
                stack_trace: problem.stack_trace().as_deref().map(clean),
                details,
            }),
            ActionEnd::Skipped { reason } => {
                ActionOutcome::Skipped(SkippedAction { action_id, reason: clean(reason) })
            }
            ActionEnd::Deferred(_) => {
                let reason = CleanText::fixed(NOT_STARTED);
                ActionOutcome::Skipped(SkippedAction { action_id, reason })
            }
        }
    }

    /// Returns the entries of the change log for the given actions. Actions that left their file unchanged are omitted.
    /// `before` has the modification times of the files before the task, and `left` returns the current ones.
    pub(super) fn changes(
        &self,
        actions: &[Rehearsed],
        before: &BTreeMap<RelPath, Timestamp>,
        left: impl Fn(&RelPath) -> Option<Timestamp>,
        ids: &mut Ids,
    ) -> Vec<Change> {
        let done = actions.iter().flat_map(|rehearsed| {
            let did = rehearsed.did().iter().filter(|did| did.is_change());
            did.map(move |did| (rehearsed, did))
        });
        // If several actions changed the same file, each change starts at the time at which the previous one ended.
        let mut times = before.clone();
        let mut last = BTreeMap::new();
        for (place, (_, did)) in done.clone().enumerate() {
            last.insert(did.left_at(), place);
        }
        let mut changes = Vec::new();
        for (place, (Rehearsed { action, completed, .. }, did)) in done.enumerate() {
            let ActionChange { word, path, new_path, before, after, diff } = did;
            let began = times.get(path).copied().unwrap_or(*completed);
            let is_last = last.get(did.left_at()) == Some(&place);
            let ended = is_last.then(|| left(did.left_at())).flatten().unwrap_or(*completed);
            times.insert(did.left_at().clone(), ended);
            let at = |state: &Option<FileState>, time| {
                state.map_or(FileAt::ABSENT, |state| FileAt::present(state, time))
            };
            changes.push(Change {
                change_id: ids.next(),
                action_id: self.action_id(*action),
                file_path: FilePath(path.clone()),
                new_path: new_path.clone().map(NewPath),
                operation: *word,
                before_state: at(before, began),
                after_state: at(after, ended),
                diff_summary: diff.clone(),
                timestamp: *completed,
            });
        }
        changes
    }

    /// Returns the text of `IMPLEMENTATION_SUMMARY.md` for this task.
    pub(super) fn summary(&self) -> String {
        summary((&self.plan, &self.graph), (&self.plan_id, &self.id))
    }
}

/// Returns the text of `IMPLEMENTATION_SUMMARY.md` for a plan. `id` is the id of the plan, and `task` that of the task.
pub fn summary((plan, graph): (&TaskPlan, &Graph), (id, task): (&PlainId, &PlainId)) -> String {
    let planned = |&index: &usize| {
        let action = plan.actions.get(index)?;
        let what = match &action.description {
            Some(what) => what.clone(),
            None => action.work.operation().to_owned(),
        };
        Some(PlannedAction {
            action_id: clean(action.id.as_str()),
            action_type: clean(&action.action_type().to_string()),
            target: shown(action.target.as_bytes()),
            what: clean(&what),
            risk_level: action.declared_tier.map(|tier| clean(tier.as_str())),
            depends_on: action.depends_on.iter().map(|id| clean(id.as_str())).collect(),
        })
    };
    implementation_summary(&PlannedSummary {
        plan_id: id.clone(),
        task_id: task.clone(),
        actions: graph.order().iter().filter_map(planned).collect(),
    })
}

/// Information from which the error report of a task is built.
pub(super) struct ErrorFacts<'t> {
    pub(super) report_id: PlainId,
    pub(super) plan_id: Option<PlainId>,
    pub(super) status: ErrorStatus,
    pub(super) run: Option<RunId>,
    pub(super) time: Timestamp,
    /// The task, if its documents could be read.
    pub(super) task: Option<&'t Task>,
    /// Targets that the plan names, used if the task could not be read.
    pub(super) named: &'t [NamedTarget],
}

impl ErrorFacts<'_> {
    /// Returns the id of the action at an index in the plan.
    fn action_id(&self, at: usize) -> Option<CleanText> {
        match self.task {
            Some(task) => Some(task.action_id(at)),
            None => self.named.iter().find(|it| it.action == at).map(|it| clean(&it.id)),
        }
    }

    /// Builds the error report for the given problems. The main error is the first protected target, or the first problem
    /// if no target is protected.
    pub(super) fn report(self, problems: &[TaskProblem], ids: &mut Ids) -> ErrorReport {
        let unknown = ErrorCode::InternalError;
        let unknown = TaskProblem::new(unknown, unknown.about());
        let recovery = |problem: &TaskProblem| match self.status {
            ErrorStatus::Rejected => RecoveryAction::Rejected,
            ErrorStatus::RolledBack | ErrorStatus::Cancelled => RecoveryAction::RolledBack,
            ErrorStatus::Partial | ErrorStatus::Failed => match problem.code.recovery_action() {
                RecoveryAction::Rejected | RecoveryAction::Skipped => RecoveryAction::Skipped,
                // The error calls for a rollback, but a task with this status was not rolled back.
                RecoveryAction::RolledBack | RecoveryAction::ManualRequired => {
                    RecoveryAction::ManualRequired
                }
            },
        };
        let is_violation =
            |problem: &&TaskProblem| problem.code.category() == ErrorCategory::ProtectedFile;
        let violations: Vec<_> = problems
            .iter()
            .filter(is_violation)
            .filter_map(|problem| {
                let target = problem.target.as_ref().map(RelPath::as_bytes);
                Some(Violation {
                    action_id: self.action_id(problem.action?)?,
                    target: shown(target.or(problem.given.as_deref())?),
                    reason: clean(&problem.message),
                })
            })
            .collect();
        let mut object = |problem: &TaskProblem, violations: Vec<Violation>| {
            let action = self.task.zip(problem.action).and_then(|(task, at)| task.action(at));
            let target = problem.target.as_ref().or(action.map(|action| &action.target));
            let target = target.map(RelPath::as_bytes).or(problem.given.as_deref());
            let number = |number: u64| u32::try_from(number).ok();
            let message = match violations.is_empty() {
                true => clean(&problem.message),
                false => CleanText::fixed("Plan contains protected file modifications"),
            };
            ErrorObject {
                error_id: ids.next(),
                error_code: problem.code.number(),
                error_category: problem.code.category(),
                error_type: problem.code.error_type().to_owned(),
                message,
                details: ErrorDetails {
                    action_id: action.map(|action| clean(action.id.as_str())),
                    target: target.map(shown),
                    operation: action.map(|action| clean(&action.action_type().to_string())),
                    violations,
                    json_path: problem.json_path.as_deref().map(clean),
                    line: problem.place.and_then(|place| number(place.line)),
                    column: problem.place.and_then(|place| number(place.column)),
                    reason: problem.reason.map(clean),
                    stack_trace: problem.stack_trace().as_deref().map(clean),
                    hints: Vec::new(),
                },
                recovery_action: recovery(problem),
                timestamp: self.time,
            }
        };
        let decisive = problems.iter().find(is_violation).or(problems.first()).unwrap_or(&unknown);
        let error = object(decisive, violations.clone());
        let others = problems.iter().filter(|problem| {
            !std::ptr::eq(*problem, decisive) && (violations.is_empty() || !is_violation(problem))
        });
        let other_errors = others.map(|problem| object(problem, Vec::new())).collect();
        let Self { report_id, plan_id, status, run, .. } = self;
        ErrorReport { report_id, plan_id, status, error, other_errors, run }
    }
}

fn shown(path: &[u8]) -> CleanText {
    clean(&Quoted(path).to_string())
}
