//! Changes of the action catalog, and the keys that may sign them.

use actum_core::canonical;
use actum_gate::verify_change;
use actum_record::dsse::Envelope;
use actum_record::ledger::{Answer, CatalogChanged};
use actum_record::signer::KeyRole;

use crate::material::{
    TestKey, answer_of, answered, approval_key, at, change_of, changed, checkpoint_key, keyring,
    keyring_with, result_key, signed,
};

/// AA-13
#[test]
fn catalog_change_requires_an_approval_key_valid_at_its_time() {
    let sound = change_of(&changed(), &approval_key()).to_vec().unwrap();
    let verified = verify_change(&sound, &keyring()).unwrap();
    assert_eq!((verified.changed, verified.key), (changed(), approval_key().entry().id));
    let by = |key: &TestKey, changed: &CatalogChanged, keyring: &actum_record::keyring::Keyring| {
        verify_change(&change_of(changed, key).to_vec().unwrap(), keyring).unwrap_err().reason()
    };
    assert_eq!(by(&result_key(), &changed(), &keyring()), "KEY_OF_ANOTHER_ROLE");
    assert_eq!(by(&checkpoint_key(), &changed(), &keyring()), "KEY_OF_ANOTHER_ROLE");
    let stranger = TestKey::new(KeyRole::Approval, 77);
    assert_eq!(by(&stranger, &changed(), &keyring()), "SIGNER_UNKNOWN");
    let late = CatalogChanged { time: at(3601), ..changed() };
    assert_eq!(by(&approval_key(), &late, &keyring()), "KEY_EXPIRED");
    let revoked = keyring_with(&stranger, |key| key.revoked = Some(at(0)));
    assert_eq!(by(&stranger, &changed(), &revoked), "KEY_REVOKED");
    let unsigned = Envelope { signatures: Vec::new(), ..change_of(&changed(), &approval_key()) };
    let refused = verify_change(&unsigned.to_vec().unwrap(), &keyring()).unwrap_err();
    assert!(!refused.reason().is_empty(), "{refused}");
}

/// AA-13: a signed answer to a plan is never accepted as a change of the catalog.
#[test]
fn other_signed_payloads_are_rejected_as_catalog_changes() {
    let answer = answer_of(&answered(Answer::Approved), &approval_key()).to_vec().unwrap();
    let refused = verify_change(&answer, &keyring()).unwrap_err();
    assert_eq!(refused.reason(), "CATALOG_CHANGE_OF_ANOTHER_TYPE");
    let mut value = serde_json::to_value(changed()).unwrap();
    for (name, other) in [("to", "GONE".into()), ("more", 1.into()), ("follows", 0.into())] {
        let before = value[name].clone();
        value[name] = other;
        let payload = canonical::to_vec(&value).unwrap();
        let envelope = signed(CatalogChanged::PAYLOAD_TYPE, payload, &[&approval_key()]);
        let refused = verify_change(&envelope.to_vec().unwrap(), &keyring()).unwrap_err();
        assert_eq!(refused.reason(), "CATALOG_CHANGE_MALFORMED", "{name}");
        match before.is_null() {
            true => drop(value.as_object_mut().unwrap().remove(name)),
            false => value[name] = before,
        }
    }
}

/// AEC-11
#[test]
fn bit_flips_in_a_catalog_change_are_rejected_or_have_no_effect() {
    let sound = change_of(&changed(), &approval_key()).to_vec().unwrap();
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut other = sound.clone();
            other[at] ^= 1 << bit;
            if let Ok(verified) = verify_change(&other, &keyring()) {
                assert_eq!(verified.changed, changed(), "byte {at}, bit {bit}");
            }
        }
    }
}
