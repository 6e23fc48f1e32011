//! Rules about the Agent Execution Core.

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

/// Names of a step, as values.
struct Names {
    correlation: CorrelationId,
    plan: AgentPlanId,
    step: StepId,
}

fn names(step: &SampleStep) -> Result<Names, CanonicalError> {
    let AgentExecution { correlation, plan, step, .. } = step.execution(NoDispatch, Refused)?;
    Ok(Names { correlation, plan, step })
}

/// Word for a refusal, with the number that it names.
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

/// Appends one entry and returns its refusal.
fn tried(
    store: &mut dyn Store,
    entry: NewEntry,
) -> Result<Option<(&'static str, u64)>, super::Broken> {
    Ok(refused(append(store, vec![entry])?))
}

/// An effect of a step starts once, starts again only after it was rolled back, and ends as it
/// started.
pub(super) fn starts_once(store: &mut dyn Store) -> Outcome {
    let step = SampleStep::numbered(1);
    let other_key = SampleStep { key: Digest::of(b"other"), ..step.clone() };
    let other_plan = SampleStep { plan: "plan-2".to_owned(), ..step.clone() };
    let start = |step: &SampleStep| step.event(DispatchStarted, Started);
    let early = tried(store, step.event(Ended, Succeeded)?)?;
    same("no outcome without a start", early, Some(("not claimed", 0)))?;
    let early = tried(store, step.event(RetryStarted, Started)?)?;
    same("nor a retry", early, Some(("not claimed", 0)))?;
    let early = tried(store, start(&step)?)?;
    same("no start without an access decision", early, Some(("no access", 0)))?;
    put(store, step.started()?)?;
    let again = tried(store, start(&step)?)?;
    same("it starts once", again, Some(("claimed", 3)))?;
    let again = tried(store, start(&other_key)?)?;
    same("whatever its key", again, Some(("violation", 3)))?;
    let retry = tried(store, step.event(RetryStarted, Started)?)?;
    same("no retry while it runs", retry, Some(("transition", 0)))?;
    let wrong = tried(store, other_key.event(Ended, Succeeded)?)?;
    same("no outcome under another key", wrong, Some(("other key", 3)))?;
    let wrong = tried(store, other_plan.event(Ended, Succeeded)?)?;
    same("nor of another plan", wrong, Some(("other plan", 3)))?;
    for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated, Started] {
        let wrong = tried(store, step.event(Ended, state)?)?;
        same("an outcome is an end", wrong, Some(("transition", 0)))?;
    }
    put(store, vec![step.event(Ended, Reverted)?])?;
    let again = tried(store, start(&step)?)?;
    same("after an end it starts by a retry alone", again, Some(("claimed", 3)))?;
    let again = tried(store, other_key.event(RetryStarted, Started)?)?;
    same("under its key", again, Some(("other key", 3)))?;
    let again = tried(store, step.event(Ended, Succeeded)?)?;
    same("it ends once", again, Some(("transition", 0)))?;
    put(store, vec![step.event(RetryStarted, Started)?])?;
    let again = tried(store, step.event(RetryStarted, Started)?)?;
    same("one retry runs", again, Some(("transition", 0)))?;
    put(store, vec![step.event(Ended, Succeeded)?])?;
    for event in [RetryStarted, DispatchStarted] {
        let again = tried(store, step.event(event, Started)?)?;
        same("nothing starts after a success", again.is_some(), true)?;
    }
    let failing = SampleStep::numbered(2);
    put(store, failing.started()?)?;
    put(store, vec![failing.event(Ended, Failed)?])?;
    let again = tried(store, failing.event(RetryStarted, Started)?)?;
    same("nor after a failure", again, Some(("transition", 0)))?;
    let twice = SampleStep::numbered(3);
    let mut entries = twice.started()?;
    entries.push(start(&SampleStep { key: Digest::of(b"other"), ..twice.clone() })?);
    same("nor twice in a request", refused(append(store, entries)?), Some(("violation", 13)))?;
    let taken = SampleStep { request: step.request, ..SampleStep::numbered(4) };
    let wrong = refused(append(store, taken.started()?)?);
    same("nor under the request key of another goal", wrong, Some(("other request", 0)))?;
    same("nothing came of what was refused", store.size()?, 11)?;
    put(store, vec![taken.event(NoDispatch, Refused)?])?;
    let goal = store.agent_goal_of_request(&step.request)?;
    same("a request key stands for its first goal", goal, Some(names(&step)?.correlation))?;
    same("no key has two effects", store.count_duplicate_effects()?, 0)
}

/// A start rests on an access decision and a confirmation of its step, which are in the log or
/// before it in its request.
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
    same("nothing starts where access is denied", wrong, Some(("denied", 0)))?;
    let wrong = tried(store, by(&other.access(allowed)?)?)?;
    same("nor by a decision on another step", wrong, Some(("no access", 0)))?;
    let wrong = tried(store, by(&step.answered(ConfirmationOutcome::Ambiguous)?)?)?;
    same("nor by another kind of entry", wrong, Some(("no access", 0)))?;
    let wrong = tried(store, by(&step.access(required)?)?)?;
    same("nor without a confirmation", wrong, Some(("no confirmation", 0)))?;
    put(store, vec![step.access(allowed)?])?;
    let by = |answer: &NewEntry| {
        let confirmation = Some(leaf(answer));
        agent_execution(&AgentExecution { confirmation, ..execution.clone() })
    };
    let wrong = tried(store, by(&step.answered(ConfirmationOutcome::Ambiguous)?)?)?;
    same("an ambiguous answer confirms nothing", wrong, Some(("not confirmed", 0)))?;
    let wrong = tried(store, by(&other.answered(confirmed)?)?)?;
    same("nor does one to another step", wrong, Some(("no confirmation", 0)))?;
    let mut other_proof = execution.clone();
    other_proof.refs.confirmation_proof = other_proof.refs.artifact_fingerprints;
    let late = vec![step.answered(confirmed)?, agent_execution(&other_proof)?];
    same("its proof is named", refused(append(store, late)?), Some(("not confirmed", 0)))?;
    let behind = vec![agent_execution(&execution)?, step.answered(confirmed)?];
    let behind = refused(append(store, behind)?);
    same("the confirmation comes before the start", behind, Some(("no confirmation", 0)))?;
    put(store, vec![step.answered(confirmed)?, agent_execution(&execution)?])?;
    // A "no" that came after the answer that the decision rests on.
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
        same("a plan that was rejected never starts", late, Some(("not confirmed", 0)))?;
    }
    let harmless = SampleStep { impactful: false, ..SampleStep::numbered(3) };
    let entries = vec![harmless.access(allowed)?, harmless.event(DispatchStarted, Started)?];
    put(store, entries)?;
    let waiting = SampleStep::numbered(4);
    let mut refusal = waiting.execution(NoDispatch, Refused)?;
    refusal.access = Some(leaf(&waiting.access(denied)?));
    let early = tried(store, agent_execution(&refusal)?)?;
    same("a decision names no access decision that is missing", early, Some(("no access", 0)))?;
    put(store, vec![waiting.access(denied)?, agent_execution(&refusal)?])?;
    let approved = SampleStep { impactful: false, ..SampleStep::numbered(5) };
    let access = Some(leaf(&approved.access(required)?));
    let start = approved.execution(DispatchStarted, Started)?;
    let start = agent_execution(&AgentExecution { access, ..start })?;
    put(store, vec![approved.access(required)?, start])?;
    same("nothing came of what was refused", store.size()?, 20)
}

/// A start names the newest change of the catalog, in the log or before it in its request.
pub(super) fn rests_on_catalog(store: &mut dyn Store) -> Outcome {
    let beginning = (0, store.node(Node { level: 0, index: 0 })?);
    let step = |number, catalog| {
        let step = SampleStep { impactful: false, ..SampleStep::numbered(number) };
        let start = step.execution(DispatchStarted, Started)?;
        let start = agent_execution(&AgentExecution { catalog, ..start })?;
        Ok::<_, CanonicalError>(vec![step.access(AccessOutcome::Allowed)?, start])
    };
    let early = refused(append(store, step(1, Some(1))?)?);
    same("no change is named before the first", early, Some(("other catalog", 0)))?;
    put(store, step(1, None)?)?;
    let one = catalog_changed(beginning, b"{\"number\":1}")?;
    let last = at(&put(store, vec![one])?);
    same("a change is numbered", last.0, 3)?;
    for catalog in [None, Some(0), Some(2), Some(4)] {
        let wrong = refused(append(store, step(2, catalog)?)?);
        same("the newest change is named", wrong, Some(("other catalog", 3)))?;
    }
    let two = catalog_changed(last, b"{\"number\":2}")?;
    let mut late = vec![two.clone()];
    late.extend(step(2, Some(3))?);
    let late = refused(append(store, late)?);
    same("also one of the same request", late, Some(("other catalog", 4)))?;
    put(store, step(2, Some(3))?)?;
    put(store, vec![two])?;
    let decided = SampleStep::numbered(3);
    put(store, vec![decided.event(NoDispatch, Refused)?])?;
    let end = SampleStep { impactful: false, ..SampleStep::numbered(2) };
    put(store, vec![end.event(Ended, Reverted)?])?;
    let again = end.execution(RetryStarted, Started)?;
    let stale = agent_execution(&AgentExecution { catalog: Some(3), ..again.clone() })?;
    same("a retry as well", tried(store, stale)?, Some(("other catalog", 6)))?;
    put(store, vec![agent_execution(&AgentExecution { catalog: Some(6), ..again })?])?;
    same("nothing came of what was refused", store.size()?, 10)
}

/// A decision without an effect keeps the state of a claimed step, and after a failed replay nothing starts.
pub(super) fn keeps_states(store: &mut dyn Store) -> Outcome {
    let open = SampleStep::numbered(1);
    for event in [NoDispatch, NoEffect] {
        for state in [Started, Succeeded, Reverted, Failed, ReplayFailed] {
            let wrong = tried(store, open.event(event, state)?)?;
            same("no effect without a start", wrong, Some(("transition", 0)))?;
        }
        for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated] {
            put(store, vec![open.event(event, state)?])?;
        }
    }
    for state in [AwaitingClarify, AwaitingConfirm, AwaitingAp, Refused, Escalated] {
        let wrong = tried(store, open.event(DispatchStarted, state)?)?;
        same("nor such a start", wrong, Some(("transition", 0)))?;
    }
    put(store, open.started()?)?;
    let unlike = tried(store, open.event(NoDispatch, Refused)?)?;
    same("a claimed step keeps its state", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(NoDispatch, Started)?, open.event(NoEffect, Started)?])?;
    let unlike = tried(store, open.event(ReplayMismatch, ReplayFailed)?)?;
    same("a failed replay ends no effect", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(ReplayMismatch, Started)?, open.event(Ended, Reverted)?])?;
    put(store, vec![open.event(NoDispatch, Reverted)?])?;
    let unlike = tried(store, open.event(ReplayMismatch, Reverted)?)?;
    same("after its end it counts", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(ReplayMismatch, ReplayFailed)?])?;
    let unlike = tried(store, open.event(NoDispatch, Reverted)?)?;
    same("for good", unlike, Some(("transition", 0)))?;
    put(store, vec![open.event(NoDispatch, ReplayFailed)?])?;
    let late = tried(store, open.event(RetryStarted, Started)?)?;
    same("so that nothing starts again", late, Some(("transition", 0)))?;
    let fresh = SampleStep::numbered(2);
    put(store, vec![fresh.event(ReplayMismatch, ReplayFailed)?])?;
    let late = tried(store, fresh.event(NoDispatch, Refused)?)?;
    same("also of a step without a start", late, Some(("transition", 0)))?;
    let late = refused(append(store, fresh.started()?)?);
    same("which starts no more", late, Some(("transition", 0)))?;
    let elsewhere = SampleStep { plan: open.plan.clone(), ..SampleStep::numbered(3) };
    let foreign = tried(store, elsewhere.event(NoDispatch, Refused)?)?;
    same("a plan belongs to one goal", foreign, Some(("other goal", 20)))?;
    let Ok(tenant) = "other".parse::<TenantId>() else { return same("a tenant", false, true) };
    let foreign = SampleStep { tenant, ..SampleStep::numbered(4) };
    let foreign = tried(store, foreign.event(NoDispatch, Refused)?)?;
    same("a log has one tenant", foreign, Some(("other tenant", 0)))?;
    same("nothing came of what was refused", store.size()?, 22)
}

/// An escalation is resolved once.
pub(super) fn resolves_once(store: &mut dyn Store) -> Outcome {
    let (one, two) = (SampleStep::numbered(1), SampleStep::numbered(2));
    let nothing = tried(store, one.resolved(Digest::of(b"nothing"))?)?;
    same("nothing is resolved that was not escalated", nothing, Some(("not escalated", 0)))?;
    let escalate = |step: &SampleStep| step.event(NoDispatch, Escalated);
    let escalated =
        put(store, vec![escalate(&one)?, escalate(&two)?, one.event(NoDispatch, Refused)?])?;
    let [first, second, refusal] = escalated.as_slice() else {
        return same("three entries came", escalated.len(), 3);
    };
    let row = |step: &SampleStep, at: &Appended| -> Result<AgentEscalation, CanonicalError> {
        let Names { correlation, step, .. } = names(step)?;
        Ok(AgentEscalation { index: at.index, leaf: at.leaf, correlation, step })
    };
    let both = vec![row(&one, first)?, row(&two, second)?];
    same("both wait", store.unresolved_escalations()?, both)?;
    let other = tried(store, one.resolved(second.leaf)?)?;
    same("each goal has its own", other, Some(("not escalated", 0)))?;
    let other = tried(store, one.resolved(refusal.leaf)?)?;
    same("a refusal is none", other, Some(("not escalated", 0)))?;
    put(store, vec![one.resolved(first.leaf)?])?;
    let again = tried(store, one.resolved(first.leaf)?)?;
    same("it is resolved once", again, Some(("resolved", 4)))?;
    same("the other waits", store.unresolved_escalations()?, vec![row(&two, second)?])?;
    let twice = append(store, vec![two.resolved(second.leaf)?, two.resolved(second.leaf)?])?;
    same("once in a request, too", refused(twice), Some(("resolved", 5)))?;
    let third = SampleStep::numbered(3);
    let escalation = escalate(&third)?;
    let leaf = actum_record::merkle::leaf_hash(&escalation.body);
    put(store, vec![escalation, third.resolved(leaf)?])?;
    same("in the request of its escalation", store.unresolved_escalations()?.len(), 1)?;
    same("nothing came of what was refused", store.size()?, 7)
}

/// Steps, goals and counters are those of the entries.
pub(super) fn tells(store: &mut dyn Store) -> Outcome {
    let step = SampleStep::numbered(1);
    let Names { correlation, plan, step: id } = names(&step)?;
    same("no event is about it", store.agent_step(&correlation, &id)?, None)?;
    same("nor about its plan", store.agent_current(&plan, &id)?, None)?;
    same("nor about its goal", store.agent_entries(&correlation)?, Vec::new())?;
    same("nothing is counted", store.agent_slo(step.time)?, AgentSlo::default())?;
    put(store, vec![step.event(NoDispatch, AwaitingConfirm)?])?;
    let row = AgentStepRow {
        correlation: correlation.clone(),
        step: id.clone(),
        claim: None,
        state: AwaitingConfirm,
        newest: 1,
    };
    same("it waits", store.agent_step(&correlation, &id)?, Some(row.clone()))?;
    put(store, step.started()?)?;
    let claim = AgentClaim { index: 4, key: step.key, last_start: 4, plan: plan.clone() };
    let row = AgentStepRow { claim: Some(claim.clone()), state: Started, newest: 4, ..row };
    same("it is claimed", store.agent_step(&correlation, &id)?, Some(row.clone()))?;
    same("it is open", store.open_agent_steps()?, vec![row.clone()])?;
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
    same("its plan says so", store.agent_current(&plan, &id)?, Some(current.clone()))?;
    let later = SampleStep { plan: "plan-7".to_owned(), ..step.clone() };
    put(store, vec![later.event(NoDispatch, Started)?, step.event(Ended, Reverted)?])?;
    same("an older plan opens nothing", store.open_agent_steps()?, Vec::new())?;
    put(store, vec![later.event(RetryStarted, Started)?])?;
    let plan_of_retry = names(&later)?.plan;
    let claim = AgentClaim { last_start: 7, plan: plan_of_retry, ..claim };
    let row = AgentStepRow { claim: Some(claim), newest: 7, ..row };
    same("a retry is open", store.open_agent_steps()?, vec![row])?;
    let wrong = tried(store, step.event(Ended, Succeeded)?)?;
    same("its outcome is of its plan", wrong, Some(("other plan", 7)))?;
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
    same("counters since a minute", store.agent_slo(later_minute)?, counted)?;
    let counted = AgentSlo { total: 6, ..counted };
    same("counters of all", store.agent_slo(step.time)?, counted)?;
    let entries = store.agent_entries(&correlation)?;
    same("entries of a goal", entries, vec![1, 2, 3, 4, 5, 6, 7, 24])?;
    let reverted = AgentCurrentRow { newest: 6, state: Reverted, ..current };
    same("the newest of its plan", store.agent_current(&plan, &id)?, Some(reverted))?;
    same("a rebuild has all rows", store.rebuild_agent_current()?, 6)?;
    same("no key has two effects", store.count_duplicate_effects()?, 0)?;
    put(store, vec![slo_waived()?, slo_waived()?])?;
    let waivers = store.newest_of_kind(EntryKind::SloWaived, None, 9)?;
    same("waivers, the newest first", waivers, vec![26, 25])
}
