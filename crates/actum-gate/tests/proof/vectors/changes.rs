//! Signed changes of the action catalog.

use actum_core::canonical;
use actum_gate::verify_change;
use actum_record::dsse::Envelope;
use actum_record::ledger::{ActionState, Answer, CatalogChanged};
use actum_record::signer::KeyRole;
use serde_json::{Value, json};

use super::receipts::{keyring_named, keyrings};
use super::{Case, Vectors, accepted, refused};
use crate::material::{
    TestKey, answer_of, answered, approval_key, at, change_of, changed, result_key, signed,
};

pub(super) fn changes() -> Vectors {
    Vectors {
        name: "changes",
        about: "How people changed the catalog of actions (AA-13): a DSSE envelope that an approval \
                key signed, each with the keyring to judge it by.",
        keyrings: keyrings(),
        cases: cases(),
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let verified = verify_change(input["text"].as_str().unwrap().as_bytes(), &keyring);
            let verified = verified.map_err(|problem| problem.reason())?;
            let CatalogChanged { action, to, snapshot, follows, .. } = verified.changed;
            let index = follows.index;
            Ok(json!({
                "action": action, "to": to, "snapshot": snapshot, "follows": index, "key": verified.key,
            }))
        },
    }
}

fn vector_input(keyring: &str, envelope: &Envelope) -> Value {
    json!({ "keyring": keyring, "text": String::from_utf8(envelope.to_vec().unwrap()).unwrap() })
}

/// Modifies a change of the catalog, and then signs it with a valid signature.
fn sign_changed(change: impl Fn(&mut Value)) -> Envelope {
    let mut value = serde_json::to_value(changed()).unwrap();
    change(&mut value);
    let payload = canonical::to_vec(&value).unwrap();
    signed(CatalogChanged::PAYLOAD_TYPE, payload, &[&approval_key()])
}

fn cases() -> Vec<Case> {
    let by = |change: CatalogChanged| change_of(&change, &approval_key());
    let sound = by(changed());
    let retired = CatalogChanged {
        from: Some(ActionState::Active),
        to: ActionState::Retired,
        reason: None,
        ..changed()
    };
    let new = CatalogChanged { from: None, to: ActionState::Draft, ..changed() };
    let mut other = sound.clone();
    other.payload = by(retired.clone()).payload;
    let stranger = TestKey::new(KeyRole::Approval, 99);
    let late = CatalogChanged { time: at(3601), ..changed() };
    let answer = answer_of(&answered(Answer::Approved), &approval_key());
    let (malformed, other_type) = ("CATALOG_CHANGE_MALFORMED", "CATALOG_CHANGE_OF_ANOTHER_TYPE");
    let removed = |name: &'static str| {
        sign_changed(move |value| drop(value.as_object_mut().unwrap().remove(name)))
    };
    let mut cases = vec![
        accepted("a draft is made active", vector_input("now", &sound)),
        accepted("an action is retired", vector_input("now", &by(retired))),
        accepted("a package is registered", vector_input("now", &by(new))),
        refused(
            "another change under the signature",
            "SIGNATURE_WRONG",
            vector_input("now", &other),
        ),
        refused(
            "signed by an unknown key",
            "SIGNER_UNKNOWN",
            vector_input("now", &change_of(&changed(), &stranger)),
        ),
        refused(
            "signed by the key of receipts",
            "KEY_OF_ANOTHER_ROLE",
            vector_input("now", &change_of(&changed(), &result_key())),
        ),
        refused("the key had expired", "KEY_EXPIRED", vector_input("expired", &sound)),
        refused("the key is revoked", "KEY_REVOKED", vector_input("revoked", &sound)),
        refused("changed after the time of the key", "KEY_EXPIRED", vector_input("now", &by(late))),
        refused("an answer to a plan", other_type, vector_input("now", &answer)),
    ];
    let altered: [(&str, &'static str, Envelope); 7] = [
        (
            "another format",
            other_type,
            sign_changed(|it| it["format"] = json!("actum.catalog-changed/2")),
        ),
        ("no action", malformed, removed("action")),
        ("no place that it follows", malformed, removed("follows")),
        ("a state that there is not", malformed, sign_changed(|it| it["to"] = json!("GONE"))),
        ("a name that is none", malformed, sign_changed(|it| it["action"] = json!("Bump Version"))),
        ("a field that is not known", malformed, sign_changed(|it| it["more"] = json!(1))),
        (
            "a digest that is too short",
            malformed,
            sign_changed(|it| it["snapshot"] = json!("0".repeat(63))),
        ),
    ];
    cases.extend(
        altered
            .map(|(name, reason, envelope)| refused(name, reason, vector_input("now", &envelope))),
    );
    cases
}
