//! Rows about the Agent Execution Core, which are computed from its ledger entries.

use actum_core::{Digest, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{AgentDuration, AgentExecution, AgentState};

/// Maximum duration in microseconds of 95 % of all dispatches (AEC-17).
pub const SLO_P95_US: u64 = 1_200_000;
/// Maximum duration in microseconds of 99 % of all dispatches (AEC-17).
pub const SLO_P99_US: u64 = 2_500_000;
/// Length in microseconds of the period that one row of dispatch counters covers.
const MINUTE_MICROS: i64 = 60_000_000;

/// State of a step of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStepRow {
    /// Goal to which the step belongs.
    pub correlation: CorrelationId,
    /// Id of the step.
    pub step: StepId,
    /// Claim of the step's effect, or `None` if the effect has not been started.
    pub claim: Option<AgentClaim>,
    /// State of the step after its newest event.
    pub state: AgentState,
    /// Ledger index of the newest event of the step.
    pub newest: u64,
}

/// Claim of the effect of a step. It ensures that the effect is started only once for its idempotency key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentClaim {
    /// Ledger index of the `DISPATCH_STARTED` event that made the claim.
    pub index: u64,
    /// Idempotency key for which the effect was claimed.
    pub key: Digest,
    /// Ledger index of the last event that started the effect, either the claim itself or a `RETRY_STARTED`.
    pub last_start: u64,
    /// Plan for which the effect was last started.
    pub plan: AgentPlanId,
}

/// Newest event of a step of a plan, which is one row of `agent_execution_current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCurrentRow {
    /// Plan to which the step belongs.
    pub plan: AgentPlanId,
    /// Id of the step.
    pub step: StepId,
    /// Ledger index of the event.
    pub newest: u64,
    /// Goal to which the step belongs.
    pub correlation: CorrelationId,
    /// State of the step after the event.
    pub state: AgentState,
    /// Idempotency key of the step, or `None` if there is no plan.
    pub key: Option<Digest>,
    /// Reason code of the event, if it has one.
    pub reason: Option<String>,
    /// Time at which the event occurred.
    pub time: Timestamp,
}

impl AgentCurrentRow {
    /// Creates the row for an event with the ledger index `newest`.
    pub fn new(event: &AgentExecution, newest: u64) -> Self {
        let AgentExecution { plan, step, correlation, state, key, reason, time, .. } = event;
        Self {
            plan: plan.clone(),
            step: step.clone(),
            newest,
            correlation: correlation.clone(),
            state: *state,
            key: *key,
            reason: reason.clone(),
            time: *time,
        }
    }
}

/// Escalation of a goal to Dev Intake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEscalation {
    /// Ledger index of the `AGENT_EXECUTION` entry that escalated the goal.
    pub index: u64,
    /// Hash of that entry, by which an `INTAKE_RESOLVED` entry refers to it.
    pub leaf: Digest,
    /// Goal to which the step belongs.
    pub correlation: CorrelationId,
    /// Id of the step.
    pub step: StepId,
}

/// Counters of dispatches that have an outcome, for monitoring the service level objective (AEC-17).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentSlo {
    /// Number of dispatches with an outcome.
    pub total: u64,
    /// Number of dispatches that took longer than [`SLO_P95_US`].
    pub over_p95: u64,
    /// Number of dispatches that took longer than [`SLO_P99_US`].
    pub over_p99: u64,
    /// Number of dispatches that ended in the state `FAILED`.
    pub errors: u64,
}

impl AgentSlo {
    /// Creates the counters for a single outcome.
    pub fn new(duration: AgentDuration, state: AgentState) -> Self {
        let count = u64::from;
        Self {
            total: 1,
            over_p95: count(duration.dispatch_us > SLO_P95_US),
            over_p99: count(duration.dispatch_us > SLO_P99_US),
            errors: count(state == AgentState::Failed),
        }
    }

    /// Adds the values of other counters to these.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.over_p95 = self.over_p95.saturating_add(other.over_p95);
        self.over_p99 = self.over_p99.saturating_add(other.over_p99);
        self.errors = self.errors.saturating_add(other.errors);
    }

    /// Returns the minute since the Unix epoch in which an outcome at this time is counted.
    pub fn minute(time: Timestamp) -> i64 {
        // Integer division in SQLite rounds towards zero, too.
        time.micros() / MINUTE_MICROS
    }
}
