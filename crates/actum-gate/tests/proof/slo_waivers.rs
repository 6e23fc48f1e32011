//! Waivers of the SLO gate, and the keys that may sign them.

use actum_core::canonical;
use actum_gate::verify_slo_waived;
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::ledger::{Actor, Isolation, LeaseRevoked, SloWaived, TenantId};
use actum_record::signer::KeyRole;

use crate::material::{TestKey, approval_key, at, keyring_with, result_key, signed};

fn keyring() -> Keyring {
    keyring_with(&approval_key(), |_| {})
}

fn waived() -> SloWaived {
    SloWaived {
        format: SloWaived::FORMAT.to_owned(),
        time: at(60),
        tenant: TenantId::default(),
        until: at(3600),
        reason: "a slow disk".to_owned(),
        by: Actor { user: "ada".to_owned(), uid: 1000, agent: None },
        isolation: Isolation::SameUser,
    }
}

fn waiver(waived: &SloWaived, key: &TestKey) -> Vec<u8> {
    let payload = canonical::to_vec(waived).unwrap();
    signed(SloWaived::PAYLOAD_TYPE, payload, &[key]).to_vec().unwrap()
}

/// AEC-17
#[test]
fn waiver_requires_an_approval_key_valid_at_its_time() {
    let key = approval_key();
    let verified = verify_slo_waived(&waiver(&waived(), &key), &keyring()).unwrap();
    assert_eq!((verified.waived, verified.key), (waived(), key.entry().id));
    let reason = |key: &TestKey, time, keyring: &Keyring| {
        let waived = SloWaived { time, ..waived() };
        verify_slo_waived(&waiver(&waived, key), keyring).unwrap_err().reason()
    };
    assert_eq!(reason(&result_key(), at(60), &keyring()), "KEY_OF_ANOTHER_ROLE");
    let lease = TestKey::new(KeyRole::Lease, 5);
    let with_lease = keyring_with(&lease, |_| {});
    assert_eq!(reason(&lease, at(60), &with_lease), "KEY_OF_ANOTHER_ROLE");
    let stranger = TestKey::new(KeyRole::Approval, 77);
    assert_eq!(reason(&stranger, at(60), &keyring()), "SIGNER_UNKNOWN");
    assert_eq!(reason(&key, at(-1), &keyring()), "KEY_NOT_YET_VALID");
}

/// AEC-17
#[test]
fn envelope_of_another_type_is_rejected_as_a_waiver() {
    let key = approval_key();
    let reason = |bytes: &[u8]| verify_slo_waived(bytes, &keyring()).unwrap_err().reason();
    let payload = canonical::to_vec(&waived()).unwrap();
    let other = signed(LeaseRevoked::PAYLOAD_TYPE, payload, &[&key]).to_vec().unwrap();
    assert_eq!(reason(&other), "SLO_WAIVER_OF_ANOTHER_TYPE");
    let other = SloWaived { format: "actum.slo-waived/2".to_owned(), ..waived() };
    assert_eq!(reason(&waiver(&other, &key)), "SLO_WAIVER_OF_ANOTHER_TYPE");
    let mut value = serde_json::to_value(waived()).unwrap();
    value["more"] = 1.into();
    let payload = canonical::to_vec(&value).unwrap();
    let more = signed(SloWaived::PAYLOAD_TYPE, payload, &[&key]).to_vec().unwrap();
    assert_eq!(reason(&more), "SLO_WAIVER_MALFORMED");
    assert_eq!(reason(b"{}"), "SLO_WAIVER_MALFORMED");
    let envelope = Envelope::read(&waiver(&waived(), &key)).unwrap();
    let unsigned = Envelope { signatures: Vec::new(), ..envelope }.to_vec().unwrap();
    assert_eq!(reason(&unsigned), "SIGNER_UNKNOWN");
}

/// AEC-17
#[test]
fn bit_flips_in_a_waiver_are_rejected_or_have_no_effect() {
    let sound = waiver(&waived(), &approval_key());
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut other = sound.clone();
            other[at] ^= 1 << bit;
            if let Ok(verified) = verify_slo_waived(&other, &keyring()) {
                assert_eq!(verified.waived, waived(), "byte {at}, bit {bit}");
            }
        }
    }
}
