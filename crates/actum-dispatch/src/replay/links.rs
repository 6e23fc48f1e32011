//! Check that the entries of an event exist, precede it and match its bundle.

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

/// Checks the entries that an event names.
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
            return wrong("the access decision that it names is missing");
        };
        let facts = bundle.access.as_ref();
        if access.step != event.step
            || facts.map(|it| (it.outcome, it.case)) != Some((access.outcome, access.case))
        {
            return wrong("the access decision that it names is another one");
        }
    }
    if let Some(leaf) = event.confirmation {
        let Some(AgentEvent::Confirmation(answer)) = before(leaf) else {
            return wrong("the answer that it names is missing");
        };
        let facts = bundle.confirmation.as_ref();
        if answer.step != event.step
            || facts.map(|it| (it.outcome, it.proof)) != Some((answer.outcome, answer.proof))
        {
            return wrong("the answer that it names is another one");
        }
    }
    match event.simulation_entry {
        Some(leaf) => check_action(log, (chain, at.index), (event, leaf)),
        None => Ok(None),
    }
}

/// Checks the entry of the action that an event names, and the policy of its run.
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
                false => wrong("the action that it names is of another step"),
            };
        }
        if entry.kind == EntryKind::ActionEnded {
            let read = serde_json::from_slice::<ActionEnded>(&entry.body);
            ended = Some(read.map_err(|error| LedgerError::entry(near, &describe(&error)))?);
        }
    }
    if ended.is_none() {
        // The outcome of a step whose process was killed is recorded later.
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
    let Some(ended) = ended else { return wrong("the action that it names is missing") };
    if ended.action_id.as_ref() != Some(&id) {
        return wrong("the action that it names is of another step");
    }
    let is_done = ended.status == Status::Succeeded;
    if event.duration.is_some() && is_done != (event.state == AgentState::Succeeded) {
        return wrong("the action that it names ended otherwise");
    }
    let run = ended.run.filter(|_| is_done);
    let Some(row) = run.map(|run| log.run(run)).transpose()?.flatten() else { return Ok(None) };
    let body = log.sound_entry(row.started)?.body;
    let started = serde_json::from_slice::<EffectStarted>(&body);
    let started = started.map_err(|error| LedgerError::entry(row.started, &describe(&error)))?;
    match started.policy == event.refs.policy_snapshot {
        true => Ok(None),
        false => wrong("its run was judged under another policy"),
    }
}
