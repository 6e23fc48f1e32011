//! Contents of a confirmation proof, and its comparison during a replay.

use actum_agent::confirmation::{
    AmbiguousReason, Lexicon, ParseProof, ProofError, ProofMismatch, Reply,
};
use actum_core::Digest;
use actum_record::ledger::ConfirmationOutcome;
use serde_json::{Value, json};

use crate::fixture::{lexicon, tag};

fn prompt() -> Digest {
    Digest::of(b"prompt")
}

fn plan() -> Digest {
    Digest::of(b"plan")
}

fn proof(language: &str, utterance: &str) -> ParseProof {
    let language = &tag(language);
    let reply = Reply { language, utterance, prompt: prompt(), plan_fingerprint: plan() };
    let proof = ParseProof::new(lexicon(), &reply);
    assert_eq!(proof.verify(lexicon(), &reply), Ok(()));
    proof
}

/// AEC-5
#[test]
fn confirmation_proof_holds_the_utterance_only_as_a_digest() {
    let bytes = proof("de-at", " JA! ").to_vec().unwrap();
    let expected = json!({
        "entry": "de",
        "format": "actum.confirmation-proof/1",
        "language": "de-AT",
        "lexicon": lexicon().reference(),
        "outcome": "CONFIRMED",
        "plan_fingerprint": plan(),
        "prompt": prompt(),
        "reason": null,
        "token": "ja",
        "utterance": Digest::of(b" JA! "),
    });
    assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
    assert_eq!(ParseProof::read(&bytes).unwrap(), proof("de-AT", " JA! "));
    assert!(!String::from_utf8(bytes).unwrap().contains("JA"));
}

/// AEC-5
#[test]
fn confirmation_proof_records_the_outcome_and_why_it_is_ambiguous() {
    let rejected = proof("de", "nein");
    assert_eq!(rejected.outcome, ConfirmationOutcome::Rejected);
    assert_eq!((rejected.token.as_deref(), rejected.reason), (Some("nein"), None));
    for (language, utterance, entry, reason) in [
        ("de", "okay", Some("de"), AmbiguousReason::BannedAcknowledgement),
        ("de", "yes", Some("de"), AmbiguousReason::AnotherLanguage),
        ("xx", "yes", None, AmbiguousReason::UnknownLanguage),
    ] {
        let proof = proof(language, utterance);
        assert_eq!(proof.outcome, ConfirmationOutcome::Ambiguous);
        assert_eq!((proof.token.as_deref(), proof.reason), (None, Some(reason)));
        assert_eq!(proof.entry.as_deref(), entry);
    }
}

/// AEC-5, AEC-11
#[test]
fn a_replay_names_the_first_difference() {
    let language = &tag("de");
    let reply = Reply { language, utterance: "ja", prompt: prompt(), plan_fingerprint: plan() };
    let proof = ParseProof::new(lexicon(), &reply);
    let verify = |reply: Reply<'_>| proof.verify(lexicon(), &reply);
    let other = &tag("nl");
    for (changed, mismatch) in [
        (Reply { language: other, ..reply }, ProofMismatch::Language),
        (Reply { utterance: "Ja", ..reply }, ProofMismatch::Utterance),
        (Reply { utterance: "nein", ..reply }, ProofMismatch::Utterance),
        (Reply { prompt: plan(), ..reply }, ProofMismatch::Prompt),
        (Reply { plan_fingerprint: prompt(), ..reply }, ProofMismatch::Plan),
    ] {
        assert_eq!(verify(changed), Err(mismatch));
    }

    // One extra space changes the digest of the lexicon but none of its words.
    let bytes = [lexicon().bytes(), b" "].concat();
    let spaced = Lexicon::read(&bytes).unwrap();
    assert_eq!(proof.verify(&spaced, &reply), Err(ProofMismatch::Lexicon));

    let forged = [
        ParseProof { token: Some("jo".to_owned()), ..proof.clone() },
        ParseProof { token: None, ..proof.clone() },
        ParseProof { entry: Some("nl".to_owned()), ..proof.clone() },
        ParseProof { outcome: ConfirmationOutcome::Rejected, ..proof.clone() },
        ParseProof { reason: Some(AmbiguousReason::Empty), ..proof.clone() },
    ];
    for forged in forged {
        assert_eq!(forged.verify(lexicon(), &reply), Err(ProofMismatch::Result));
    }
    let newer = ParseProof { format: "actum.confirmation-proof/2".to_owned(), ..proof };
    assert_eq!(newer.verify(lexicon(), &reply), Err(ProofMismatch::Format));
}

/// AEC-5
#[test]
fn a_confirmation_cannot_be_forged_from_an_ambiguous_answer() {
    for utterance in ["okay", "yes", "j\u{430}", "ja, aber", ""] {
        let language = &tag("de");
        let reply = Reply { language, utterance, prompt: prompt(), plan_fingerprint: plan() };
        let forged =
            ParseProof { utterance: Digest::of(utterance.as_bytes()), ..proof("de", "ja") };
        assert_eq!(forged.verify(lexicon(), &reply), Err(ProofMismatch::Result), "{utterance}");
    }
}

/// AEC-5
#[test]
fn a_proof_is_read_strictly() {
    let bytes = proof("de", "ja").to_vec().unwrap();
    let value: Value = serde_json::from_slice(&bytes).unwrap();
    let read = |value: &Value| ParseProof::read(&serde_json::to_vec(value).unwrap());
    assert!(matches!(ParseProof::read(b"{"), Err(ProofError::Syntax { .. })));
    for name in value.as_object().unwrap().keys() {
        // A missing optional member would be read as `null`, and the document would then not be canonical.
        let mut less = value.clone();
        less.as_object_mut().unwrap().remove(name);
        let error = read(&less).unwrap_err();
        assert!(matches!(error, ProofError::Form { .. } | ProofError::NotCanonical), "{name}");
    }
    let mut more = value.clone();
    more["more"] = json!(1);
    assert!(matches!(read(&more), Err(ProofError::Form { .. })));
    let mut newer = value.clone();
    newer["format"] = json!("actum.confirmation-proof/2");
    assert!(matches!(read(&newer), Err(ProofError::Format { .. })));
    let mut spelled = value.clone();
    spelled["language"] = json!("DE");
    assert!(matches!(read(&spelled), Err(ProofError::NotCanonical)));
    spelled["language"] = json!("de_AT");
    assert!(matches!(read(&spelled), Err(ProofError::Form { .. })));
    let pretty = serde_json::to_vec_pretty(&value).unwrap();
    assert_eq!(ParseProof::read(&pretty), Err(ProofError::NotCanonical));
}
