//! Decides on a bundle as a pure function, without access to a clock, randomness or I/O (AEC-10, AEC-11).

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use actum_core::{CoreAction, Digest, canonical};
use actum_record::agent::{AgentPlanId, StepId};
use actum_record::ledger::{AccessOutcome, ActionState, AgentState, ConfirmationOutcome};
use serde::{Deserialize, Serialize};

use crate::bundle::{AgentBundle, ConfirmationFacts, Identity, RollbackFacts, SimulationFacts};
use crate::limits::{AMBIGUOUS_ANSWERS_MAX, STARTS_MAX};
use crate::packet::{FinderPacket, SimulationMatchPacket};
use crate::plan::{
    AgentExecutionPlan, AgentStep, KEY_RECIPE, KeyParts, RetryPolicy, fields_fingerprint,
    first_step, plan_id,
};
use crate::reason::ReasonCode;

/// Version of the decision rules. Increment it whenever a change in the rules could change the decision on any bundle.
pub const AGENT_SEMANTICS: u32 = 1;

/// Decision on a bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[must_use]
pub struct AgentDecision {
    /// [`AGENT_SEMANTICS`] of the program that made the decision.
    pub semantics: u32,
    /// Action to take on the step.
    pub verdict: AgentVerdict,
    /// State of the step after the decision.
    pub state: AgentState,
    /// Reasons why nothing is dispatched, with denials first. The first reason is the `reason_code`.
    pub reasons: Vec<ReasonCode>,
    /// Id of the plan.
    pub plan_id: Option<AgentPlanId>,
    /// Id of the step.
    pub step_id: Option<StepId>,
    /// Plan that was derived from the packet, if any.
    pub plan: Option<AgentExecutionPlan>,
    /// Idempotency key of the step.
    pub key: Option<Digest>,
    /// Fingerprint of the plan, which a confirmation must name.
    pub plan_fingerprint: Option<Digest>,
}

/// Action to take after a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AgentVerdict {
    /// Dispatch the step.
    Dispatch,
    /// Return the recorded outcome, because the step has already succeeded.
    Answered,
    /// Do not dispatch anything.
    NoDispatch,
}

/// Decides whether the step in a bundle is dispatched. The same bundle always leads to the same decision.
pub fn decide(bundle: &AgentBundle) -> AgentDecision {
    let plan_id = plan_id(&bundle.goal.correlation, bundle.finder_packet);
    let mut denials = deny_by_goal(bundle);
    let packet = canonical::ordered_to_vec(&bundle.packet).ok();
    let packet = packet.filter(|bytes| Digest::of(bytes) == bundle.finder_packet);
    let packet = packet.and_then(|bytes| FinderPacket::read(&bytes).ok());
    let planned = match packet {
        Some(packet) => {
            let head = packet.head();
            let is_question = matches!(packet, FinderPacket::Clarify(_));
            if head.correlation_id != bundle.goal.correlation
                || head.tenant_id != bundle.goal.tenant
                || head.goal_fingerprint != bundle.goal.fingerprint
                || head.attempt_counter != bundle.goal.attempt.saturating_add(is_question.into())
            {
                denials.insert(ReasonCode::FinderPacketOfAnotherGoal);
            }
            match packet {
                FinderPacket::Match(packet) => make_plan(bundle, &packet, plan_id.as_ref()),
                FinderPacket::Clarify(_) => Err(ReasonCode::ClarifyRequired),
                FinderPacket::Refuse(_) => Err(ReasonCode::FinderRefused),
                FinderPacket::Missing(_) => Err(ReasonCode::SimulationMissing),
            }
        }
        None => Err(ReasonCode::FinderPacketInvalid),
    };
    let mut decision = AgentDecision {
        semantics: AGENT_SEMANTICS,
        verdict: AgentVerdict::NoDispatch,
        state: AgentState::Refused,
        reasons: Vec::new(),
        plan_id,
        step_id: first_step(),
        plan: None,
        key: None,
        plan_fingerprint: None,
    };
    let planned = match planned {
        Ok(planned) => planned,
        Err(reason) => {
            denials.insert(reason);
            return decision.refuse(bundle, denials);
        }
    };
    let is_answered = bundle
        .history
        .claim
        .as_ref()
        .is_some_and(|claim| claim.key == planned.key && claim.state == AgentState::Succeeded);
    let reasons = match is_answered {
        // Only denials of the goal apply, because no new effect is started.
        true => denials,
        false => {
            denials.extend(deny_by_plan(bundle, &planned));
            match denials.is_empty() && planned.simulation.needs_confirmation() {
                true => check_confirmation(bundle, planned.fingerprint).into_iter().collect(),
                false => denials,
            }
        }
    };
    decision.key = Some(planned.key);
    decision.plan_fingerprint = Some(planned.fingerprint);
    decision.plan = Some(planned.plan);
    if !reasons.is_empty() {
        return decision.refuse(bundle, reasons);
    }
    let (verdict, state) = match is_answered {
        true => (AgentVerdict::Answered, AgentState::Succeeded),
        false => (AgentVerdict::Dispatch, AgentState::Started),
    };
    AgentDecision { verdict, state, ..decision }
}

impl AgentDecision {
    /// Returns the most important reason, which is reported as the `reason_code`.
    pub fn reason_code(&self) -> Option<ReasonCode> {
        self.reasons.first().copied()
    }

    /// Computes the digest that binds this decision to the bytes of its bundle (`dispatch_decision_hash`).
    ///
    /// # Errors
    /// Returns a [`canonical::CanonicalError`] if the decision has no canonical form.
    pub fn digest(&self, bundle: &[u8]) -> Result<Digest, canonical::CanonicalError> {
        let (bundle, decision) = (Digest::of(bundle), canonical::to_vec(self)?);
        Ok(Digest::tagged("actum/agent-decision/v1", &[bundle.as_bytes(), &decision]))
    }

    fn refuse(self, bundle: &AgentBundle, reasons: BTreeSet<ReasonCode>) -> Self {
        let reasons: Vec<ReasonCode> = reasons.into_iter().collect();
        let first = reasons.first().map_or(AgentState::Refused, |reason| reason.state());
        // Once a step has started, its effect determines its state. A later refusal does not change it.
        let claimed = bundle.history.claim.as_ref().map(|claim| claim.state);
        let state = if bundle.history.is_replay_failed && claimed != Some(AgentState::Started) {
            AgentState::ReplayFailed
        } else {
            claimed.unwrap_or(first)
        };
        Self { state, reasons, ..self }
    }
}

/// Plan made from a packet, with the facts needed to check it.
struct Planned<'b> {
    plan: AgentExecutionPlan,
    has_tie: bool,
    packet_catalog: Digest,
    packet_access_action: String,
    rollback: RollbackState,
    simulation: &'b SimulationFacts,
    key: Digest,
    fingerprint: Digest,
}

/// Whether the rollback plan of a packet can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RollbackState {
    /// The packet has no rollback plan.
    None,
    /// The rollback simulation is not active, or is not the core action that undoes a run.
    Unusable,
    /// The rollback simulation is active and undoes the run.
    Usable,
}

/// Creates the plan for a match packet from its first candidate, which is used unchanged.
fn make_plan<'b>(
    bundle: &'b AgentBundle,
    packet: &SimulationMatchPacket,
    plan_id: Option<&AgentPlanId>,
) -> Result<Planned<'b>, ReasonCode> {
    let candidate = packet.candidates.first().ok_or(ReasonCode::FinderPacketInvalid)?;
    let simulation = bundle.simulation.as_ref().filter(|it| it.id == candidate.simulation_id);
    let simulation = simulation.ok_or(ReasonCode::SimulationNotRegistered)?;
    let invalid = ReasonCode::FinderPacketInvalid;
    let step = first_step().ok_or(invalid)?;
    let plan_id = plan_id.cloned().ok_or(invalid)?;
    let fields = fields_fingerprint(&packet.required_fields).map_err(|_| invalid)?;
    let rollback = match (&packet.rollback_plan, &bundle.rollback) {
        (None, _) => RollbackState::None,
        (Some(plan), Some(RollbackFacts { id, state: ActionState::Active }))
            if *id == plan.simulation_id && id.as_str() == CoreAction::UndoRun.as_str() =>
        {
            RollbackState::Usable
        }
        (Some(_), _) => RollbackState::Unusable,
    };
    let rollback_plan = packet.rollback_plan.as_ref().map(|plan| plan.to_vec()).transpose();
    let rollback_plan_ref = rollback_plan.map_err(|_| invalid)?.map(|plan| Digest::of(&plan));
    let claim = bundle.history.claim.as_ref();
    let policy = claim.map_or(bundle.policy_snapshot, |claim| claim.policy_snapshot);
    let parts = KeyParts {
        correlation: &bundle.goal.correlation,
        step: &step,
        simulation: &simulation.id,
        fields,
        policy_snapshot: policy,
    };
    let key = parts.key();
    let rollback_digest = rollback_plan_ref.unwrap_or_else(|| Digest::of(b""));
    let fingerprint = Digest::tagged(
        "actum/agent-plan/1",
        &[
            key.as_bytes(),
            bundle.catalog_snapshot.as_bytes(),
            bundle.artifacts.as_bytes(),
            rollback_digest.as_bytes(),
        ],
    );
    let mut names: Vec<_> = packet.required_fields.keys().cloned().collect();
    names.sort_unstable();
    let needs_confirmation = simulation.needs_confirmation();
    let plan = AgentExecutionPlan {
        plan_id,
        finder_packet_ref: bundle.finder_packet,
        required_confirmations: if needs_confirmation { vec![step.clone()] } else { Vec::new() },
        risk_level: simulation.tier,
        access_actions_required: vec![simulation.access_action.clone()],
        policy_snapshot_ref: policy,
        created_at: bundle.time,
        ordered_steps: vec![AgentStep {
            step_id: step,
            simulation_id: simulation.id.clone(),
            required_fields: names,
            required_fields_fingerprint: fields,
            policy_snapshot_version: policy,
            confirmation_required: needs_confirmation,
            access_action: simulation.access_action.clone(),
            idempotency_key_recipe: KEY_RECIPE.into(),
            retry_policy: RetryPolicy::PHASE_1,
            rollback_plan_ref,
        }],
    };
    Ok(Planned {
        plan,
        has_tie: packet.candidates.get(1).is_some_and(|second| second.score == candidate.score),
        packet_catalog: packet.head.catalog_snapshot_ref,
        packet_access_action: packet.access_action.clone(),
        rollback,
        simulation,
        key,
        fingerprint,
    })
}

/// Returns the denials that depend only on the goal, its caller and its history.
fn deny_by_goal(bundle: &AgentBundle) -> BTreeSet<ReasonCode> {
    let AgentBundle { time, goal, caller, history, .. } = bundle;
    let checks = [
        (
            ReasonCode::AccessScopeViolation,
            caller.identity == Identity::Unknown || caller.tenant != goal.tenant,
        ),
        (ReasonCode::ClockWentBackwards, history.last.is_some_and(|last| *time < last)),
        (
            ReasonCode::IdempotencyViolation,
            history.goal.is_some_and(|known| known != goal.fingerprint)
                || history.request.as_ref().is_some_and(|known| *known != goal.correlation),
        ),
        (ReasonCode::ReplayFailed, history.is_replay_failed),
    ];
    checks.into_iter().filter(|(_, denies)| *denies).map(|(reason, _)| reason).collect()
}

/// Returns the denials that depend on the plan and its simulation.
fn deny_by_plan(bundle: &AgentBundle, planned: &Planned<'_>) -> Vec<ReasonCode> {
    let SimulationFacts { state, impactful, access_action, fields_fit, .. } = planned.simulation;
    let claim = bundle.history.claim.as_ref();
    let claimed = |wanted: AgentState| claim.is_some_and(|claim| claim.state == wanted);
    let access = bundle.access.as_ref();
    let is_denied = access.is_none_or(|access| access.outcome == AccessOutcome::Denied);
    let waits_for_ap = access
        .is_some_and(|access| access.outcome == AccessOutcome::ApRequired && !access.is_approved);
    let checks = [
        (ReasonCode::AccessScopeViolation, is_denied),
        (ReasonCode::CandidatesUnresolved, planned.has_tie),
        (ReasonCode::IdempotencyViolation, claim.is_some_and(|claim| claim.key != planned.key)),
        (ReasonCode::StepUnderWay, claimed(AgentState::Started)),
        (ReasonCode::StepNeedsAttention, claimed(AgentState::Failed)),
        (ReasonCode::RetriesExhausted, claim.is_some_and(|claim| claim.starts >= STARTS_MAX)),
        (
            ReasonCode::PolicySnapshotChanged,
            claim.is_some_and(|claim| claim.policy_snapshot != bundle.policy_snapshot),
        ),
        (ReasonCode::CatalogSnapshotChanged, planned.packet_catalog != bundle.catalog_snapshot),
        (ReasonCode::SimulationNotActive, *state != ActionState::Active),
        (ReasonCode::RequiredFieldsInvalid, !fields_fit),
        (ReasonCode::AccessActionMismatch, planned.packet_access_action != *access_action),
        (ReasonCode::RollbackPlanMissing, *impactful && planned.rollback == RollbackState::None),
        (ReasonCode::RollbackPlanUnusable, planned.rollback == RollbackState::Unusable),
        (ReasonCode::AccessApRequired, waits_for_ap),
    ];
    checks.into_iter().filter(|(_, denies)| *denies).map(|(reason, _)| reason).collect()
}

/// Checks the confirmation of a plan that needs one. Returns the reason why it is missing or cannot be used, if any.
fn check_confirmation(bundle: &AgentBundle, fingerprint: Digest) -> Option<ReasonCode> {
    let Some(confirmation) = &bundle.confirmation else {
        return Some(ReasonCode::ConfirmationRequired);
    };
    let ConfirmationFacts {
        outcome,
        lexicon,
        thread,
        plan_fingerprint,
        time,
        expires,
        by,
        relayed_by,
        ..
    } = confirmation;
    let is_dispatcher = relayed_by.is_none() && by.uid == bundle.caller.actor.uid;
    let checks = [
        (ReasonCode::ConfirmationOfAnotherThread, *thread != bundle.goal.thread),
        (ReasonCode::ConfirmationOfAnotherPlan, *plan_fingerprint != fingerprint),
        // A rejection and too many ambiguous answers are final, so check them before the expiry.
        (ReasonCode::ConfirmationRejected, *outcome == ConfirmationOutcome::Rejected),
        (
            ReasonCode::ConfirmationAttemptsExhausted,
            *outcome == ConfirmationOutcome::Ambiguous
                && bundle.history.ambiguous_answers >= AMBIGUOUS_ANSWERS_MAX,
        ),
        (ReasonCode::ConfirmationLexiconChanged, *lexicon != bundle.lexicon),
        (ReasonCode::ConfirmationByDispatcher, is_dispatcher),
        (ReasonCode::ConfirmationExpired, *time > *expires || bundle.time > *expires),
        (ReasonCode::ConfirmationAmbiguous, *outcome == ConfirmationOutcome::Ambiguous),
    ];
    checks.into_iter().find(|(_, denies)| *denies).map(|(reason, _)| reason)
}
