//! Sealed packets contain neither file contents nor credentials.

use actum_agent::packet::FinderPacket;
use actum_agent::{AgentVerdict, DispatchEnvelope, decide, seal_packet};
use actum_core::canonical;
use serde_json::json;

use crate::fixture::{harmless, match_packet, with_packet};

/// AEC-11, EX-20
#[test]
fn sealed_packet_replaces_contents_and_credentials_with_digests() {
    let key = ["glpat", "-", "xY7k2Qw9Zr4Tn8Lp3Vb6"].concat();
    let fields = json!({
        "path": "notes.txt", "executable": true, "count": 7, "content": "x",
        "text": "one\ntwo", "long": "y".repeat(1025), "token": key,
        "list": ["one", 2], "lines": ["one", "two\nthree"], "edits": [{"find": "a"}],
    });
    let mut packet = match_packet();
    packet.required_fields = fields.as_object().unwrap().clone();
    let object = FinderPacket::Match(packet).to_object().unwrap();
    let sealed = seal_packet(&object).unwrap();
    let kept: Vec<&str> = sealed["required_fields"]
        .as_object()
        .unwrap()
        .iter()
        .filter(|(name, value)| **value == fields[name.as_str()])
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(kept, ["count", "executable", "list", "path"]);
    let content = &sealed["required_fields"]["content"];
    assert_eq!((&content["bytes"], &content["json"]), (&json!(1), &json!(null)));
    assert_eq!(content["sha256"], json!(actum_core::Digest::of(b"x")), "the digest of the text");
    assert_eq!(sealed["required_fields"]["edits"]["json"], json!(true));
    let text = String::from_utf8(canonical::to_vec(&sealed).unwrap()).unwrap();
    assert!(!text.contains("glpat") && !text.contains("yyy") && !text.contains("two"), "{text}");
    assert!(FinderPacket::read(text.as_bytes()).is_ok());
}

/// AEC-11, EX-20
#[test]
fn sealing_removes_credentials_anywhere_and_hashes_invalid_packets() {
    let key = ["glpat", "-", "xY7k2Qw9Zr4Tn8Lp3Vb6"].concat();
    let text = |object: &serde_json::Map<String, serde_json::Value>| {
        String::from_utf8(canonical::to_vec(&seal_packet(object).unwrap()).unwrap()).unwrap()
    };
    let mut packet = match_packet();
    packet.required_fields = [(key.clone(), json!(1))].into_iter().collect();
    packet.head.idempotency_key = key.clone();
    let valid = FinderPacket::Match(packet).to_object().unwrap();
    assert!(FinderPacket::read(&canonical::to_vec(&valid).unwrap()).is_ok());
    let sealed = text(&valid);
    assert!(!sealed.contains("glpat") && sealed.contains("sha256:"), "{sealed}");
    let mut bogus = valid;
    bogus.insert("packet_type".to_owned(), json!("Bogus"));
    bogus.insert("body".to_owned(), json!("words of a file"));
    let sealed = seal_packet(&bogus).unwrap();
    assert_eq!(sealed.keys().collect::<Vec<_>>(), ["bytes", "sha256"]);
}

/// AEC-2, AEC-3: the envelope is built from the packet that was sealed, with its original values.
#[test]
fn envelope_is_built_only_from_the_packet_that_was_sealed() {
    let mut packet = match_packet();
    packet.required_fields = json!({"path": "a", "content": "text"}).as_object().unwrap().clone();
    let object = FinderPacket::Match(packet.clone()).to_object().unwrap();
    let sealed = FinderPacket::read(&canonical::to_vec(&seal_packet(&object).unwrap()).unwrap());
    let bundle = with_packet(harmless(), &sealed.unwrap());
    let decision = decide(&bundle);
    assert_eq!(decision.verdict, AgentVerdict::Dispatch);
    let envelope = DispatchEnvelope::new(&bundle, &decision, &object, None).unwrap();
    assert_eq!(envelope.required_fields, packet.required_fields);
    let mut other = object.clone();
    other["required_fields"]["content"] = json!("another text");
    assert_eq!(DispatchEnvelope::new(&bundle, &decision, &other, None), None);
}
