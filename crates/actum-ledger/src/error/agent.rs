//! Refusals of entries of the Agent Execution Core (AEC-7, AEC-8).

use actum_core::Digest;
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{AgentEventKind, AgentState, TenantId};

/// Reason why an entry of the agent core cannot be appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentRefusal {
    /// The entry names another tenant.
    #[error("the entry is of the tenant {named}, and the ledger is of the tenant {tenant}")]
    OtherTenant {
        /// Tenant that the entry names.
        named: TenantId,
        /// Tenant of the log.
        tenant: TenantId,
    },
    /// The effect of the step was claimed before.
    #[error("the effect of the step {step} of {correlation} was started before, in entry {claim}{}", other_key(*has_other_key))]
    StepClaimed {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Index of the earlier `DISPATCH_STARTED`.
        claim: u64,
        /// True for another key than the claimed one: an idempotency violation.
        has_other_key: bool,
    },
    /// The key of the request is bound to another goal.
    #[error(
        "the key of the request stands for the goal {goal}, so nothing of {correlation} starts: idempotency violation"
    )]
    RequestOfOtherGoal {
        /// Goal of the entry.
        correlation: CorrelationId,
        /// Goal that the key is bound to.
        goal: CorrelationId,
    },
    /// The effect of the step was never claimed.
    #[error("the effect of the step {step} of {correlation} was never started, so there is no {}", event.as_str())]
    StepNotClaimed {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Event.
        event: AgentEventKind,
    },
    /// The event has another key than the claim of its step.
    #[error(
        "the step {step} of {correlation} was started under another idempotency key, in entry {claim}"
    )]
    OtherKeyOfStep {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Index of the `DISPATCH_STARTED`.
        claim: u64,
    },
    /// The outcome names another plan than the start.
    #[error("the step {step} of {correlation} was started for another plan, in entry {started}")]
    OtherPlanOfStep {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Index of the last start.
        started: u64,
    },
    /// The plan belongs to another goal.
    #[error("the plan {plan} belongs to {correlation}, by entry {index}")]
    PlanOfOtherGoal {
        /// Plan.
        plan: AgentPlanId,
        /// Goal that it belongs to.
        correlation: CorrelationId,
        /// Index of its newest event.
        index: u64,
    },
    /// The event cannot lead from the state of the step to the state that it names.
    #[error("{} cannot bring the step {step} of {correlation} from {} to {}", event.as_str(), state_of(*before), after.as_str())]
    Transition {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Event.
        event: AgentEventKind,
        /// State of the step; `None` for a step without an event.
        before: Option<AgentState>,
        /// State that the entry names.
        after: AgentState,
    },
    /// The decision does not rest on the newest change of the catalog.
    #[error(
        "the decision on the step {step} of {correlation} does not rest on the newest catalog, so nothing starts"
    )]
    OtherCatalog {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Index of the newest `CATALOG_CHANGED`; none before the first.
        newest: Option<u64>,
    },
    /// The access decision that the entry names is not one of its step.
    #[error("{named} is no access decision on the step {step} of {correlation}")]
    NoAccessDecision {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Hash that the entry names.
        named: Digest,
    },
    /// The access decision denies.
    #[error(
        "the access decision {named} denies the step {step} of {correlation}, so nothing starts"
    )]
    AccessDenied {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Hash that the entry names.
        named: Digest,
    },
    /// The confirmation that the entry names is not one of its step.
    #[error("{named} is no answer to a prompt of the step {step} of {correlation}")]
    NoConfirmation {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Hash that the entry names.
        named: Digest,
    },
    /// The answer confirms nothing, has another proof than the entry names, or another answer rejected its plan.
    #[error(
        "the answer {named} does not confirm the step {step} of {correlation}, so nothing starts"
    )]
    NotConfirmed {
        /// Goal.
        correlation: CorrelationId,
        /// Step.
        step: StepId,
        /// Hash that the entry names.
        named: Digest,
    },
    /// The resolved entry did not escalate this goal.
    #[error("{named} did not escalate {correlation}, so it cannot be resolved")]
    NotEscalated {
        /// Goal.
        correlation: CorrelationId,
        /// Hash that the entry names.
        named: Digest,
    },
    /// The escalation was resolved before.
    #[error("the escalation {named} of {correlation} was resolved before, in entry {resolved}")]
    IntakeResolved {
        /// Goal.
        correlation: CorrelationId,
        /// Hash that the entry names.
        named: Digest,
        /// Index of the earlier `INTAKE_RESOLVED`.
        resolved: u64,
    },
}

/// End of the message of a second start.
fn other_key(has_other_key: bool) -> &'static str {
    match has_other_key {
        true => ", under another idempotency key: idempotency violation",
        false => ", under the same idempotency key",
    }
}

/// Name of a state, or of a step without one.
fn state_of(state: Option<AgentState>) -> &'static str {
    state.map_or("no state", AgentState::as_str)
}
