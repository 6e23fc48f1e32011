//! Derives the facts of Agent Execution Core entries and checks which fields they must have (AEC-3, AEC-5, AEC-7, AEC-9).

use actum_core::Digest;

use super::AgentEvent;
use crate::ledger::{
    AGENT_DURATION_US_MAX, AccessOutcome, AgentAccessDecided, AgentConfirmation, AgentDuration,
    AgentEventKind, AgentExecution, ConfirmationOutcome, IntakeResolved,
};

/// Event that an entry records, with the digests of the ledger documents that it refers to. The error is a message.
pub(super) type Found = Result<(AgentEvent, Vec<Digest>), String>;

/// Derives the facts of an `AGENT_EXECUTION` entry, which records an event of a step.
pub(super) fn execution(entry: AgentExecution) -> Found {
    check_fields(&entry)?;
    check_duration(&entry)?;
    let refs = &entry.refs;
    let always = [refs.bundle, refs.finder_packet, refs.policy_snapshot, refs.catalog_snapshot];
    let some = [
        refs.artifact_fingerprints,
        refs.confirmation_proof,
        refs.prompt,
        refs.host_assertion,
        refs.outcome,
        entry.rollback_plan,
    ];
    let blobs = always.into_iter().chain(some.into_iter().flatten()).collect();
    Ok((AgentEvent::Execution(Box::new(entry)), blobs))
}

/// Checks that the entry has all fields that its event requires.
fn check_fields(entry: &AgentExecution) -> Result<(), String> {
    let (event, refs) = (entry.event, &entry.refs);
    let has_key = !matches!(event, AgentEventKind::NoDispatch | AgentEventKind::ReplayMismatch);
    let has_reason = matches!(event, AgentEventKind::NoDispatch | AgentEventKind::NoEffect);
    let starts = event.starts_effect();
    let impacts = starts && entry.impactful;
    let fields = [
        ("key", has_key, entry.key.is_some()),
        ("reason", has_reason, entry.reason.is_some()),
        ("simulation", starts, entry.simulation.is_some()),
        ("simulation_entry", starts, entry.simulation_entry.is_some()),
        ("access", starts, entry.access.is_some()),
        ("refs.artifact_fingerprints", starts, refs.artifact_fingerprints.is_some()),
        ("rollback_plan", impacts, entry.rollback_plan.is_some()),
        ("confirmation", impacts, entry.confirmation.is_some()),
        ("refs.confirmation_proof", impacts, refs.confirmation_proof.is_some()),
        ("refs.outcome", event == AgentEventKind::Outcome, refs.outcome.is_some()),
    ];
    let missing = fields.into_iter().find(|(_, is_needed, is_there)| *is_needed && !is_there);
    missing.map_or(Ok(()), |(field, ..)| {
        let simulation = if impacts { " of an impactful simulation" } else { "" };
        Err(format!("the event {}{simulation} requires `{field}`", event.as_str()))
    })
}

/// Checks that outcomes have a duration within the limit, and that other events have none.
fn check_duration(entry: &AgentExecution) -> Result<(), String> {
    let is_outcome = entry.event == AgentEventKind::Outcome;
    match entry.duration {
        None if is_outcome => Err("the event OUTCOME requires `duration`".to_owned()),
        Some(_) if !is_outcome => {
            Err(format!("the event {} must not have `duration`", entry.event.as_str()))
        }
        Some(AgentDuration { dispatch_us, command_us })
            if dispatch_us.max(command_us) > AGENT_DURATION_US_MAX =>
        {
            Err(format!("the duration exceeds {AGENT_DURATION_US_MAX} us"))
        }
        None | Some(_) => Ok(()),
    }
}

/// Derives the facts of an `AGENT_ACCESS_DECIDED` entry. An access decision has a reason unless access is allowed.
pub(super) fn access(entry: AgentAccessDecided) -> Found {
    let is_allowed = entry.outcome == AccessOutcome::Allowed;
    if is_allowed == entry.reason.is_some() {
        let needs = if is_allowed { "must not have `reason`" } else { "requires `reason`" };
        return Err(format!("the outcome {} {needs}", entry.outcome.as_str()));
    }
    let blobs = vec![entry.policy_snapshot, entry.case];
    Ok((AgentEvent::Access(Box::new(entry)), blobs))
}

/// Derives the facts of an `AGENT_CONFIRMATION` entry. An answer has a token only if it confirms the prompt.
pub(super) fn confirmation(entry: AgentConfirmation) -> Found {
    let is_confirmed = entry.outcome == ConfirmationOutcome::Confirmed;
    if is_confirmed != entry.token.is_some() {
        let needs = if is_confirmed { "requires `token`" } else { "must not have `token`" };
        return Err(format!("the outcome {} {needs}", entry.outcome.as_str()));
    }
    let blobs = vec![entry.lexicon, entry.proof, entry.prompt];
    Ok((AgentEvent::Confirmation(Box::new(entry)), blobs))
}

/// Derives the facts of an `INTAKE_RESOLVED` entry, which resolves an escalated goal.
pub(super) fn intake_resolved(entry: IntakeResolved) -> Found {
    Ok((AgentEvent::IntakeResolved(Box::new(entry)), Vec::new()))
}
