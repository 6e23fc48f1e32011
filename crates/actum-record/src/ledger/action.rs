//! Ledger entries about actions, which record their start, their end and changes of the action catalog (AA-5, AA-13).

use actum_core::{ActionName, Digest, RiskTier, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Approval, Bound, Isolation, TenantId, WorkspaceId};
use crate::ledger::{Attempt, Confidence};
use crate::receipt::EntryRef;

/// Entry that records the start of an action. It is durable before the action runs anything or changes files. If the action
/// had to be approved before it could run, the start consumes the approval, even if the action fails.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStarted {
    /// Format of the entry, which is always [`ActionStarted::FORMAT`].
    pub format: String,
    /// Time at which the action started.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace in which the action runs.
    pub workspace: WorkspaceId,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: String,
    /// Id of the action, which its [`ActionEnded`] entry repeats.
    pub id: RunId,
    /// Id that the planner assigned to the action.
    pub action_id: Option<String>,
    /// Type of the action.
    pub action_type: ActionName,
    /// Effective risk tier of the action, as far as it is known at the start.
    pub tier: RiskTier,
    /// Confidence of the planner in the action.
    pub confidence: Option<Confidence>,
    /// Reason that the planner gave for proposing the action.
    pub reason: Option<String>,
    /// Digest of the plan envelope.
    pub plan: Digest,
    /// Actor that requested the action.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Approval that the action needed before it could start.
    pub agreed: Option<Agreed>,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Approval that allowed an action to start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// Digests that the approval is bound to.
    pub bound: Bound,
    /// Approval of the plan.
    pub approval: Approval,
}

/// Entry that records the end of an action, with the feedback that a planner can learn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEnded {
    /// Format of the entry, which is always [`ActionEnded::FORMAT`].
    pub format: String,
    /// Time at which the action ended.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace in which the action ran.
    pub workspace: WorkspaceId,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: String,
    /// Id of the action.
    pub id: RunId,
    /// Id that the planner assigned to the action.
    pub action_id: Option<String>,
    /// Type of the action.
    pub action_type: ActionName,
    /// Effective risk tier of the action.
    pub tier: RiskTier,
    /// Confidence of the planner in the action.
    pub confidence: Option<Confidence>,
    /// Reason that the planner gave for proposing the action.
    pub reason: Option<String>,
    /// Digest of the plan envelope, or of its raw bytes if it is malformed.
    pub plan: Digest,
    /// Actor that requested the action.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Outcome of the action.
    pub status: Status,
    /// Reason code, if the action did not end as requested.
    pub ground: Option<String>,
    /// Message that explains the reason.
    pub message: Option<String>,
    /// Checks that were performed.
    pub checks: Vec<ActionCheck>,
    /// Attempt to repair the action, of which there is at most one (AA-6).
    pub repair: Attempt,
    /// Attempt to roll the workspace back to its previous state.
    pub rollback: Attempt,
    /// Run in which the action changed files.
    pub run: Option<RunId>,
    /// Queued plan that waits for approval.
    pub queued: Option<RunId>,
    /// Plan whose approval allowed the action to run.
    pub approved: Option<RunId>,
    /// Total duration of the action, in milliseconds.
    pub duration_ms: u64,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Result of a single check of an action. Its output is not recorded, because it could contain the content of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionCheck {
    /// Command line of the check, or the name of a built-in check.
    pub name: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Exit code of the check's command.
    pub exit_code: Option<i32>,
    /// Duration of the check, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// State of an action in the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ActionState {
    /// The action is registered, but cannot be used yet.
    Draft,
    /// The action can be used.
    Active,
    /// The action can no longer be used.
    Retired,
}

/// Entry that records a user's change of the action catalog. It is the payload of an envelope signed by an approval key, so
/// that an agent cannot register its own code as an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogChanged {
    /// Format of the entry, which is always [`CatalogChanged::FORMAT`].
    pub format: String,
    /// Time of the change.
    pub time: Timestamp,
    /// Tenant whose catalog was changed.
    pub tenant: TenantId,
    /// Preceding change of the catalog, or the start of the log for the first change. Because of this reference, the signed
    /// change is valid only at this position in the log.
    pub follows: EntryRef,
    /// Action whose state was changed.
    pub action: ActionName,
    /// State before the change, or `None` for a new action.
    pub from: Option<ActionState>,
    /// State after the change.
    pub to: ActionState,
    /// Reason given by the user.
    pub reason: Option<String>,
    /// Digest of the ledger document that contains the entire catalog after the change.
    pub snapshot: Digest,
    /// User who changed the catalog.
    pub by: Actor,
    /// Protection of the approval key that signed the change.
    pub isolation: Isolation,
}

impl ActionState {
    /// All states of an action.
    pub const ALL: [Self; 3] = [Self::Draft, Self::Active, Self::Retired];

    /// Returns the permanent name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::Active => "ACTIVE",
            Self::Retired => "RETIRED",
        }
    }
}

impl ActionStarted {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.action-started/1";
}

impl ActionEnded {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.action-ended/1";
}

impl CatalogChanged {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.catalog-changed/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.catalog-changed+json";
}
