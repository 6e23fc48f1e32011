//! Lease entries and results of file tasks, and the keys that may sign them.

use actum_core::{Digest, canonical};
use actum_gate::{verify_file_task_ended, verify_lease_granted, verify_lease_revoked};
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::lease::{LeaseId, LeaseTerms};
use actum_record::ledger::{Actor, FileTaskEnded, Isolation, LeaseGranted, LeaseRevoked, TenantId};
use actum_record::receipt::EntryRef;
use actum_record::signer::KeyRole;

use crate::material::{ORIGIN, TestKey, approval_key, at, keyring_with, result_key, signed};

fn lease_key() -> TestKey {
    TestKey::new(KeyRole::Lease, 5)
}

fn keyring() -> Keyring {
    keyring_with(&lease_key(), |_| {})
}

fn by() -> Actor {
    Actor { user: "ada".to_owned(), uid: 1000, agent: None }
}

fn granted() -> LeaseGranted {
    LeaseGranted {
        format: LeaseGranted::FORMAT.to_owned(),
        time: at(60),
        tenant: TenantId::default(),
        lease: LeaseId(Digest::of(b"block")),
        terms: LeaseTerms { uses: Some(3), ..LeaseTerms::default() },
        document: Digest::of(b"chain"),
        by: by(),
        isolation: Isolation::SameUser,
        engine: "actum 0.1.0".to_owned(),
    }
}

fn revoked() -> LeaseRevoked {
    LeaseRevoked {
        format: LeaseRevoked::FORMAT.to_owned(),
        time: at(60),
        tenant: TenantId::default(),
        lease: LeaseId(Digest::of(b"block")),
        reason: None,
        by: by(),
        isolation: Isolation::SameUser,
        engine: "actum 0.1.0".to_owned(),
    }
}

fn ended() -> FileTaskEnded {
    let leaf = Digest::of(b"started");
    FileTaskEnded {
        task_id: Some("move-1".parse().unwrap()),
        started: Some(EntryRef { origin: ORIGIN.to_owned(), index: 4, leaf }),
        time: at(60),
    }
}

fn grant(granted: &LeaseGranted, key: &TestKey) -> Vec<u8> {
    let payload = canonical::to_vec(granted).unwrap();
    signed(LeaseGranted::PAYLOAD_TYPE, payload, &[key]).to_vec().unwrap()
}

fn revocation(revoked: &LeaseRevoked, key: &TestKey) -> Vec<u8> {
    let payload = canonical::to_vec(revoked).unwrap();
    signed(LeaseRevoked::PAYLOAD_TYPE, payload, &[key]).to_vec().unwrap()
}

fn result(payload: Vec<u8>, key: &TestKey) -> Vec<u8> {
    signed(FileTaskEnded::PAYLOAD_TYPE, payload, &[key]).to_vec().unwrap()
}

/// FE-17
#[test]
fn grant_and_revocation_require_a_lease_key_valid_at_their_time() {
    let key = lease_key();
    let verified = verify_lease_granted(&grant(&granted(), &key), &keyring()).unwrap();
    assert_eq!((verified.granted, verified.key), (granted(), key.entry().id));
    let verified = verify_lease_revoked(&revocation(&revoked(), &key), &keyring()).unwrap();
    assert_eq!((verified.revoked, verified.key), (revoked(), key.entry().id));
    let reasons = |key: &TestKey, time, keyring: &Keyring| {
        let (granted, revoked) =
            (LeaseGranted { time, ..granted() }, LeaseRevoked { time, ..revoked() });
        let one = verify_lease_granted(&grant(&granted, key), keyring).unwrap_err();
        let two = verify_lease_revoked(&revocation(&revoked, key), keyring).unwrap_err();
        assert_eq!(one.reason(), two.reason());
        one.reason()
    };
    assert_eq!(reasons(&approval_key(), at(60), &keyring()), "KEY_OF_ANOTHER_ROLE");
    assert_eq!(reasons(&result_key(), at(60), &keyring()), "KEY_OF_ANOTHER_ROLE");
    let stranger = TestKey::new(KeyRole::Lease, 77);
    assert_eq!(reasons(&stranger, at(60), &keyring()), "SIGNER_UNKNOWN");
    assert_eq!(reasons(&key, at(3601), &keyring()), "KEY_EXPIRED");
    assert_eq!(reasons(&key, at(-1), &keyring()), "KEY_NOT_YET_VALID");
    let stolen = keyring_with(&key, |key| key.revoked = Some(at(0)));
    assert_eq!(reasons(&key, at(60), &stolen), "KEY_REVOKED");
}

/// FE-17: neither kind of entry is accepted as the other, and a lease key cannot sign an answer.
#[test]
fn other_signed_payloads_are_rejected_as_lease_entries() {
    let key = lease_key();
    let other = verify_lease_revoked(&grant(&granted(), &key), &keyring()).unwrap_err();
    assert_eq!(other.reason(), "LEASE_ENTRY_OF_ANOTHER_TYPE");
    let other = verify_lease_granted(&revocation(&revoked(), &key), &keyring()).unwrap_err();
    assert_eq!(other.reason(), "LEASE_ENTRY_OF_ANOTHER_TYPE");
    let other = LeaseGranted { format: "actum.lease-granted/2".to_owned(), ..granted() };
    let other = verify_lease_granted(&grant(&other, &key), &keyring()).unwrap_err();
    assert_eq!(other.reason(), "LEASE_ENTRY_OF_ANOTHER_TYPE");
    let mut value = serde_json::to_value(granted()).unwrap();
    value["more"] = 1.into();
    let payload = canonical::to_vec(&value).unwrap();
    let more = signed(LeaseGranted::PAYLOAD_TYPE, payload, &[&key]).to_vec().unwrap();
    let refused = verify_lease_granted(&more, &keyring()).unwrap_err();
    assert_eq!(refused.reason(), "LEASE_ENTRY_MALFORMED");
    let refused = verify_lease_granted(b"{}", &keyring()).unwrap_err();
    assert_eq!(refused.reason(), "LEASE_ENTRY_MALFORMED");
    let envelope = Envelope::read(&grant(&granted(), &key)).unwrap();
    let unsigned = Envelope { signatures: Vec::new(), ..envelope }.to_vec().unwrap();
    let refused = verify_lease_granted(&unsigned, &keyring()).unwrap_err();
    assert_eq!(refused.reason(), "SIGNER_UNKNOWN");
}

/// AEC-11
#[test]
fn bit_flips_in_a_grant_are_rejected_or_have_no_effect() {
    let sound = grant(&granted(), &lease_key());
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut other = sound.clone();
            other[at] ^= 1 << bit;
            if let Ok(verified) = verify_lease_granted(&other, &keyring()) {
                assert_eq!(verified.granted, granted(), "byte {at}, bit {bit}");
            }
        }
    }
}

/// FE-14: the result may contain more fields than a ledger reads. It is read only if a result key signed it.
#[test]
fn file_task_result_requires_a_result_key_valid_at_its_time() {
    let mut value = serde_json::to_value(ended()).unwrap();
    value["status"] = "SUCCESS".into();
    let payload = canonical::to_vec(&value).unwrap();
    let sound = result(payload.clone(), &result_key());
    let verified = verify_file_task_ended(&sound, &keyring()).unwrap();
    assert_eq!((verified.ended, verified.payload), (ended(), payload.clone()));
    assert_eq!(verified.key, result_key().entry().id);
    let by = |key: &TestKey| {
        verify_file_task_ended(&result(payload.clone(), key), &keyring()).unwrap_err().reason()
    };
    assert_eq!(by(&lease_key()), "KEY_OF_ANOTHER_ROLE");
    assert_eq!(by(&TestKey::new(KeyRole::Result, 77)), "SIGNER_UNKNOWN");
    let other = grant(&granted(), &result_key());
    let refused = verify_file_task_ended(&other, &keyring()).unwrap_err();
    assert_eq!(refused.reason(), "FILE_TASK_RESULT_OF_ANOTHER_TYPE");
    for missing in ["task_id", "started", "time"] {
        let mut value = value.clone();
        value.as_object_mut().unwrap().remove(missing);
        let bytes = result(canonical::to_vec(&value).unwrap(), &result_key());
        let refused = verify_file_task_ended(&bytes, &keyring()).unwrap_err();
        assert_eq!(refused.reason(), "FILE_TASK_RESULT_MALFORMED", "{missing}");
    }
}
