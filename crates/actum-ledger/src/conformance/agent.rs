//! Conformance rules about the Agent Execution Core.

use actum_core::Digest;
use actum_core::canonical::CanonicalError;
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::ledger::{
    AccessOutcome, AgentEventKind, AgentExecution, AgentState, ConfirmationOutcome, EntryKind,
    TenantId,
};
use actum_record::merkle::Node;

use super::action::at;
use super::sample::{SampleStep, agent_execution, catalog_changed, slo_waived};
use super::{Outcome, append, put, same};
use crate::error::{AgentRefusal, Refusal};
use crate::log::{AgentClaim, AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow};
use crate::new_entry::{Appended, NewEntry};
use crate::store::Store;

use AgentEventKind::{
    DispatchStarted, NoDispatch, NoEffect, Outcome as Ended, ReplayMismatch, RetryStarted,
};
use AgentState::{
    AwaitingAp, AwaitingClarify, AwaitingConfirm, Escalated, Failed, Refused, ReplayFailed,
    Reverted, Started, Succeeded,
};

/// Names that identify a step, as parsed values.
struct Names {
    correlation: CorrelationId,
    plan: AgentPlanId,
    step: StepId,
}

fn names(step: &SampleStep) -> Result<Names, CanonicalError> {
    let AgentExecution { correlation, plan, step, .. } = step.execution(NoDispatch, Refused)?;
    Ok(Names { correlation, plan, step })
}

/// Returns a short name for a refusal, with the entry index that the refusal mentions, or 0.
fn refused(result: Result<Vec<Appended>, Refusal>) -> Option<(&'static str, u64)> {
    let Err(Refusal::Agent(refusal)) = result else { return None };
    Some(match refusal {
        AgentRefusal::OtherTenant { .. } => ("other tenant", 0),
        AgentRefusal::StepClaimed { claim, has_other_key: false, .. } => ("claimed", claim),
        AgentRefusal::StepClaimed { claim, has_other_key: true, .. } => ("violation", claim),
        AgentRefusal::RequestOfOtherGoal { .. } => ("other request", 0),
        AgentRefusal::StepNotClaimed { .. } => ("not claimed", 0),
        AgentRefusal::OtherKeyOfStep { claim, .. } => ("other key", claim),
        AgentRefusal::OtherPlanOfStep { started, .. } => ("other plan", started),
        AgentRefusal::PlanOfOtherGoal { index, .. } => ("other goal", index),
        AgentRefusal::Transition { .. } => ("transition", 0),
        AgentRefusal::OtherCatalog { newest, .. } => ("other catalog", newest.unwrap_or(0)),
        AgentRefusal::NoAccessDecision { .. } => ("no access", 0),
        AgentRefusal::AccessDenied { .. } => ("denied", 0),
        AgentRefusal::NoConfirmation { .. } => ("no confirmation", 0),
        AgentRefusal::NotConfirmed { .. } => ("not confirmed", 0),
        AgentRefusal::NotEscalated { .. } => ("not escalated", 0),
        AgentRefusal::IntakeResolved { resolved, .. } => ("resolved", resolved),
    })
}

/// Appends one entry, and returns the short form of its refusal, if it was refused.
fn tried(
    store: &mut dyn Store,
    entry: NewEntry,
) -> Result<Option<(&'static str, u64)>, super::Broken> {
    Ok(refused(append(store, vec![entry])?))
}

/// Checks that the effect of a step starts only once, can be retried only after a rollback, and ends under the key and
/// plan that it started with.
pub(super) fn starts_once(store: &mut dyn Store) -> Outcome {
    let step = SampleStep::numbered(1);
    let other_key = SampleStep { key: Digest::of(b"other"), ..step.clone() };
    let other_plan = SampleStep { plan: "plan-2".to_owned(), ..step.clone() };
    let start = |step: &SampleStep| step.event(DispatchStarted, Started);
    let early = tried(store, step.event(Ended, Succeeded)?)?;
    same("an effect must not end before it starts", early, Some(("not claimed", 0)))?;
    let early = tried(store, step.event(RetryStarted, Started)?)?;
    same("a retry must not start before the effect", early, Some(("not claimed", 0)))?;
    let early = tried(store, start(&step)?)?;
    same("an effect must not start without an access decision", early, Some(("no access", 0)))?;
    put(store, step.started()?)?;
    let again = tried(store, start(&step)?)?;
    same("an effect must not start twice", again, Some(("claimed", 3)))?;
    let again = tried(store, start(&other_key)?)?;
    same("an effect must not start again under a different key", again, Some(("violation", 3)))?;
    let retry = tried(store, step.event(RetryStarted, Started)?)?;
    same("a retry must not start while the effect runs", retry, Some(("transition", 0)))?;
    let wrong = tried(store, other_key.event(Ended, Succeeded)?)?;
    same("an effect must not end under a different key", wrong, Some(("other key", 3)))?;
    let wrong = tried(store, other_plan.event(Ended, Succeeded)?)?;
    same("an effect must not end under a different plan", wrong, Some(("other plan", 3)))?;
    for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated, Started] {
        let wrong = tried(store, step.event(Ended, state)?)?;
        same("an outcome must have a final state", wrong, Some(("transition", 0)))?;
    }
    put(store, vec![step.event(Ended, Reverted)?])?;
    let again = tried(store, start(&step)?)?;
    same("an ended effect must not start without a retry", again, Some(("claimed", 3)))?;
    let again = tried(store, other_key.event(RetryStarted, Started)?)?;
    same("a retry must have the key of the effect", again, Some(("other key", 3)))?;
    let again = tried(store, step.event(Ended, Succeeded)?)?;
    same("an effect must not end twice", again, Some(("transition", 0)))?;
    put(store, vec![step.event(RetryStarted, Started)?])?;
    let again = tried(store, step.event(RetryStarted, Started)?)?;
    same("two retries must not run at the same time", again, Some(("transition", 0)))?;
    put(store, vec![step.event(Ended, Succeeded)?])?;
    for event in [RetryStarted, DispatchStarted] {
        let again = tried(store, step.event(event, Started)?)?;
        same("an effect must not start after a success", again.is_some(), true)?;
    }
    let failing = SampleStep::numbered(2);
    put(store, failing.started()?)?;
    put(store, vec![failing.event(Ended, Failed)?])?;
    let again = tried(store, failing.event(RetryStarted, Started)?)?;
    same("a retry must not start after a failure", again, Some(("transition", 0)))?;
    let twice = SampleStep::numbered(3);
    let mut entries = twice.started()?;
    entries.push(start(&SampleStep { key: Digest::of(b"other"), ..twice.clone() })?);
    same(
        "a request must not start an effect twice",
        refused(append(store, entries)?),
        Some(("violation", 13)),
    )?;
    let taken = SampleStep { request: step.request, ..SampleStep::numbered(4) };
    let wrong = refused(append(store, taken.started()?)?);
    same("a goal must not use the request key of another goal", wrong, Some(("other request", 0)))?;
    same("a refused request must not add an entry", store.size()?, 11)?;
    put(store, vec![taken.event(NoDispatch, Refused)?])?;
    let goal = store.agent_goal_of_request(&step.request)?;
    same("a request key must identify its first goal", goal, Some(names(&step)?.correlation))?;
    same("no key may have two effects", store.count_duplicate_effects()?, 0)
}

/// Checks that a start refers to an access decision and a confirmation of its own step. Both must already be in the log,
/// or precede the start in the same request.
pub(super) fn rests_on_decisions(store: &mut dyn Store) -> Outcome {
    let step = SampleStep::numbered(1);
    let other = SampleStep::numbered(2);
    let [allowed, denied, required] =
        [AccessOutcome::Allowed, AccessOutcome::Denied, AccessOutcome::ApRequired];
    let leaf = |entry: &NewEntry| actum_record::merkle::leaf_hash(&entry.body);
    let execution = step.execution(DispatchStarted, Started)?;
    put(store, vec![step.access(denied)?, step.access(required)?, other.access(allowed)?])?;
    let confirmed = ConfirmationOutcome::Confirmed;
    put(store, vec![step.answered(ConfirmationOutcome::Ambiguous)?, other.answered(confirmed)?])?;
    let by = |access: &NewEntry| {
        let access = Some(leaf(access));
        agent_execution(&AgentExecution { access, ..execution.clone() })
    };
    let wrong = tried(store, by(&step.access(denied)?)?)?;
    same("a step must not start if access is denied", wrong, Some(("denied", 0)))?;
    let wrong = tried(store, by(&other.access(allowed)?)?)?;
    same("a decision on another step must not allow a start", wrong, Some(("no access", 0)))?;
    let wrong = tried(store, by(&step.answered(ConfirmationOutcome::Ambiguous)?)?)?;
    same("an entry of another kind must not allow a start", wrong, Some(("no access", 0)))?;
    let wrong = tried(store, by(&step.access(required)?)?)?;
    same("a step must not start without a confirmation", wrong, Some(("no confirmation", 0)))?;
    put(store, vec![step.access(allowed)?])?;
    let by = |answer: &NewEntry| {
        let confirmation = Some(leaf(answer));
        agent_execution(&AgentExecution { confirmation, ..execution.clone() })
    };
    let wrong = tried(store, by(&step.answered(ConfirmationOutcome::Ambiguous)?)?)?;
    same("an ambiguous answer must not confirm a step", wrong, Some(("not confirmed", 0)))?;
    let wrong = tried(store, by(&other.answered(confirmed)?)?)?;
    same(
        "an answer for another step must not confirm a step",
        wrong,
        Some(("no confirmation", 0)),
    )?;
    let mut other_proof = execution.clone();
    other_proof.refs.confirmation_proof = other_proof.refs.artifact_fingerprints;
    let late = vec![step.answered(confirmed)?, agent_execution(&other_proof)?];
    same(
        "a start must refer to the proof of the confirmation",
        refused(append(store, late)?),
        Some(("not confirmed", 0)),
    )?;
    let behind = vec![agent_execution(&execution)?, step.answered(confirmed)?];
    let behind = refused(append(store, behind)?);
    same("a confirmation must precede the start", behind, Some(("no confirmation", 0)))?;
    put(store, vec![step.answered(confirmed)?, agent_execution(&execution)?])?;
    // A rejection that was recorded after the confirmation, in the log or in the same request, also prevents the start.
    for (number, is_stored) in [(8, true), (9, false)] {
        let step = SampleStep::numbered(number);
        let no = step.answered(ConfirmationOutcome::Rejected)?;
        let start = step.execution(DispatchStarted, Started)?;
        put(store, vec![step.access(allowed)?, step.answered(confirmed)?])?;
        let entries = match is_stored {
            true => {
                put(store, vec![no])?;
                vec![agent_execution(&start)?]
            }
            false => vec![no, agent_execution(&start)?],
        };
        let late = refused(append(store, entries)?);
        same(
            "a step must not start after its plan was rejected",
            late,
            Some(("not confirmed", 0)),
        )?;
    }
    let harmless = SampleStep { impactful: false, ..SampleStep::numbered(3) };
    let entries = vec![harmless.access(allowed)?, harmless.event(DispatchStarted, Started)?];
    put(store, entries)?;
    let waiting = SampleStep::numbered(4);
    let mut refusal = waiting.execution(NoDispatch, Refused)?;
    refusal.access = Some(leaf(&waiting.access(denied)?));
    let early = tried(store, agent_execution(&refusal)?)?;
    same("a decision must not refer to a missing access decision", early, Some(("no access", 0)))?;
    put(store, vec![waiting.access(denied)?, agent_execution(&refusal)?])?;
    let approved = SampleStep { impactful: false, ..SampleStep::numbered(5) };
    let access = Some(leaf(&approved.access(required)?));
    let start = approved.execution(DispatchStarted, Started)?;
    let start = agent_execution(&AgentExecution { access, ..start })?;
    put(store, vec![approved.access(required)?, start])?;
    same("a refused request must not add an entry", store.size()?, 20)
}

/// Checks that a start refers to the newest catalog change, which is in the log or precedes the start in the same request.
pub(super) fn rests_on_catalog(store: &mut dyn Store) -> Outcome {
    let beginning = (0, store.node(Node { level: 0, index: 0 })?);
    let step = |number, catalog| {
        let step = SampleStep { impactful: false, ..SampleStep::numbered(number) };
        let start = step.execution(DispatchStarted, Started)?;
        let start = agent_execution(&AgentExecution { catalog, ..start })?;
        Ok::<_, CanonicalError>(vec![step.access(AccessOutcome::Allowed)?, start])
    };
    let early = refused(append(store, step(1, Some(1))?)?);
    same("a start must not refer to a missing catalog change", early, Some(("other catalog", 0)))?;
    put(store, step(1, None)?)?;
    let one = catalog_changed(beginning, b"{\"number\":1}")?;
    let last = at(&put(store, vec![one])?);
    same("a catalog change must have the next index", last.0, 3)?;
    for catalog in [None, Some(0), Some(2), Some(4)] {
        let wrong = refused(append(store, step(2, catalog)?)?);
        same("a start must refer to the newest catalog change", wrong, Some(("other catalog", 3)))?;
    }
    let two = catalog_changed(last, b"{\"number\":2}")?;
    let mut late = vec![two.clone()];
    late.extend(step(2, Some(3))?);
    let late = refused(append(store, late)?);
    same(
        "a catalog change in the same request must be considered",
        late,
        Some(("other catalog", 4)),
    )?;
    put(store, step(2, Some(3))?)?;
    put(store, vec![two])?;
    let decided = SampleStep::numbered(3);
    put(store, vec![decided.event(NoDispatch, Refused)?])?;
    let end = SampleStep { impactful: false, ..SampleStep::numbered(2) };
    put(store, vec![end.event(Ended, Reverted)?])?;
    let again = end.execution(RetryStarted, Started)?;
    let stale = agent_execution(&AgentExecution { catalog: Some(3), ..again.clone() })?;
    same(
        "a retry must refer to the newest catalog change",
        tried(store, stale)?,
        Some(("other catalog", 6)),
    )?;
    put(store, vec![agent_execution(&AgentExecution { catalog: Some(6), ..again })?])?;
    same("a refused request must not add an entry", store.size()?, 10)
}

/// Checks that a decision without an effect does not change the state of a claimed step, and that no step starts after a
/// failed replay.
pub(super) fn keeps_states(store: &mut dyn Store) -> Outcome {
    let open = SampleStep::numbered(1);
    for event in [NoDispatch, NoEffect] {
        for state in [Started, Succeeded, Reverted, Failed, ReplayFailed] {
            let wrong = tried(store, open.event(event, state)?)?;
            same(
                "a step must not have an outcome without a start",
                wrong,
                Some(("transition", 0)),
            )?;
        }
        for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated] {
            put(store, vec![open.event(event, state)?])?;
        }
    }
    for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated] {
        let wrong = tried(store, open.event(DispatchStarted, state)?)?;
        same("a start must have the state `STARTED`", wrong, Some(("transition", 0)))?;
    }
    put(store, open.started()?)?;
    let unlike = tried(store, open.event(NoDispatch, Refused)?)?;
    same(
        "a decision must not change the state of a claimed step",
        unlike,
        Some(("transition", 0)),
    )?;
    put(store, vec![open.event(NoDispatch, Started)?, open.event(NoEffect, Started)?])?;
    let unlike = tried(store, open.event(ReplayMismatch, ReplayFailed)?)?;
    same("a failed replay must not end a running effect", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(ReplayMismatch, Started)?, open.event(Ended, Reverted)?])?;
    put(store, vec![open.event(NoDispatch, Reverted)?])?;
    let unlike = tried(store, open.event(ReplayMismatch, Reverted)?)?;
    same(
        "a failed replay must change the state of an ended step",
        unlike,
        Some(("transition", 0)),
    )?;
    put(store, vec![open.event(ReplayMismatch, ReplayFailed)?])?;
    let unlike = tried(store, open.event(NoDispatch, Reverted)?)?;
    same("a step must not leave the state of a failed replay", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(NoDispatch, ReplayFailed)?])?;
    let late = tried(store, open.event(RetryStarted, Started)?)?;
    same("a retry must not start after a failed replay", late, Some(("transition", 0)))?;
    let fresh = SampleStep::numbered(2);
    put(store, vec![fresh.event(ReplayMismatch, ReplayFailed)?])?;
    let late = tried(store, fresh.event(NoDispatch, Refused)?)?;
    same(
        "a failed replay must also apply to a step without a start",
        late,
        Some(("transition", 0)),
    )?;
    let late = refused(append(store, fresh.started()?)?);
    same("a step must not start after a failed replay", late, Some(("transition", 0)))?;
    let elsewhere = SampleStep { plan: open.plan.clone(), ..SampleStep::numbered(3) };
    let foreign = tried(store, elsewhere.event(NoDispatch, Refused)?)?;
    same("a plan must belong to a single goal", foreign, Some(("other goal", 20)))?;
    let Ok(tenant) = "other".parse::<TenantId>() else {
        return same("the sample tenant name must be valid", false, true);
    };
    let foreign = SampleStep { tenant, ..SampleStep::numbered(4) };
    let foreign = tried(store, foreign.event(NoDispatch, Refused)?)?;
    same("a log must have a single tenant", foreign, Some(("other tenant", 0)))?;
    same("a refused request must not add an entry", store.size()?, 22)
}

/// Checks that an escalation is resolved only once, and only by its own goal.
pub(super) fn resolves_once(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleStep::numbered(1), SampleStep::numbered(2));
    let nothing = tried(store, one.resolved(Digest::of(b"nothing"))?)?;
    same("a goal must be escalated before it is resolved", nothing, Some(("not escalated", 0)))?;
    let escalate = |step: &SampleStep| step.event(NoDispatch, Escalated);
    let escalated =
        put(store, vec![escalate(&one)?, escalate(&two)?, one.event(NoDispatch, Refused)?])?;
    let [first, second, refusal] = escalated.as_slice() else {
        return same("three events must add three entries", escalated.len(), 3);
    };
    let row = |step: &SampleStep, at: &Appended| -> Result<AgentEscalation, CanonicalError> {
        let Names { correlation, step, .. } = names(step)?;
        Ok(AgentEscalation { index: at.index, leaf: at.leaf, correlation, step })
    };
    let both = vec![row(&one, first)?, row(&two, second)?];
    same(
        "unresolved escalations must be listed with the oldest first",
        store.unresolved_escalations()?,
        both,
    )?;
    let other = tried(store, one.resolved(second.leaf)?)?;
    same(
        "a goal must not resolve the escalation of another goal",
        other,
        Some(("not escalated", 0)),
    )?;
    let other = tried(store, one.resolved(refusal.leaf)?)?;
    same("a refusal must not be resolved as an escalation", other, Some(("not escalated", 0)))?;
    put(store, vec![one.resolved(first.leaf)?])?;
    let again = tried(store, one.resolved(first.leaf)?)?;
    same("an escalation must not be resolved twice", again, Some(("resolved", 4)))?;
    same(
        "resolving an escalation must not affect another one",
        store.unresolved_escalations()?,
        vec![row(&two, second)?],
    )?;
    let twice = append(store, vec![two.resolved(second.leaf)?, two.resolved(second.leaf)?])?;
    same("a request must not resolve an escalation twice", refused(twice), Some(("resolved", 5)))?;
    let third = SampleStep::numbered(3);
    let escalation = escalate(&third)?;
    let leaf = actum_record::merkle::leaf_hash(&escalation.body);
    put(store, vec![escalation, third.resolved(leaf)?])?;
    same(
        "an escalation can be resolved in its own request",
        store.unresolved_escalations()?.len(),
        1,
    )?;
    same("a refused request must not add an entry", store.size()?, 7)
}

/// Checks that the queries about steps, goals and counters match the entries.
pub(super) fn answers_queries(store: &mut dyn Store) -> Outcome {
    let step = SampleStep::numbered(1);
    let Names { correlation, plan, step: id } = names(&step)?;
    same("an unknown step must not be found", store.agent_step(&correlation, &id)?, None)?;
    same("the step of an unknown plan must not be found", store.agent_current(&plan, &id)?, None)?;
    same("an unknown goal must have no entries", store.agent_entries(&correlation)?, Vec::new())?;
    same("a new log must have no dispatches", store.agent_slo(step.time)?, AgentSlo::default())?;
    put(store, vec![step.event(NoDispatch, AwaitingConfirm)?])?;
    let row = AgentStepRow {
        correlation: correlation.clone(),
        step: id.clone(),
        claim: None,
        state: AwaitingConfirm,
        newest: 1,
    };
    same(
        "a step without a start must have the state of its decision",
        store.agent_step(&correlation, &id)?,
        Some(row.clone()),
    )?;
    put(store, step.started()?)?;
    let claim = AgentClaim { index: 4, key: step.key, last_start: 4, plan: plan.clone() };
    let row = AgentStepRow { claim: Some(claim.clone()), state: Started, newest: 4, ..row };
    same(
        "a started step must have a claim",
        store.agent_step(&correlation, &id)?,
        Some(row.clone()),
    )?;
    same("a started step must be open", store.open_agent_steps()?, vec![row.clone()])?;
    let current = AgentCurrentRow {
        plan: plan.clone(),
        step: id.clone(),
        newest: 4,
        correlation: correlation.clone(),
        state: Started,
        key: Some(step.key),
        reason: None,
        time: step.time,
    };
    same(
        "the plan of a started step must list its state",
        store.agent_current(&plan, &id)?,
        Some(current.clone()),
    )?;
    let later = SampleStep { plan: "plan-7".to_owned(), ..step.clone() };
    put(store, vec![later.event(NoDispatch, Started)?, step.event(Ended, Reverted)?])?;
    same("a reverted step must not be open", store.open_agent_steps()?, Vec::new())?;
    put(store, vec![later.event(RetryStarted, Started)?])?;
    let plan_of_retry = names(&later)?.plan;
    let claim = AgentClaim { last_start: 7, plan: plan_of_retry, ..claim };
    let row = AgentStepRow { claim: Some(claim), newest: 7, ..row };
    same("a retried step must be open", store.open_agent_steps()?, vec![row])?;
    let wrong = tried(store, step.event(Ended, Succeeded)?)?;
    same("the outcome must belong to the plan of the retry", wrong, Some(("other plan", 7)))?;
    for (number, dispatch_us, state) in [
        (2, 1_200_000, Succeeded),
        (3, 1_200_001, Succeeded),
        (4, 2_500_000, Failed),
        (5, 2_500_001, Reverted),
    ] {
        let next =
            actum_core::Timestamp::from_micros(step.time.micros().saturating_add(60_000_000));
        let slow = SampleStep { dispatch_us, time: next, ..SampleStep::numbered(number) };
        put(store, slow.started()?)?;
        put(store, vec![slow.event(Ended, state)?])?;
    }
    put(store, vec![later.event(Ended, Succeeded)?])?;
    let later_minute =
        actum_core::Timestamp::from_micros(step.time.micros().saturating_add(40_000_000));
    let counted = AgentSlo { total: 4, over_p95: 3, over_p99: 1, errors: 1 };
    same(
        "counters must only include dispatches since the given minute",
        store.agent_slo(later_minute)?,
        counted,
    )?;
    let counted = AgentSlo { total: 6, ..counted };
    same("counters must include all dispatches", store.agent_slo(step.time)?, counted)?;
    let entries = store.agent_entries(&correlation)?;
    same("all entries of a goal must be listed in order", entries, vec![1, 2, 3, 4, 5, 6, 7, 24])?;
    let reverted = AgentCurrentRow { newest: 6, state: Reverted, ..current };
    same(
        "a plan must list the newest state of its step",
        store.agent_current(&plan, &id)?,
        Some(reverted),
    )?;
    same("rebuilding the projection must restore all rows", store.rebuild_agent_current()?, 6)?;
    same("no key may have two effects", store.count_duplicate_effects()?, 0)?;
    put(store, vec![slo_waived()?, slo_waived()?])?;
    let waivers = store.newest_of_kind(EntryKind::SloWaived, None, 9)?;
    same("waivers must be listed with the newest first", waivers, vec![26, 25])
}
