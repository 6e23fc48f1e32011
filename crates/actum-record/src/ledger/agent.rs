//! Entries of the Agent Execution Core: each is the source of one row of a table of seed 004, section 10.1 (AEC-8, AEC-9).
//!
//! Entries that are appended together name each other by the hash of their bytes ([`leaf_hash`](crate::merkle::leaf_hash)),
//! which is known before their index is.

use actum_core::{ActionName, Digest, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId};
use crate::agent::{AgentPlanId, CorrelationId, StepId, ThreadId, UserId};

/// Event of a step: one row of `agent_execution_ledger`, the row `PH1.AGENT_EXECUTION` of seed 004.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentExecution {
    /// Hash of the [`AgentAccessDecided`] that it rests on.
    pub access: Option<Digest>,
    /// Process that requested it.
    pub actor: Actor,
    /// Index of the newest `CATALOG_CHANGED` that the decision rests on; none before the first.
    pub catalog: Option<u64>,
    /// Hash of the [`AgentConfirmation`] that it rests on.
    pub confirmation: Option<Digest>,
    /// Goal.
    pub correlation: CorrelationId,
    /// Digest that binds the decision to its bundle (`dispatch_decision_hash`).
    pub decision: Digest,
    /// Duration of an outcome; none of other events.
    pub duration: Option<AgentDuration>,
    /// Program.
    pub engine: String,
    /// Event.
    pub event: AgentEventKind,
    /// [`AgentExecution::FORMAT`].
    pub format: String,
    /// True for an impactful simulation, whose effect needs a confirmation and a rollback plan.
    pub impactful: bool,
    /// Idempotency key of the step (AEC-7); none before there is a plan.
    pub key: Option<Digest>,
    /// Plan.
    pub plan: AgentPlanId,
    /// Name of the reason, from the closed set of the core; none of a success.
    pub reason: Option<String>,
    /// Documents that the decision was made from.
    pub refs: AgentRefs,
    /// Digest of the key of the request. A key stands for the first goal that names it.
    pub request: Digest,
    /// Rollback plan, a document in the ledger.
    pub rollback_plan: Option<Digest>,
    /// Version of the rules that decided.
    pub semantics: u32,
    /// Simulation; none where the packet has none.
    pub simulation: Option<ActionName>,
    /// Hash of the entry of the action that starts or has ended with it.
    pub simulation_entry: Option<Digest>,
    /// State of the step after the event.
    pub state: AgentState,
    /// Step.
    pub step: StepId,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Conversation.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// User on whose behalf the step is.
    pub user: UserId,
}

/// Documents in the ledger that a decision of the core was made from (seed 004, section 17.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentRefs {
    /// Fingerprints of engine, package, schemas and lexicon; none before there is a plan.
    pub artifact_fingerprints: Option<Digest>,
    /// Bundle, which holds the other refs and the facts.
    pub bundle: Digest,
    /// Catalog in force.
    pub catalog_snapshot: Digest,
    /// Proof of the parsed confirmation.
    pub confirmation_proof: Option<Digest>,
    /// Packet of the Finder, sealed.
    pub finder_packet: Digest,
    /// Assertion of a host about the user; none where the user is the account that requested the step.
    pub host_assertion: Option<Digest>,
    /// Outcome as it is kept, with the digest of what the executor returned, which can hold content of files.
    pub outcome: Option<Digest>,
    /// Policy in force.
    pub policy_snapshot: Digest,
    /// Prompt that the user has to answer first.
    pub prompt: Option<Digest>,
}

/// Most microseconds of a recorded duration: the largest integer that every JSON reader keeps exactly (RFC 8259, section 6).
pub const AGENT_DURATION_US_MAX: u64 = (1 << 53) - 1;

/// Duration of a dispatch, in microseconds, each [`AGENT_DURATION_US_MAX`] at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentDuration {
    /// Time in commands of the simulation.
    pub command_us: u64,
    /// From the goal to the outcome, without `command_us`.
    pub dispatch_us: u64,
}

/// Event of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentEventKind {
    /// The core decided not to dispatch.
    NoDispatch,
    /// The executor ended the dispatch before an effect.
    NoEffect,
    /// The effect of the step starts: the claim of its idempotency key.
    DispatchStarted,
    /// The effect starts again, after a start of which nothing is in effect.
    RetryStarted,
    /// The dispatch has ended.
    Outcome,
    /// A replay of the decision did not give the same decision.
    ReplayMismatch,
}

/// State of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentState {
    /// Waits for the user to answer the question of the Finder.
    AwaitingClarify,
    /// Waits for a confirmation.
    AwaitingConfirm,
    /// Waits for an approval (AP).
    AwaitingAp,
    /// Refused.
    Refused,
    /// Escalated to Dev Intake, since there is no such simulation.
    Escalated,
    /// Effect has started and has no outcome yet.
    Started,
    /// Effect is in force.
    Succeeded,
    /// Effect was rolled back.
    Reverted,
    /// Failed: an operator has to look at it.
    Failed,
    /// A replay did not give the recorded decision: no further effect of the step starts.
    ReplayFailed,
}

/// Decision of the access policies on a step: one row of `agent_execution_access_decision_ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentAccessDecided {
    /// Action that access policies judge.
    pub access_action: String,
    /// Case that was judged, a document in the ledger.
    pub case: Digest,
    /// Goal.
    pub correlation: CorrelationId,
    /// [`AgentAccessDecided::FORMAT`].
    pub format: String,
    /// Decision.
    pub outcome: AccessOutcome,
    /// Policy in force, a document in the ledger.
    pub policy_snapshot: Digest,
    /// Name of the reason; none where it is allowed.
    pub reason: Option<String>,
    /// Step.
    pub step: StepId,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Time.
    pub time: Timestamp,
    /// User whose access was judged.
    pub user: UserId,
}

/// Outcome of an access decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AccessOutcome {
    /// Allowed.
    Allowed,
    /// An approval is required.
    ApRequired,
    /// Denied.
    Denied,
}

/// Answer to a confirmation prompt: one row of `agent_execution_confirmation_ledger`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgentConfirmation {
    /// [`AgentConfirmation::FORMAT`].
    pub format: String,
    /// Time.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Goal.
    pub correlation: CorrelationId,
    /// Conversation of prompt and answer.
    pub thread: ThreadId,
    /// Step.
    pub step: StepId,
    /// Outcome of the parser.
    pub outcome: ConfirmationOutcome,
    /// Lexicon, a document in the ledger (`confirm_lexicon_version_ref`).
    pub lexicon: Digest,
    /// Proof of the parser, a document in the ledger (`confirmation_parse_proof_ref`).
    pub proof: Digest,
    /// Prompt that it answers, a document in the ledger.
    pub prompt: Digest,
    /// Fingerprint of the plan that the prompt shows.
    pub plan_fingerprint: Digest,
    /// BCP 47 tag of the language of the answer, as the request has it.
    pub language: String,
    /// Canonical affirmative that was accepted.
    pub token: Option<String>,
    /// User who answered.
    pub by: Actor,
    /// Key that signed the proof: an approval key or a host key.
    pub relayed_by: Option<String>,
}

/// Outcome of parsing an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ConfirmationOutcome {
    /// A canonical affirmative of its language.
    Confirmed,
    /// A canonical negative of its language.
    Rejected,
    /// Neither.
    Ambiguous,
}

/// A missing simulation of Dev Intake was resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IntakeResolved {
    /// [`IntakeResolved::FORMAT`].
    pub format: String,
    /// Time.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Goal that was escalated.
    pub correlation: CorrelationId,
    /// Hash of the entry that escalated it.
    pub escalated: Digest,
    /// Simulation that exists now; none where there will be none.
    pub simulation: Option<ActionName>,
    /// Reason, in the words of the operator.
    pub reason: String,
    /// Operator who resolved it.
    pub by: Actor,
}

/// The SLO gate is waived until a time. An approval key signs it as the payload of an envelope (AEC-17).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SloWaived {
    /// [`SloWaived::FORMAT`].
    pub format: String,
    /// Time.
    pub time: Timestamp,
    /// Tenant whose gate it is.
    pub tenant: TenantId,
    /// End of the waiver.
    pub until: Timestamp,
    /// Reason, in the words of the approver.
    pub reason: String,
    /// Approver who waived it.
    pub by: Actor,
    /// Protection of the key that signed it.
    pub isolation: Isolation,
}

macro_rules! words {
    ($($name:ident { $($variant:ident = $word:literal,)* })*) => {$(
        impl $name {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The word in ledgers and tables.
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
    /// The value of `format`.
    pub const FORMAT: &str = "actum.agent-execution/1";
}

impl AgentAccessDecided {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.agent-access-decided/1";
}

impl AgentConfirmation {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.agent-confirmation/1";
}

impl IntakeResolved {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.intake-resolved/1";
}

impl SloWaived {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.slo-waived/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.slo-waived+json";
}

impl AgentEventKind {
    /// Returns true for an event with which the effect of a step starts.
    pub fn starts_effect(self) -> bool {
        matches!(self, Self::DispatchStarted | Self::RetryStarted)
    }
}

impl AgentState {
    /// Returns true if the effect has ended and never starts again.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}
