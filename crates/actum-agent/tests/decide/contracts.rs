//! The documents of the agent core, with valid and invalid members (AEC-3).

use actum_agent::packet::FinderPacket;
use actum_agent::{AgentExecutionPlan, AgentGoalRequest, PacketError, PlanError, decide};
use actum_core::canonical;
use serde_json::{Map, Value, json};

use crate::fixture::{clarify_packet, harmless, match_packet, missing_packet, refuse_packet};

fn goal() -> Value {
    json!({
        "correlation_id": "corr-1", "tenant_id": "default", "user_id": "user-1",
        "thread_id": "thread-1", "raw_user_utterance": "Lösch notes.txt",
        "normalized_intent": "delete file", "sim_finder_packet": {"packet_type": "x"},
        "confirm_state": null, "idempotency_key": "request-1", "attempt_counter": 0,
    })
}

fn packets() -> [Map<String, Value>; 4] {
    [
        FinderPacket::Match(match_packet()),
        FinderPacket::Clarify(clarify_packet()),
        FinderPacket::Refuse(refuse_packet()),
        FinderPacket::Missing(missing_packet()),
    ]
    .map(|packet| packet.to_object().unwrap())
}

fn read_packet(packet: &Map<String, Value>) -> Result<FinderPacket, PacketError> {
    FinderPacket::read(&canonical::to_vec(packet).unwrap())
}

/// AEC-1, AEC-3
#[test]
fn every_packet_round_trips() {
    for packet in packets() {
        assert_eq!(read_packet(&packet).unwrap().to_object().unwrap(), packet);
    }
}

/// AEC-1, AEC-3
#[test]
fn packets_with_missing_unknown_or_mistyped_members_are_rejected() {
    for packet in packets() {
        for name in packet.keys() {
            let mut missing = packet.clone();
            missing.remove(name);
            assert!(read_packet(&missing).is_err(), "without {name}");
            for wrong in [json!([[]]), json!(-1.5), json!({"a": {"b": 1}}), json!(true)] {
                let mut other = packet.clone();
                other.insert(name.clone(), wrong.clone());
                let is_any = name == "required_fields" && wrong.is_object();
                assert_eq!(read_packet(&other).is_ok(), is_any, "{name} as {wrong}");
            }
        }
        let mut unknown = packet.clone();
        unknown.insert("more".to_owned(), json!(1));
        assert!(read_packet(&unknown).is_err());
    }
    for other in [json!({}), json!({"packet_type": "ToolPacket"}), json!({"packet_type": 1})] {
        assert_eq!(read_packet(other.as_object().unwrap()), Err(PacketError::Type), "{other}");
    }
    let doubled = br#"{"packet_type":"RefusePacket","packet_type":"RefusePacket"}"#;
    assert!(FinderPacket::read(doubled).is_err());
}

/// AEC-1
#[test]
fn match_packet_needs_one_to_eight_candidates() {
    let mut packet = match_packet();
    packet.candidates.clear();
    let none = FinderPacket::Match(packet).to_object().unwrap();
    assert_eq!(read_packet(&none), Err(PacketError::NoCandidate));
    let mut packet = match_packet();
    packet.candidates = vec![packet.candidates[0].clone(); 9];
    let many = FinderPacket::Match(packet).to_object().unwrap();
    assert!(matches!(read_packet(&many), Err(PacketError::Document(_))));
}

/// AEC-3
#[test]
fn goals_with_missing_unknown_or_mistyped_members_are_rejected() {
    let read = |goal: &Value| AgentGoalRequest::read(goal.to_string().as_bytes());
    read(&goal()).unwrap();
    let answered = json!({"prompt_ref": "0".repeat(64), "answer": "ja", "language_tag": "de"});
    let mut with_answer = goal();
    with_answer["confirm_state"] = answered;
    read(&with_answer).unwrap();
    for name in goal().as_object().unwrap().keys() {
        let mut missing = goal();
        missing.as_object_mut().unwrap().remove(name);
        let message = read(&missing).unwrap_err().to_string();
        assert!(message.contains(name.as_str()), "{message}");
        for wrong in [json!([]), json!(-1), json!(true), json!("a\nb/")] {
            let mut other = goal();
            other[name] = wrong.clone();
            let is_any = name == "raw_user_utterance" || name == "user_id" && wrong == json!("x");
            assert!(is_any && wrong.is_string() || read(&other).is_err(), "{name} as {wrong}");
        }
    }
    let mut unknown = goal();
    unknown["steps"] = json!([]);
    let message = read(&unknown).unwrap_err().to_string();
    assert!(message.contains("steps") && message.contains("nothing was dispatched"), "{message}");
    assert!(AgentGoalRequest::read(&vec![b' '; 300 << 10]).is_err());
}

/// AEC-3: the fingerprint of a goal covers its user, utterance, intent and tenant.
#[test]
fn goal_fingerprint_covers_user_utterance_intent_and_tenant() {
    let read = |goal: &Value| AgentGoalRequest::read(goal.to_string().as_bytes()).unwrap();
    let first = read(&goal()).fingerprint();
    for (name, is_part) in [
        ("user_id", true),
        ("raw_user_utterance", true),
        ("normalized_intent", true),
        ("tenant_id", true),
        ("thread_id", false),
        ("correlation_id", false),
    ] {
        let mut other = goal();
        other[name] = json!("another");
        assert_eq!(read(&other).fingerprint() != first, is_part, "{name}");
    }
}

/// AEC-18: a plan must have exactly one step.
#[test]
fn plan_without_exactly_one_step_is_rejected() {
    let plan = decide(&harmless()).plan.unwrap();
    let written = serde_json::to_vec(&plan).unwrap();
    assert_eq!(AgentExecutionPlan::read(&written).unwrap(), plan);
    for steps in [0, 2] {
        let mut other = plan.clone();
        other.ordered_steps = vec![plan.ordered_steps[0].clone(); steps];
        let written = serde_json::to_vec(&other).unwrap();
        assert_eq!(AgentExecutionPlan::read(&written), Err(PlanError::Steps { steps }));
    }
}
