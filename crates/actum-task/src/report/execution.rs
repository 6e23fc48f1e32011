//! Execution report of a task: the outcome of the run and of each action (EX-14).

use std::collections::BTreeSet;

use actum_core::canonical::{self, CanonicalError};
use actum_core::plain_id::PlainId;
use actum_core::{Digest, RunId, Timestamp, count};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::details::ActionDetails;
use super::schemas::EXECUTION_REPORT;
use super::{ReportError, document};

/// Version of the contract that the reports follow.
pub const EXECUTOR_VERSION: &str = "2.0.0";

/// Outcome of the execution of a plan. The counts and the duration in the document are computed from the other values, so they are
/// always consistent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct ExecutionReport {
    facts: RunFacts,
    actions: Actions,
    status: ReportStatus,
    rollback_performed: bool,
}

/// Facts about a run, without the outcomes of its actions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// Id of the execution report.
    pub report_id: PlainId,
    /// Id of the plan that was executed.
    pub plan_id: PlainId,
    /// Time at which the run started.
    pub started_at: Timestamp,
    /// Time at which the run ended.
    pub completed_at: Timestamp,
    /// Id of the rollback manifest, if one was written.
    pub rollback_manifest_id: Option<PlainId>,
    /// Further details, which the contract does not require.
    pub more: RunDetails,
}

/// Further details of a run. These fields are specific to actum.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunDetails {
    /// Id of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<PlainId>,
    /// Id of the run in the workspace and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Path of the receipt of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<CleanText>,
    /// Id of the git commit that contains the changes of the run, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CleanText>,
    /// Method by which the run was rolled back or can be rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_method: Option<RollbackMethod>,
    /// Path to which the previous plan was archived.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<CleanText>,
    /// Notes for the user, for example why a run was not committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<CleanText>,
}

/// Method for rolling back a run (EX-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackMethod {
    /// A git commit reverts the commit of the run.
    GitRevert,
    /// The files are restored from the checkpoint of the run.
    Checkpoint,
}

/// End of a run, regardless of the outcomes of its actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// The changes of the completed actions are in effect.
    Finished,
    /// The run was rolled back.
    RolledBack,
    /// The run was cancelled and rolled back.
    Cancelled,
    /// The rollback failed, so an operator must intervene.
    RollbackFailed,
}

/// Status of a run that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReportStatus {
    /// All actions were completed.
    Success,
    /// Some actions were completed, and their changes are in effect.
    Partial,
    /// No action was completed, or an operator must intervene.
    Failed,
    /// The completed actions were rolled back.
    RolledBack,
    /// The run was cancelled, and the completed actions were rolled back.
    Cancelled,
}

/// Outcome of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// The action was completed. This does not change if the run is rolled back.
    Completed(CompletedAction),
    /// The action failed.
    Failed(FailedAction),
    /// The action was skipped.
    Skipped(SkippedAction),
}

/// Action that was completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedAction {
    /// Id of the completed action.
    pub action_id: CleanText,
    /// Status of the action, which is always `SUCCESS`.
    pub status: CompletedWord,
    /// Time at which the action started.
    pub started_at: Timestamp,
    /// Time at which the action ended.
    pub completed_at: Timestamp,
    /// Description of what the action did, in one sentence.
    pub output: CleanText,
    /// Details of the action, if it ran in its own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ActionDetails>,
}

/// Action that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAction {
    /// Id of the failed action.
    pub action_id: CleanText,
    /// Status of the action, which is always `FAILED`.
    pub status: FailedWord,
    /// Error code, from 1000 to 5999.
    pub error_code: u16,
    /// Description of the error in one sentence.
    pub error_message: CleanText,
    /// Error chain of an internal error (5xxx), with one error per line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<CleanText>,
    /// Details of the action, if it ran in its own process and the process ended regularly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ActionDetails>,
}

/// Action that was skipped.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedAction {
    /// Id of the skipped action.
    pub action_id: CleanText,
    /// Reason why the action was skipped.
    pub reason: CleanText,
}

/// The only status that a completed action can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CompletedWord {
    /// Written as `SUCCESS`.
    #[default]
    Success,
}

/// The only status that a failed action can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailedWord {
    /// Written as `FAILED`.
    #[default]
    Failed,
}

/// Number of actions by outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionsSummary {
    total: u64,
    completed: u64,
    failed: u64,
    skipped: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Actions {
    completed: Vec<CompletedAction>,
    failed: Vec<FailedAction>,
    skipped: Vec<SkippedAction>,
}

impl Actions {
    fn outcomes(self) -> Vec<ActionOutcome> {
        let completed = self.completed.into_iter().map(ActionOutcome::Completed);
        let failed = self.failed.into_iter().map(ActionOutcome::Failed);
        let skipped = self.skipped.into_iter().map(ActionOutcome::Skipped);
        completed.chain(failed).chain(skipped).collect()
    }
}

#[derive(Serialize, Deserialize)]
struct Written {
    report_id: PlainId,
    plan_id: PlainId,
    executor_version: String,
    status: ReportStatus,
    started_at: Timestamp,
    completed_at: Timestamp,
    duration_ms: u64,
    actions_summary: ActionsSummary,
    actions_completed: Vec<CompletedAction>,
    actions_failed: Vec<FailedAction>,
    actions_skipped: Vec<SkippedAction>,
    rollback_performed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rollback_manifest_id: Option<PlainId>,
    #[serde(flatten)]
    more: RunDetails,
}

impl ActionOutcome {
    /// Returns the outcome of an action that failed with this error, without further details.
    pub fn failed(action_id: CleanText, error_code: u16, error_message: CleanText) -> Self {
        let (status, stack_trace, details) = (FailedWord::Failed, None, None);
        Self::Failed(FailedAction {
            action_id,
            status,
            error_code,
            error_message,
            stack_trace,
            details,
        })
    }

    /// Returns the id of the action.
    pub fn action_id(&self) -> &CleanText {
        match self {
            Self::Completed(action) => &action.action_id,
            Self::Failed(action) => &action.action_id,
            Self::Skipped(action) => &action.action_id,
        }
    }
}

impl ExecutionReport {
    /// Creates the report of a run from the outcomes of all its actions. Within each kind of outcome, the actions keep their order.
    pub fn new(facts: RunFacts, actions: Vec<ActionOutcome>, end: RunEnd) -> Self {
        let actions = actions.into_iter().fold(Actions::default(), |mut all, action| {
            match action {
                ActionOutcome::Completed(action) => all.completed.push(action),
                ActionOutcome::Failed(action) => all.failed.push(action),
                ActionOutcome::Skipped(action) => all.skipped.push(action),
            }
            all
        });
        let any_completed = !actions.completed.is_empty();
        let all_completed = actions.failed.is_empty() && actions.skipped.is_empty();
        let (status, rollback_performed) = match end {
            RunEnd::Finished if all_completed => (ReportStatus::Success, false),
            RunEnd::Finished if any_completed => (ReportStatus::Partial, false),
            RunEnd::Finished | RunEnd::RollbackFailed => (ReportStatus::Failed, false),
            RunEnd::RolledBack => (ReportStatus::RolledBack, true),
            RunEnd::Cancelled => (ReportStatus::Cancelled, any_completed),
        };
        Self { facts, actions, status, rollback_performed }
    }

    /// Updates the report after the run was rolled back later (EX-17).
    #[must_use]
    pub fn rolled_back(mut self, method: RollbackMethod, note: CleanText) -> Self {
        self.status = ReportStatus::RolledBack;
        self.rollback_performed = true;
        self.facts.more.rollback_method = Some(method);
        self.facts.more.notes.push(note);
        self
    }

    /// Sets the end time of the run.
    #[must_use]
    pub fn ended(mut self, time: Timestamp) -> Self {
        self.facts.completed_at = time.max(self.facts.started_at);
        self
    }

    /// Updates the report for a run that ended differently, at `time`. The outcomes of its actions stay the same.
    #[must_use]
    pub fn ended_as(self, end: RunEnd, time: Timestamp) -> Self {
        Self::new(self.facts, self.actions.outcomes(), end).ended(time)
    }

    /// Replaces the outcomes of the actions that `outcomes` lists, and computes the status again.
    #[must_use]
    pub fn with_outcomes(self, outcomes: Vec<ActionOutcome>) -> Self {
        let (mut actions, time) = (self.actions.outcomes(), self.facts.completed_at);
        for outcome in outcomes {
            let mut known = actions.iter_mut();
            if let Some(known) = known.find(|it| it.action_id() == outcome.action_id()) {
                *known = outcome;
            }
        }
        Self::new(self.facts, actions, RunEnd::Finished).ended(time)
    }

    /// Returns the report that the run has while its changes are in effect, even if it was rolled back since.
    ///
    /// A report with the status `FAILED` is returned unchanged, because another process changed the files of the run.
    #[must_use]
    pub fn in_force(self) -> Self {
        match self.status {
            ReportStatus::Failed => self,
            ReportStatus::Success
            | ReportStatus::Partial
            | ReportStatus::RolledBack
            | ReportStatus::Cancelled => {
                let time = self.facts.completed_at;
                self.ended_as(RunEnd::Finished, time)
            }
        }
    }

    /// Returns the digest of the action outcomes, which never change after the run. The outcomes of the actions in `later`, which
    /// run afterwards, are excluded.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if the outcomes cannot be serialized.
    pub fn outcomes_digest(&self, later: &BTreeSet<&str>) -> Result<Digest, CanonicalError> {
        let Actions { completed, failed, skipped } = &self.actions;
        let is_of_run = |id: &CleanText| !later.contains(id.as_str());
        let completed: Vec<_> = completed.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let failed: Vec<_> = failed.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let skipped: Vec<_> = skipped.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let outcomes = canonical::to_vec(&(completed, failed, skipped))?;
        Ok(Digest::tagged("actum/task-outcomes/v1", &[&outcomes]))
    }

    /// Adds a note for the reader. Also sets the rollback method if the run was rolled back.
    #[must_use]
    pub fn noted(mut self, note: CleanText, method: Option<RollbackMethod>) -> Self {
        self.facts.more.notes.push(note);
        if self.rollback_performed {
            self.facts.more.rollback_method = method;
        }
        self
    }

    /// Sets the id of the rollback manifest that was written for the run.
    #[must_use]
    pub fn with_manifest(mut self, id: Option<PlainId>) -> Self {
        self.facts.rollback_manifest_id = id;
        self
    }

    /// Sets the path of the receipt and, if the run was committed, the id of the commit.
    #[must_use]
    pub fn recorded(mut self, receipt: CleanText, commit: Option<CleanText>) -> Self {
        self.facts.more.receipt = Some(receipt);
        if commit.is_some() {
            self.facts.more.rollback_method = Some(RollbackMethod::GitRevert);
        }
        self.facts.more.commit = commit;
        self
    }

    /// Returns the facts about the run, without the outcomes of its actions.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// Returns the status of the run.
    pub fn status(&self) -> ReportStatus {
        self.status
    }

    /// Returns whether the files are as before the run, because it was rolled back or cancelled.
    pub fn is_as_before(&self) -> bool {
        match self.status {
            ReportStatus::RolledBack | ReportStatus::Cancelled => true,
            ReportStatus::Success | ReportStatus::Partial | ReportStatus::Failed => false,
        }
    }

    /// Returns whether the run was rolled back.
    pub fn rollback_performed(&self) -> bool {
        self.rollback_performed
    }

    /// Returns the actions that were completed.
    pub fn completed(&self) -> &[CompletedAction] {
        &self.actions.completed
    }

    /// Returns the actions that failed.
    pub fn failed(&self) -> &[FailedAction] {
        &self.actions.failed
    }

    /// Returns the actions that were skipped.
    pub fn skipped(&self) -> &[SkippedAction] {
        &self.actions.skipped
    }

    /// Returns the number of actions by outcome.
    pub fn summary(&self) -> ActionsSummary {
        let Actions { completed, failed, skipped } = &self.actions;
        let (completed, failed, skipped) =
            (count(completed.len()), count(failed.len()), count(skipped.len()));
        ActionsSummary { total: completed + failed + skipped, completed, failed, skipped }
    }

    /// Parses an execution report. Unknown fields are ignored.
    ///
    /// # Errors
    /// Returns [`ReportError`] with the first problem, for example counts that do not match the listed actions.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &EXECUTION_REPORT)
    }

    /// Serializes the report in the form that [`read`](Self::read) accepts.
    ///
    /// # Errors
    /// Returns [`ReportError`] if a value is longer than the schema allows.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl ReportStatus {
    /// Returns the status as written in the execution report.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::Partial => "PARTIAL",
            Self::Failed => "FAILED",
            Self::RolledBack => "ROLLED_BACK",
            Self::Cancelled => "CANCELLED",
        }
    }
}

impl ActionsSummary {
    /// Returns the number of all actions of the plan.
    pub fn total(self) -> u64 {
        self.total
    }

    /// Returns the number of completed actions.
    pub fn completed(self) -> u64 {
        self.completed
    }

    /// Returns the number of failed actions.
    pub fn failed(self) -> u64 {
        self.failed
    }

    /// Returns the number of skipped actions.
    pub fn skipped(self) -> u64 {
        self.skipped
    }
}

/// Returns the duration in whole milliseconds, or 0 if the clock went backwards.
fn duration_ms(started: Timestamp, completed: Timestamp) -> u64 {
    let micros = completed.micros().saturating_sub(started.micros());
    u64::try_from(micros / 1000).unwrap_or(0)
}

impl From<ExecutionReport> for Written {
    fn from(report: ExecutionReport) -> Self {
        let actions_summary = report.summary();
        let ExecutionReport { facts, actions, status, rollback_performed } = report;
        Self {
            report_id: facts.report_id,
            plan_id: facts.plan_id,
            executor_version: EXECUTOR_VERSION.to_owned(),
            status,
            started_at: facts.started_at,
            completed_at: facts.completed_at,
            duration_ms: duration_ms(facts.started_at, facts.completed_at),
            actions_summary,
            actions_completed: actions.completed,
            actions_failed: actions.failed,
            actions_skipped: actions.skipped,
            rollback_performed,
            rollback_manifest_id: facts.rollback_manifest_id,
            more: facts.more,
        }
    }
}

impl TryFrom<Written> for ExecutionReport {
    type Error = &'static str;

    fn try_from(written: Written) -> Result<Self, &'static str> {
        let facts = RunFacts {
            report_id: written.report_id,
            plan_id: written.plan_id,
            started_at: written.started_at,
            completed_at: written.completed_at,
            rollback_manifest_id: written.rollback_manifest_id,
            more: written.more,
        };
        let actions = Actions {
            completed: written.actions_completed,
            failed: written.actions_failed,
            skipped: written.actions_skipped,
        };
        let (status, rollback_performed) = (written.status, written.rollback_performed);
        let report = Self { facts, actions, status, rollback_performed };
        let summary = report.summary();
        if summary != written.actions_summary {
            return Err("`actions_summary` does not match the listed actions");
        }
        if written.duration_ms != duration_ms(written.started_at, written.completed_at) {
            return Err(
                "`duration_ms` does not match the time from `started_at` to `completed_at`",
            );
        }
        let is_status_possible = match status {
            ReportStatus::Success => !rollback_performed && summary.completed == summary.total,
            ReportStatus::Partial => {
                !rollback_performed && summary.completed > 0 && summary.completed < summary.total
            }
            ReportStatus::Failed => !rollback_performed,
            ReportStatus::RolledBack => rollback_performed,
            ReportStatus::Cancelled => rollback_performed == (summary.completed > 0),
        };
        is_status_possible
            .then_some(report)
            .ok_or("`status` does not match the outcomes of the actions")
    }
}
