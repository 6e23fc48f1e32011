//! Actions: the start of one that an approver agreed to, the end of each, and the catalog of all (AA-5,
//! AA-13).

use actum_core::{ActionName, Digest, RiskTier, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Approval, Bound, Isolation, TenantId, WorkspaceId};
use crate::ledger::{Attempt, Confidence};
use crate::receipt::EntryRef;

/// Start of an action. It is durable before anything of it runs or is changed. If an approver had to agree
/// before anything runs, the action uses that approval up, whatever its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStarted {
    /// [`ActionStarted::FORMAT`].
    pub format: String,
    /// Time of the start.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Path of that workspace, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The name of this action, by which its [`ActionEnded`] is known.
    pub id: RunId,
    /// Id that its planner gave to it.
    pub action_id: Option<String>,
    /// Type of the action.
    pub action_type: ActionName,
    /// The tier that counts, as far as it is known.
    pub tier: RiskTier,
    /// Confidence of the planner.
    pub confidence: Option<Confidence>,
    /// Reason of the planner for the proposal.
    pub reason: Option<String>,
    /// The digest of the plan envelope.
    pub plan: Digest,
    /// Actor that requested it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Approval that was needed for it to begin.
    pub agreed: Option<Agreed>,
    /// The program.
    pub engine: String,
}

/// Approval of an action, and its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// Change that was approved.
    pub bound: Bound,
    /// The approval that lets it go.
    pub approval: Approval,
}

/// End of an action: the feedback that a planner can learn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEnded {
    /// [`ActionEnded::FORMAT`].
    pub format: String,
    /// Time of the end.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Path of that workspace, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The name of this action.
    pub id: RunId,
    /// Id that its planner gave to it.
    pub action_id: Option<String>,
    /// Type of the action.
    pub action_type: ActionName,
    /// The tier that counted.
    pub tier: RiskTier,
    /// Confidence of the planner.
    pub confidence: Option<Confidence>,
    /// Reason of the planner for the proposal.
    pub reason: Option<String>,
    /// The digest of the plan envelope, or of the bytes of a malformed one.
    pub plan: Digest,
    /// Actor that requested it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// Outcome of the action.
    pub status: Status,
    /// The permanent name of why it ended otherwise than asked for.
    pub ground: Option<String>,
    /// Reason in words.
    pub message: Option<String>,
    /// Checks that were made.
    pub checks: Vec<ActionCheck>,
    /// The one try to repair it (AA-6).
    pub repair: Attempt,
    /// The try to put the workspace back as it was.
    pub rollback: Attempt,
    /// The run that changed files.
    pub run: Option<RunId>,
    /// The plan that waits in the queue.
    pub queued: Option<RunId>,
    /// The plan whose approval let it go.
    pub approved: Option<RunId>,
    /// Total duration in milliseconds.
    pub duration_ms: u64,
    /// The program.
    pub engine: String,
}

/// One check of an action, without what it wrote: that may hold contents of files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionCheck {
    /// The command, or the name of a check that is built in.
    pub name: String,
    /// True if it holds.
    pub ok: bool,
    /// Exit code of the command.
    pub exit_code: Option<i32>,
    /// Duration in milliseconds.
    pub duration_ms: Option<u64>,
}

/// State of an action of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ActionState {
    /// The action is registered, and cannot be used yet.
    Draft,
    /// The action can be used.
    Active,
    /// The action can no longer be used.
    Retired,
}

/// Change of the catalog by a user. An approval key signs it as the payload of an envelope, so that no
/// agent makes code of its own an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogChanged {
    /// [`CatalogChanged::FORMAT`].
    pub format: String,
    /// Time of the change.
    pub time: Timestamp,
    /// Tenant whose catalog it is.
    pub tenant: TenantId,
    /// The change before it; of the first change the beginning of the log. What was signed once counts at that
    /// one place alone.
    pub follows: EntryRef,
    /// The action.
    pub action: ActionName,
    /// State before; absent for a new action.
    pub from: Option<ActionState>,
    /// State from now on.
    pub to: ActionState,
    /// Reason, in the user's words.
    pub reason: Option<String>,
    /// The digest of the whole catalog as it is from now on, a document in the ledger.
    pub snapshot: Digest,
    /// User who changed it.
    pub by: Actor,
    /// Isolation of the approval key, which keeps others from changing the catalog.
    pub isolation: Isolation,
}

impl ActionState {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Draft, Self::Active, Self::Retired];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::Active => "ACTIVE",
            Self::Retired => "RETIRED",
        }
    }
}

impl ActionStarted {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.action-started/1";
}

impl ActionEnded {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.action-ended/1";
}

impl CatalogChanged {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.catalog-changed/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.catalog-changed+json";
}
