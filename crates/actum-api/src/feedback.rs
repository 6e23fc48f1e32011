//! `actum.feedback/1`: ends of actions.

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
    /// Actions that ended, the newest first.
    pub actions: Vec<EndedAction>,
}

/// End of one action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EndedAction {
    /// Number of the entry in the ledger, counted from 0.
    pub entry: u64,
    /// Time of the end.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Id of the action.
    #[schemars(with = "value::RunId")]
    pub id: RunId,
    /// Id that the planner gave the action, or `null`.
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
    /// Permanent name of the reason why it did not succeed, or `null`.
    pub ground: Option<String>,
    /// Reason as a sentence, or `null`.
    pub message: Option<String>,
    /// Confidence of the planner, from 0 to 1, or `null`.
    #[schemars(with = "Option<f64>", extend("minimum" = 0, "maximum" = 1))]
    pub confidence: Option<Confidence>,
    /// Reason that the planner gave for the action, or `null`.
    pub reason: Option<String>,
    /// Checks of the action.
    pub checks: Vec<ActionCheck>,
    /// Repair after a failed check.
    pub repair: Attempt,
    /// Rollback of the action.
    pub rollback: Attempt,
    /// Run that changed files, or `null`.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Plan that waits for an approver, or `null`.
    #[schemars(with = "Option<value::RunId>")]
    pub queued: Option<RunId>,
    /// Plan whose approval let the action run, or `null`.
    #[schemars(with = "Option<value::RunId>")]
    pub approved: Option<RunId>,
    /// Duration in milliseconds.
    pub duration_ms: u64,
    /// Requester.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Digest of the plan envelope.
    #[schemars(with = "value::Digest")]
    pub plan: Digest,
    /// Id of the workspace.
    #[schemars(with = "value::WorkspaceId")]
    pub workspace: WorkspaceId,
    /// Root of the workspace at that time.
    pub root: String,
}

/// Check of an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionCheck {
    /// The command, or the name of a built-in check.
    pub name: String,
    /// True if the check passed.
    pub ok: bool,
    /// Exit code of the command, or `null`.
    pub exit_code: Option<i32>,
    /// Duration in milliseconds, or `null`.
    pub duration_ms: Option<u64>,
}

impl From<RecordedCheck> for ActionCheck {
    fn from(RecordedCheck { name, ok, exit_code, duration_ms }: RecordedCheck) -> Self {
        Self { name, ok, exit_code, duration_ms }
    }
}

/// Attempt at a repair or a rollback.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// True if it was attempted.
    pub attempted: bool,
    /// True if it succeeded.
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
