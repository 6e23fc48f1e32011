//! Rules of the Agent Execution Core: no step changes its state without an entry, and no effect
//! starts twice (AEC-7, AEC-8).

mod fold;

use actum_core::Digest;
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{
    AccessOutcome, AgentAccessDecided, AgentConfirmation, AgentEvent, AgentEventKind,
    AgentExecution, AgentState, ConfirmationOutcome, IntakeResolved, TenantId,
};

use crate::error::AgentRefusal;
use crate::log::{AgentClaim, AgentCurrentRow, AgentStepRow};
pub use fold::AgentProjection;
pub(crate) use fold::Overlay;

/// Access decision, as far as a start rests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAccess {
    /// Step.
    pub step: StepId,
    /// Decision.
    pub outcome: AccessOutcome,
}

/// Answer to a confirmation prompt, as far as a start rests on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownConfirmation {
    /// Step.
    pub step: StepId,
    /// Outcome of the parser.
    pub outcome: ConfirmationOutcome,
    /// Proof of the parser.
    pub proof: Digest,
    /// Fingerprint of the plan that was answered.
    pub plan: Digest,
}

/// Entry that escalated a goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEscalation {
    /// Index of the `INTAKE_RESOLVED` that names it.
    pub resolved: Option<u64>,
}

/// Reader of the facts of earlier entries about the agent core.
pub trait AgentReader {
    /// Error of a store that cannot be read.
    type Error;

    /// Tenant of the log; `None` if it has no first entry.
    ///
    /// # Errors
    /// Those of the store, as of everything here.
    fn log_tenant(&self) -> Result<Option<TenantId>, Self::Error>;

    /// Index of the newest `CATALOG_CHANGED`.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_catalog(&self) -> Result<Option<u64>, Self::Error>;

    /// Step of a goal.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, Self::Error>;

    /// Newest event of a step of a plan.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, Self::Error>;

    /// Goal that the key of a request is bound to: the first one with an event that names it.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_request(&self, request: &Digest) -> Result<Option<CorrelationId>, Self::Error>;

    /// Access decision about the goal, with this hash.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_access(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownAccess>, Self::Error>;

    /// Answer to a confirmation prompt of the goal, with this hash.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_confirmation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownConfirmation>, Self::Error>;

    /// Tests whether an answer rejected the plan with this fingerprint.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn is_rejected(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
        plan: &Digest,
    ) -> Result<bool, Self::Error>;

    /// `AGENT_EXECUTION` about the goal, with this hash and the state `ESCALATED`.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_escalation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownEscalation>, Self::Error>;
}

/// Change that an admitted entry makes to the projection.
#[derive(Debug)]
pub(crate) enum AgentChange<'e> {
    /// The step is as given, and the event is the newest of its plan.
    Step(&'e AgentExecution, AgentStepRow),
    /// Access decision.
    Access(&'e AgentAccessDecided),
    /// Answer to a confirmation prompt.
    Confirmation(&'e AgentConfirmation),
    /// The escalation is resolved.
    Resolved(&'e IntakeResolved),
}

/// Decides whether the entry `index` with this event can be appended.
///
/// # Errors
/// Those of the reader; [`AgentRefusal`] inside.
pub(crate) fn after<'e, R: AgentReader + ?Sized>(
    reader: &R,
    event: &'e AgentEvent,
    index: u64,
) -> Result<Result<AgentChange<'e>, AgentRefusal>, R::Error> {
    if let Some(tenant) = reader.log_tenant()?.filter(|tenant| tenant != event.tenant()) {
        return Ok(Err(AgentRefusal::OtherTenant { named: event.tenant().clone(), tenant }));
    }
    Ok(match event {
        AgentEvent::Execution(entry) => {
            let before = reader.known_step(&entry.correlation, &entry.step)?;
            match step_after(before.as_ref(), entry, index) {
                Ok(row) => check_links(reader, entry)?.map(|()| AgentChange::Step(entry, row)),
                Err(refusal) => Err(refusal),
            }
        }
        AgentEvent::Access(entry) => Ok(AgentChange::Access(entry)),
        AgentEvent::Confirmation(entry) => Ok(AgentChange::Confirmation(entry)),
        AgentEvent::IntakeResolved(entry) => {
            let escalation = reader.known_escalation(&entry.correlation, &entry.escalated)?;
            check_escalation(escalation, entry).map(|()| AgentChange::Resolved(entry))
        }
    })
}

/// Checks plan, request, catalog, access decision and confirmation that an event names. Each must
/// be of its goal and step; those of a start must also allow it.
fn check_links<R: AgentReader + ?Sized>(
    reader: &R,
    entry: &AgentExecution,
) -> Result<Result<(), AgentRefusal>, R::Error> {
    let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
    let current = reader.known_current(&entry.plan, &entry.step)?;
    if let Some(current) = current.filter(|current| current.correlation != correlation) {
        let AgentCurrentRow { plan, correlation, newest: index, .. } = current;
        return Ok(Err(AgentRefusal::PlanOfOtherGoal { plan, correlation, index }));
    }
    if entry.event.starts_effect()
        && let Some(goal) = reader.known_request(&entry.request)?
        && goal != correlation
    {
        return Ok(Err(AgentRefusal::RequestOfOtherGoal { correlation, goal }));
    }
    if entry.event.starts_effect() {
        // A simulation may have been retired while the step was prepared.
        let newest = reader.known_catalog()?;
        if newest != entry.catalog {
            return Ok(Err(AgentRefusal::OtherCatalog { correlation, step, newest }));
        }
    }
    if let Some(named) = entry.access {
        let access = reader.known_access(&correlation, &named)?;
        match access.filter(|access| access.step == step) {
            None => return Ok(Err(AgentRefusal::NoAccessDecision { correlation, step, named })),
            Some(access)
                if access.outcome == AccessOutcome::Denied && entry.event.starts_effect() =>
            {
                return Ok(Err(AgentRefusal::AccessDenied { correlation, step, named }));
            }
            Some(_) => {}
        }
    }
    if let Some(named) = entry.confirmation {
        let answer = reader.known_confirmation(&correlation, &named)?;
        let Some(answer) = answer.filter(|answer| answer.step == step) else {
            return Ok(Err(AgentRefusal::NoConfirmation { correlation, step, named }));
        };
        let confirms = answer.outcome == ConfirmationOutcome::Confirmed
            && entry.refs.confirmation_proof == Some(answer.proof);
        // A rejection is final, also if it was recorded while the step was prepared.
        let is_rejected =
            entry.event.starts_effect() && reader.is_rejected(&correlation, &step, &answer.plan)?;
        if entry.event.starts_effect() && (!confirms || is_rejected) {
            return Ok(Err(AgentRefusal::NotConfirmed { correlation, step, named }));
        }
    }
    Ok(Ok(()))
}

/// Computes a step after the entry `index`.
fn step_after(
    before: Option<&AgentStepRow>,
    entry: &AgentExecution,
    index: u64,
) -> Result<AgentStepRow, AgentRefusal> {
    let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
    let state = before.map(|before| before.state);
    let claim = before.and_then(|before| before.claim.as_ref());
    let claim = match entry.event {
        AgentEventKind::DispatchStarted => Some(claimed(claim, entry, index)?),
        AgentEventKind::RetryStarted => Some(retried(claim, entry, index)?),
        AgentEventKind::Outcome => Some(ended(claim, entry)?),
        AgentEventKind::NoDispatch | AgentEventKind::NoEffect | AgentEventKind::ReplayMismatch => {
            claim.cloned()
        }
    };
    let is_claimed = before.is_some_and(|before| before.claim.is_some());
    match can_follow(state, is_claimed, entry) {
        true => Ok(AgentStepRow { correlation, step, claim, state: entry.state, newest: index }),
        false => {
            let (event, after) = (entry.event, entry.state);
            Err(AgentRefusal::Transition { correlation, step, event, before: state, after })
        }
    }
}

/// Claims the effect of a step.
fn claimed(
    claim: Option<&AgentClaim>,
    entry: &AgentExecution,
    index: u64,
) -> Result<AgentClaim, AgentRefusal> {
    let AgentExecution { correlation, step, plan, event, .. } = entry;
    let (correlation, step) = (correlation.clone(), step.clone());
    match (claim, entry.key) {
        (Some(claim), key) => {
            let (claim, has_other_key) = (claim.index, key != Some(claim.key));
            Err(AgentRefusal::StepClaimed { correlation, step, claim, has_other_key })
        }
        (None, Some(key)) => Ok(AgentClaim { index, key, last_start: index, plan: plan.clone() }),
        (None, None) => Err(AgentRefusal::StepNotClaimed { correlation, step, event: *event }),
    }
}

/// Returns the claim after a retry.
fn retried(
    claim: Option<&AgentClaim>,
    entry: &AgentExecution,
    index: u64,
) -> Result<AgentClaim, AgentRefusal> {
    let claim = claim_of(claim, entry)?;
    Ok(AgentClaim { last_start: index, plan: entry.plan.clone(), ..claim.clone() })
}

/// Returns the claim after an outcome, which ends the plan that started.
fn ended(claim: Option<&AgentClaim>, entry: &AgentExecution) -> Result<AgentClaim, AgentRefusal> {
    let claim = claim_of(claim, entry)?;
    if claim.plan != entry.plan {
        let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
        let started = claim.last_start;
        return Err(AgentRefusal::OtherPlanOfStep { correlation, step, started });
    }
    Ok(claim.clone())
}

/// Returns the claim if the event has its key.
fn claim_of<'c>(
    claim: Option<&'c AgentClaim>,
    entry: &AgentExecution,
) -> Result<&'c AgentClaim, AgentRefusal> {
    let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
    match claim {
        None => Err(AgentRefusal::StepNotClaimed { correlation, step, event: entry.event }),
        Some(claim) if entry.key != Some(claim.key) => {
            Err(AgentRefusal::OtherKeyOfStep { correlation, step, claim: claim.index })
        }
        Some(claim) => Ok(claim),
    }
}

/// Tests whether the event leads from the state `before` to the state that it names. A decision
/// without an effect keeps the state of a claimed step, and a failed replay is kept permanently.
fn can_follow(before: Option<AgentState>, is_claimed: bool, entry: &AgentExecution) -> bool {
    let has_failed_replay = before == Some(AgentState::ReplayFailed);
    match entry.event {
        AgentEventKind::DispatchStarted => entry.state == AgentState::Started && !has_failed_replay,
        AgentEventKind::RetryStarted => {
            entry.state == AgentState::Started && before == Some(AgentState::Reverted)
        }
        AgentEventKind::Outcome => {
            before == Some(AgentState::Started)
                && matches!(
                    entry.state,
                    AgentState::Succeeded | AgentState::Reverted | AgentState::Failed
                )
        }
        AgentEventKind::NoDispatch | AgentEventKind::NoEffect => {
            match is_claimed || has_failed_replay {
                true => before == Some(entry.state),
                false => matches!(
                    entry.state,
                    AgentState::AwaitingClarify
                        | AgentState::AwaitingConfirm
                        | AgentState::AwaitingAp
                        | AgentState::Refused
                        | AgentState::Escalated
                ),
            }
        }
        AgentEventKind::ReplayMismatch => {
            let is_started = before == Some(AgentState::Started);
            entry.state == if is_started { AgentState::Started } else { AgentState::ReplayFailed }
        }
    }
}

/// Checks that the goal was escalated and is not resolved yet.
fn check_escalation(
    escalation: Option<KnownEscalation>,
    entry: &IntakeResolved,
) -> Result<(), AgentRefusal> {
    let (correlation, named) = (entry.correlation.clone(), entry.escalated);
    match escalation {
        None => Err(AgentRefusal::NotEscalated { correlation, named }),
        Some(KnownEscalation { resolved: Some(resolved) }) => {
            Err(AgentRefusal::IntakeResolved { correlation, named, resolved })
        }
        Some(KnownEscalation { resolved: None }) => Ok(()),
    }
}
