//! Implementation of `SimulationExecutor` that carries out simulations through the action entry point (AEC-13).
//!
//! Access and the `ACTIVE` state are checked again while the workspace is locked. The gates evaluate the change, and
//! the [`StepLog`] prevents the start if the policy or the catalog has changed.

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use actum::reason::Reason;
use actum::{
    ActionCompanion, ActionEnd, ActionOutcome, ActionRefusal, ActionStart, Engine, InForce,
    Proposal, Registered, Request,
};
use actum_action::{PlanEnvelope, ResultEnvelope, RollbackPlan, VerificationPlan};
use actum_agent::{DispatchEnvelope, ReasonCode, SimulationExecutor, SimulationReturn};
use actum_core::canonical::CanonicalError;
use actum_core::{CoreAction, Digest, RiskTier, RunId};
use actum_ledger::NewEntry;
use actum_record::agent::{CorrelationId, StepId};
use actum_record::ledger::{Actor, RequestKey};
use actum_workspace::disk::Disk;
use serde_json::{Map, Value, json};

use crate::error::DispatchError;
use crate::settings::Settings;
use crate::step_log::{Logged, LoggedEnd, StepLog};

/// Executor for a single dispatch.
pub(crate) struct ActionExecutor<'e, D: Disk> {
    pub(crate) engine: &'e mut Engine<D>,
    pub(crate) simulation: Arc<Registered>,
    pub(crate) actor: Actor,
    pub(crate) settings: Settings,
    /// Request that the operator has approved, if any.
    pub(crate) approved: Option<Request>,
    pub(crate) log: Option<StepLog>,
    /// Leaf hashes of the access decision and of the confirmation.
    pub(crate) proofs: Vec<Digest>,
    pub(crate) logged: Rc<RefCell<Logged>>,
    /// Queued plan that is waiting for approval, if the action was queued.
    pub(crate) queued: Option<RunId>,
    /// Guard created by the function that was passed to [`Engine::holding`].
    pub(crate) held: Option<Box<dyn Any>>,
}

impl<D: Disk> SimulationExecutor for ActionExecutor<'_, D> {
    type Error = DispatchError;

    fn execute(&mut self, envelope: &DispatchEnvelope) -> Result<SimulationReturn, DispatchError> {
        let log = self.log.take().ok_or(DispatchError::Incomplete { missing: "step log" })?;
        let companion: Option<Box<dyn ActionCompanion>> = Some(Box::new(log));
        let acted = match self.approved.take() {
            Some(request) => {
                let wait = request.wait || self.settings.wait;
                self.engine.act_as_approved(Request { wait, ..request }, companion)
            }
            None => {
                let proposed = Proposed {
                    correlation: &envelope.correlation_id,
                    step: &envelope.step_id,
                    simulation: &self.simulation,
                    fields: &envelope.required_fields,
                    rollback_plan: envelope.rollback_plan_ref,
                    key: envelope.idempotency_key,
                    actor: &self.actor,
                    settings: &self.settings,
                };
                self.engine.act_with(&proposed.proposal(), companion)
            }
        };
        let ActionOutcome { envelope: result, held, .. } = acted?;
        self.held = held;
        self.queued = queued_plan(&result);
        let ended = self.logged.borrow_mut().ended.take();
        let LoggedEnd { leaf, action, reason, outcome } = ended.ok_or(DispatchError::Busy)?;
        let message = result.feedback.get("message").and_then(Value::as_str);
        let user_visible_text = match message {
            Some(message) => message.to_owned(),
            None => format!("`{}` is done", envelope.simulation_id),
        };
        Ok(SimulationReturn {
            outcome,
            reason_code: reason,
            audit_event: leaf,
            proof_refs: [vec![action], std::mem::take(&mut self.proofs)].concat(),
            user_visible_text,
        })
    }
}

/// Properties of a step from which the proposal of its action is created.
pub(crate) struct Proposed<'p> {
    pub(crate) correlation: &'p CorrelationId,
    pub(crate) step: &'p StepId,
    pub(crate) simulation: &'p Registered,
    pub(crate) fields: &'p Map<String, Value>,
    pub(crate) rollback_plan: Option<Digest>,
    pub(crate) key: Digest,
    pub(crate) actor: &'p Actor,
    pub(crate) settings: &'p Settings,
}

impl Proposed<'_> {
    /// Creates the proposal of the action, with a request key that is derived from the step.
    pub(crate) fn proposal(&self) -> Proposal {
        let Self { correlation, step, simulation, settings, .. } = self;
        let rollback = self.rollback_plan.map(|digest| {
            let plan = [("rollback_plan_ref".to_owned(), json!(digest))];
            RollbackPlan::Object(Map::from_iter(plan))
        });
        let Registered { tier, flags, name, .. } = simulation;
        let plan = PlanEnvelope {
            action_id: Some(format!("{correlation}/{step}")),
            action_type: name.clone(),
            declared_tier: Some(*tier),
            confidence: None,
            reason: Some(format!("agent goal {correlation}")),
            input: self.fields.clone(),
            rollback_plan: rollback,
            verification: VerificationPlan {
                required: flags.writes && *tier >= RiskTier::R2,
                commands: settings.checks.clone(),
            },
            scope: settings.scope.clone(),
        };
        let key = Some(RequestKey::of_step(self.key));
        Proposal { plan, actor: self.actor.clone(), key, wait: settings.wait }
    }
}

/// Queues an action for approval without starting it. Returns the queued plan, or `None` if the gates reject the
/// action.
pub(crate) fn queue<D: Disk>(
    engine: &mut Engine<D>,
    proposed: &Proposed<'_>,
) -> Result<Option<RunId>, DispatchError> {
    let acted = engine.act_with(&proposed.proposal(), Some(Box::new(NeverStart)))?;
    Ok(queued_plan(&acted.envelope))
}

/// Companion log that prevents its action from starting.
struct NeverStart;

impl ActionCompanion for NeverStart {
    fn start(&mut self, _: &ActionStart<'_>) -> Result<Vec<NewEntry>, ActionRefusal> {
        let message = ReasonCode::AccessApRequired.sentence().to_owned();
        Err(ActionRefusal::Refused { reason: Reason::AccessApRequired, message })
    }

    fn check_in_force(&mut self, _: &InForce<'_>) -> Result<(), ActionRefusal> {
        Ok(())
    }

    fn end(&mut self, _: &ActionEnd<'_>) -> Result<Vec<NewEntry>, CanonicalError> {
        Ok(Vec::new())
    }
}

/// Returns whether a simulation has no check of its own, so that the host must configure one (AA-3).
pub(crate) fn needs_check(simulation: &Registered) -> bool {
    simulation.name.as_str() == CoreAction::RunCommand.as_str() && simulation.tier == RiskTier::R2
}

fn queued_plan(result: &ResultEnvelope) -> Option<RunId> {
    result.feedback.get("plan").and_then(Value::as_str).and_then(|plan| plan.parse().ok())
}
