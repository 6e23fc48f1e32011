//! Bundle of a decision: its only input (AEC-11).

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
    /// [`AgentBundle::FORMAT`].
    pub format: String,
    /// Time of the decision.
    pub time: Timestamp,
    /// Goal.
    pub goal: GoalFacts,
    /// Packet of the Finder, sealed ([`seal_packet`](crate::seal_packet)).
    pub packet: Map<String, Value>,
    /// Digest of its canonical bytes (`finder_packet_ref`).
    pub finder_packet: Digest,
    /// Requesting process, and how it knows tenant and user.
    pub caller: Caller,
    /// Digest of the policy in force (`policy_snapshot_ref`).
    pub policy_snapshot: Digest,
    /// Digest of the catalog in force (`catalog_snapshot_ref`).
    pub catalog_snapshot: Digest,
    /// Candidate simulation, if the catalog has it.
    pub simulation: Option<SimulationFacts>,
    /// Simulation of the rollback plan, if the catalog has it.
    pub rollback: Option<RollbackFacts>,
    /// Workspace, and the limits of the dispatch.
    pub place: Place,
    /// Decision of the access policies, if the catalog has the simulation.
    pub access: Option<AccessFacts>,
    /// Earlier events of the goal.
    pub history: HistoryFacts,
    /// Effective answer: the newest, or the final one for its plan.
    pub confirmation: Option<ConfirmationFacts>,
    /// Digest of the lexicon in force.
    pub lexicon: Digest,
    /// Digest of the fingerprints of engine, package, schemas and lexicon (`artifact_fingerprint_bundle_ref`).
    pub artifacts: Digest,
}

/// Facts of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GoalFacts {
    /// Goal.
    pub correlation: CorrelationId,
    /// Tenant that the goal names.
    pub tenant: TenantId,
    /// User that the goal names.
    pub user: UserId,
    /// Conversation.
    pub thread: ThreadId,
    /// Fingerprint.
    pub fingerprint: Digest,
    /// Number of the attempt.
    pub attempt: u32,
    /// Digest of the key of the request.
    pub request_key: Digest,
}

/// Requesting process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Caller {
    /// Account and agent.
    pub actor: Actor,
    /// Tenant of the ledger.
    pub tenant: TenantId,
    /// How the user was identified.
    pub identity: Identity,
}

/// How the user was identified.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", deny_unknown_fields)]
pub enum Identity {
    /// Account of the requesting process.
    Own,
    /// User asserted under a host key.
    Host {
        /// Key.
        key: String,
        /// Assertion that it signed, a document in the ledger.
        assertion: Digest,
    },
    /// Not identified.
    Unknown,
}

/// Simulation of a packet in the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulationFacts {
    /// Name.
    pub id: ActionName,
    /// State for the tenant.
    pub state: ActionState,
    /// Least tier of its runs.
    pub tier: RiskTier,
    /// It changes what others work with.
    pub impactful: bool,
    /// Not idempotent: a second run has a second effect.
    pub side_effecting: bool,
    /// The effect cannot be undone.
    pub irreversible: bool,
    /// Action that access policies judge.
    pub access_action: String,
    /// The required fields fit its input schema.
    pub fields_fit: bool,
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
    /// Root, escaped as records have it.
    pub root: String,
    /// Directories below which a simulation may write.
    pub allowed_dirs: Vec<String>,
    /// Commands that check the change.
    pub checks: Vec<String>,
}

/// Decision of the access policies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessFacts {
    /// Outcome.
    pub outcome: AccessOutcome,
    /// Case that was judged, a document in the ledger.
    pub case: Digest,
    /// A person approved exactly this (AP).
    pub is_approved: bool,
}

/// Earlier events of a goal, from the ledger.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryFacts {
    /// Time of the newest event.
    pub last: Option<Timestamp>,
    /// Fingerprint of the goal that the correlation stands for already; `None` after a question, which is answered in other words.
    pub goal: Option<Digest>,
    /// Goal that the key of the request stands for already.
    pub request: Option<CorrelationId>,
    /// Claim of the effect of the step.
    pub claim: Option<ClaimFacts>,
    /// A replay of the goal failed.
    pub is_replay_failed: bool,
    /// Ambiguous answers to the plan of the effective answer.
    pub ambiguous_answers: u32,
}

/// Claim of the effect of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimFacts {
    /// Idempotency key.
    pub key: Digest,
    /// Policy that was pinned by it.
    pub policy_snapshot: Digest,
    /// State of the step.
    pub state: AgentState,
    /// How often the effect was started.
    pub starts: u32,
}

/// Answer to a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationFacts {
    /// Outcome of the parser.
    pub outcome: ConfirmationOutcome,
    /// Proof of the parser, a document in the ledger (`confirmation_parse_proof_ref`).
    pub proof: Digest,
    /// Lexicon that it was parsed with.
    pub lexicon: Digest,
    /// Conversation.
    pub thread: ThreadId,
    /// Fingerprint of the plan that the prompt shows.
    pub plan_fingerprint: Digest,
    /// Time of the answer.
    pub time: Timestamp,
    /// End of the validity of the prompt.
    pub expires: Timestamp,
    /// Respondent.
    pub by: Actor,
    /// Key that signed the proof: an approval key or a host key.
    pub relayed_by: Option<String>,
}

impl AgentBundle {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.agent-bundle/1";

    /// Canonical bytes.
    ///
    /// # Errors
    /// [`canonical::CanonicalError`]
    pub fn to_vec(&self) -> Result<Vec<u8>, canonical::CanonicalError> {
        canonical::to_vec(self)
    }
}

impl SimulationFacts {
    /// A person has to confirm it (AEC-5).
    pub fn needs_confirmation(&self) -> bool {
        self.impactful || self.side_effecting || self.irreversible
    }
}
