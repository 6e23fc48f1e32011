//! Rows about the Agent Execution Core, computed from its entries.

use actum_core::{Digest, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{AgentDuration, AgentExecution, AgentState};

/// Most microseconds of 95 % of the dispatches (AEC-17).
pub const SLO_P95_US: u64 = 1_200_000;
/// Most microseconds of 99 % of the dispatches (AEC-17).
pub const SLO_P99_US: u64 = 2_500_000;
/// Microseconds that one row of counters covers.
const MINUTE_MICROS: i64 = 60_000_000;

/// One step of a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentStepRow {
    /// Goal.
    pub correlation: CorrelationId,
    /// Step.
    pub step: StepId,
    /// Claim of its effect; none while no effect has started.
    pub claim: Option<AgentClaim>,
    /// State after its newest event.
    pub state: AgentState,
    /// Index of its newest event.
    pub newest: u64,
}

/// Claim of the effect of a step: its idempotency key can start once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentClaim {
    /// Index of the `DISPATCH_STARTED`.
    pub index: u64,
    /// Idempotency key.
    pub key: Digest,
    /// Index of the last start: that of the claim, or of a `RETRY_STARTED`.
    pub last_start: u64,
    /// Plan of the last start.
    pub plan: AgentPlanId,
}

/// Newest event of a step of a plan: one row of `agent_execution_current`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentCurrentRow {
    /// Plan.
    pub plan: AgentPlanId,
    /// Step.
    pub step: StepId,
    /// Index of the event.
    pub newest: u64,
    /// Goal.
    pub correlation: CorrelationId,
    /// State after the event.
    pub state: AgentState,
    /// Idempotency key of the step; `None` without a plan.
    pub key: Option<Digest>,
    /// Name of the reason.
    pub reason: Option<String>,
    /// Time of the event.
    pub time: Timestamp,
}

impl AgentCurrentRow {
    /// Row after the event with the index `newest`.
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

/// Goal that was escalated to Dev Intake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentEscalation {
    /// Index of the `AGENT_EXECUTION` that escalated it.
    pub index: u64,
    /// Hash of that entry, which an `INTAKE_RESOLVED` names.
    pub leaf: Digest,
    /// Goal.
    pub correlation: CorrelationId,
    /// Step.
    pub step: StepId,
}

/// Counters of dispatches with an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AgentSlo {
    /// Outcomes.
    pub total: u64,
    /// Dispatches that took longer than [`SLO_P95_US`].
    pub over_p95: u64,
    /// Dispatches that took longer than [`SLO_P99_US`].
    pub over_p99: u64,
    /// Outcomes with the state `FAILED`.
    pub errors: u64,
}

impl AgentSlo {
    /// Counters of one outcome.
    pub fn new(duration: AgentDuration, state: AgentState) -> Self {
        let count = u64::from;
        Self {
            total: 1,
            over_p95: count(duration.dispatch_us > SLO_P95_US),
            over_p99: count(duration.dispatch_us > SLO_P99_US),
            errors: count(state == AgentState::Failed),
        }
    }

    /// Adds other counters.
    pub fn add(&mut self, other: &Self) {
        self.total = self.total.saturating_add(other.total);
        self.over_p95 = self.over_p95.saturating_add(other.over_p95);
        self.over_p99 = self.over_p99.saturating_add(other.over_p99);
        self.errors = self.errors.saturating_add(other.errors);
    }

    /// Minute that an outcome of this time is counted in, from the beginning of 1970.
    pub fn minute(time: Timestamp) -> i64 {
        // SQLite divides in the same way: towards zero.
        time.micros() / MINUTE_MICROS
    }
}
