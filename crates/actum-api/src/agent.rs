//! `actum.agent-*/1`: goals of the Agent Execution Core.

use actum_core::{ActionName, Digest, Timestamp};
use actum_record::ledger::TenantId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<AgentConfirmed>(),
    DocumentType::new::<AgentChain>(),
    DocumentType::new::<AgentReplay>(),
    DocumentType::new::<AgentIntake>(),
    DocumentType::new::<AgentIntakeShown>(),
    DocumentType::new::<AgentIntakeResolved>(),
    DocumentType::new::<AgentSlo>(),
    DocumentType::new::<AgentSloWaived>(),
    DocumentType::new::<AgentLearning>(),
];

/// Recorded answer to a confirmation prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConfirmed {
    /// Goal.
    pub correlation: String,
    /// `CONFIRMED`, `REJECTED` or `AMBIGUOUS`.
    pub outcome: String,
    /// Reason of an ambiguous answer; otherwise `null`.
    pub reason: Option<String>,
    /// Simulation that the prompt shows.
    #[schemars(with = "value::ActionName")]
    pub simulation: ActionName,
    /// Digest of the proof of the parser.
    #[schemars(with = "value::Digest")]
    pub proof: Digest,
}

/// Events of a goal, in the order of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChain {
    /// Goal.
    pub correlation: String,
    /// Events.
    pub events: Vec<AgentChainEvent>,
}

/// Event of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChainEvent {
    /// Number of the entry, counted from 0.
    pub entry: u64,
    /// Hash of the entry, by which other events name it.
    #[schemars(with = "value::Digest")]
    pub hash: Digest,
    /// Kind of the entry: `AGENT_EXECUTION`, `AGENT_ACCESS_DECIDED`, `AGENT_CONFIRMATION` or `INTAKE_RESOLVED`.
    pub kind: String,
    /// Time.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Event of a step, or outcome of an access decision or an answer.
    pub event: String,
    /// State of the step after the event; otherwise `null`.
    pub state: Option<String>,
    /// Reason; `null` without one.
    pub reason: Option<String>,
    /// Plan of a step (`plan_id`).
    pub plan_id: Option<String>,
    /// Simulation.
    #[schemars(with = "Option<value::ActionName>")]
    pub simulation: Option<ActionName>,
    /// Hash of the entry of the action.
    #[schemars(with = "Option<value::Digest>")]
    pub simulation_entry: Option<Digest>,
    /// Hash of the access decision.
    #[schemars(with = "Option<value::Digest>")]
    pub access: Option<Digest>,
    /// Hash of the answer.
    #[schemars(with = "Option<value::Digest>")]
    pub confirmation: Option<Digest>,
    /// Digest of the rollback plan.
    #[schemars(with = "Option<value::Digest>")]
    pub rollback_plan: Option<Digest>,
    /// Digest of the prompt that was emitted, or answered (`prompt_ref` of a `confirm_state`).
    #[schemars(with = "Option<value::Digest>")]
    pub prompt: Option<Digest>,
    /// Microseconds of a dispatch, without commands of the simulation.
    pub dispatch_us: Option<u64>,
}

/// Decisions on a goal that were made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReplay {
    /// Goal.
    pub correlation: String,
    /// Every decision is the same.
    pub same: bool,
    /// Decisions, in the order of the ledger.
    pub decisions: Vec<AgentReplayed>,
}

/// Decision that was made again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReplayed {
    /// Number of the entry.
    pub entry: u64,
    /// `REPLAY_REF_MISSING`, `REPLAY_REF_HASH_MISMATCH`, `REPLAY_LINK_MISMATCH`, `REPLAY_HISTORY_MISMATCH`,
    /// `REPLAY_DECISION_MISMATCH`, `REPLAY_ENGINE_UNSUPPORTED` or `REPLAY_PROJECTION_DRIFT`; `null` where the decision is the same.
    pub code: Option<String>,
    /// Reason in words.
    pub message: Option<String>,
}

/// Goals that wait for a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntake {
    /// Goals, oldest first.
    pub goals: Vec<AgentIntakeGoal>,
}

/// Goal that waits for a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeGoal {
    /// Goal.
    pub correlation: String,
    /// Number of the entry that escalated it.
    pub entry: u64,
    /// Time.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// User.
    pub user: String,
    /// Conversation.
    pub thread: String,
    /// Name and version of the Finder; `null` where the ledger keeps the digest of the packet alone.
    pub finder: Option<String>,
    /// Wish of the user, as the Finder put it; `null` where the ledger keeps its digest alone.
    pub requested_capability: Option<String>,
}

/// One goal that waits for a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeShown {
    /// Goal.
    pub goal: AgentIntakeGoal,
}

/// Goal that no longer waits for a simulation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeResolved {
    /// Goal.
    pub correlation: String,
    /// Simulation that exists now; `null` where there will be none.
    #[schemars(with = "Option<value::ActionName>")]
    pub simulation: Option<ActionName>,
    /// Reason, in the words of the operator.
    pub reason: String,
    /// Number of the entry.
    pub entry: u64,
}

/// Waiver of the SLO gate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSloWaived {
    /// End.
    #[schemars(with = "value::Time")]
    pub until: Timestamp,
    /// Reason, in the words of the approver.
    pub reason: String,
    /// Number of the entry.
    pub entry: u64,
}

/// Service level of dispatches in a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSlo {
    /// Begin of the window, rounded down to a minute.
    #[schemars(with = "value::Time")]
    pub since: Timestamp,
    /// Dispatches with an outcome.
    pub outcomes: u64,
    /// Dispatches over 1,200 ms; at most 5 % may be.
    pub over_p95: u64,
    /// Dispatches over 2,500 ms; at most 1 % may be.
    pub over_p99: u64,
    /// Outcomes with the state `FAILED`; at most 0.5 % may be.
    pub errors: u64,
    /// Idempotency keys with more than one effect; none may be.
    pub duplicates: u64,
    /// Targets that are missed: `agent_dispatch_p95_ms`, `agent_dispatch_p99_ms`, `execution_error_rate`,
    /// `idempotency_duplicate_side_effect_rate`.
    pub breaches: Vec<String>,
    /// End of a waiver that is in force.
    #[schemars(with = "Option<value::Time>")]
    pub waived_until: Option<Timestamp>,
}

/// Learning table of the Finder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLearning {
    /// Tenant whose outcomes were counted.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Digest of the table, which packets name as `learning_table_ref`.
    #[schemars(with = "value::Digest")]
    pub table: Digest,
    /// Simulations with a success, by name.
    pub simulations: Vec<AgentLearned>,
    /// Key that signed the table; `null` where it was only computed.
    pub key: Option<String>,
}

/// Simulation in a learning table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLearned {
    /// Simulation.
    #[schemars(with = "value::ActionName")]
    pub simulation: ActionName,
    /// Number of its successes.
    pub succeeded: u64,
    /// Bonus, from 0 to 50.
    pub bonus: u32,
}

impl Document for AgentConfirmed {
    const FORMAT: &'static str = "actum.agent-confirmed/1";
}

impl Document for AgentChain {
    const FORMAT: &'static str = "actum.agent-chain/1";
}

impl Document for AgentReplay {
    const FORMAT: &'static str = "actum.agent-replay/1";
}

impl Document for AgentIntake {
    const FORMAT: &'static str = "actum.agent-intake/1";
}

impl Document for AgentSlo {
    const FORMAT: &'static str = "actum.agent-slo/1";
}

impl Document for AgentIntakeShown {
    const FORMAT: &'static str = "actum.agent-intake-shown/1";
}

impl Document for AgentIntakeResolved {
    const FORMAT: &'static str = "actum.agent-intake-resolved/1";
}

impl Document for AgentSloWaived {
    const FORMAT: &'static str = "actum.agent-slo-waived/1";
}

impl Document for AgentLearning {
    const FORMAT: &'static str = "actum.agent-learning/1";
}
