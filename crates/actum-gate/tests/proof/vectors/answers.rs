//! Signed answers to plans.

use actum_core::canonical;
use actum_gate::verify_answer;
use actum_record::dsse::Envelope;
use actum_record::ledger::{Answer, PlanAnswered};
use actum_record::signer::KeyRole;
use serde_json::{Value, json};

use super::receipts::{keyring_named, keyrings};
use super::{Case, Vectors, accepted, refused};
use crate::material::{
    TestKey, answer_of, answered, approval_key, at, receipt, result_key, signed,
};

pub(super) fn answers() -> Vectors {
    Vectors {
        name: "answers",
        about: "What people answered of plans that waited (AA-5): a DSSE envelope that an approval \
                key signed, each with the keyring to judge it by.",
        keyrings: keyrings(),
        cases: cases(),
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let verified = verify_answer(input["text"].as_str().unwrap().as_bytes(), &keyring);
            let verified = verified.map_err(|problem| problem.reason())?;
            let PlanAnswered { plan, answer, .. } = verified.answered;
            Ok(json!({ "plan": plan, "answer": answer, "key": verified.key }))
        },
    }
}

fn vector_input(keyring: &str, envelope: &Envelope) -> Value {
    json!({ "keyring": keyring, "text": String::from_utf8(envelope.to_vec().unwrap()).unwrap() })
}

/// Modifies an answer, and then signs it with a valid signature.
fn sign_changed(change: impl Fn(&mut Value)) -> Envelope {
    let mut value = serde_json::to_value(answered(Answer::Approved)).unwrap();
    change(&mut value);
    let payload = canonical::to_vec(&value).unwrap();
    signed(PlanAnswered::PAYLOAD_TYPE, payload, &[&approval_key()])
}

fn cases() -> Vec<Case> {
    let by = |answer| answer_of(&answered(answer), &approval_key());
    let reason =
        |text: &str| PlanAnswered { reason: Some(text.to_owned()), ..answered(Answer::Denied) };
    let approved = by(Answer::Approved);
    let mut other = approved.clone();
    other.payload = by(Answer::Denied).payload;
    let stranger = TestKey::new(KeyRole::Approval, 99);
    let late = PlanAnswered { time: at(3601), ..answered(Answer::Approved) };
    let payload = canonical::to_vec(&answered(Answer::Approved)).unwrap();
    let (malformed, other_type) = ("ANSWER_MALFORMED", "ANSWER_OF_ANOTHER_TYPE");
    let removed = |name: &'static str| {
        sign_changed(move |value| drop(value.as_object_mut().unwrap().remove(name)))
    };
    let mut cases = vec![
        accepted("a plan is approved", vector_input("now", &approved)),
        accepted(
            "a plan is denied, with a reason",
            vector_input("now", &answer_of(&reason("not on a Friday — “no”"), &approval_key())),
        ),
        accepted("what was approved is revoked", vector_input("now", &by(Answer::Revoked))),
        refused(
            "another answer under the signature",
            "SIGNATURE_WRONG",
            vector_input("now", &other),
        ),
        refused(
            "signed by an unknown key",
            "SIGNER_UNKNOWN",
            vector_input("now", &answer_of(&answered(Answer::Approved), &stranger)),
        ),
        refused(
            "signed by the key of receipts",
            "KEY_OF_ANOTHER_ROLE",
            vector_input("now", &answer_of(&answered(Answer::Approved), &result_key())),
        ),
        refused("the key had expired", "KEY_EXPIRED", vector_input("expired", &approved)),
        refused("the key is revoked", "KEY_REVOKED", vector_input("revoked", &approved)),
        refused(
            "answered after the time of the key",
            "KEY_EXPIRED",
            vector_input("now", &answer_of(&late, &approval_key())),
        ),
        refused("a receipt", other_type, vector_input("now", &receipt())),
        refused(
            "another payload type",
            other_type,
            vector_input("now", &signed("application/json", payload, &[&approval_key()])),
        ),
    ];
    let altered: [(&str, &'static str, Envelope); 7] = [
        (
            "another format",
            other_type,
            sign_changed(|it| it["format"] = json!("actum.plan-answered/2")),
        ),
        ("no plan", malformed, removed("plan")),
        ("nothing that it is bound to", malformed, removed("bound")),
        ("an unknown answer", malformed, sign_changed(|it| it["answer"] = json!("perhaps"))),
        ("a field that is not known", malformed, sign_changed(|it| it["more"] = json!(1))),
        (
            "a digest that is too short",
            malformed,
            sign_changed(|it| it["bound"]["plan"] = json!("0".repeat(63))),
        ),
        ("another isolation", malformed, sign_changed(|it| it["isolation"] = json!("none"))),
    ];
    cases.extend(
        altered
            .map(|(name, reason, envelope)| refused(name, reason, vector_input("now", &envelope))),
    );
    cases
}
