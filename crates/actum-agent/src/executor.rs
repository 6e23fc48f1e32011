//! Interface to the executor of simulations, which is the only way for a decision to have an effect (AEC-13, AEC-22).

use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Deref;

use actum_core::Digest;
use actum_record::agent::StepId;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::decide::{AgentDecision, AgentVerdict};
use crate::envelope::DispatchEnvelope;
use crate::reason::ReasonCode;

/// Executes simulations. Implementations must check the access policies and the `ACTIVE` state again, while holding
/// their lock, before they have any effect.
pub trait SimulationExecutor {
    /// Error that leaves no outcome to record.
    type Error;

    /// Executes the step in a dispatch envelope.
    ///
    /// # Errors
    /// Returns an error only if there is no outcome that could be recorded.
    fn execute(&mut self, envelope: &DispatchEnvelope) -> Result<SimulationReturn, Self::Error>;
}

/// Result of an executed simulation. The core passes it on unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationReturn {
    /// Outcome of the simulation.
    pub outcome: Map<String, Value>,
    /// Reason why the simulation failed, or `None` if it succeeded.
    pub reason_code: Option<String>,
    /// Hash of the ledger event that contains the outcome.
    pub audit_event: Digest,
    /// Hashes of proofs and audit events.
    pub proof_refs: Vec<Digest>,
    /// Message for the user.
    pub user_visible_text: String,
}

/// Result of one cycle of the core (seed 004, section 4.4). Its fields can be read but not changed.
///
/// ```compile_fail
/// # use actum_agent::AgentExecutionOutcome;
/// // Only `dispatch` can create the outcome of a dispatched step.
/// fn forge(outcome: &mut AgentExecutionOutcome) {
///     outcome.simulation_outcome = None;
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AgentExecutionOutcome(OutcomeFields);

/// Fields of an [`AgentExecutionOutcome`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutcomeFields {
    /// Id of the step, or `None` if there is no plan.
    pub step_id: Option<StepId>,
    /// Outcome of the simulation as returned by the executor, or the stored outcome if the step was executed earlier.
    /// `None` if nothing was dispatched.
    pub simulation_outcome: Option<Map<String, Value>>,
    /// Hash of the ledger event.
    pub audit_event_id: Digest,
    /// Hashes of proofs.
    pub proof_refs: Vec<Digest>,
    /// Digest that binds the decision to its bundle.
    pub dispatch_decision_hash: Digest,
    /// Always `None` in phase 1.
    pub next_step: Option<StepId>,
    /// Reason why the step did not succeed, or `None` if it did.
    pub reason_code: Option<String>,
    /// Message for the user. The core itself writes no transcript (AEC-22).
    pub user_visible_text: String,
}

/// Dispatches a step and returns the outcome of the executor unchanged.
///
/// # Errors
/// Returns the error of the executor.
pub fn dispatch<E: SimulationExecutor>(
    executor: &mut E,
    envelope: &DispatchEnvelope,
    decision: Digest,
) -> Result<AgentExecutionOutcome, E::Error> {
    let SimulationReturn { outcome, reason_code, audit_event, proof_refs, user_visible_text } =
        executor.execute(envelope)?;
    Ok(AgentExecutionOutcome(OutcomeFields {
        step_id: Some(envelope.step_id.clone()),
        simulation_outcome: Some(outcome),
        audit_event_id: audit_event,
        proof_refs,
        dispatch_decision_hash: decision,
        next_step: None,
        reason_code,
        user_visible_text,
    }))
}

impl Deref for AgentExecutionOutcome {
    type Target = OutcomeFields;

    fn deref(&self) -> &OutcomeFields {
        &self.0
    }
}

impl AgentExecutionOutcome {
    /// Creates the outcome of a decision that dispatches nothing. `text` is the message for the user; for a clarify
    /// packet, it is the unchanged question.
    pub fn without_dispatch(
        decision: &AgentDecision,
        (audit_event, hash): (Digest, Digest),
        proof_refs: Vec<Digest>,
        text: String,
    ) -> Self {
        Self(OutcomeFields {
            step_id: decision.step_id.clone(),
            simulation_outcome: None,
            audit_event_id: audit_event,
            proof_refs,
            dispatch_decision_hash: hash,
            next_step: None,
            reason_code: decision.reason_code().map(|reason: ReasonCode| reason.as_str().into()),
            user_visible_text: text,
        })
    }

    /// Creates the outcome of a step that was executed earlier, from its stored outcome. Returns `None` if the decision
    /// is not [`AgentVerdict::Answered`].
    pub fn answered(
        decision: &AgentDecision,
        (audit_event, hash): (Digest, Digest),
        proof_refs: Vec<Digest>,
        kept: Map<String, Value>,
    ) -> Option<Self> {
        let text = "this step was already executed, so nothing was dispatched".into();
        let is_answered = decision.verdict == AgentVerdict::Answered;
        let outcome = Self::without_dispatch(decision, (audit_event, hash), proof_refs, text);
        let Self(fields) = outcome;
        is_answered.then_some(Self(OutcomeFields { simulation_outcome: Some(kept), ..fields }))
    }
}
