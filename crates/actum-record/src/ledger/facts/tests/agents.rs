//! Tests the facts of ledger entries about the Agent Execution Core, and the checks of their fields.

use actum_core::canonical;
use serde::Serialize;
use serde_json::json;

use super::super::*;
use super::{actor, nothing, started};
use crate::ledger::{
    AGENT_DURATION_US_MAX, AccessOutcome, AgentDuration, AgentEventKind, AgentRefs, AgentState,
    ConfirmationOutcome, Isolation,
};

fn execution(event: AgentEventKind) -> AgentExecution {
    let of = |text: &str| Some(Digest::of(text.as_bytes()));
    let is_outcome = event == AgentEventKind::Outcome;
    AgentExecution {
        format: AgentExecution::FORMAT.to_owned(),
        time: started(3).time,
        tenant: started(3).tenant,
        user: "ada".parse().unwrap(),
        actor: actor(1),
        catalog: None,
        correlation: "goal-1".parse().unwrap(),
        thread: "thread-1".parse().unwrap(),
        request: Digest::of(b"request"),
        plan: "plan-1".parse().unwrap(),
        step: "step-1".parse().unwrap(),
        event,
        state: AgentState::Started,
        reason: Some("A_REASON".to_owned()),
        key: of("key"),
        simulation: Some("apply_changeset".parse().unwrap()),
        impactful: true,
        simulation_entry: of("simulation"),
        access: of("access"),
        confirmation: of("confirmation"),
        rollback_plan: of("rollback"),
        refs: AgentRefs {
            bundle: Digest::of(b"bundle"),
            finder_packet: Digest::of(b"packet"),
            policy_snapshot: Digest::of(b"policy"),
            catalog_snapshot: Digest::of(b"catalog"),
            artifact_fingerprints: of("artifacts"),
            confirmation_proof: of("proof"),
            prompt: of("prompt"),
            host_assertion: of("assertion"),
            outcome: of("outcome"),
        },
        semantics: 1,
        decision: Digest::of(b"decision"),
        duration: is_outcome.then_some(AgentDuration { dispatch_us: 7, command_us: 0 }),
        engine: "actum 0.1.0".to_owned(),
    }
}

fn access(outcome: AccessOutcome, reason: Option<&str>) -> AgentAccessDecided {
    AgentAccessDecided {
        format: AgentAccessDecided::FORMAT.to_owned(),
        time: started(3).time,
        tenant: started(3).tenant,
        user: "ada".parse().unwrap(),
        correlation: "goal-1".parse().unwrap(),
        step: "step-1".parse().unwrap(),
        access_action: "files.write".to_owned(),
        outcome,
        reason: reason.map(str::to_owned),
        policy_snapshot: Digest::of(b"policy"),
        case: Digest::of(b"case"),
    }
}

fn confirmation(outcome: ConfirmationOutcome, token: Option<&str>) -> AgentConfirmation {
    AgentConfirmation {
        format: AgentConfirmation::FORMAT.to_owned(),
        time: started(3).time,
        tenant: started(3).tenant,
        correlation: "goal-1".parse().unwrap(),
        thread: "thread-1".parse().unwrap(),
        step: "step-1".parse().unwrap(),
        outcome,
        lexicon: Digest::of(b"lexicon"),
        proof: Digest::of(b"proof"),
        prompt: Digest::of(b"prompt"),
        plan_fingerprint: Digest::of(b"plan"),
        language: "de".to_owned(),
        token: token.map(str::to_owned),
        by: actor(1),
        relayed_by: None,
    }
}

fn facts<T: Serialize>(kind: EntryKind, entry: &T) -> Result<EntryFacts, EntryError> {
    EntryFacts::parse(kind, &serde_json::to_vec(entry).unwrap())
}

/// Sets one optional field of an event to `None`.
type Remove = fn(&mut AgentExecution);

fn problem(entry: &AgentExecution) -> Option<String> {
    facts(EntryKind::AgentExecution, entry).err().map(|error| error.message)
}

/// AEC-9: the facts of a step's event contain the entire entry and the digests of all documents that it refers to.
#[test]
fn step_event_facts_name_its_documents() {
    let entry = execution(AgentEventKind::Outcome);
    let documents = [
        "bundle",
        "packet",
        "policy",
        "catalog",
        "artifacts",
        "proof",
        "prompt",
        "assertion",
        "outcome",
        "rollback",
    ];
    let expected = EntryFacts {
        time: entry.time,
        agent: Some(AgentEvent::Execution(Box::new(entry.clone()))),
        blobs: documents.map(|name| Digest::of(name.as_bytes())).to_vec(),
        ..nothing(EntryKind::AgentExecution)
    };
    assert_eq!(facts(EntryKind::AgentExecution, &entry), Ok(expected));
    let event = AgentEvent::Execution(Box::new(entry.clone()));
    assert_eq!((event.correlation(), event.tenant()), (&entry.correlation, &entry.tenant));
}

/// AEC-7, AEC-9, AEC-10: an event is rejected if a field that its kind requires is missing, and the error names the field.
#[test]
fn event_without_a_required_field_is_rejected() {
    use AgentEventKind::*;
    let without: [(&str, Remove); 11] = [
        ("`key`", |entry| entry.key = None),
        ("`reason`", |entry| entry.reason = None),
        ("`simulation`", |entry| entry.simulation = None),
        ("`simulation_entry`", |entry| entry.simulation_entry = None),
        ("`access`", |entry| entry.access = None),
        ("`refs.artifact_fingerprints`", |entry| entry.refs.artifact_fingerprints = None),
        ("`rollback_plan`", |entry| entry.rollback_plan = None),
        ("`confirmation`", |entry| entry.confirmation = None),
        ("`refs.confirmation_proof`", |entry| entry.refs.confirmation_proof = None),
        ("`refs.outcome`", |entry| entry.refs.outcome = None),
        ("`duration`", |entry| entry.duration = None),
    ];
    let start = [
        "`key`",
        "`simulation`",
        "`simulation_entry`",
        "`access`",
        "`refs.artifact_fingerprints`",
        "`rollback_plan`",
        "`confirmation`",
        "`refs.confirmation_proof`",
    ];
    for (event, needed) in [
        (NoDispatch, &["`reason`"][..]),
        (NoEffect, &["`key`", "`reason`"]),
        (DispatchStarted, &start),
        (RetryStarted, &start),
        (Outcome, &["`key`", "`refs.outcome`", "`duration`"]),
        (ReplayMismatch, &[]),
    ] {
        assert_eq!(problem(&execution(event)), None);
        for (field, remove) in without {
            let mut entry = execution(event);
            remove(&mut entry);
            let found = problem(&entry);
            assert_eq!(found.is_some(), needed.contains(&field), "{event:?} {field}: {found:?}");
            assert!(found.is_none_or(|found| found.ends_with(field)), "{event:?} {field}");
        }
    }
    // The start of an effect requires a rollback plan and a confirmation only if the simulation is impactful.
    let mut harmless = AgentExecution { impactful: false, ..execution(DispatchStarted) };
    (harmless.rollback_plan, harmless.confirmation) = (None, None);
    harmless.refs.confirmation_proof = None;
    assert_eq!(problem(&harmless), None);
}

/// AEC-17: only an outcome has a duration, and neither part of it may exceed [`AGENT_DURATION_US_MAX`].
#[test]
fn only_outcomes_have_a_duration_and_it_is_limited() {
    for &event in AgentEventKind::ALL {
        let lasted = |dispatch_us, command_us| {
            let duration = Some(AgentDuration { dispatch_us, command_us });
            problem(&AgentExecution { duration, ..execution(event) })
        };
        let is_outcome = event == AgentEventKind::Outcome;
        assert_eq!(lasted(AGENT_DURATION_US_MAX, AGENT_DURATION_US_MAX).is_none(), is_outcome);
        assert!(lasted(AGENT_DURATION_US_MAX + 1, 0).is_some());
        assert!(lasted(0, AGENT_DURATION_US_MAX + 1).is_some());
    }
}

/// AEC-6: an access decision must have a reason, unless it allows access. In that case, it must not have one.
#[test]
fn access_decision_has_a_reason_unless_it_allows_access() {
    for &outcome in AccessOutcome::ALL {
        let is_allowed = outcome == AccessOutcome::Allowed;
        let kind = EntryKind::AgentAccessDecided;
        assert_eq!(facts(kind, &access(outcome, None)).is_ok(), is_allowed);
        assert_eq!(facts(kind, &access(outcome, Some("A_REASON"))).is_ok(), !is_allowed);
    }
    let entry = access(AccessOutcome::Allowed, None);
    let expected = EntryFacts {
        time: entry.time,
        agent: Some(AgentEvent::Access(Box::new(entry.clone()))),
        blobs: vec![Digest::of(b"policy"), Digest::of(b"case")],
        ..nothing(EntryKind::AgentAccessDecided)
    };
    assert_eq!(facts(EntryKind::AgentAccessDecided, &entry), Ok(expected));
}

/// AEC-5: an answer to a confirmation prompt must have a token if it confirms the prompt, and must not have one otherwise.
#[test]
fn only_a_confirming_answer_has_a_token() {
    for &outcome in ConfirmationOutcome::ALL {
        let is_confirmed = outcome == ConfirmationOutcome::Confirmed;
        let kind = EntryKind::AgentConfirmation;
        assert_eq!(facts(kind, &confirmation(outcome, Some("ja"))).is_ok(), is_confirmed);
        assert_eq!(facts(kind, &confirmation(outcome, None)).is_ok(), !is_confirmed);
    }
    let entry = confirmation(ConfirmationOutcome::Confirmed, Some("ja"));
    let expected = EntryFacts {
        time: entry.time,
        agent: Some(AgentEvent::Confirmation(Box::new(entry.clone()))),
        blobs: ["lexicon", "proof", "prompt"].map(|it| Digest::of(it.as_bytes())).to_vec(),
        ..nothing(EntryKind::AgentConfirmation)
    };
    assert_eq!(facts(EntryKind::AgentConfirmation, &entry), Ok(expected));
}

/// AEC-12, AEC-17: an `INTAKE_RESOLVED` entry records an event of the agent core, whereas an `SLO_WAIVED` entry must be an
/// envelope with its own payload type.
#[test]
fn resolution_is_an_event_and_waiver_is_an_envelope() {
    let resolved = IntakeResolved {
        format: IntakeResolved::FORMAT.to_owned(),
        time: started(3).time,
        tenant: started(3).tenant,
        correlation: "goal-1".parse().unwrap(),
        escalated: Digest::of(b"escalated"),
        simulation: None,
        reason: "there will be none".to_owned(),
        by: actor(1),
    };
    let found = facts(EntryKind::IntakeResolved, &resolved).unwrap();
    assert_eq!(found.agent, Some(AgentEvent::IntakeResolved(Box::new(resolved))));
    assert_eq!(found.blobs, []);
    let waived = SloWaived {
        format: SloWaived::FORMAT.to_owned(),
        time: started(3).time,
        tenant: started(3).tenant,
        until: started(9).time,
        reason: "a slow disk".to_owned(),
        by: actor(1),
        isolation: Isolation::SameUser,
    };
    let enveloped = |payload_type: &str| {
        let payload = STANDARD.encode(canonical::to_vec(&waived).unwrap());
        json!({ "payload": payload, "payloadType": payload_type, "signatures": [] })
    };
    let found = facts(EntryKind::SloWaived, &enveloped(SloWaived::PAYLOAD_TYPE)).unwrap();
    let expected = EntryFacts { time: waived.time, ..nothing(EntryKind::SloWaived) };
    assert_eq!(found, expected);
    assert!(facts(EntryKind::SloWaived, &enveloped(LeaseGranted::PAYLOAD_TYPE)).is_err());
    assert!(facts(EntryKind::SloWaived, &waived).is_err());
}

/// AEC-9: an entry of the agent core is rejected if it has an unknown field, lacks a required field or has a different format.
#[test]
fn agent_core_entry_with_wrong_fields_is_rejected() {
    let confirmed = confirmation(ConfirmationOutcome::Confirmed, Some("ja"));
    for (kind, value) in [
        (EntryKind::AgentExecution, serde_json::to_value(execution(AgentEventKind::Outcome))),
        (EntryKind::AgentAccessDecided, serde_json::to_value(access(AccessOutcome::Allowed, None))),
        (EntryKind::AgentConfirmation, serde_json::to_value(confirmed)),
    ] {
        let value = value.unwrap();
        assert!(facts(kind, &value).is_ok());
        let mut more = value.clone();
        more["more"] = 1.into();
        assert!(facts(kind, &more).is_err());
        let mut fewer = value.clone();
        fewer.as_object_mut().unwrap().remove("tenant");
        assert!(facts(kind, &fewer).is_err());
        let mut other = value.clone();
        other["format"] = "actum.other/1".into();
        assert!(facts(kind, &other).unwrap_err().message.contains("actum.other/1"));
    }
}

/// AEC-8: the facts of the first entry of a log name the tenant that the log belongs to.
#[test]
fn first_log_entry_facts_name_the_tenant() {
    let entry = LogStarted {
        format: LogStarted::FORMAT.to_owned(),
        time: started(3).time,
        tenant: "team-7".parse().unwrap(),
        origin: "actum/log/team-7".to_owned(),
        keys: Vec::new(),
    };
    let found = facts(EntryKind::LogStarted, &entry).unwrap();
    assert_eq!(found.tenant, Some(entry.tenant));
}
