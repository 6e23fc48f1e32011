//! `actum.agent-*/1`: documents about goals of the Agent Execution Core.

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

/// Recorded answer of a user to a confirmation prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentConfirmed {
    /// Id of the goal.
    pub correlation: String,
    /// Outcome of the answer: `CONFIRMED`, `REJECTED` or `AMBIGUOUS`.
    pub outcome: String,
    /// Reason why the answer is ambiguous, or `null` if it is clear.
    pub reason: Option<String>,
    /// Name of the simulation that the prompt asks about.
    #[schemars(with = "value::ActionName")]
    pub simulation: ActionName,
    /// Digest of the parser's proof, which explains how the answer was understood.
    #[schemars(with = "value::Digest")]
    pub proof: Digest,
}

/// All recorded events of a goal, in ledger order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChain {
    /// Id of the goal.
    pub correlation: String,
    /// Events of the goal, in ledger order.
    pub events: Vec<AgentChainEvent>,
}

/// Recorded event of a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentChainEvent {
    /// Index of the ledger entry, counted from 0.
    pub entry: u64,
    /// Hash of the ledger entry, by which other events refer to it.
    #[schemars(with = "value::Digest")]
    pub hash: Digest,
    /// Kind of the ledger entry: `AGENT_EXECUTION`, `AGENT_ACCESS_DECIDED`, `AGENT_CONFIRMATION` or `INTAKE_RESOLVED`.
    pub kind: String,
    /// Time at which the event was recorded.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// Name of the step's event, or the outcome of an access decision or an answer.
    pub event: String,
    /// State of the step after the event, or `null` if the event is not about a step.
    pub state: Option<String>,
    /// Reason for the event, or `null` if it has none.
    pub reason: Option<String>,
    /// Id of the plan that the step belongs to (`plan_id`), or `null` if the event is not about a step.
    pub plan_id: Option<String>,
    /// Name of the simulation, or `null` if the event has none.
    #[schemars(with = "Option<value::ActionName>")]
    pub simulation: Option<ActionName>,
    /// Hash of the ledger entry that records the start or the end of the simulation's action, or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub simulation_entry: Option<Digest>,
    /// Hash of the ledger entry with the access decision, or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub access: Option<Digest>,
    /// Hash of the ledger entry with the user's answer, or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub confirmation: Option<Digest>,
    /// Digest of the rollback plan, or `null` if the event has no rollback plan.
    #[schemars(with = "Option<value::Digest>")]
    pub rollback_plan: Option<Digest>,
    /// Digest of the confirmation prompt that was shown or answered (`prompt_ref` of a `confirm_state`), or `null`.
    #[schemars(with = "Option<value::Digest>")]
    pub prompt: Option<Digest>,
    /// Duration of a dispatch in microseconds, without the time spent in commands of the simulation, or `null`.
    pub dispatch_us: Option<u64>,
}

/// Result of replaying all decisions on a goal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReplay {
    /// Id of the goal.
    pub correlation: String,
    /// Whether every replayed decision matches the recorded one.
    pub same: bool,
    /// Replayed decisions, in ledger order.
    pub decisions: Vec<AgentReplayed>,
}

/// Result of replaying one decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentReplayed {
    /// Index of the ledger entry that records the decision, counted from 0.
    pub entry: u64,
    /// Reason why the replay failed: `REPLAY_REF_MISSING`, `REPLAY_REF_HASH_MISMATCH`, `REPLAY_LINK_MISMATCH`,
    /// `REPLAY_HISTORY_MISMATCH`, `REPLAY_DECISION_MISMATCH`, `REPLAY_ENGINE_UNSUPPORTED` or `REPLAY_PROJECTION_DRIFT`. `null` if
    /// the decision matches.
    pub code: Option<String>,
    /// Reason why the replay failed, as a sentence, or `null` if the decision matches.
    pub message: Option<String>,
}

/// Goals for which no simulation exists yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntake {
    /// Goals in the intake, oldest first.
    pub goals: Vec<AgentIntakeGoal>,
}

/// Goal for which no simulation exists yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeGoal {
    /// Id of the goal.
    pub correlation: String,
    /// Index of the ledger entry that escalated the goal, counted from 0.
    pub entry: u64,
    /// Time at which the goal was escalated.
    #[schemars(with = "value::Time")]
    pub time: Timestamp,
    /// User who made the request.
    pub user: String,
    /// Id of the conversation that the goal belongs to.
    pub thread: String,
    /// Name and version of the Finder, or `null` if the ledger keeps only the digest of the packet.
    pub finder: Option<String>,
    /// Capability that the user asked for, as described by the Finder, or `null` if the ledger keeps only a digest.
    pub requested_capability: Option<String>,
}

/// Result of a command that shows a single goal from the intake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeShown {
    /// Goal for which no simulation exists yet.
    pub goal: AgentIntakeGoal,
}

/// Goal that was resolved and removed from the intake.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentIntakeResolved {
    /// Id of the goal.
    pub correlation: String,
    /// Simulation that now covers the goal, or `null` if there will be none.
    #[schemars(with = "Option<value::ActionName>")]
    pub simulation: Option<ActionName>,
    /// Reason given by the operator.
    pub reason: String,
    /// Index of the ledger entry that records the resolution, counted from 0.
    pub entry: u64,
}

/// Waiver that suspends the service-level gate until a given time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSloWaived {
    /// Time at which the waiver ends.
    #[schemars(with = "value::Time")]
    pub until: Timestamp,
    /// Reason given by the approver.
    pub reason: String,
    /// Index of the ledger entry that records the waiver, counted from 0.
    pub entry: u64,
}

/// Service level of all dispatches within a time window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSlo {
    /// Start of the window, rounded down to a whole minute.
    #[schemars(with = "value::Time")]
    pub since: Timestamp,
    /// Number of dispatches that have an outcome.
    pub outcomes: u64,
    /// Number of dispatches that took longer than 1,200 ms. At most 5 % of all dispatches may.
    pub over_p95: u64,
    /// Number of dispatches that took longer than 2,500 ms. At most 1 % of all dispatches may.
    pub over_p99: u64,
    /// Number of outcomes with the state `FAILED`. At most 0.5 % of all outcomes may fail.
    pub errors: u64,
    /// Number of idempotency keys with more than one effect, which must be 0.
    pub duplicates: u64,
    /// Missed targets: `agent_dispatch_p95_ms`, `agent_dispatch_p99_ms`, `execution_error_rate` or
    /// `idempotency_duplicate_side_effect_rate`.
    pub breaches: Vec<String>,
    /// End of the active waiver, or `null` if there is no waiver.
    #[schemars(with = "Option<value::Time>")]
    pub waived_until: Option<Timestamp>,
}

/// Learning table of the Finder, which favors simulations that succeeded before.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLearning {
    /// Tenant whose outcomes were counted.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Digest of the table. Packets refer to it as `learning_table_ref`.
    #[schemars(with = "value::Digest")]
    pub table: Digest,
    /// Simulations with at least one success, sorted by name.
    pub simulations: Vec<AgentLearned>,
    /// Id of the key that signed the table, or `null` if the table was only computed.
    pub key: Option<String>,
}

/// Simulation in a learning table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AgentLearned {
    /// Name of the simulation.
    #[schemars(with = "value::ActionName")]
    pub simulation: ActionName,
    /// Number of successful outcomes of the simulation.
    pub succeeded: u64,
    /// Bonus that the Finder adds to the score of the simulation, from 0 to 50.
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
