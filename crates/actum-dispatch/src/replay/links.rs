//! Checks that the entries an event refers to exist, precede the event, and match its bundle.

use actum_agent::bundle::AgentBundle;
use actum_core::canonical::describe;
use actum_core::{Digest, Status};
use actum_ledger::{LedgerError, Log};
use actum_record::ledger::{
    ActionEnded, ActionStarted, AgentEvent, AgentExecution, AgentState, EffectStarted, EntryKind,
};
use actum_record::merkle::leaf_hash;

use super::{Problem, ReplayCode, problem};
use crate::history::{Chain, ChainEvent};
use crate::settle::{APPEND_WINDOW, ends_between};

/// Checks all ledger entries that an event refers to.
pub(super) fn check(
    log: &dyn Log,
    (chain, at): (&Chain, &ChainEvent),
    (event, bundle): (&AgentExecution, &AgentBundle),
) -> Result<Problem, LedgerError> {
    let wrong = |what: &str| Ok(Some(problem(ReplayCode::LinkMismatch, what)));
    let before = |leaf: Digest| {
        chain.events.iter().find(|it| it.leaf == leaf && it.index < at.index).map(|it| &it.event)
    };
    if let Some(leaf) = event.access {
        let Some(AgentEvent::Access(access)) = before(leaf) else {
            return wrong("the access decision of the event is missing");
        };
        let facts = bundle.access.as_ref();
        if access.step != event.step
            || facts.map(|it| (it.outcome, it.case)) != Some((access.outcome, access.case))
        {
            return wrong("the access decision of the event does not match its bundle");
        }
    }
    if let Some(leaf) = event.confirmation {
        let Some(AgentEvent::Confirmation(answer)) = before(leaf) else {
            return wrong("the answer of the event is missing");
        };
        let facts = bundle.confirmation.as_ref();
        if answer.step != event.step
            || facts.map(|it| (it.outcome, it.proof)) != Some((answer.outcome, answer.proof))
        {
            return wrong("the answer of the event does not match its bundle");
        }
    }
    match event.simulation_entry {
        Some(leaf) => check_action(log, (chain, at.index), (event, leaf)),
        None => Ok(None),
    }
}

/// Checks the action entry that an event refers to, and that its run was started under the same policy.
fn check_action(
    log: &dyn Log,
    (chain, index): (&Chain, u64),
    (event, leaf): (&AgentExecution, Digest),
) -> Result<Problem, LedgerError> {
    let wrong = |what: &str| Ok(Some(problem(ReplayCode::LinkMismatch, what)));
    let id = format!("{}/{}", event.correlation, event.step);
    let mut ended = None;
    for near in index.saturating_sub(APPEND_WINDOW)..(index + APPEND_WINDOW).min(log.size()?) {
        let entry = log.sound_entry(near)?;
        if leaf_hash(&entry.body) != leaf {
            continue;
        }
        if entry.kind == EntryKind::ActionStarted && event.event.starts_effect() {
            let started = serde_json::from_slice::<ActionStarted>(&entry.body);
            let started = started.map_err(|error| LedgerError::entry(near, &describe(&error)))?;
            return match started.action_id.as_ref() == Some(&id) {
                true => Ok(None),
                false => wrong("the action of the event belongs to a different step"),
            };
        }
        if entry.kind == EntryKind::ActionEnded {
            let read = serde_json::from_slice::<ActionEnded>(&entry.body);
            ended = Some(read.map_err(|error| LedgerError::entry(near, &describe(&error)))?);
        }
    }
    if ended.is_none() {
        // If the process of a step was killed, the outcome is recorded later and can be farther away from the entry of
        // the action.
        let start =
            chain.executions().rev().find(|(it, of)| it.index < index && of.event.starts_effect());
        let after = start.map_or(index, |(start, _)| start.index);
        for end in ends_between(log, (after, Some(index))) {
            let (end, of) = end?;
            if of == leaf {
                ended = Some(end);
                break;
            }
        }
    }
    let Some(ended) = ended else { return wrong("the action of the event is missing") };
    if ended.action_id.as_ref() != Some(&id) {
        return wrong("the action of the event belongs to a different step");
    }
    let is_done = ended.status == Status::Succeeded;
    if event.duration.is_some() && is_done != (event.state == AgentState::Succeeded) {
        return wrong("the action of the event ended with a different result");
    }
    let run = ended.run.filter(|_| is_done);
    let Some(row) = run.map(|run| log.run(run)).transpose()?.flatten() else { return Ok(None) };
    let body = log.sound_entry(row.started)?.body;
    let started = serde_json::from_slice::<EffectStarted>(&body);
    let started = started.map_err(|error| LedgerError::entry(row.started, &describe(&error)))?;
    match started.policy == event.refs.policy_snapshot {
        true => Ok(None),
        false => wrong("the run of the action was judged under a different policy"),
    }
}
