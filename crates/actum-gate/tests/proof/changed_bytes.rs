//! Changes each byte of a small receipt, bundle, checkpoint and keyring in several ways. The changed document must be rejected or
//! have the same meaning.

use std::collections::BTreeSet;

use actum_gate::{
    signed_intent, verify_bundle, verify_checkpoint, verify_receipt, verify_rotation,
};
use actum_record::keyring::Keyring;

use crate::material::{
    Log, ORIGIN, checkpoint_key, keyring, note, receipt_bundle_of, receipt_of, result_key, rotated,
    rotation_of, short_result,
};

/// Returns the byte with each bit flipped, and characters that have a meaning in JSON, base64 or a note.
fn others(byte: u8) -> impl Iterator<Item = u8> {
    let bits = (0..8).map(move |bit| byte ^ (1 << bit));
    bits.chain(*b"\"\\ \n-_+/=0,:{}[]nA\x00\xff").filter(move |&other| other != byte)
}

/// Returns all accepted modifications: the position, the new byte, and the result.
fn accepted<T>(text: &[u8], judge: impl Fn(&[u8]) -> Option<T>) -> Vec<(usize, u8, T)> {
    let mut accepted = Vec::new();
    for at in 0..text.len() {
        let mut changed = text.to_vec();
        for other in others(text[at]) {
            changed[at] = other;
            accepted.extend(judge(&changed).map(|result| (at, other, result)));
        }
    }
    accepted
}

/// Returns the range of `part` within `text`.
fn span(text: &[u8], part: &str) -> std::ops::Range<usize> {
    let text = std::str::from_utf8(text).unwrap();
    let start = text.find(part).unwrap();
    start..start + part.len()
}

/// Whether both bytes encode the same six bits in the two base64 alphabets that DSSE accepts.
fn is_same_in_base64(one: u8, other: u8) -> bool {
    [(b'+', b'-'), (b'/', b'_')].contains(&(one, other))
}

/// FE-14. Only the name of the field `keyid` may change. A signature without a key id is checked against all keys, and matches the
/// same one.
#[test]
fn receipt_with_a_changed_byte_is_rejected_or_equivalent() {
    let text = receipt_of(short_result(), &[&result_key()]).to_vec().unwrap();
    let keyring = keyring();
    let sound = verify_receipt(&text, &keyring).unwrap();
    let mut places = BTreeSet::new();
    for (at, other, result) in accepted(&text, |text| verify_receipt(text, &keyring).ok()) {
        assert_eq!((&result.statement, &result.key), (&sound.statement, &sound.key));
        if is_same_in_base64(text[at], other) {
            assert_eq!(result.leaf, sound.leaf);
            continue;
        }
        assert_ne!(result.leaf, sound.leaf, "another entry of a log, and so in no proof");
        places.insert(at);
    }
    let keyid = span(&text, "keyid");
    assert_eq!(places, keyid.collect());
}

/// FE-14
#[test]
fn intent_of_a_receipt_with_a_changed_byte_is_rejected_or_equal() {
    let text = receipt_of(short_result(), &[&result_key()]).to_vec().unwrap();
    let keyring = keyring();
    let sound = signed_intent(&text, &keyring).unwrap();
    let predicate = verify_receipt(&text, &keyring).unwrap().statement.predicate;
    assert_eq!((sound.run, &sound.intent), (predicate.run, &predicate.intent));
    for (at, _, intent) in accepted(&text, |text| signed_intent(text, &keyring).ok()) {
        assert_eq!(intent, sound, "byte {at}");
    }
    let unsigned = receipt_of(short_result(), &[]).to_vec().unwrap();
    assert_eq!(signed_intent(&unsigned, &keyring).unwrap_err().reason(), "SIGNER_UNKNOWN");
}

/// FE-14, AEC-11. Hexadecimal digits in the proof may be upper case.
#[test]
fn receipt_bundle_with_a_changed_byte_is_rejected_or_equivalent() {
    let bundle = receipt_bundle_of(receipt_of(short_result(), &[&result_key()]));
    let (text, keyring) = (bundle.to_vec().unwrap(), keyring());
    let sound = verify_bundle(&text, &keyring).unwrap();
    let hashes: Vec<_> = bundle.hashes.iter().map(|hash| span(&text, &hash.to_string())).collect();
    for (at, other, result) in accepted(&text, |text| verify_bundle(text, &keyring).ok()) {
        assert_eq!(result, sound);
        if is_same_in_base64(text[at], other) {
            continue;
        }
        assert!(hashes.iter().any(|hash| hash.contains(&at)), "byte {at}");
        assert_eq!(text[at].to_ascii_uppercase(), other);
    }
}

#[test]
fn checkpoint_with_a_changed_byte_is_rejected() {
    let text = note(&Log::of_size(5).checkpoint(ORIGIN), &[&checkpoint_key()]);
    let keyring = keyring();
    assert!(verify_checkpoint(text.as_bytes(), &keyring).is_ok());
    let accepted = accepted(text.as_bytes(), |text| verify_checkpoint(text, &keyring).ok());
    assert_eq!(accepted, []);
}

#[test]
fn key_rotation_with_a_changed_byte_is_rejected_or_equivalent() {
    let text = rotation_of(&rotated(7), &result_key()).to_vec().unwrap();
    let keyring = keyring();
    let sound = verify_rotation(&text, &keyring).unwrap();
    let keyid = span(&text, "keyid");
    for (at, _, result) in accepted(&text, |text| verify_rotation(text, &keyring).ok()) {
        assert_eq!(result, sound);
        assert!(keyid.contains(&at), "byte {at}");
    }
}

/// Keyrings are trusted input and therefore not signed. A changed key is always detected; a changed time is not, but it affects
/// only the validity of its key.
#[test]
fn keyring_with_a_changed_byte_is_rejected_or_differs_only_in_times() {
    let keyring = keyring();
    let text = keyring.to_vec().unwrap();
    let bundle = receipt_bundle_of(receipt_of(short_result(), &[&result_key()])).to_vec().unwrap();
    let sound = verify_bundle(&bundle, &keyring).unwrap();
    let parts = keyring
        .keys()
        .iter()
        .flat_map(|key| [key.not_before.to_string(), key.not_after.unwrap().to_string()]);
    let parts: BTreeSet<String> = parts.collect();
    let whole = std::str::from_utf8(&text).unwrap();
    let times: Vec<_> = parts
        .iter()
        .flat_map(|part| whole.match_indices(part.as_str()))
        .map(|(start, part)| start..start + part.len())
        .collect();
    let changed = accepted(&text, |text| Keyring::read(text).ok());
    assert!(!changed.is_empty());
    for (at, _, changed) in changed {
        assert!(times.iter().any(|time| time.contains(&at)), "byte {at}");
        let keys = |keyring: &Keyring| -> Vec<_> {
            keyring.keys().iter().map(|key| (key.id.clone(), key.role, key.public)).collect()
        };
        assert_eq!(keys(&changed), keys(&keyring));
        match verify_bundle(&bundle, &changed) {
            Ok(result) => assert_eq!(result, sound),
            Err(problem) => {
                assert!(["KEY_EXPIRED", "KEY_NOT_YET_VALID"].contains(&problem.reason()));
            }
        }
    }
}
