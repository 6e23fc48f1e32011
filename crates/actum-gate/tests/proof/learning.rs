//! Signed learning tables of the Finder, and the keys that may sign them.

use actum_gate::{LEARNING_PAYLOAD_TYPE, LearningProblem, verify_learning};
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::KeyRole;

use crate::material::{TestKey, approval_key, at, keyring_with, result_key, signed};

const TABLE: &[u8] =
    br#"{"bonuses":{"tidy":50},"format":"actum.finder-learning/1","tenant_id":"acme"}"#;

fn keyring() -> Keyring {
    keyring_with(&approval_key(), |_| {})
}

fn envelope(keys: &[&TestKey]) -> Vec<u8> {
    signed(LEARNING_PAYLOAD_TYPE, TABLE.to_vec(), keys).to_vec().unwrap()
}

/// AEC-20
#[test]
fn learning_table_requires_a_currently_valid_approval_key() {
    let key = approval_key();
    let verified = verify_learning(&envelope(&[&key]), &keyring(), at(60)).unwrap();
    assert_eq!(verified, (TABLE.to_vec(), key.entry().id));
    let problem = |keys: &[&TestKey], keyring: &Keyring, seconds| {
        verify_learning(&envelope(keys), keyring, at(seconds)).unwrap_err()
    };
    let expired = problem(&[&key], &keyring(), 3601);
    assert!(matches!(expired, LearningProblem::Key(KeyProblem::Expired { .. })), "{expired:?}");
    let other_role = problem(&[&result_key()], &keyring(), 60);
    assert!(matches!(other_role, LearningProblem::Key(KeyProblem::OtherRole { .. })));
    let stranger = TestKey::new(KeyRole::Approval, 77);
    assert!(matches!(problem(&[&stranger], &keyring(), 60), LearningProblem::Signer(_)));

    // The old key remains valid for a while for other work.
    let rotated = keyring_with(&stranger, |_| {});
    let retired = problem(&[&key], &rotated, 60);
    assert_eq!(retired, LearningProblem::Retired { id: key.entry().id });
    let verified = verify_learning(&envelope(&[&key, &stranger]), &rotated, at(60)).unwrap();
    assert_eq!(verified.1, stranger.entry().id);
    let denied = keyring_with(&stranger, |key| key.revoked = Some(at(30)));
    let revoked = problem(&[&stranger], &denied, 60);
    assert!(matches!(revoked, LearningProblem::Key(KeyProblem::Revoked { .. })), "{revoked:?}");
}

/// AEC-20
#[test]
fn envelope_of_another_type_is_rejected_as_a_learning_table() {
    let key = approval_key();
    let problem = |bytes: &[u8]| verify_learning(bytes, &keyring(), at(60)).unwrap_err();
    let other = signed("application/json", TABLE.to_vec(), &[&key]).to_vec().unwrap();
    assert!(matches!(problem(&other), LearningProblem::Payload(_)));
    let newer = String::from_utf8_lossy(TABLE).replace("learning/1", "learning/2");
    let newer = signed(LEARNING_PAYLOAD_TYPE, newer.into_bytes(), &[&key]).to_vec().unwrap();
    assert!(matches!(problem(&newer), LearningProblem::Payload(_)));
    assert!(matches!(problem(TABLE), LearningProblem::Envelope(_)));
    let sound = Envelope::read(&envelope(&[&key])).unwrap();
    let unsigned = Envelope { signatures: Vec::new(), ..sound }.to_vec().unwrap();
    assert!(matches!(problem(&unsigned), LearningProblem::Signer(_)));
}

/// AEC-20
#[test]
fn bit_flips_in_a_learning_table_are_rejected_or_have_no_effect() {
    let sound = envelope(&[&approval_key()]);
    for place in 0..sound.len() {
        for bit in 0..8 {
            let mut other = sound.clone();
            other[place] ^= 1 << bit;
            if let Ok((table, _)) = verify_learning(&other, &keyring(), at(60)) {
                assert_eq!(table, TABLE, "byte {place}, bit {bit}");
            }
        }
    }
}
