//! Actions: that one begins which a person agreed to, how each ended, and which of them there are (AA-5,
//! AA-13).

use actum_core::{ActionName, Digest, RiskTier, RunId, Status, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Approval, Bound, Isolation, TenantId, WorkspaceId};
use crate::ledger::{Attempt, Confidence};
use crate::receipt::EntryRef;

/// An action begins. It is durable before anything of it runs or is changed. Where a person had to agree before
/// anything runs, that approval is used up by it, whatever becomes of the action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionStarted {
    /// [`ActionStarted::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Where that was, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The name of this action, by which its [`ActionEnded`] is known.
    pub id: RunId,
    /// How its planner calls it.
    pub action_id: Option<String>,
    /// Which action it is.
    pub action_type: ActionName,
    /// The tier that counts, as far as it is known.
    pub tier: RiskTier,
    /// How sure the planner was.
    pub confidence: Option<Confidence>,
    /// Why the planner proposed it.
    pub reason: Option<String>,
    /// The digest of the plan envelope.
    pub plan: Digest,
    /// Who asked for it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// What a person agreed to, where that was needed for it to begin.
    pub agreed: Option<Agreed>,
    /// The program.
    pub engine: String,
}

/// That a person agreed, and to what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agreed {
    /// What was approved.
    pub bound: Bound,
    /// The approval that lets it go.
    pub approval: Approval,
}

/// How an action ended: the feedback that whoever plans can learn from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionEnded {
    /// [`ActionEnded::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose ledger it is in.
    pub tenant: TenantId,
    /// In which workspace.
    pub workspace: WorkspaceId,
    /// Where that was, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The name of this action.
    pub id: RunId,
    /// How its planner calls it.
    pub action_id: Option<String>,
    /// Which action it is.
    pub action_type: ActionName,
    /// The tier that counted.
    pub tier: RiskTier,
    /// How sure the planner was.
    pub confidence: Option<Confidence>,
    /// Why the planner proposed it.
    pub reason: Option<String>,
    /// The digest of the plan envelope, or of the bytes of a malformed one.
    pub plan: Digest,
    /// Who asked for it.
    pub actor: Actor,
    /// Entry point that received the request.
    pub door: String,
    /// How it ended.
    pub status: Status,
    /// The permanent name of why it ended otherwise than asked for.
    pub ground: Option<String>,
    /// The same in words.
    pub message: Option<String>,
    /// What was checked.
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
    /// How long all of it took, in milliseconds.
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
    /// Whether it holds.
    pub ok: bool,
    /// How the command ended.
    pub exit_code: Option<i32>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<u64>,
}

/// Where an action of the catalog stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum ActionState {
    /// It is registered, and nobody may use it yet.
    Draft,
    /// It can be used.
    Active,
    /// It cannot be used any more.
    Retired,
}

/// A person changed the catalog. An approval key signs it as the payload of an envelope, so that no agent
/// makes code of its own an action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogChanged {
    /// [`CatalogChanged::FORMAT`].
    pub format: String,
    /// When.
    pub time: Timestamp,
    /// Whose catalog it is.
    pub tenant: TenantId,
    /// The change before it; of the first change the beginning of the log. What was signed once counts at that
    /// one place alone.
    pub follows: EntryRef,
    /// The action.
    pub action: ActionName,
    /// Where it stood; nowhere where it is new.
    pub from: Option<ActionState>,
    /// Where it stands from now on.
    pub to: ActionState,
    /// Why, in the person's words.
    pub reason: Option<String>,
    /// The digest of the whole catalog as it is from now on, a document in the ledger.
    pub snapshot: Digest,
    /// Who changed it.
    pub by: Actor,
    /// What keeps others from changing it so.
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
