//! Malformed plan envelopes, with and without a readable action.

use actum_action::limits::PLAN_BYTES_MAX;
use actum_action::{MalformedPlan, PlanEnvelope, PlanError};
use actum_core::{Digest, RiskTier};

fn read(bytes: &[u8]) -> Result<MalformedPlan, PlanError> {
    let error = PlanEnvelope::read(bytes).unwrap_err();
    let read = MalformedPlan::from_error(bytes, error.clone());
    let kept = read.as_ref().map_or_else(|error| error, |plan| &plan.error);
    assert_eq!(*kept, error);
    read
}

/// AA-2: action and tier are read even if other fields are invalid.
#[test]
fn malformed_envelope_keeps_its_action_if_it_is_readable() {
    let rest = r#""input":{},"verification":{"required":true}"#;
    for (text, tier) in [
        (r#"{"actionType":"no_such_action"}"#.to_owned(), RiskTier::R4),
        (r#"{"actionType":"no_such_action","riskTier":"R1"}"#.to_owned(), RiskTier::R1),
        (format!(r#"{{"actionType":"no_such_action","riskTier":"R9",{rest}}}"#), RiskTier::R4),
        (
            format!(r#"{{"riskTier":"R0","riskTier":"R1","actionType":"no_such_action",{rest}}}"#),
            RiskTier::R4,
        ),
        (format!(r#"{{"actionType":"no_such_action","later":1,{rest}}}"#), RiskTier::R4),
        (format!(r#"{{"actionType":"no_such_action","confidence":1e999,{rest}}}"#), RiskTier::R4),
    ] {
        let plan = read(text.as_bytes()).unwrap();
        assert_eq!((plan.action_type.as_str(), plan.tier()), ("no_such_action", tier), "{text}");
        assert_eq!(
            plan.digest,
            Digest::tagged("actum/malformed-plan-envelope/v1", &[text.as_bytes()])
        );
    }
    let named = read(br#"{"actionType":"a","actionId":"action:1"}"#).unwrap();
    assert_eq!(named.action_id.as_deref(), Some("action:1"));
    let unnamed = read(br#"{"actionType":"a","actionId":"two\nlines"}"#).unwrap();
    assert_eq!(unnamed.action_id, None);
}

/// AA-2: if the action cannot be determined, the parse error is returned instead of a result.
#[test]
fn envelope_without_a_readable_action_returns_the_parse_error() {
    let deep = format!(r#"{{"actionType":"a","input":{}1{}}}"#, "[".repeat(99), "]".repeat(99));
    for text in [
        "",
        "buy milk",
        r#"["actionType","a"]"#,
        r#"{"input":{"actionType":"a"}}"#,
        r#"{"actionType":1}"#,
        r#"{"actionType":"Not A Name"}"#,
        r#"{"actionType":"a","actionType":"a"}"#,
        r#"{"actionType":"a""#,
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    // This nesting exceeds the limit for an envelope but is still valid JSON.
    assert_eq!(read(deep.as_bytes()).unwrap().action_type.as_str(), "a");
    let mut large = br#"{"actionType":"a"}"#.to_vec();
    large.resize(PLAN_BYTES_MAX, b' ');
    assert!(read(&large).is_ok());
    large.push(b' ');
    assert!(read(&large).is_err());
}
