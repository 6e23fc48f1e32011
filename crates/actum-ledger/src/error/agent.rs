//! Rules that entries of the Agent Execution Core must follow (AEC-7, AEC-8).

use actum_core::Digest;
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{AgentEventKind, AgentState, TenantId};

/// Rule that prevents an entry of the Agent Execution Core from being appended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentRefusal {
    /// The entry names a different tenant from the one of the log.
    #[error("the entry belongs to tenant {named}, but the ledger belongs to tenant {tenant}")]
    OtherTenant {
        /// Tenant named by the entry.
        named: TenantId,
        /// Tenant to which the log belongs.
        tenant: TenantId,
    },
    /// The effect of the step has already been claimed, and only a retry may start it again.
    #[error(
        "the effect of step `{step}` of goal `{correlation}` was already started in entry {claim}{}",
        other_key(*has_other_key)
    )]
    StepClaimed {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Index of the `DISPATCH_STARTED` event that claimed the effect.
        claim: u64,
        /// Whether the idempotency key differs from that of the claim, which is an idempotency violation.
        has_other_key: bool,
    },
    /// The request key is already bound to a different goal.
    #[error(
        "idempotency violation: the request key is bound to goal `{goal}`, so no step of goal `{correlation}` can start"
    )]
    RequestOfOtherGoal {
        /// Goal named by the entry.
        correlation: CorrelationId,
        /// Goal to which the request key is bound.
        goal: CorrelationId,
    },
    /// The event requires that the effect of the step has been claimed, but it was not.
    #[error(
        "the effect of step `{step}` of goal `{correlation}` was never started, so {} is not possible",
        event.as_str()
    )]
    StepNotClaimed {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Kind of the event in the entry.
        event: AgentEventKind,
    },
    /// The idempotency key of the event differs from that of the claim of its step.
    #[error(
        "step `{step}` of goal `{correlation}` was started with a different idempotency key in entry {claim}"
    )]
    OtherKeyOfStep {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Index of the `DISPATCH_STARTED` event that claimed the step.
        claim: u64,
    },
    /// The outcome names a different plan from the one for which the step was started.
    #[error(
        "step `{step}` of goal `{correlation}` was started for a different plan in entry {started}"
    )]
    OtherPlanOfStep {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Index of the entry that last started the step.
        started: u64,
    },
    /// The plan belongs to a different goal.
    #[error("plan `{plan}` belongs to goal `{correlation}` according to entry {index}")]
    PlanOfOtherGoal {
        /// Plan named by the entry.
        plan: AgentPlanId,
        /// Goal to which the plan belongs.
        correlation: CorrelationId,
        /// Index of the newest event of the plan.
        index: u64,
    },
    /// The event does not allow the step to change from its current state to the one named by the entry.
    #[error(
        "{} cannot move step `{step}` of goal `{correlation}` from {} to {}",
        event.as_str(), state_of(*before), after.as_str()
    )]
    Transition {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Kind of the event in the entry.
        event: AgentEventKind,
        /// Current state of the step, or `None` if it has no events yet.
        before: Option<AgentState>,
        /// State named by the entry.
        after: AgentState,
    },
    /// The decision is based on an outdated catalog.
    #[error(
        "step `{step}` of goal `{correlation}` cannot start because the decision about it is not based on the latest catalog"
    )]
    OtherCatalog {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Index of the latest `CATALOG_CHANGED` entry, or `None` if the catalog was never changed.
        newest: Option<u64>,
    },
    /// The entry refers to something that is not an access decision about its step.
    #[error("{named} is not an access decision about step `{step}` of goal `{correlation}`")]
    NoAccessDecision {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
    },
    /// The access decision denies the step, so the step cannot start.
    #[error(
        "step `{step}` of goal `{correlation}` cannot start because access decision {named} denies it"
    )]
    AccessDenied {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
    },
    /// The entry refers to something that is not an answer to a confirmation prompt of its step.
    #[error("{named} is not an answer to a prompt of step `{step}` of goal `{correlation}`")]
    NoConfirmation {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
    },
    /// The answer does not confirm the step, its proof differs from the one in the entry, or another answer rejected the
    /// plan.
    #[error(
        "step `{step}` of goal `{correlation}` cannot start because answer {named} does not confirm it"
    )]
    NotConfirmed {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Step that the entry belongs to.
        step: StepId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
    },
    /// The entry refers to something that is not an escalation of its goal.
    #[error("{named} is not an escalation of goal `{correlation}`, so it cannot be resolved")]
    NotEscalated {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
    },
    /// The escalation has already been resolved.
    #[error("escalation {named} of goal `{correlation}` was already resolved in entry {resolved}")]
    IntakeResolved {
        /// Goal that the entry belongs to.
        correlation: CorrelationId,
        /// Hash by which the entry refers to the earlier entry.
        named: Digest,
        /// Index of the `INTAKE_RESOLVED` entry that resolved the escalation.
        resolved: u64,
    },
}

/// Returns the end of the error message for an effect that was already started.
fn other_key(has_other_key: bool) -> &'static str {
    match has_other_key {
        true => " with a different idempotency key, which is an idempotency violation",
        false => " with the same idempotency key",
    }
}

/// Returns the name of a step's state for error messages, or "no state" for a step without events.
fn state_of(state: Option<AgentState>) -> &'static str {
    state.map_or("no state", AgentState::as_str)
}
