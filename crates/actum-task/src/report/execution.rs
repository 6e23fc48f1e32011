//! The execution report: what became of a plan (EX-14).

use std::collections::BTreeSet;

use actum_core::canonical::{self, CanonicalError};
use actum_core::plain_id::PlainId;
use actum_core::{Digest, RunId, Timestamp, count};
use serde::{Deserialize, Serialize};

use super::clean_text::CleanText;
use super::details::ActionDetails;
use super::schemas::EXECUTION_REPORT;
use super::{ReportError, document};

/// The version of the contract that reports are written by.
pub const EXECUTOR_VERSION: &str = "2.0.0";

/// What became of a plan. Its status, its counts and its duration follow from the rest, so none of
/// them can be wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub struct ExecutionReport {
    facts: RunFacts,
    actions: Actions,
    status: ReportStatus,
    rollback_performed: bool,
}

/// What is known of the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunFacts {
    /// The id of the report.
    pub report_id: PlainId,
    /// The plan.
    pub plan_id: PlainId,
    /// When it began.
    pub started_at: Timestamp,
    /// When it had ended.
    pub completed_at: Timestamp,
    /// What takes it back, where there is such.
    pub rollback_manifest_id: Option<PlainId>,
    /// What there is to say besides.
    pub more: RunDetails,
}

/// What there is to say of a run besides. These members are actum's own.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RunDetails {
    /// The task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<PlainId>,
    /// The run in the workspace and the ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// Where its receipt is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipt: Option<CleanText>,
    /// The commit that holds it, in hexadecimal digits, where it was committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<CleanText>,
    /// How it is, or was, taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_method: Option<RollbackMethod>,
    /// Where the plan went that was in force before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_to: Option<CleanText>,
    /// What a person should know: why a run was not committed, say.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<CleanText>,
}

/// How a run is taken back (EX-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RollbackMethod {
    /// By a commit that reverts it.
    GitRevert,
    /// To the bytes of the checkpoint.
    Checkpoint,
}

/// How a run ended, other than by what became of its actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// What its actions did is in effect.
    Finished,
    /// It was taken back.
    RolledBack,
    /// Somebody cancelled it, and it was taken back.
    Cancelled,
    /// It should have been taken back, and a person must look.
    RollbackFailed,
}

/// The word for how a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ReportStatus {
    /// All is done.
    Success,
    /// Some of it is done and in effect.
    Partial,
    /// None of it is done, or a person must look.
    Failed,
    /// What was done was taken back.
    RolledBack,
    /// Somebody cancelled it, and what was done was taken back.
    Cancelled,
}

/// What became of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionOutcome {
    /// It was carried out; it counts as that also where the run was taken back.
    Completed(CompletedAction),
    /// It could not be.
    Failed(FailedAction),
    /// It was not tried.
    Skipped(SkippedAction),
}

/// An action that was carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletedAction {
    /// The action.
    pub action_id: CleanText,
    /// `SUCCESS`.
    pub status: CompletedWord,
    /// When it began.
    pub started_at: Timestamp,
    /// When it had ended.
    pub completed_at: Timestamp,
    /// What it did, in a sentence.
    pub output: CleanText,
    /// Details, where it ran in a process of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ActionDetails>,
}

/// An action that could not be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedAction {
    /// The action.
    pub action_id: CleanText,
    /// `FAILED`.
    pub status: FailedWord,
    /// The number of the error.
    pub error_code: u16,
    /// What went wrong, in a sentence.
    pub error_message: CleanText,
    /// The chain of errors of an internal error (5xxx), a line each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_trace: Option<CleanText>,
    /// Details, where it ran to its end in a process of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ActionDetails>,
}

/// An action that was not tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedAction {
    /// The action.
    pub action_id: CleanText,
    /// Why.
    pub reason: CleanText,
}

/// The only status of an action that was carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CompletedWord {
    /// `SUCCESS`.
    #[default]
    Success,
}

/// The only status of an action that could not be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FailedWord {
    /// `FAILED`.
    #[default]
    Failed,
}

/// How many actions came to what.
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
    /// Outcome of an action that failed with this error, and of which nothing else is known.
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

    /// Id of the action.
    pub fn action_id(&self) -> &CleanText {
        match self {
            Self::Completed(action) => &action.action_id,
            Self::Failed(action) => &action.action_id,
            Self::Skipped(action) => &action.action_id,
        }
    }
}

impl ExecutionReport {
    /// The report of a run, each of whose actions came to something. They stay in their order.
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

    /// The report of the same run after it was taken back, at a later time (EX-17).
    #[must_use]
    pub fn rolled_back(mut self, method: RollbackMethod, note: CleanText) -> Self {
        self.status = ReportStatus::RolledBack;
        self.rollback_performed = true;
        self.facts.more.rollback_method = Some(method);
        self.facts.more.notes.push(note);
        self
    }

    /// The same report, ended at this time.
    #[must_use]
    pub fn ended(mut self, time: Timestamp) -> Self {
        self.facts.completed_at = time.max(self.facts.started_at);
        self
    }

    /// The report of the same actions where the run ended in another way, at this time.
    #[must_use]
    pub fn ended_as(self, end: RunEnd, time: Timestamp) -> Self {
        Self::new(self.facts, self.actions.outcomes(), end).ended(time)
    }

    /// The report of the same run, in which these actions came to something else.
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

    /// Report of the same actions while their effect is in force, whatever this one says of it. One that says that the
    /// run failed keeps its status: another process changed what the run left.
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

    /// The digest of the outcomes of its actions, which nothing changes after the run. Actions that run after it are left out.
    ///
    /// # Errors
    /// [`CanonicalError`] where they cannot be written.
    pub fn outcomes_digest(&self, later: &BTreeSet<&str>) -> Result<Digest, CanonicalError> {
        let Actions { completed, failed, skipped } = &self.actions;
        let is_of_run = |id: &CleanText| !later.contains(id.as_str());
        let completed: Vec<_> = completed.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let failed: Vec<_> = failed.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let skipped: Vec<_> = skipped.iter().filter(|it| is_of_run(&it.action_id)).collect();
        let outcomes = canonical::to_vec(&(completed, failed, skipped))?;
        Ok(Digest::tagged("actum/task-outcomes/v1", &[&outcomes]))
    }

    /// The same with a note to who reads it, and with how it was taken back where it was.
    #[must_use]
    pub fn noted(mut self, note: CleanText, method: Option<RollbackMethod>) -> Self {
        self.facts.more.notes.push(note);
        if self.rollback_performed {
            self.facts.more.rollback_method = method;
        }
        self
    }

    /// The same report, with the id of the rollback manifest that was written for the run.
    #[must_use]
    pub fn with_manifest(mut self, id: Option<PlainId>) -> Self {
        self.facts.rollback_manifest_id = id;
        self
    }

    /// The same with where it is recorded, and where it was committed.
    #[must_use]
    pub fn recorded(mut self, receipt: CleanText, commit: Option<CleanText>) -> Self {
        self.facts.more.receipt = Some(receipt);
        if commit.is_some() {
            self.facts.more.rollback_method = Some(RollbackMethod::GitRevert);
        }
        self.facts.more.commit = commit;
        self
    }

    /// What is known of the run as a whole.
    pub fn facts(&self) -> &RunFacts {
        &self.facts
    }

    /// How it ended.
    pub fn status(&self) -> ReportStatus {
        self.status
    }

    /// Whether nothing of it is in effect because it was taken back, or never was.
    pub fn is_as_before(&self) -> bool {
        match self.status {
            ReportStatus::RolledBack | ReportStatus::Cancelled => true,
            ReportStatus::Success | ReportStatus::Partial | ReportStatus::Failed => false,
        }
    }

    /// Whether it was taken back.
    pub fn rollback_performed(&self) -> bool {
        self.rollback_performed
    }

    /// The actions that were carried out.
    pub fn completed(&self) -> &[CompletedAction] {
        &self.actions.completed
    }

    /// The actions that could not be.
    pub fn failed(&self) -> &[FailedAction] {
        &self.actions.failed
    }

    /// The actions that were not tried.
    pub fn skipped(&self) -> &[SkippedAction] {
        &self.actions.skipped
    }

    /// How many actions came to what.
    pub fn summary(&self) -> ActionsSummary {
        let Actions { completed, failed, skipped } = &self.actions;
        let (completed, failed, skipped) =
            (count(completed.len()), count(failed.len()), count(skipped.len()));
        ActionsSummary { total: completed + failed + skipped, completed, failed, skipped }
    }

    /// Reads a report. Members that are not known are passed over.
    ///
    /// # Errors
    /// [`ReportError`] with the first mistake: also where the counts do not add up.
    pub fn read(bytes: &[u8]) -> Result<Self, ReportError> {
        document::read(bytes, &EXECUTION_REPORT)
    }

    /// Writes the report, as what [`read`](Self::read) takes it back from.
    ///
    /// # Errors
    /// [`ReportError`] when something is longer than the schema lets it be.
    pub fn write(&self) -> Result<Vec<u8>, ReportError> {
        document::write(self, Self::read)
    }
}

impl ReportStatus {
    /// The word.
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
    /// All actions of the plan.
    pub fn total(self) -> u64 {
        self.total
    }

    /// Those that were carried out.
    pub fn completed(self) -> u64 {
        self.completed
    }

    /// Those that could not be.
    pub fn failed(self) -> u64 {
        self.failed
    }

    /// Those that were not tried.
    pub fn skipped(self) -> u64 {
        self.skipped
    }
}

/// Whole milliseconds between two moments; 0 where the clock went back.
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
            return Err("`actions_summary` does not count the actions that are listed");
        }
        if written.duration_ms != duration_ms(written.started_at, written.completed_at) {
            return Err("`duration_ms` is not the time from `started_at` to `completed_at`");
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
        is_status_possible.then_some(report).ok_or("`status` does not follow from the actions")
    }
}
