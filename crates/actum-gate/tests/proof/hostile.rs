//! Malicious texts are rejected with a reason, quickly and without a panic.

use actum_gate::decision::Bundle;
use actum_gate::{verify_bundle, verify_checkpoint, verify_receipt, verify_rotation};
use actum_record::keyring::{Keyring, KeyringError};
use actum_record::receipt::PAYLOAD_TYPE;

use crate::material::{keyring, receipt, receipt_bundle_of, result_key, signed};

const SIZE: usize = 10 << 20;

/// Returns texts of about ten megabytes that are JSON, or almost JSON.
fn texts() -> Vec<(&'static str, Vec<u8>)> {
    let of = |part: &str| part.repeat(SIZE / part.len());
    let mut names = String::from("{");
    (0..SIZE / 16).for_each(|number| names += &format!("\"n{number:09}\":1,"));
    let digits = of("9");
    [
        ("arrays in arrays", of("[")),
        ("objects in objects", of("{\"a\":")),
        ("arrays in arrays, closed", of("[") + &of("]")),
        ("an array of numbers", format!("[{}0]", of("0,"))),
        ("an array of arrays", format!("[{}[]]", of("[],"))),
        ("one name many times", format!("{{{}\"a\":1}}", of("\"a\":1,"))),
        ("many names", names + "\"z\":1}"),
        ("a string", format!("\"{}\"", of("a"))),
        ("escapes", format!("\"{}\"", of("\\u0041"))),
        ("half characters", format!("\"{}\"", of("\\ud800"))),
        ("digits", digits.clone()),
        ("digits behind a point", format!("0.{digits}")),
        ("an exponent", format!("1e{digits}")),
        ("spaces", of(" ")),
        ("line feeds", of("\n")),
        ("quotes", of("\"")),
        ("NUL", of("\0")),
    ]
    .into_iter()
    .map(|(name, text)| (name, text.into_bytes()))
    .collect()
}

/// FE-14
#[test]
fn ten_megabyte_inputs_are_rejected_with_a_reason() {
    let keyring = keyring();
    for (name, text) in texts() {
        let problem = verify_receipt(&text, &keyring).unwrap_err();
        let reasons = [
            problem.reason(),
            verify_bundle(&text, &keyring).unwrap_err().reason(),
            verify_rotation(&text, &keyring).unwrap_err().reason(),
            verify_checkpoint(&text, &keyring).unwrap_err().reason(),
        ];
        assert_eq!(reasons[0], "RECEIPT_MALFORMED", "{name}");
        assert!(
            ["BUNDLE_MALFORMED", "BUNDLE_OF_ANOTHER_FORMAT"].contains(&reasons[1]),
            "{name}: {reasons:?}"
        );
        assert_eq!(reasons[2..], ["ROTATION_MALFORMED", "CHECKPOINT_MALFORMED"], "{name}");
        assert_eq!(Keyring::read(&text), Err(KeyringError::TooLarge), "{name}");
        assert!(Bundle::read(&text).is_err(), "{name}");
        let message = problem.to_string();
        assert!(message.len() < 400, "{name}: a message of {} bytes", message.len());
    }
}

/// FE-14: not even the holder of a key may be able to crash a verifier.
#[test]
fn validly_signed_ten_megabyte_payloads_are_rejected_with_a_reason() {
    let keyring = keyring();
    for (name, text) in texts() {
        let envelope = signed(PAYLOAD_TYPE, text, &[&result_key()]).to_vec().unwrap();
        let reason = verify_receipt(&envelope, &keyring).unwrap_err().reason();
        assert!(
            ["RECEIPT_MALFORMED", "RECEIPT_OF_ANOTHER_TYPE"].contains(&reason),
            "{name}: {reason}"
        );
    }
}

#[test]
fn ten_megabytes_inside_an_envelope_or_bundle_are_rejected_with_a_reason() {
    let keyring = keyring();
    let sound = String::from_utf8(receipt().to_vec().unwrap()).unwrap();
    let base64 = "QUFB".repeat(SIZE / 4);
    let many = "{\"keyid\":\"a\",\"sig\":\"AAAA\"},".repeat(SIZE / 28);
    let unnamed = "{\"sig\":\"AAAA\"},".repeat(15);
    let cases = [
        sound.replacen("\"payload\":\"", &format!("\"payload\":\"{base64}"), 1),
        sound.replacen("\"sig\":\"", &format!("\"sig\":\"{base64}"), 1),
        sound.replacen("\"keyid\":\"", &format!("\"keyid\":\"{base64}"), 1),
        sound.replacen("\"payloadType\":\"", &format!("\"payloadType\":\"{base64}"), 1),
        sound.replacen("\"signatures\":[", &format!("\"signatures\":[{many}"), 1),
        sound.replacen("\"signatures\":[", &format!("\"signatures\":[{unnamed}"), 1).replacen(
            "\"payload\":\"",
            &format!("\"payload\":\"{base64}"),
            1,
        ),
    ];
    for (number, text) in cases.iter().enumerate() {
        assert_ne!(*text, sound);
        let problem = verify_receipt(text.as_bytes(), &keyring).unwrap_err();
        assert!(problem.to_string().len() < 400, "{number}: {}", problem.reason());
    }
    let mut bundle = receipt_bundle_of(receipt());
    bundle.hashes = vec![bundle.hashes[0]; 100_000];
    let text = bundle.to_vec().unwrap();
    assert_eq!(verify_bundle(&text, &keyring).unwrap_err().reason(), "PROOF_LENGTH");
}
