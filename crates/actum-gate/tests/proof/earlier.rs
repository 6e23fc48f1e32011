//! Receipt of an earlier version: the first one in `vectors/receipts.json` at commit 1972f32a, with its keyring. The two files
//! never change, and lack the optional fields that were added to receipts later.

use std::collections::BTreeSet;

use actum_core::{Digest, Status, canonical};
use actum_gate::{VerifiedReceipt, verify_receipt};
use actum_record::dsse::Envelope;
use actum_record::keyring::Keyring;
use actum_record::receipt::Statement;
use serde_json::Value;

const RECEIPT: &[u8] = include_bytes!("earlier/receipt.json");
const KEYRING: &[u8] = include_bytes!("earlier/keyring.json");

fn keyring() -> Keyring {
    Keyring::read(KEYRING).unwrap()
}

/// AA-12, FE-14: a receipt of an earlier version is valid, and serialises to the original bytes.
#[test]
fn receipt_of_an_earlier_version_verifies_and_round_trips() {
    let VerifiedReceipt { statement, key, leaf, .. } = verify_receipt(RECEIPT, &keyring()).unwrap();
    assert_eq!(key.to_string(), "ff2d060caab2d311");
    assert_eq!(
        leaf.to_string(),
        "bbe427256df98c4b8729bc723b9853eccb385ce51146cc1e1fcb9b61413d72de"
    );
    assert_eq!(statement.predicate.run.to_string(), "r0000000000n");
    assert_eq!(statement.predicate.status, Status::Succeeded);
    let envelope = Envelope::read(RECEIPT).unwrap();
    assert_eq!(envelope.to_vec().unwrap(), RECEIPT);
    // The current types serialise the signed payload to its original bytes.
    let again: Statement = serde_json::from_slice(&envelope.payload).unwrap();
    assert_eq!(canonical::to_vec(&again).unwrap(), envelope.payload);
    assert_eq!(
        Digest::of(&envelope.payload).to_string(),
        "2ac8e0c2aba95ce048b7b10dcc16fbf7b081dbf1c01a259284a819c458d01860"
    );
}

/// FE-14: the fixture comes from an earlier version and lacks the fields that were added later.
#[test]
fn receipt_of_an_earlier_version_has_no_later_fields() {
    let envelope = Envelope::read(RECEIPT).unwrap();
    let statement: Value = serde_json::from_slice(&envelope.payload).unwrap();
    let fields: BTreeSet<&str> =
        statement["predicate"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = "actor approval attempt change decision door ended engine intent label lease paths plan policy \
                    reason request rollback run sandbox settled settled_by started status tenant undoes \
                    verification workspace";
    assert_eq!(fields, expected.split_whitespace().collect());
}

/// FE-14: a change of any byte in the signed payload is detected.
#[test]
fn receipt_of_an_earlier_version_with_a_changed_payload_is_rejected() {
    let mut envelope = Envelope::read(RECEIPT).unwrap();
    for at in 0..envelope.payload.len() {
        envelope.payload[at] ^= 1;
        assert!(verify_receipt(&envelope.to_vec().unwrap(), &keyring()).is_err(), "byte {at}");
        envelope.payload[at] ^= 1;
    }
}
