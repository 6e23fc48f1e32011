//! Ledger entries of the Agent Execution Core. Each is the source of one table row as defined in seed 004, section 10.1
//! (AEC-8, AEC-9).
//!
//! Entries that are appended together refer to each other by hash ([`leaf_hash`](crate::merkle::leaf_hash)), because their
//! index is not known in advance.

use actum_core::{ActionName, Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId};
use crate::agent::{AgentPlanId, CorrelationId, StepId, ThreadId, UserId};

/// Entry that records an event of a step. It becomes one row of `agent_execution_ledger` (`PH1.AGENT_EXECUTION` in seed 004).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentExecution {
    /// Hash of the [`AgentAccessDecided`] entry that the event is based on.
    pub access: Option<Digest>,
    /// Actor that requested the step.
    pub actor: Actor,
    /// Index of the newest `CATALOG_CHANGED` entry at the time of the decision, or `None` if the catalog was never changed.
    pub catalog: Option<u64>,
    /// Hash of the [`AgentConfirmation`] entry that the event is based on.
    pub confirmation: Option<Digest>,
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Digest that binds the decision to the bundle of its inputs (`dispatch_decision_hash`).
    pub decision: Digest,
    /// Duration of the dispatch. Present only for an outcome.
    pub duration: Option<AgentDuration>,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
    /// Event that happened to the step.
    pub event: AgentEventKind,
    /// Format of the entry, which is always [`AgentExecution::FORMAT`].
    pub format: String,
    /// Whether the simulation is impactful, so that its effect requires a confirmation and a rollback plan.
    pub impactful: bool,
    /// Idempotency key of the step (AEC-7), or `None` if there is no plan yet.
    pub key: Option<Digest>,
    /// Id of the plan that contains the step.
    pub plan: AgentPlanId,
    /// Reason code from the closed set of the core, or `None` for a success.
    pub reason: Option<String>,
    /// Digests of the documents that the decision is based on.
    pub refs: AgentRefs,
    /// Digest of the request key. A key belongs to the first goal that uses it.
    pub request: Digest,
    /// Digest of the ledger document that contains the rollback plan.
    pub rollback_plan: Option<Digest>,
    /// Version of the decision rules.
    pub semantics: u32,
    /// Name of the simulation, or `None` if the packet does not name one.
    pub simulation: Option<ActionName>,
    /// Hash of the ledger entry that records the start or the end of the simulation's action.
    pub simulation_entry: Option<Digest>,
    /// State of the step after the event.
    pub state: AgentState,
    /// Id of the step.
    pub step: StepId,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the conversation that the goal belongs to.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// User on whose behalf the step is executed.
    pub user: UserId,
}

/// Digests of the ledger documents that a decision of the core is based on (seed 004, section 17.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRefs {
    /// Fingerprints of engine, package, schemas and lexicon, or `None` if there is no plan yet.
    pub artifact_fingerprints: Option<Digest>,
    /// Bundle of all inputs of the decision, which contains the facts and the other references.
    pub bundle: Digest,
    /// Action catalog in force at the time of the decision.
    pub catalog_snapshot: Digest,
    /// Parser's proof of how the user's confirmation was understood.
    pub confirmation_proof: Option<Digest>,
    /// Sealed packet of the Finder.
    pub finder_packet: Digest,
    /// Host's assertion about the user, or `None` if the user is the account that requested the step.
    pub host_assertion: Option<Digest>,
    /// Outcome of the step. It contains only the digest of the executor's output, because that output may include file content.
    pub outcome: Option<Digest>,
    /// Policy in force at the time of the decision.
    pub policy_snapshot: Digest,
    /// Prompt that the user must answer before the step can continue.
    pub prompt: Option<Digest>,
}

/// Maximum value of a recorded duration, in microseconds. It is the largest integer that every JSON parser represents exactly
/// (RFC 8259, section 6).
pub const AGENT_DURATION_US_MAX: u64 = (1 << 53) - 1;

/// Duration of a dispatch in microseconds. Each part is at most [`AGENT_DURATION_US_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentDuration {
    /// Time spent in commands of the simulation.
    pub command_us: u64,
    /// Time from the goal to the outcome, excluding `command_us`.
    pub dispatch_us: u64,
}

/// Kind of event that happens to a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentEventKind {
    /// The core decided not to dispatch the step.
    NoDispatch,
    /// The executor ended the dispatch before the step had an effect.
    NoEffect,
    /// The effect of the step starts, which claims its idempotency key.
    DispatchStarted,
    /// The effect starts again, because an earlier start left nothing in effect.
    RetryStarted,
    /// The dispatch has ended.
    Outcome,
    /// A replay did not reproduce the decision.
    ReplayMismatch,
}

/// State of a step in the Agent Execution Core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentState {
    /// The step waits for the user to answer the Finder's question.
    AwaitingClarify,
    /// The step waits for the user's confirmation.
    AwaitingConfirm,
    /// The step waits for an approval (AP).
    AwaitingAp,
    /// The step was refused.
    Refused,
    /// The step was escalated to Dev Intake, because no simulation exists for it.
    Escalated,
    /// The effect has started, but its outcome is not known yet.
    Started,
    /// The effect is in force.
    Succeeded,
    /// The effect was rolled back.
    Reverted,
    /// The step failed and needs the attention of an operator.
    Failed,
    /// A replay did not reproduce the recorded decision, so no further effect of the step is started.
    ReplayFailed,
}

/// Entry that records the decision of the access policies on a step. It becomes one row of
/// `agent_execution_access_decision_ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentAccessDecided {
    /// Action that the access policies evaluated.
    pub access_action: String,
    /// Digest of the ledger document that contains the evaluated case.
    pub case: Digest,
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Format of the entry, which is always [`AgentAccessDecided::FORMAT`].
    pub format: String,
    /// Outcome of the decision.
    pub outcome: AccessOutcome,
    /// Digest of the ledger document that contains the policy in force.
    pub policy_snapshot: Digest,
    /// Reason code, or `None` if access is allowed.
    pub reason: Option<String>,
    /// Id of the step.
    pub step: StepId,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Time of the decision.
    pub time: Timestamp,
    /// User whose access was evaluated.
    pub user: UserId,
}

/// Outcome of an access decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccessOutcome {
    /// Access is allowed.
    Allowed,
    /// Access requires an approval.
    ApRequired,
    /// Access is denied.
    Denied,
}

/// Entry that records a user's answer to a confirmation prompt. It becomes one row of `agent_execution_confirmation_ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfirmation {
    /// Format of the entry, which is always [`AgentConfirmation::FORMAT`].
    pub format: String,
    /// Time of the answer.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the goal.
    pub correlation: CorrelationId,
    /// Id of the conversation that contains the prompt and the answer.
    pub thread: ThreadId,
    /// Id of the step.
    pub step: StepId,
    /// Result of parsing the answer.
    pub outcome: ConfirmationOutcome,
    /// Digest of the ledger document that contains the lexicon (`confirm_lexicon_version_ref`).
    pub lexicon: Digest,
    /// Digest of the ledger document that contains the parser's proof (`confirmation_parse_proof_ref`).
    pub proof: Digest,
    /// Digest of the ledger document that contains the answered prompt.
    pub prompt: Digest,
    /// Fingerprint of the plan shown in the prompt.
    pub plan_fingerprint: Digest,
    /// BCP 47 tag of the answer's language, as stated in the request.
    pub language: String,
    /// Canonical affirmative that the parser accepted.
    pub token: Option<String>,
    /// User who answered the prompt.
    pub by: Actor,
    /// Id of the approval key or host key that signed the proof.
    pub relayed_by: Option<String>,
}

/// Result of parsing a user's answer to a confirmation prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConfirmationOutcome {
    /// The answer is a canonical affirmative of its language.
    Confirmed,
    /// The answer is a canonical negative of its language.
    Rejected,
    /// The answer is neither a canonical affirmative nor a canonical negative.
    Ambiguous,
}

/// Entry that records the resolution of a goal that was escalated to Dev Intake because no simulation existed for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntakeResolved {
    /// Format of the entry, which is always [`IntakeResolved::FORMAT`].
    pub format: String,
    /// Time of the resolution.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the escalated goal.
    pub correlation: CorrelationId,
    /// Hash of the entry that escalated the goal.
    pub escalated: Digest,
    /// Simulation that now covers the goal, or `None` if there will be none.
    pub simulation: Option<ActionName>,
    /// Reason given by the operator.
    pub reason: String,
    /// Operator who resolved the goal.
    pub by: Actor,
}

/// Entry that suspends the SLO gate until a given time. It is the payload of an envelope signed by an approval key (AEC-17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SloWaived {
    /// Format of the entry, which is always [`SloWaived::FORMAT`].
    pub format: String,
    /// Time at which the waiver was granted.
    pub time: Timestamp,
    /// Tenant whose SLO gate is waived.
    pub tenant: TenantId,
    /// Time at which the waiver ends.
    pub until: Timestamp,
    /// Reason given by the approver.
    pub reason: String,
    /// Approver who granted the waiver.
    pub by: Actor,
    /// Protection of the key that signed the waiver.
    pub isolation: Isolation,
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal,)* })*) => {$(
        impl $name {
            /// All values of this type.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the permanent name used in ledgers and tables.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    )*};
}

words! {
    AgentEventKind {
        NoDispatch = "NO_DISPATCH",
        NoEffect = "NO_EFFECT",
        DispatchStarted = "DISPATCH_STARTED",
        RetryStarted = "RETRY_STARTED",
        Outcome = "OUTCOME",
        ReplayMismatch = "REPLAY_MISMATCH",
    }
    AgentState {
        AwaitingClarify = "AWAITING_CLARIFY",
        AwaitingConfirm = "AWAITING_CONFIRM",
        AwaitingAp = "AWAITING_AP",
        Refused = "REFUSED",
        Escalated = "ESCALATED",
        Started = "STARTED",
        Succeeded = "SUCCEEDED",
        Reverted = "REVERTED",
        Failed = "FAILED",
        ReplayFailed = "REPLAY_FAILED",
    }
    AccessOutcome {
        Allowed = "ALLOWED",
        ApRequired = "AP_REQUIRED",
        Denied = "DENIED",
    }
    ConfirmationOutcome {
        Confirmed = "CONFIRMED",
        Rejected = "REJECTED",
        Ambiguous = "AMBIGUOUS",
    }
}

impl AgentExecution {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.agent-execution/1";
}

impl AgentAccessDecided {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.agent-access-decided/1";
}

impl AgentConfirmation {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.agent-confirmation/1";
}

impl IntakeResolved {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.intake-resolved/1";
}

impl SloWaived {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.slo-waived/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.slo-waived+json";
}

impl AgentEventKind {
    /// Whether this event starts the effect of a step.
    pub fn starts_effect(self) -> bool {
        matches!(self, Self::DispatchStarted | Self::RetryStarted)
    }
}

impl AgentState {
    /// Whether the effect has ended and can never be started again.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}
