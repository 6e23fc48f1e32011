//! Bundle of all facts that a decision is based on. It is the only input of the decision (AEC-11).
//!
//! Struct fields are declared in alphabetical order, because this makes writing the canonical form fastest.

use alloc::string::String;
use alloc::vec::Vec;

use actum_core::{ActionName, Digest, RiskTier, Timestamp, canonical};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::ledger::{
    AccessOutcome, ActionState, Actor, AgentState, ConfirmationOutcome, TenantId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Input of a decision, consisting of references to documents and facts about the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentBundle {
    /// Result of the access policies, or `None` if the catalog does not contain the simulation.
    pub access: Option<AccessFacts>,
    /// Digest of the fingerprints of the engine, package, schemas and lexicon (`artifact_fingerprint_bundle_ref`).
    pub artifacts: Digest,
    /// Process that requested the decision, and how it was identified.
    pub caller: Caller,
    /// Digest of the active catalog (`catalog_snapshot_ref`).
    pub catalog_snapshot: Digest,
    /// Effective answer to the confirmation prompt for this plan. If this plan has none, the answer to the plan that
    /// was answered last.
    pub confirmation: Option<ConfirmationFacts>,
    /// Digest of the canonical bytes of the packet (`finder_packet_ref`).
    pub finder_packet: Digest,
    /// Format version, always [`AgentBundle::FORMAT`].
    pub format: String,
    /// Goal that the decision is about.
    pub goal: GoalFacts,
    /// Earlier events of the same goal.
    pub history: HistoryFacts,
    /// Digest of the active confirmation lexicon.
    pub lexicon: Digest,
    /// Packet of the Finder in sealed form, as returned by [`seal_packet`](crate::seal_packet).
    pub packet: Map<String, Value>,
    /// Workspace and the restrictions that apply to a dispatch there.
    pub place: Place,
    /// Digest of the active policy (`policy_snapshot_ref`).
    pub policy_snapshot: Digest,
    /// Simulation that the packet names for the rollback, if the catalog contains it.
    pub rollback: Option<RollbackFacts>,
    /// Simulation of the first candidate, if the catalog contains it.
    pub simulation: Option<SimulationFacts>,
    /// Time at which the decision is made.
    pub time: Timestamp,
}

/// Facts about a goal, taken from its request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalFacts {
    /// Number of the attempt, starting at 0.
    pub attempt: u32,
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Fingerprint of the goal.
    pub fingerprint: Digest,
    /// Digest of the request's idempotency key.
    pub request_key: Digest,
    /// Tenant named in the request.
    pub tenant: TenantId,
    /// Conversation that the goal belongs to.
    pub thread: ThreadId,
    /// User named in the request.
    pub user: UserId,
}

/// Process that requested the decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// User account and agent of the process.
    pub actor: Actor,
    /// Identification of the user.
    pub identity: Identity,
    /// Tenant that owns the ledger.
    pub tenant: TenantId,
}

/// Method by which the user of a request was identified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Identity {
    /// The user is the account of the requesting process.
    Own,
    /// A host asserted the user with its key.
    Host {
        /// Name of the host key.
        key: String,
        /// Digest of the assertion that the key signed. The assertion is stored in the ledger.
        assertion: Digest,
    },
    /// The user could not be identified.
    Unknown,
}

/// Facts from the catalog about the simulation that a packet selects.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationFacts {
    /// Action that the access policies decide on.
    pub access_action: String,
    /// Whether the required fields match the input schema of the simulation.
    pub fields_fit: bool,
    /// Name of the simulation.
    pub id: ActionName,
    /// Whether the simulation changes things that others work with.
    pub impactful: bool,
    /// Whether the effect of the simulation cannot be undone.
    pub irreversible: bool,
    /// Whether running the simulation again has another effect, so that it is not idempotent.
    pub side_effecting: bool,
    /// State of the simulation for the tenant.
    pub state: ActionState,
    /// Minimum risk tier of the simulation's runs.
    pub tier: RiskTier,
}

/// Facts from the catalog about the simulation that a packet names for the rollback.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackFacts {
    /// Name of the simulation.
    pub id: ActionName,
    /// State of the simulation for the tenant.
    pub state: ActionState,
}

/// Workspace of a dispatch and the restrictions that apply to it. A confirmation prompt shows them to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Directories that the simulation may write files below.
    pub allowed_dirs: Vec<String>,
    /// Commands that verify the change.
    pub checks: Vec<String>,
    /// Root directory of the workspace, escaped as in ledger records.
    pub root: String,
}

/// Result of the access policies for a dispatch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFacts {
    /// Digest of the case that was decided on. The case is stored in the ledger.
    pub case: Digest,
    /// Whether the operator approved exactly this case (AP).
    pub is_approved: bool,
    /// Outcome of the access policies.
    pub outcome: AccessOutcome,
}

/// Earlier events of a goal, taken from the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryFacts {
    /// Number of ambiguous answers so far to the plan that the effective answer belongs to.
    pub ambiguous_answers: u32,
    /// Claim on the effect of the step, if the step was started before.
    pub claim: Option<ClaimFacts>,
    /// Fingerprint of the goal already recorded under this correlation id. `None` after a clarifying question, because
    /// the answer changes the wording of the goal.
    pub goal: Option<Digest>,
    /// Whether a replay of the goal has failed.
    pub is_replay_failed: bool,
    /// Time of the newest event.
    pub last: Option<Timestamp>,
    /// Goal that the idempotency key of the request already belongs to, if any.
    pub request: Option<CorrelationId>,
}

/// Claim on the effect of a step, which records that the step was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFacts {
    /// Idempotency key of the step.
    pub key: Digest,
    /// Digest of the policy that the claim pins for the step.
    pub policy_snapshot: Digest,
    /// Number of times that the effect was started.
    pub starts: u32,
    /// Current state of the step.
    pub state: AgentState,
}

/// Answer to a confirmation prompt, with the facts needed to check it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationFacts {
    /// User and agent that gave the answer.
    pub by: Actor,
    /// Time at which the prompt expires.
    pub expires: Timestamp,
    /// Digest of the lexicon that the answer was parsed with.
    pub lexicon: Digest,
    /// Outcome of parsing the answer.
    pub outcome: ConfirmationOutcome,
    /// Fingerprint of the plan shown in the prompt.
    pub plan_fingerprint: Digest,
    /// Digest of the parse proof, which is stored in the ledger (`confirmation_parse_proof_ref`).
    pub proof: Digest,
    /// Name of the approval key or host key that signed the proof, if any.
    pub relayed_by: Option<String>,
    /// Conversation in which the answer was given.
    pub thread: ThreadId,
    /// Time of the answer.
    pub time: Timestamp,
}

impl AgentBundle {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.agent-bundle/1";

    /// Returns the canonical bytes of the bundle.
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the bundle has no canonical form.
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::ordered_to_vec(self)
    }
}

impl SimulationFacts {
    /// Checks whether the simulation may be dispatched only after a confirmation (AEC-5).
    pub fn needs_confirmation(&self) -> bool {
        self.impactful || self.side_effecting || self.irreversible
    }
}
