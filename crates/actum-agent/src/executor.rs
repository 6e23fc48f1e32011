//! Port of the `SimulationExecutor`, the only way from a decision to an effect (AEC-13, AEC-22).

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

/// Executor of simulations: checks access and `ACTIVE` again, under its lock, and then has the effect.
pub trait SimulationExecutor {
    /// Error without an outcome.
    type Error;

    /// Carries out one dispatch.
    ///
    /// # Errors
    /// If there is no outcome that could be recorded.
    fn execute(&mut self, envelope: &DispatchEnvelope) -> Result<SimulationReturn, Self::Error>;
}

/// Result of an executor. The core keeps it unchanged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SimulationReturn {
    /// Outcome of the simulation.
    pub outcome: Map<String, Value>,
    /// Reason; `None` for a success.
    pub reason_code: Option<String>,
    /// Hash of the event in the ledger that holds the outcome.
    pub audit_event: Digest,
    /// Proofs and audit events.
    pub proof_refs: Vec<Digest>,
    /// Message for the user.
    pub user_visible_text: String,
}

/// Result of one cycle (seed 004, section 4.4). Its fields are read-only.
///
/// ```compile_fail
/// # use actum_agent::AgentExecutionOutcome;
/// // Only `dispatch` makes an outcome of a dispatched step.
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
    /// Step; `None` without a plan.
    pub step_id: Option<StepId>,
    /// Outcome of the simulation, as the executor returned it. For a step that was done before, it is the kept outcome;
    /// `None` if nothing was dispatched.
    pub simulation_outcome: Option<Map<String, Value>>,
    /// Hash of the event in the ledger.
    pub audit_event_id: Digest,
    /// Proofs.
    pub proof_refs: Vec<Digest>,
    /// Digest of decision and bundle.
    pub dispatch_decision_hash: Digest,
    /// Always `None` in phase 1.
    pub next_step: Option<StepId>,
    /// Reason; `None` for a success.
    pub reason_code: Option<String>,
    /// Message for the user. The core writes no transcript (AEC-22).
    pub user_visible_text: String,
}

/// Dispatches one step, and returns the outcome of the executor unchanged.
///
/// # Errors
/// Those of the executor.
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
    /// Creates the outcome of a decision without a dispatch. `text` is the message for the user. For a clarify packet
    /// it is the question, unchanged.
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

    /// Returns the kept outcome of a step that was done before; `None` for any other decision.
    pub fn answered(
        decision: &AgentDecision,
        (audit_event, hash): (Digest, Digest),
        proof_refs: Vec<Digest>,
        kept: Map<String, Value>,
    ) -> Option<Self> {
        let text = "it was done before, and nothing was dispatched".into();
        let is_answered = decision.verdict == AgentVerdict::Answered;
        let outcome = Self::without_dispatch(decision, (audit_event, hash), proof_refs, text);
        let Self(fields) = outcome;
        is_answered.then_some(Self(OutcomeFields { simulation_outcome: Some(kept), ..fields }))
    }
}
