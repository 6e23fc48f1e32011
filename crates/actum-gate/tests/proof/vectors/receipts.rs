//! Vectors of receipts, receipts with proofs and key changes, with the keyrings to verify them.

use actum_core::{Digest, Status, canonical};
use actum_gate::{
    ReceiptBundle, VerifiedReceipt, signed_intent, verify_bundle, verify_receipt, verify_rotation,
};
use actum_record::dsse::Envelope;
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::receipt::{PAYLOAD_TYPE, RunResult, Statement};
use actum_record::signer::{KeyId, KeyRole, PublicKey, Signer};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use serde_json::{Map, Value, json};

use super::{Case, Vectors, accepted, refused};
use crate::material::{
    Log, ORIGIN, OTHER_ORIGIN, TestKey, at, checkpoint_key, keyring, keyring_with, note, payload,
    receipt, receipt_bundle_of, receipt_of, result_key, rotated, rotation_of, run_result,
    short_result, signed, statement,
};

/// Returns the neutral element of the curve as a key, for which any process can forge signatures.
fn neutral() -> KeyEntry {
    let mut public = [0; 32];
    public[0] = 1;
    let (role, public) = (KeyRole::Result, PublicKey(public));
    KeyEntry { id: KeyId::new(role, &public), role, public, ..result_key().entry() }
}

fn second() -> TestKey {
    TestKey::new(KeyRole::Result, 5)
}

pub(super) fn keyrings() -> Map<String, Value> {
    let every = |change: fn(&mut KeyEntry)| {
        let mut keys = keyring().keys().to_vec();
        keys.iter_mut().for_each(change);
        Keyring::new(keys)
    };
    let weak = Keyring::new([&[neutral()], keyring().keys()].concat());
    let all = [
        ("now", keyring()),
        ("two", keyring_with(&second(), |_| {})),
        ("other roles", keyring_with(&TestKey::new(KeyRole::Lease, 1), |_| {})),
        ("expired", every(|key| key.not_after = Some(at(20)))),
        ("not yet", every(|key| key.not_before = at(1000))),
        ("revoked", every(|key| key.revoked = Some(at(2000)))),
        ("weak", weak),
    ];
    all.into_iter().map(|(name, keyring)| (name.to_owned(), json!(keyring))).collect()
}

pub(super) fn keyring_named(input: &Value, keyrings: &Map<String, Value>) -> Keyring {
    let keyring = &keyrings[input["keyring"].as_str().unwrap()];
    Keyring::read(&canonical::to_vec(keyring).unwrap()).unwrap()
}

fn receipt_facts(verified: &VerifiedReceipt) -> Value {
    let VerifiedReceipt { statement, key, leaf, .. } = verified;
    let subjects: Vec<_> = statement
        .subject
        .iter()
        .map(|subject| json!([subject.name, subject.digest.sha256]))
        .collect();
    let RunResult { run, status, .. } = &statement.predicate;
    json!({ "key": key, "leaf": leaf, "run": run, "status": status, "subjects": subjects })
}

fn vector_input(keyring: &str, text: impl Into<Vec<u8>>) -> Value {
    json!({ "keyring": keyring, "text": String::from_utf8(text.into()).unwrap() })
}

fn envelope(keyring: &str, envelope: &Envelope) -> Value {
    vector_input(keyring, envelope.to_vec().unwrap())
}

pub(super) fn receipts() -> Vectors {
    Vectors {
        name: "receipts",
        about: "Receipts: a DSSE envelope with an in-toto statement, each with the keyring to \
                judge it by. `leaf` is the hash of its canonical form as an entry of a log.",
        keyrings: keyrings(),
        cases: [sound_receipts(), badly_signed(), invalid_statements()]
            .into_iter()
            .flatten()
            .collect(),
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let text = input["text"].as_str().unwrap().as_bytes();
            let verified = verify_receipt(text, &keyring);
            if let Ok(VerifiedReceipt { statement, .. }) = &verified {
                let signed = signed_intent(text, &keyring).unwrap();
                let RunResult { run, ref intent, .. } = statement.predicate;
                assert_eq!((signed.run, &signed.intent), (run, intent));
            }
            verified.map(|verified| receipt_facts(&verified)).map_err(|problem| problem.reason())
        },
    }
}

fn sound_receipts() -> Vec<Case> {
    let reverted = RunResult { status: Status::Reverted, ..run_result() };
    let stranger = TestKey::new(KeyRole::Result, 99);
    let mut unnamed = receipt();
    unnamed.signatures[0].key_id = String::new();
    let label = "?>?>~~~ÿÿ".to_owned();
    let other_alphabet = receipt_of(RunResult { label, ..run_result() }, &[&result_key()]);
    // Sorted by name, because the features of `serde_json` determine whether its maps keep or sort this order.
    let other_alphabet = json!({
        "aside": "not signed, and passed over",
        "payload": URL_SAFE.encode(&other_alphabet.payload),
        "payloadType": other_alphabet.payload_type,
        "signatures": [{
            "keyid": other_alphabet.signatures[0].key_id,
            "sig": URL_SAFE.encode(&other_alphabet.signatures[0].signature),
        }],
    });
    let more = sign_changed(|value| {
        value["more"] = json!(1);
        value["predicate"]["more"] = json!({ "a": [] });
    });
    vec![
        accepted("of a run that succeeded", envelope("now", &receipt())),
        accepted(
            "of a run that touched nothing",
            envelope("now", &receipt_of(short_result(), &[&result_key()])),
        ),
        accepted(
            "of a run that was taken back",
            envelope("now", &receipt_of(reverted, &[&result_key()])),
        ),
        accepted(
            "signed by two keys",
            envelope("two", &receipt_of(run_result(), &[&second(), &result_key()])),
        ),
        accepted(
            "an unknown signature beside",
            envelope("now", &receipt_of(run_result(), &[&stranger, &result_key()])),
        ),
        accepted("a signature that names no key", envelope("now", &unnamed)),
        accepted(
            "in the other alphabet of base64, and not in canonical form",
            vector_input("now", serde_json::to_string_pretty(&other_alphabet).unwrap()),
        ),
        accepted(
            "settled by a clock that was put back",
            envelope("now", &sign_changed(|value| value["predicate"]["settled"] = json!(at(30)))),
        ),
        accepted("a statement that says more than is known", envelope("now", &more)),
    ]
}

fn badly_signed() -> Vec<Case> {
    let stranger = TestKey::new(KeyRole::Result, 99);
    let lease = TestKey::new(KeyRole::Lease, 1);
    let mut wrong = receipt_of(run_result(), &[&result_key(), &second()]);
    wrong.signatures[1].signature[0] ^= 1;
    let mut other_name = receipt();
    other_name.signatures[0].key_id = second().key_id().to_string();
    let mut swapped = receipt();
    swapped.payload = payload(&Statement::new(short_result()));
    let mut other_type = receipt();
    other_type.payload_type = "application/json".to_owned();
    let mut anybody = receipt();
    anybody.signatures[0].key_id = neutral().id.to_string();
    anybody.signatures[0].signature = vec![0; 64];
    anybody.signatures[0].signature[0] = 1;
    let late = RunResult { settled: at(3601), ..run_result() };
    let mut many = receipt();
    many.signatures = vec![many.signatures[0].clone(); 17];
    vec![
        refused(
            "signed by an unknown key",
            "SIGNER_UNKNOWN",
            envelope("now", &receipt_of(run_result(), &[&stranger])),
        ),
        refused("not signed", "SIGNER_UNKNOWN", envelope("now", &receipt_of(run_result(), &[]))),
        refused(
            "signed by a key of another role",
            "KEY_OF_ANOTHER_ROLE",
            envelope("other roles", &receipt_of(run_result(), &[&lease])),
        ),
        refused(
            "another statement under the signature",
            "SIGNATURE_WRONG",
            envelope("now", &swapped),
        ),
        refused(
            "another payload type under the signature",
            "SIGNATURE_WRONG",
            envelope("now", &other_type),
        ),
        refused(
            "a wrong signature of a known key beside a sound one",
            "SIGNATURE_WRONG",
            envelope("two", &wrong),
        ),
        refused(
            "a signature under the name of another key",
            "SIGNATURE_WRONG",
            envelope("two", &other_name),
        ),
        refused("a key for which anybody can sign", "SIGNATURE_WRONG", envelope("weak", &anybody)),
        refused("more signatures than are checked", "TOO_MANY_SIGNATURES", envelope("now", &many)),
        refused(
            "settled after the time of the key",
            "KEY_EXPIRED",
            envelope("now", &receipt_of(late, &[&result_key()])),
        ),
        refused("the key had expired", "KEY_EXPIRED", envelope("expired", &receipt())),
        refused("the key was not valid yet", "KEY_NOT_YET_VALID", envelope("not yet", &receipt())),
        refused("the key is revoked", "KEY_REVOKED", envelope("revoked", &receipt())),
    ]
}

/// Modifies a statement, and then signs it with a valid signature.
fn sign_changed(change: impl Fn(&mut Value)) -> Envelope {
    let mut value: Value = canonical::read(&payload(&statement())).unwrap();
    change(&mut value);
    signed(PAYLOAD_TYPE, canonical::to_vec(&value).unwrap(), &[&result_key()])
}

fn invalid_statements() -> Vec<Case> {
    let (malformed, inconsistent) = ("RECEIPT_MALFORMED", "RECEIPT_INCONSISTENT");
    let other_type = "RECEIPT_OF_ANOTHER_TYPE";
    let whole = String::from_utf8(receipt().to_vec().unwrap()).unwrap();
    let text = String::from_utf8(payload(&statement())).unwrap();
    let twice = text.replacen("\"status\":", "\"status\":\"failed\",\"status\":", 1);
    let twice = signed(PAYLOAD_TYPE, twice.into_bytes(), &[&result_key()]);
    let typed = |payload_type: &str| signed(payload_type, payload(&statement()), &[&result_key()]);
    let other = json!(Digest::of(b"other"));
    let envelopes = [
        ("another payload type", other_type, typed("application/json")),
        (
            "another statement type",
            other_type,
            sign_changed(|value| value["_type"] = json!("https://in-toto.io/Statement/v0.1")),
        ),
        (
            "another predicate type",
            other_type,
            sign_changed(|value| value["predicateType"] = json!("urn:actum:run-result:2")),
        ),
        ("a change of keys", other_type, rotation_of(&rotated(7), &result_key())),
        ("a name twice in the statement", malformed, twice),
        (
            "no run",
            malformed,
            sign_changed(|value| drop(value["predicate"].as_object_mut().unwrap().remove("run"))),
        ),
        (
            "an unknown status",
            malformed,
            sign_changed(|value| value["predicate"]["status"] = json!("done")),
        ),
        (
            "a time in another form",
            malformed,
            sign_changed(|value| value["predicate"]["settled"] = json!("2026-11-21T12:00:32Z")),
        ),
        (
            "a path out of the workspace",
            malformed,
            sign_changed(|value| value["predicate"]["paths"][1]["path"] = json!("../lib.rs")),
        ),
        (
            "a subject less",
            inconsistent,
            sign_changed(|value| drop(value["subject"].as_array_mut().unwrap().pop())),
        ),
        (
            "another name of a subject",
            inconsistent,
            sign_changed(|value| value["subject"][1]["name"] = json!("src/other.rs")),
        ),
        (
            "another digest of a subject",
            inconsistent,
            sign_changed(|value| value["subject"][1]["digest"]["sha256"] = other.clone()),
        ),
        (
            "another digest of the change",
            inconsistent,
            sign_changed(|value| {
                value["predicate"]["change"] = other.clone();
                value["subject"][0]["digest"]["sha256"] = other.clone();
            }),
        ),
        (
            "files of a run that was taken back",
            inconsistent,
            sign_changed(|value| value["predicate"]["status"] = json!("reverted")),
        ),
        (
            "ended before it began",
            inconsistent,
            sign_changed(|value| value["predicate"]["ended"] = json!(at(29))),
        ),
    ];
    let texts = [
        ("nothing", "".to_owned()),
        ("an empty object", "{}".to_owned()),
        ("a name twice in the envelope", whole.replacen('{', "{\"payload\":\"\",", 1)),
        ("base64 without its padding", whole.replacen("==\"", "\"", 1)),
        ("a comma too many", whole.replacen("}]", "},]", 1)),
        ("text behind it", format!("{whole}x")),
    ];
    let envelopes = envelopes
        .into_iter()
        .map(|(name, reason, signed)| refused(name, reason, envelope("now", &signed)));
    let texts = texts.into_iter().map(|(name, text)| {
        assert_ne!(text, whole, "{name}");
        refused(name, malformed, vector_input("now", text))
    });
    envelopes.chain(texts).collect()
}

pub(super) fn bundles() -> Vectors {
    Vectors {
        name: "bundles",
        about: "Receipts with the proof that they are in their log: the receipt, an inclusion \
                proof, and the signed checkpoint that it leads to.",
        keyrings: keyrings(),
        cases: bundle_cases(),
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let verified = verify_bundle(input["text"].as_str().unwrap().as_bytes(), &keyring);
            let verified = verified.map_err(|problem| problem.reason())?;
            let inclusion = &verified.inclusion;
            let mut result = receipt_facts(&verified.receipt);
            result["log"] = json!({
                "origin": inclusion.origin,
                "index": inclusion.index,
                "size": inclusion.size,
                "root": inclusion.root,
                "key": inclusion.key,
            });
            Ok(result)
        },
    }
}

fn bundle_cases() -> Vec<Case> {
    let with = |keyring: &str, change: &dyn Fn(&mut ReceiptBundle)| {
        let mut bundle = receipt_bundle_of(receipt());
        change(&mut bundle);
        vector_input(keyring, bundle.to_vec().unwrap())
    };
    let stranger = TestKey::new(KeyRole::Result, 99);
    let two = receipt_bundle_of(receipt_of(run_result(), &[&result_key(), &stranger]));
    let other_log = Log::of_size(6);
    let checkpoint = |origin: &str, key: &TestKey| note(&other_log.checkpoint(origin), &[key]);
    let text = String::from_utf8(receipt_bundle_of(receipt()).to_vec().unwrap()).unwrap();
    vec![
        accepted("in its log", with("now", &|_| {})),
        accepted(
            "with an unknown signature that is in the log too",
            vector_input("now", two.to_vec().unwrap()),
        ),
        accepted(
            "fields that are not known",
            vector_input("now", text.replacen("{\"format\"", "{\"aside\":1,\"format\"", 1)),
        ),
        refused("its first signature alone is in the log", "PROOF_OTHER_ROOT", {
            let mut bundle = two.clone();
            bundle.receipt.signatures.pop();
            vector_input("now", bundle.to_vec().unwrap())
        }),
        refused("a place further on", "PROOF_LENGTH", with("now", &|bundle| bundle.index = 4)),
        refused("the place before", "PROOF_OTHER_ROOT", with("now", &|bundle| bundle.index = 2)),
        refused("no such place", "PROOF_NO_ENTRY", with("now", &|bundle| bundle.index = 6)),
        refused(
            "the place of its intent",
            "RECEIPT_BEFORE_INTENT",
            with("now", &|bundle| bundle.index = 1),
        ),
        refused(
            "a proof about another size",
            "PROOF_OF_ANOTHER_SIZE",
            with("now", &|bundle| bundle.size = 7),
        ),
        refused(
            "another hash",
            "PROOF_OTHER_ROOT",
            with("now", &|bundle| bundle.hashes[0] = Digest::of(b"other")),
        ),
        refused(
            "a checkpoint of another tree",
            "PROOF_OTHER_ROOT",
            with("now", &|bundle| bundle.checkpoint = checkpoint(ORIGIN, &checkpoint_key())),
        ),
        refused(
            "a checkpoint of another log",
            "PROOF_OF_ANOTHER_LOG",
            with("now", &|bundle| bundle.checkpoint = checkpoint(OTHER_ORIGIN, &checkpoint_key())),
        ),
        refused(
            "a checkpoint that nobody known signed",
            "SIGNER_UNKNOWN",
            with("now", &|bundle| bundle.checkpoint = checkpoint(ORIGIN, &stranger)),
        ),
        refused(
            "no checkpoint",
            "CHECKPOINT_MALFORMED",
            with("now", &|bundle| bundle.checkpoint.clear()),
        ),
        refused(
            "a changed receipt",
            "SIGNATURE_WRONG",
            with("now", &|bundle| bundle.receipt.payload.push(b' ')),
        ),
        refused("the result key had expired", "KEY_EXPIRED", with("expired", &|_| {})),
        refused("the keys are revoked", "KEY_REVOKED", with("revoked", &|_| {})),
        refused(
            "a later version",
            "BUNDLE_OF_ANOTHER_FORMAT",
            vector_input("now", text.replace("actum.receipt/1", "actum.receipt/2")),
        ),
        refused(
            "no proof",
            "BUNDLE_MALFORMED",
            vector_input("now", text.replace("\"proof\"", "\"prose\"")),
        ),
        refused("not JSON", "BUNDLE_MALFORMED", vector_input("now", text.replacen('{', "", 1))),
    ]
}

pub(super) fn rotations() -> Vectors {
    let by = |key: &TestKey| envelope("two", &rotation_of(&rotated(7), key));
    let with = |change: &dyn Fn(&mut actum_record::ledger::KeyRotated)| {
        let mut rotation = rotated(7);
        change(&mut rotation);
        envelope("now", &rotation_of(&rotation, &result_key()))
    };
    let other = TestKey::new(KeyRole::Result, 8).public_key();
    Vectors {
        name: "rotations",
        about: "Changes of keys: the entry KEY_ROTATED of a log, an envelope that the old key \
                signed.",
        keyrings: keyrings(),
        cases: vec![
            accepted("signed by the key that goes", with(&|_| {})),
            refused("signed by another key", "ROTATION_NOT_BY_THE_OLD_KEY", by(&second())),
            refused(
                "signed by a key of another role",
                "ROTATION_NOT_BY_THE_OLD_KEY",
                by(&checkpoint_key()),
            ),
            refused(
                "signed by the key that comes",
                "SIGNER_UNKNOWN",
                by(&TestKey::new(KeyRole::Result, 7)),
            ),
            refused(
                "of another role than the old key",
                "KEY_OF_ANOTHER_ROLE",
                with(&|rotation| rotation.role = KeyRole::Lease),
            ),
            refused(
                "another key than is named",
                "ROTATION_INCONSISTENT",
                with(&|rotation| rotation.public = other),
            ),
            refused(
                "to itself",
                "ROTATION_INCONSISTENT",
                envelope("now", &rotation_of(&rotated(1), &result_key())),
            ),
            refused(
                "after the time of the old key",
                "KEY_EXPIRED",
                with(&|rotation| rotation.time = at(3601)),
            ),
            refused(
                "a later version",
                "ROTATION_OF_ANOTHER_TYPE",
                with(&|rotation| rotation.format = "actum.key-rotated/2".to_owned()),
            ),
            refused("a receipt", "ROTATION_OF_ANOTHER_TYPE", envelope("now", &receipt())),
        ],
        judge: |input, keyrings| {
            let keyring = keyring_named(input, keyrings);
            let verified = verify_rotation(input["text"].as_str().unwrap().as_bytes(), &keyring);
            let rotation = verified.map_err(|problem| problem.reason())?.rotation;
            Ok(json!({ "old": rotation.old, "new": rotation.new, "public": rotation.public }))
        },
    }
}
