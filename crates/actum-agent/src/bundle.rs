//! Bundle of a decision, its only input (AEC-11).
//!
//! Fields are in the order of their names, since the canonical form is written fastest in that order.

use alloc::string::String;
use alloc::vec::Vec;

use actum_core::{ActionName, Digest, RiskTier, Timestamp, canonical};
use actum_record::agent::{CorrelationId, ThreadId, UserId};
use actum_record::ledger::{
    AccessOutcome, ActionState, Actor, AgentState, ConfirmationOutcome, TenantId,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Input of a decision: refs and facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentBundle {
    /// Decision of the access policies, if the catalog has the simulation.
    pub access: Option<AccessFacts>,
    /// Digest of the fingerprints of engine, package, schemas and lexicon (`artifact_fingerprint_bundle_ref`).
    pub artifacts: Digest,
    /// Requesting process, and how it knows tenant and user.
    pub caller: Caller,
    /// Digest of the catalog in force (`catalog_snapshot_ref`).
    pub catalog_snapshot: Digest,
    /// Effective answer to the plan of the decision. Without one it is the answer to the plan that was answered last.
    pub confirmation: Option<ConfirmationFacts>,
    /// Digest of its canonical bytes (`finder_packet_ref`).
    pub finder_packet: Digest,
    /// [`AgentBundle::FORMAT`].
    pub format: String,
    /// Goal.
    pub goal: GoalFacts,
    /// Earlier events of the goal.
    pub history: HistoryFacts,
    /// Digest of the lexicon in force.
    pub lexicon: Digest,
    /// Packet of the Finder, sealed ([`seal_packet`](crate::seal_packet)).
    pub packet: Map<String, Value>,
    /// Workspace, and the limits of the dispatch.
    pub place: Place,
    /// Digest of the policy in force (`policy_snapshot_ref`).
    pub policy_snapshot: Digest,
    /// Simulation of the rollback plan, if the catalog has it.
    pub rollback: Option<RollbackFacts>,
    /// Candidate simulation, if the catalog has it.
    pub simulation: Option<SimulationFacts>,
    /// Time of the decision.
    pub time: Timestamp,
}

/// Facts of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalFacts {
    /// Number of the attempt.
    pub attempt: u32,
    /// Goal.
    pub correlation: CorrelationId,
    /// Fingerprint.
    pub fingerprint: Digest,
    /// Digest of the key of the request.
    pub request_key: Digest,
    /// Tenant that the goal names.
    pub tenant: TenantId,
    /// Conversation.
    pub thread: ThreadId,
    /// User that the goal names.
    pub user: UserId,
}

/// Requesting process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// Account and agent.
    pub actor: Actor,
    /// Identification of the user.
    pub identity: Identity,
    /// Tenant of the ledger.
    pub tenant: TenantId,
}

/// Identification of a user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Identity {
    /// Account of the requesting process.
    Own,
    /// User asserted under a host key.
    Host {
        /// Key.
        key: String,
        /// Assertion that the key signed, a document in the ledger.
        assertion: Digest,
    },
    /// Not identified.
    Unknown,
}

/// Simulation of a packet in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationFacts {
    /// Action that access policies judge.
    pub access_action: String,
    /// The required fields fit its input schema.
    pub fields_fit: bool,
    /// Name.
    pub id: ActionName,
    /// The simulation changes what others work with.
    pub impactful: bool,
    /// The effect cannot be undone.
    pub irreversible: bool,
    /// A second run has a second effect: the simulation is not idempotent.
    pub side_effecting: bool,
    /// State for the tenant.
    pub state: ActionState,
    /// Least tier of its runs.
    pub tier: RiskTier,
}

/// Simulation of a rollback plan in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollbackFacts {
    /// Name.
    pub id: ActionName,
    /// State for the tenant.
    pub state: ActionState,
}

/// Workspace and limits of a dispatch. A prompt shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Directories below which a simulation may write.
    pub allowed_dirs: Vec<String>,
    /// Commands that check the change.
    pub checks: Vec<String>,
    /// Root, escaped as in records.
    pub root: String,
}

/// Decision of the access policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFacts {
    /// Judged case, a document in the ledger.
    pub case: Digest,
    /// The operator approved exactly this (AP).
    pub is_approved: bool,
    /// Outcome.
    pub outcome: AccessOutcome,
}

/// Earlier events of a goal, from the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryFacts {
    /// Number of ambiguous answers to the plan of the effective answer.
    pub ambiguous_answers: u32,
    /// Claim of the effect of the step.
    pub claim: Option<ClaimFacts>,
    /// Fingerprint of the goal that the correlation already belongs to. `None` after a question, whose answer has other
    /// words.
    pub goal: Option<Digest>,
    /// A replay of the goal failed.
    pub is_replay_failed: bool,
    /// Time of the newest event.
    pub last: Option<Timestamp>,
    /// Goal that the request key already belongs to.
    pub request: Option<CorrelationId>,
}

/// Claim of the effect of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFacts {
    /// Idempotency key.
    pub key: Digest,
    /// Policy that the claim pins.
    pub policy_snapshot: Digest,
    /// Number of starts of the effect.
    pub starts: u32,
    /// State of the step.
    pub state: AgentState,
}

/// Answer to a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationFacts {
    /// Respondent.
    pub by: Actor,
    /// End of the validity of the prompt.
    pub expires: Timestamp,
    /// Lexicon with which the answer was parsed.
    pub lexicon: Digest,
    /// Outcome of the parser.
    pub outcome: ConfirmationOutcome,
    /// Fingerprint of the plan that the prompt shows.
    pub plan_fingerprint: Digest,
    /// Proof of the parser, a document in the ledger (`confirmation_parse_proof_ref`).
    pub proof: Digest,
    /// Key that signed the proof: an approval key or a host key.
    pub relayed_by: Option<String>,
    /// Conversation.
    pub thread: ThreadId,
    /// Time of the answer.
    pub time: Timestamp,
}

impl AgentBundle {
    /// Value of `format`.
    pub const FORMAT: &str = "actum.agent-bundle/1";

    /// Returns the canonical bytes.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::ordered_to_vec(self)
    }
}

impl SimulationFacts {
    /// Returns true if its dispatch needs a confirmation (AEC-5).
    pub fn needs_confirmation(&self) -> bool {
        self.impactful || self.side_effecting || self.irreversible
    }
}
