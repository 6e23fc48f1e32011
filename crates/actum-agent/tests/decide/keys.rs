//! Idempotency keys, fingerprints and plan ids (AEC-7).

use actum_agent::packet::FinderPacket;
use actum_agent::plan::{KeyParts, fields_fingerprint, plan_id};
use actum_agent::{AgentBundle, decide};
use actum_record::agent::{CorrelationId, StepId};
use serde_json::json;

use crate::fixture::{claim, digest, harmless, match_packet, with_claim, with_packet};

/// AEC-7, AEC-15
#[test]
fn at_agent_11_idempotency_key_includes_sim_and_field_fingerprint() {
    let correlations: [CorrelationId; 2] = ["corr-1", "corr-2"].map(|it| it.parse().unwrap());
    let steps: [StepId; 2] = ["step-1", "step-2"].map(|it| it.parse().unwrap());
    let simulations = ["delete_file", "move_file"].map(|it| it.parse().unwrap());
    let fields = [json!({"path": "a"}), json!({"path": "b"})]
        .map(|it| fields_fingerprint(it.as_object().unwrap()).unwrap());
    let policies = [digest("policy"), digest("new policy")];
    let mut keys = std::collections::BTreeSet::new();
    for choice in 0..32 {
        let pick = |bit: usize| choice >> bit & 1;
        let parts = KeyParts {
            correlation: &correlations[pick(0)],
            step: &steps[pick(1)],
            simulation: &simulations[pick(2)],
            fields: fields[pick(3)],
            policy_snapshot: policies[pick(4)],
        };
        assert_eq!(parts.key(), parts.key());
        keys.insert(parts.key());
    }
    assert_eq!(keys.len(), 32, "each of the five parts counts");
}

/// AEC-7: different parts produce different keys even if their concatenations are equal.
#[test]
fn key_parts_are_length_prefixed_before_hashing() {
    let key = |correlation: &str, step: &str| {
        let (correlation, step) = (correlation.parse().unwrap(), step.parse().unwrap());
        let simulation = "move_file".parse().unwrap();
        let (fields, policy_snapshot) = (digest("fields"), digest("policy"));
        KeyParts {
            correlation: &correlation,
            step: &step,
            simulation: &simulation,
            fields,
            policy_snapshot,
        }
        .key()
    };
    assert_ne!(key("ab", "c"), key("a", "bc"));
}

/// AEC-7: the policy version is fixed when the step is first started.
#[test]
fn the_key_of_a_started_step_stays_when_the_policy_changes() {
    let first = decide(&harmless()).key;
    let other = AgentBundle { policy_snapshot: digest("new policy"), ..harmless() };
    assert_ne!(decide(&other).key, first);
    let started = claim(&harmless(), actum_record::ledger::AgentState::Reverted);
    assert_eq!(decide(&with_claim(other, started)).key, first);
}

/// AEC-5, AEC-7: an answer still confirms the same step in a new packet, but not a step with other fields.
#[test]
fn plan_fingerprint_covers_the_step_and_not_the_packet() {
    let fingerprint = |edit: fn(&mut actum_agent::packet::SimulationMatchPacket)| {
        let mut packet = match_packet();
        edit(&mut packet);
        let decision = decide(&with_packet(harmless(), &FinderPacket::Match(packet)));
        (decision.plan_fingerprint.unwrap(), decision.plan_id.unwrap())
    };
    let (same, first) = fingerprint(|_| {});
    let (again, second) = fingerprint(|it| it.head.attempt_counter = 4);
    assert_eq!(again, same);
    assert_ne!(second, first, "each packet has a plan of its own");
    for (other, _) in [
        fingerprint(|it| drop(it.required_fields.insert("path".to_owned(), json!("other")))),
        fingerprint(|it| it.rollback_plan = None),
    ] {
        assert_ne!(other, same);
    }
}

/// AEC-3
#[test]
fn plan_id_is_derived_from_goal_and_packet() {
    let correlation = "corr-1".parse().unwrap();
    let plan = plan_id(&correlation, digest("packet")).unwrap();
    assert_eq!(plan, plan_id(&correlation, digest("packet")).unwrap());
    assert_ne!(plan, plan_id(&correlation, digest("another packet")).unwrap());
    assert_ne!(plan, plan_id(&"corr-2".parse().unwrap(), digest("packet")).unwrap());
    assert!(plan.as_str().starts_with("plan-") && plan.as_str().len() == 37);
}
