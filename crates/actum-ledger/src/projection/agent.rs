//! Rules that entries of the Agent Execution Core must follow (AEC-7, AEC-8).
//!
//! The rules ensure that every state change of a step is recorded, and that no effect is started twice.

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

/// Recorded access decision, reduced to the fields that are checked before a step may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownAccess {
    /// Step that the decision is about.
    pub step: StepId,
    /// Whether access was granted or denied.
    pub outcome: AccessOutcome,
}

/// Recorded answer to a confirmation prompt, reduced to the fields that are checked before a step may start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownConfirmation {
    /// Step that the prompt is about.
    pub step: StepId,
    /// Result of parsing the answer.
    pub outcome: ConfirmationOutcome,
    /// Digest of the proof that documents how the answer was parsed.
    pub proof: Digest,
    /// Fingerprint of the plan that the prompt presented.
    pub plan: Digest,
}

/// State of an escalation, which is identified by the hash of the entry that escalated the goal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownEscalation {
    /// Index of the `INTAKE_RESOLVED` entry that resolved the escalation, or `None` if it is unresolved.
    pub resolved: Option<u64>,
}

/// Read access to the state that earlier entries of the Agent Execution Core have produced.
pub trait AgentReader {
    /// Error returned when the state cannot be read.
    type Error;

    /// Returns the tenant to which the log belongs, or `None` if the log has no entries.
    ///
    /// # Errors
    /// Like all methods of this trait, returns an error if the store cannot be read.
    fn log_tenant(&self) -> Result<Option<TenantId>, Self::Error>;

    /// Returns the index of the newest `CATALOG_CHANGED` entry.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_catalog(&self) -> Result<Option<u64>, Self::Error>;

    /// Returns the state of a step of a goal.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, Self::Error>;

    /// Returns the newest event of a step of a plan.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, Self::Error>;

    /// Returns the goal to which a request key is bound, which is the goal of the first event with this key.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_request(&self, request: &Digest) -> Result<Option<CorrelationId>, Self::Error>;

    /// Returns the access decision about the goal whose entry has the hash `leaf`.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_access(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownAccess>, Self::Error>;

    /// Returns the answer to a confirmation prompt of the goal whose entry has the hash `leaf`.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_confirmation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownConfirmation>, Self::Error>;

    /// Returns whether the plan with the fingerprint `plan` was rejected by an answer to a confirmation prompt.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn is_rejected(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
        plan: &Digest,
    ) -> Result<bool, Self::Error>;

    /// Returns the escalation of the goal by the `AGENT_EXECUTION` entry with the hash `leaf` and the state `ESCALATED`.
    ///
    /// # Errors
    /// See [`AgentReader::log_tenant`].
    fn known_escalation(
        &self,
        correlation: &CorrelationId,
        leaf: &Digest,
    ) -> Result<Option<KnownEscalation>, Self::Error>;
}

/// Change that a valid entry makes to the projection.
#[derive(Debug)]
pub(crate) enum AgentChange<'e> {
    /// Stores the new state of a step, and the event as the newest one of the step in its plan.
    Step(&'e AgentExecution, AgentStepRow),
    /// Stores an access decision.
    Access(&'e AgentAccessDecided),
    /// Stores an answer to a confirmation prompt.
    Confirmation(&'e AgentConfirmation),
    /// Marks an escalation as resolved.
    Resolved(&'e IntakeResolved),
}

/// Checks whether an entry with this event can be appended at `index`, and returns the change that it makes.
///
/// # Errors
/// The outer result contains an error of the reader. The inner result contains an [`AgentRefusal`] if the entry violates
/// a rule.
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

/// Checks the plan, request, catalog, access decision and confirmation that an event refers to.
///
/// Each of them must belong to the goal and step of the event. If the event starts an effect, the decision and the
/// confirmation must also allow it.
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
        // The catalog may have retired the simulation while the step was being prepared.
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
        // A rejection is final even if it was recorded while the step was being prepared.
        let is_rejected =
            entry.event.starts_effect() && reader.is_rejected(&correlation, &step, &answer.plan)?;
        if entry.event.starts_effect() && (!confirms || is_rejected) {
            return Ok(Err(AgentRefusal::NotConfirmed { correlation, step, named }));
        }
    }
    Ok(Ok(()))
}

/// Computes the state of a step after the entry at `index`.
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

/// Creates the claim of a step's effect for a `DISPATCH_STARTED` event. Fails if the effect is already claimed.
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

/// Returns the claim of a step's effect after a `RETRY_STARTED` event.
fn retried(
    claim: Option<&AgentClaim>,
    entry: &AgentExecution,
    index: u64,
) -> Result<AgentClaim, AgentRefusal> {
    let claim = claim_of(claim, entry)?;
    Ok(AgentClaim { last_start: index, plan: entry.plan.clone(), ..claim.clone() })
}

/// Returns the claim of a step's effect after an `OUTCOME` event, which must belong to the plan that was started last.
fn ended(claim: Option<&AgentClaim>, entry: &AgentExecution) -> Result<AgentClaim, AgentRefusal> {
    let claim = claim_of(claim, entry)?;
    if claim.plan != entry.plan {
        let (correlation, step) = (entry.correlation.clone(), entry.step.clone());
        let started = claim.last_start;
        return Err(AgentRefusal::OtherPlanOfStep { correlation, step, started });
    }
    Ok(claim.clone())
}

/// Returns the existing claim of a step's effect after checking that the event has the same idempotency key.
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

/// Returns whether a step may change from the state `before` to the state that the event records.
///
/// A decision without an effect must not change the state of a claimed step. A step stays in the state `REPLAY_FAILED`
/// permanently.
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

/// Checks that an escalation exists and has not been resolved yet.
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
