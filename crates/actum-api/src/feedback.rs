//! `actum.feedback/1`: results of finished actions.

use actum_core::{ActionName, Digest, RiskTier, RunId, Status, Timestamp};
use actum_record::ledger::{
    ActionCheck as RecordedCheck, Attempt as RecordedAttempt, Confidence, WorkspaceId,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::record::Actor;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Feedback>()];

/// Result of `actum feedback`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Feedback {
    /// Finished actions, newest first.
    pub actions: Vec<EndedAction>,
}

/// Result of a finished action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndedAction {
    /// Index of the ledger entry, counted from 0.
    pub entry: u64,
    /// Time at which the action ended.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Id of the action.
    #[schemars(with = "value::RunId")]
    pub id: RunId,
    /// Id that the planner assigned to the action, or `null` if it assigned none.
    pub action_id: Option<String>,
    /// Name of the action in the catalog.
    #[schemars(with = "value::ActionName")]
    pub action: ActionName,
    /// Risk tier of the action.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Status of the action.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Permanent reason code if the action did not succeed, or `null`.
    pub ground: Option<String>,
    /// Reason why the action did not succeed, as a sentence, or `null`.
    pub message: Option<String>,
    /// Confidence stated by the planner, from 0 to 1, or `null` if it stated none.
    #[schemars(with = "Option<f64>", extend("minimum" = 0, "maximum" = 1))]
    pub confidence: Option<Confidence>,
    /// Reason that the planner gave for the action, or `null` if it gave none.
    pub reason: Option<String>,
    /// Checks that the action ran.
    pub checks: Vec<ActionCheck>,
    /// Repair after a failed check.
    pub repair: Attempt,
    /// Rollback of the action.
    pub rollback: Attempt,
    /// Id of the run that changed files, or `null` if the action made no run.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Id of the plan that is waiting for an approver, or `null` if no plan is waiting.
    #[schemars(with = "Option<value::RunId>")]
    pub queued: Option<RunId>,
    /// Id of the plan whose approval allowed the action to run, or `null` if it needed no approval.
    #[schemars(with = "Option<value::RunId>")]
    pub approved: Option<RunId>,
    /// Duration of the action in milliseconds.
    pub duration_ms: u64,
    /// Actor that requested the action.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Digest of the plan envelope.
    #[schemars(with = "value::Digest")]
    pub plan: Digest,
    /// Id of the workspace.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// Root of the workspace at the time of the action.
    pub root: String,
}

/// Check that was run for an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionCheck {
    /// Command line of the check, or the name of a built-in check.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Exit code of the command, or `null` if the check has no exit code.
    pub exit_code: Option<i32>,
    /// Duration of the check in milliseconds, or `null` if it was not measured.
    pub duration_ms: Option<u64>,
}

impl From<RecordedCheck> for ActionCheck {
    fn from(RecordedCheck { name, ok, exit_code, duration_ms }: RecordedCheck) -> Self {
        Self { name, ok, exit_code, duration_ms }
    }
}

/// Attempt to repair or roll back an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Whether the repair or rollback was attempted.
    pub attempted: bool,
    /// Whether the repair or rollback succeeded.
    pub ok: bool,
}

impl From<RecordedAttempt> for Attempt {
    fn from(RecordedAttempt { attempted, ok }: RecordedAttempt) -> Self {
        Self { attempted, ok }
    }
}

impl Document for Feedback {
    const FORMAT: &'static str = "actum.feedback/1";
}
