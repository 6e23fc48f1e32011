//! Receipts, key changes and bundles with exactly one defect each.

use actum_core::{Digest, Status, canonical};
use actum_gate::envelope::{SIGNATURES_MAX, SignerProblem, TRIES_MAX, signers};
use actum_gate::{
    BundleProblem, ReceiptBundle, ReceiptProblem, verify_bundle, verify_checkpoint, verify_receipt,
    verify_rotation,
};
use actum_record::dsse::{Envelope, EnvelopeSignature};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::receipt::{PAYLOAD_TYPE, RunResult, Statement};
use actum_record::signer::{KeyRole, Signer};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use serde_json::{Value, json};

use crate::material::{
    Log, ORIGIN, OTHER_ORIGIN, TestKey, at, checkpoint_key, keyring, keyring_with, note, payload,
    receipt, receipt_bundle_of, receipt_of, result_key, rotated, rotation_of, run_result, signed,
    statement,
};

/// Modification that makes a bundle invalid.
type Change<'a> = &'a dyn Fn(&mut ReceiptBundle);

fn refused(envelope: &Envelope, keyring: &Keyring) -> &'static str {
    verify_receipt(&envelope.to_vec().unwrap(), keyring).unwrap_err().reason()
}

/// FE-14
#[test]
fn a_receipt_is_verified_with_the_public_key_alone() {
    let verified = verify_receipt(&receipt().to_vec().unwrap(), &keyring()).unwrap();
    assert_eq!(verified.statement, statement());
    assert_eq!(verified.key, result_key().key_id());
    let names: Vec<&str> =
        verified.statement.subject.iter().map(|subject| &*subject.name).collect();
    assert_eq!(
        names,
        ["urn:actum:change:r0000000000n", "src/lib.rs", "src/new/name.rs", "str\\377nge \"name\""]
    );
}

/// FE-14: a signature by a stolen key proves nothing if it was made after the key's rotation.
#[test]
fn receipt_is_valid_only_within_the_validity_of_its_key() {
    let rotated_away = |entry: &mut KeyEntry| entry.not_after = Some(at(40));
    let keyring = keyring_with(&result_key(), rotated_away);
    let settled = |seconds| {
        let started = run_result().started.min(at(seconds));
        let times = RunResult { started, ended: started, settled: at(seconds), ..run_result() };
        receipt_of(times, &[&result_key()])
    };
    for (seconds, reason) in [
        (-1, Some("KEY_NOT_YET_VALID")),
        (0, None),
        (39, None),
        (40, None),
        (41, Some("KEY_EXPIRED")),
    ] {
        let judged = verify_receipt(&settled(seconds).to_vec().unwrap(), &keyring);
        assert_eq!(judged.err().map(|problem| problem.reason()), reason, "{seconds}");
    }
}

/// A receipt alone cannot prove its time, because the holder of the key can backdate one. Only a keyring in which the key is
/// revoked prevents that.
#[test]
fn backdated_receipt_of_a_stolen_key_is_stopped_only_by_revocation() {
    let expired = keyring_with(&result_key(), |entry| entry.not_after = Some(at(40)));
    assert!(verify_receipt(&receipt().to_vec().unwrap(), &expired).is_ok());
    let revoked = keyring_with(&result_key(), |entry| entry.revoked = Some(at(1000)));
    assert_eq!(refused(&receipt(), &revoked), "KEY_REVOKED");
}

/// FE-14
#[test]
fn key_of_another_role_cannot_sign_a_receipt() {
    for role in [KeyRole::Lease, KeyRole::Checkpoint, KeyRole::Approval] {
        let key = TestKey::new(role, 1);
        let keyring = keyring_with(&key, |_| {});
        let problem =
            verify_receipt(&receipt_of(run_result(), &[&key]).to_vec().unwrap(), &keyring);
        let (id, wanted) = (key.key_id(), KeyRole::Result);
        assert_eq!(
            problem.unwrap_err(),
            ReceiptProblem::Key(KeyProblem::OtherRole { id, role, wanted })
        );
    }
}

/// FE-14: one valid signature is enough, and signatures by unknown keys are ignored.
#[test]
fn signatures_of_unknown_keys_are_ignored() {
    let (ours, stranger) = (result_key(), TestKey::new(KeyRole::Result, 99));
    for keys in [[&ours, &stranger], [&stranger, &ours]] {
        let verified =
            verify_receipt(&receipt_of(run_result(), &keys).to_vec().unwrap(), &keyring());
        assert_eq!(verified.unwrap().key, ours.key_id());
    }
    assert_eq!(refused(&receipt_of(run_result(), &[&stranger]), &keyring()), "SIGNER_UNKNOWN");
    assert_eq!(refused(&receipt_of(run_result(), &[]), &keyring()), "SIGNER_UNKNOWN");
}

/// FE-14: a wrong signature by a known key invalidates the receipt, regardless of its other signatures.
#[test]
fn wrong_signature_of_a_known_key_is_rejected_despite_a_valid_one() {
    let other = TestKey::new(KeyRole::Result, 5);
    let keyring = keyring_with(&other, |_| {});
    let mut envelope = receipt_of(run_result(), &[&result_key(), &other]);
    assert!(verify_receipt(&envelope.to_vec().unwrap(), &keyring).is_ok());
    envelope.signatures[1].signature[0] ^= 1;
    assert_eq!(refused(&envelope, &keyring), "SIGNATURE_WRONG");
    // Signature labelled with the id of another key.
    let mut envelope = receipt_of(run_result(), &[&result_key()]);
    envelope.signatures[0].key_id = other.key_id().to_string();
    assert_eq!(refused(&envelope, &keyring), "SIGNATURE_WRONG");
}

/// FE-14: an expired key next to a valid one is ignored, but it is reported if there is no valid one.
#[test]
fn one_valid_key_is_enough() {
    let expired = TestKey::new(KeyRole::Result, 5);
    let keyring = keyring_with(&expired, |entry| entry.not_after = Some(at(10)));
    for keys in [[&result_key(), &expired], [&expired, &result_key()]] {
        let verified = verify_receipt(&receipt_of(run_result(), &keys).to_vec().unwrap(), &keyring);
        assert_eq!(verified.unwrap().key, result_key().key_id());
    }
    assert_eq!(refused(&receipt_of(run_result(), &[&expired]), &keyring), "KEY_EXPIRED");
}

/// FE-14
#[test]
fn signature_without_a_key_id_is_tried_with_all_keys_up_to_a_limit() {
    let mut envelope = receipt();
    envelope.signatures[0].key_id = String::new();
    let verified = verify_receipt(&envelope.to_vec().unwrap(), &keyring()).unwrap();
    assert_eq!(verified.key, result_key().key_id());
    // Keys are tried from the newest to the oldest, and here the oldest is the signer.
    let with_strangers = |count: usize| {
        let strangers = (0..count).map(|number| {
            let mut key = TestKey::new(KeyRole::Result, 3).entry();
            key.public.0[..2].copy_from_slice(&u16::try_from(number).unwrap().to_le_bytes());
            key
        });
        let keys = std::iter::once(result_key().entry()).chain(strangers);
        signers(&envelope, &Keyring::new(keys.collect())).map(|signers| signers.len())
    };
    assert_eq!(with_strangers(TRIES_MAX - 1), Ok(1));
    assert_eq!(with_strangers(TRIES_MAX), Err(SignerProblem::NoKnownKey));
}

#[test]
fn number_of_signatures_is_limited() {
    let stranger = EnvelopeSignature { key_id: "a".to_owned(), signature: vec![0; 64] };
    let mut envelope = receipt();
    envelope.signatures.resize(SIGNATURES_MAX, stranger.clone());
    assert!(verify_receipt(&envelope.to_vec().unwrap(), &keyring()).is_ok());
    envelope.signatures.push(stranger);
    assert_eq!(refused(&envelope, &keyring()), "TOO_MANY_SIGNATURES");
}

/// DSSE, `envelope.md`: both base64 alphabets are accepted. The log entry is the same, because it is canonical.
#[test]
fn receipt_in_url_safe_base64_is_the_same_receipt() {
    let label = "?>?>~~~ÿÿ".to_owned();
    let envelope = receipt_of(RunResult { label, ..run_result() }, &[&result_key()]);
    let signature = &envelope.signatures[0];
    let text = json!({
        "payload": URL_SAFE.encode(&envelope.payload),
        "payloadType": envelope.payload_type,
        "signatures": [{ "sig": URL_SAFE.encode(&signature.signature), "keyid": signature.key_id }],
        "unknown": 1,
    });
    let ours = verify_receipt(&envelope.to_vec().unwrap(), &keyring()).unwrap();
    let text = serde_json::to_string_pretty(&text).unwrap();
    assert!(text.contains('_'));
    assert_eq!(verify_receipt(text.as_bytes(), &keyring()), Ok(ours));
    let mixed = text.replacen('_', "/", 1);
    assert!(mixed.contains('_') || mixed.contains('-'));
    let problem = verify_receipt(mixed.as_bytes(), &keyring()).unwrap_err();
    assert_eq!(problem.reason(), "RECEIPT_MALFORMED");
}

/// FE-14
#[test]
fn validly_signed_payloads_of_other_types_are_rejected() {
    let sound = payload(&statement());
    let other = |from: &str, to: &str| {
        let text = String::from_utf8(sound.clone()).unwrap();
        assert!(text.contains(from));
        text.replacen(from, to, 1).into_bytes()
    };
    let cases = [
        ("application/json", sound.clone(), "payload type"),
        ("", sound.clone(), "payload type"),
        (PAYLOAD_TYPE, other("Statement/v1", "Statement/v0.1"), "statement type"),
        (PAYLOAD_TYPE, other("run-result:1", "run-result:2"), "predicate type"),
        (PAYLOAD_TYPE, b"{}".to_vec(), "statement type"),
        (PAYLOAD_TYPE, b"[]".to_vec(), "statement type"),
    ];
    for (payload_type, payload, wrong) in cases {
        let envelope = signed(payload_type, payload, &[&result_key()]);
        match verify_receipt(&envelope.to_vec().unwrap(), &keyring()) {
            Err(ReceiptProblem::Type { what, .. }) => assert_eq!(what, wrong),
            judged => panic!("{wrong}: {judged:?}"),
        }
    }
}

/// FE-14, D-4: a result may have additional fields, but no field may be missing.
#[test]
fn statement_may_have_extra_fields_but_no_missing_ones() {
    let value = |change: &dyn Fn(&mut Value)| {
        let mut value: Value = serde_json::from_slice(&payload(&statement())).unwrap();
        change(&mut value);
        signed(PAYLOAD_TYPE, canonical::to_vec(&value).unwrap(), &[&result_key()])
    };
    let more = value(&|value| {
        value["more"] = json!(1);
        value["predicate"]["more"] = json!({ "a": [] });
        value["subject"][0]["digest"]["sha512"] = json!("");
    });
    let verified = verify_receipt(&more.to_vec().unwrap(), &keyring()).unwrap();
    assert_eq!(verified.statement, statement());
    for field in ["run", "status", "decision", "settled", "intent", "actor"] {
        let less = value(&|value| {
            value["predicate"].as_object_mut().unwrap().remove(field).unwrap();
        });
        assert_eq!(refused(&less, &keyring()), "RECEIPT_MALFORMED", "{field}");
    }
    for (field, wrong) in [
        ("run", json!("x")),
        ("status", json!("done")),
        ("settled", json!("2026-11-21T18:03:07Z")),
        ("attempt", json!(-1)),
        ("tenant", json!("../a")),
    ] {
        let wrong = value(&|value| value["predicate"][field] = wrong.clone());
        assert_eq!(refused(&wrong, &keyring()), "RECEIPT_MALFORMED", "{field}");
    }
}

/// D-4: a later version may add members to a path, and the digest of the change covers them as well.
#[test]
fn change_digest_covers_the_paths_exactly_as_stored() {
    let mut value: Value = serde_json::from_slice(&payload(&statement())).unwrap();
    value["predicate"]["paths"][1]["owner"] = json!("you");
    let old = signed(PAYLOAD_TYPE, canonical::to_vec(&value).unwrap(), &[&result_key()]);
    assert_eq!(refused(&old, &keyring()), "RECEIPT_INCONSISTENT");
    let change = actum_record::receipt::change_digest(&value["predicate"]["paths"]).unwrap();
    value["predicate"]["change"] = json!(change);
    value["subject"][0]["digest"]["sha256"] = json!(change);
    let new = signed(PAYLOAD_TYPE, canonical::to_vec(&value).unwrap(), &[&result_key()]);
    let verified = verify_receipt(&new.to_vec().unwrap(), &keyring()).unwrap();
    assert_eq!(verified.statement.predicate.change, change);
}

/// FE-14
#[test]
fn inconsistent_statement_is_rejected() {
    let of = |change: &dyn Fn(&mut Statement)| {
        let mut statement = statement();
        change(&mut statement);
        signed(PAYLOAD_TYPE, payload(&statement), &[&result_key()])
    };
    let changes: [&dyn Fn(&mut Statement); 7] = [
        &|statement| drop(statement.subject.pop()),
        &|statement| statement.subject.swap(1, 2),
        &|statement| statement.subject[1].name = "src/other.rs".to_owned(),
        &|statement| statement.subject[1].digest.sha256 = Digest::of(b"other"),
        &|statement| statement.subject[0].digest.sha256 = Digest::of(b"other"),
        &|statement| statement.predicate.status = Status::Reverted,
        &|statement| statement.predicate.ended = at(29),
    ];
    for (number, change) in changes.iter().enumerate() {
        assert_eq!(refused(&of(change), &keyring()), "RECEIPT_INCONSISTENT", "{number}");
    }
    let changed = RunResult { change: Digest::of(b"other"), ..run_result() };
    let envelope = receipt_of(changed, &[&result_key()]);
    assert_eq!(refused(&envelope, &keyring()), "RECEIPT_INCONSISTENT");
    let clock_put_back = RunResult { settled: at(30), ..run_result() };
    let envelope = receipt_of(clock_put_back, &[&result_key()]);
    assert!(verify_receipt(&envelope.to_vec().unwrap(), &keyring()).is_ok());
    let reverted = RunResult { status: Status::Reverted, ..run_result() };
    let verified =
        verify_receipt(&receipt_of(reverted, &[&result_key()]).to_vec().unwrap(), &keyring());
    assert_eq!(verified.unwrap().statement.subject.len(), 1, "no file is as the run made it");
}

/// FE-14, AEC-8
#[test]
fn bundle_proves_that_the_receipt_is_in_its_log() {
    let bundle = receipt_bundle_of(receipt());
    let text = bundle.to_vec().unwrap();
    assert!(canonical::is_canonical(&text));
    assert_eq!(ReceiptBundle::read(&text), Ok(bundle));
    let verified = verify_bundle(&text, &keyring()).unwrap();
    let inclusion = &verified.inclusion;
    assert_eq!((inclusion.index, inclusion.size), (3, 6));
    assert_eq!((&*inclusion.origin, &inclusion.key), (ORIGIN, &checkpoint_key().key_id()));
    assert_eq!(Ok(verified.receipt), verify_receipt(&receipt().to_vec().unwrap(), &keyring()));
}

/// FE-14, AEC-8
#[test]
fn mismatched_inclusion_proof_is_rejected() {
    let judged = |change: &dyn Fn(&mut ReceiptBundle)| {
        let mut bundle = receipt_bundle_of(receipt());
        change(&mut bundle);
        verify_bundle(&bundle.to_vec().unwrap(), &keyring()).unwrap_err()
    };
    let log = Log::of_size(6);
    let checkpoint = |origin: &str, log: &Log| note(&log.checkpoint(origin), &[&checkpoint_key()]);
    let cases: [(Change<'_>, &str); 9] = [
        (&|bundle| bundle.index = 4, "PROOF_LENGTH"),
        (&|bundle| bundle.index = 2, "PROOF_OTHER_ROOT"),
        (&|bundle| bundle.index = 6, "PROOF_NO_ENTRY"),
        (&|bundle| bundle.index = 1, "RECEIPT_BEFORE_INTENT"),
        (&|bundle| bundle.size = 7, "PROOF_OF_ANOTHER_SIZE"),
        (&|bundle| bundle.hashes.swap(0, 1), "PROOF_OTHER_ROOT"),
        (&|bundle| bundle.checkpoint = checkpoint(ORIGIN, &log), "PROOF_OTHER_ROOT"),
        (&|bundle| bundle.checkpoint = checkpoint(OTHER_ORIGIN, &log), "PROOF_OF_ANOTHER_LOG"),
        (&|bundle| bundle.checkpoint.clear(), "CHECKPOINT_MALFORMED"),
    ];
    for (number, (change, reason)) in cases.iter().enumerate() {
        assert_eq!(judged(change).reason(), *reason, "{number}");
    }
}

#[test]
fn bundle_of_a_later_version_is_rejected_as_such() {
    let text = String::from_utf8(receipt_bundle_of(receipt()).to_vec().unwrap()).unwrap();
    let later = text.replace("actum.receipt/1", "actum.receipt/2");
    assert_eq!(
        verify_bundle(later.as_bytes(), &keyring()),
        Err(BundleProblem::Format { found: "actum.receipt/2".to_owned() })
    );
    for text in ["", "{}", "[1]", "null", &text[1..], &text.replace("\"hashes\"", "\"hash\"")] {
        assert!(verify_bundle(text.as_bytes(), &keyring()).is_err(), "{text}");
    }
}

/// AEC-8
#[test]
fn checkpoint_ignores_key_validity_times_but_not_revocation() {
    let text = note(&Log::of_size(5).checkpoint(ORIGIN), &[&checkpoint_key()]);
    let judged = |change: fn(&mut KeyEntry)| {
        let keyring = keyring_with(&checkpoint_key(), change);
        verify_checkpoint(text.as_bytes(), &keyring).map_err(|problem| problem.reason())
    };
    assert_eq!(judged(|key| key.not_after = Some(key.not_before)).unwrap().checkpoint.size, 5);
    assert!(judged(|key| key.not_before = at(9999)).is_ok());
    assert_eq!(judged(|key| key.revoked = Some(at(9999))), Err("KEY_REVOKED"));
    let both = note(
        &Log::of_size(5).checkpoint(ORIGIN),
        &[&checkpoint_key(), &TestKey::new(KeyRole::Checkpoint, 5)],
    );
    let keyring = keyring_with(&TestKey::new(KeyRole::Checkpoint, 5), |key| {
        key.revoked = Some(at(1));
    });
    let verified = verify_checkpoint(both.as_bytes(), &keyring).unwrap();
    assert_eq!(verified.key, checkpoint_key().key_id());
}

/// AEC-8
#[test]
fn checkpoint_by_another_role_or_origin_has_an_unknown_signer() {
    let checkpoint = Log::of_size(5).checkpoint(ORIGIN);
    let reason = |text: &str| verify_checkpoint(text.as_bytes(), &keyring()).unwrap_err().reason();
    assert_eq!(reason(&note(&checkpoint, &[&result_key()])), "SIGNER_UNKNOWN");
    let renamed = note(&checkpoint, &[&checkpoint_key()])
        .replace(&format!("\u{2014} {ORIGIN}"), &format!("\u{2014} {OTHER_ORIGIN}"));
    assert_eq!(reason(&renamed), "SIGNER_UNKNOWN");
    let (stranger, ours) = (TestKey::new(KeyRole::Checkpoint, 99), checkpoint_key());
    assert_eq!(reason(&note(&checkpoint, &[&stranger])), "SIGNER_UNKNOWN");
    let text = note(&checkpoint, &[&stranger, &ours]);
    assert!(verify_checkpoint(text.as_bytes(), &keyring()).is_ok());
    // Signature line that names our key but contains the signature of another key.
    let mut lines = actum_record::note::Note::read(text.as_bytes()).unwrap();
    lines.signatures[0].key_hash = lines.signatures[1].key_hash;
    assert_eq!(reason(&lines.to_text()), "SIGNATURE_WRONG");
    let empty = note(&Log::of_size(0).checkpoint(ORIGIN), &[&ours]);
    assert!(verify_checkpoint(empty.as_bytes(), &keyring()).is_ok());
    let claimed = actum_record::checkpoint::Checkpoint { size: 0, ..checkpoint };
    assert_eq!(reason(&note(&claimed, &[&ours])), "CHECKPOINT_MALFORMED");
}

/// FE-14, AEC-8
#[test]
fn key_rotation_must_be_signed_by_the_old_key() {
    let judged = |envelope: Envelope, keyring: &Keyring| {
        verify_rotation(&envelope.to_vec().unwrap(), keyring).map_err(|problem| problem.reason())
    };
    let sound = judged(rotation_of(&rotated(7), &result_key()), &keyring()).unwrap();
    assert_eq!(sound.rotation, rotated(7));
    let by = |key: &TestKey| {
        judged(rotation_of(&rotated(7), key), &keyring_with(key, |_| {})).unwrap_err()
    };
    assert_eq!(by(&TestKey::new(KeyRole::Result, 7)), "ROTATION_NOT_BY_THE_OLD_KEY");
    assert_eq!(by(&checkpoint_key()), "ROTATION_NOT_BY_THE_OLD_KEY");
    let mut other_role = rotated(7);
    other_role.role = KeyRole::Checkpoint;
    let envelope = rotation_of(&other_role, &result_key());
    assert_eq!(judged(envelope, &keyring()).unwrap_err(), "KEY_OF_ANOTHER_ROLE");
    let mut other_name = rotated(7);
    other_name.public = TestKey::new(KeyRole::Result, 8).public_key();
    let envelope = rotation_of(&other_name, &result_key());
    assert_eq!(judged(envelope, &keyring()).unwrap_err(), "ROTATION_INCONSISTENT");
    let envelope = rotation_of(&rotated(1), &result_key());
    assert_eq!(judged(envelope, &keyring()).unwrap_err(), "ROTATION_INCONSISTENT");
    let late = keyring_with(&result_key(), |key| key.not_after = Some(at(39)));
    let envelope = rotation_of(&rotated(7), &result_key());
    assert_eq!(judged(envelope, &late).unwrap_err(), "KEY_EXPIRED");
    assert_eq!(judged(receipt(), &keyring()).unwrap_err(), "ROTATION_OF_ANOTHER_TYPE");
    let rotation = rotation_of(&rotated(7), &result_key());
    assert_eq!(refused(&rotation, &keyring()), "RECEIPT_OF_ANOTHER_TYPE");
}

/// JSON that parsers could interpret differently is rejected even if it was signed.
#[test]
fn ambiguous_json_is_rejected_even_if_signed() {
    let text = String::from_utf8(payload(&statement())).unwrap();
    let twice = text.replacen("\"status\":", "\"status\":\"failed\",\"status\":", 1);
    let large = text.replacen("\"uid\":1000", "\"uid\":9007199254740993", 1);
    for text in [twice, large] {
        let envelope = signed(PAYLOAD_TYPE, text.into_bytes(), &[&result_key()]);
        assert_eq!(refused(&envelope, &keyring()), "RECEIPT_MALFORMED");
    }
    let whole = String::from_utf8(receipt().to_vec().unwrap()).unwrap();
    let twice = whole.replacen('{', "{\"payload\":\"\",", 1);
    let problem = verify_receipt(twice.as_bytes(), &keyring()).unwrap_err();
    assert_eq!(problem.reason(), "RECEIPT_MALFORMED");
    assert_eq!(STANDARD.encode("a"), "YQ==");
    let loose = whole.replace("\"sig\":\"", "\"sig\":\"YQ\",\"s\":\"");
    assert!(verify_receipt(loose.as_bytes(), &keyring()).is_err(), "without its padding");
}
