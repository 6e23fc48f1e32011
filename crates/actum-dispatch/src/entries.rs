//! Creates the ledger entries of a decision: the event of its step and the access decision.

use actum_agent::plan::plan_id;
use actum_agent::{AgentDecision, ReasonCode};
use actum_core::{Digest, canonical};
use actum_ledger::NewEntry;
use actum_record::agent::StepId;
use actum_record::ledger::{
    AccessOutcome, AgentAccessDecided, AgentEventKind, AgentExecution, AgentRefs, EntryKind,
};
use actum_record::merkle::leaf_hash;
use serde_json::{Map, Value};

use crate::ENGINE;
use crate::error::DispatchError;
use crate::gather::Gathered;
use crate::settings::Caller;

/// Returns the id of the step. In phase 1, a goal has only one step.
pub(crate) fn step() -> Result<StepId, DispatchError> {
    let wrong = |error: actum_core::plain_id::PlainIdError| DispatchError::Damaged {
        message: error.to_string(),
    };
    "step-1".parse().map_err(wrong)
}

/// Creates the event for a decision, and the documents that the event refers to.
pub(crate) fn execution(
    decision: &AgentDecision,
    gathered: &Gathered,
    caller: &Caller<'_>,
) -> Result<(AgentExecution, Vec<Vec<u8>>), DispatchError> {
    let Gathered { bundle, catalog, policy, artifacts, assertion, .. } = gathered;
    let bytes = bundle.to_vec()?;
    let packet = canonical::ordered_to_vec(&bundle.packet)?;
    let hash = decision.digest(&bytes)?;
    let missing =
        || DispatchError::Damaged { message: "no plan id can be derived for the goal".to_owned() };
    let plan = plan_id(&bundle.goal.correlation, bundle.finder_packet).ok_or_else(missing)?;
    let planned = decision.plan.as_ref().and_then(|plan| plan.ordered_steps.first());
    let refs = AgentRefs {
        bundle: Digest::of(&bytes),
        finder_packet: bundle.finder_packet,
        policy_snapshot: bundle.policy_snapshot,
        catalog_snapshot: bundle.catalog_snapshot,
        artifact_fingerprints: planned.map(|_| bundle.artifacts),
        confirmation_proof: None,
        prompt: None,
        host_assertion: assertion.as_deref().map(Digest::of),
        outcome: None,
    };
    let event = AgentExecution {
        format: AgentExecution::FORMAT.to_owned(),
        time: bundle.time,
        tenant: bundle.caller.tenant.clone(),
        user: bundle.goal.user.clone(),
        actor: caller.actor.clone(),
        catalog: catalog.changed,
        correlation: bundle.goal.correlation.clone(),
        thread: bundle.goal.thread.clone(),
        request: bundle.goal.request_key,
        plan,
        step: step()?,
        event: AgentEventKind::NoDispatch,
        state: decision.state,
        reason: decision.reason_code().map(|reason| reason.as_str().to_owned()),
        key: decision.key,
        simulation: planned.map(|step| step.simulation_id.clone()),
        impactful: bundle.simulation.as_ref().is_some_and(|it| it.impactful),
        simulation_entry: None,
        access: None,
        confirmation: None,
        rollback_plan: planned.and_then(|step| step.rollback_plan_ref),
        refs,
        semantics: decision.semantics,
        decision: hash,
        duration: None,
        engine: ENGINE.to_owned(),
    };
    let mut documents = vec![bytes, packet, policy.clone(), catalog.snapshot.clone()];
    if planned.is_some() {
        documents.push(artifacts.clone());
    }
    documents.extend(assertion.clone());
    documents.extend(rollback_document(&bundle.packet)?.filter(|_| event.rollback_plan.is_some()));
    Ok((event, documents))
}

/// Returns the rollback plan of a sealed packet as a canonical document, if the packet has one.
fn rollback_document(packet: &Map<String, Value>) -> Result<Option<Vec<u8>>, DispatchError> {
    let plan = packet.get("rollback_plan").filter(|plan| !plan.is_null());
    Ok(plan.map(canonical::to_vec).transpose()?)
}

/// Creates the ledger entry for the access decision, and returns it with its leaf hash. Returns `None` if access was
/// not decided.
pub(crate) fn access_entry(
    gathered: &Gathered,
) -> Result<Option<(NewEntry, Digest)>, DispatchError> {
    let (Some(facts), Some(judgement), Some(simulation)) =
        (&gathered.bundle.access, &gathered.access, &gathered.bundle.simulation)
    else {
        return Ok(None);
    };
    let reason = match facts.outcome {
        AccessOutcome::Allowed => None,
        AccessOutcome::ApRequired => Some(ReasonCode::AccessApRequired),
        AccessOutcome::Denied => Some(ReasonCode::AccessScopeViolation),
    };
    let bundle = &gathered.bundle;
    let body = canonical::ordered_to_vec(&AgentAccessDecided {
        format: AgentAccessDecided::FORMAT.to_owned(),
        time: bundle.time,
        tenant: bundle.caller.tenant.clone(),
        user: bundle.goal.user.clone(),
        correlation: bundle.goal.correlation.clone(),
        step: step()?,
        access_action: simulation.access_action.clone(),
        outcome: facts.outcome,
        reason: reason.map(|reason| reason.as_str().to_owned()),
        policy_snapshot: bundle.policy_snapshot,
        case: facts.case,
    })?;
    let leaf = leaf_hash(&body);
    let blobs = vec![judgement.bundle.clone(), judgement.policy.clone()];
    Ok(Some((NewEntry { kind: EntryKind::AgentAccessDecided, body, blobs }, leaf)))
}
