//! Chain documents can be read and verified by an auditor, but not used as a token.

use actum_lease::{LeaseChain, LeaseError, Token, read_chain, verify, verify_chain};
use actum_record::keyring::{KeyEntry, Keyring};
use actum_record::lease::LeaseTerms;
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use biscuit_auth::format::schema;
use serde_json::Value;

use crate::fixture::{
    NEXT, Random, SECRET, accept, encode, granted, key, keyring, least, now, seconds, terms,
};

fn document() -> Vec<u8> {
    let narrower = LeaseTerms { uses: Some(1), ..LeaseTerms::default() };
    let token = granted(&terms()).attenuate(&narrower).unwrap();
    verify(&token, &keyring(), now()).unwrap().document
}

/// FE-17
#[test]
fn chain_document_yields_the_verified_blocks() {
    let mut random = Random(5);
    for _ in 0..100 {
        let mut token = granted(&if random.happens(1, 2) { terms() } else { least() });
        for _ in 0..random.below(7) {
            let terms = LeaseTerms { uses: Some(random.below(9)), ..LeaseTerms::default() };
            token = token.attenuate(&terms).unwrap();
        }
        if random.happens(1, 2) {
            token = token.seal().unwrap();
        }
        let lease = verify(&token, &keyring(), now()).unwrap();
        let chain = LeaseChain { blocks: lease.blocks, key: lease.key };
        assert_eq!(read_chain(&lease.document).unwrap(), chain);
        assert_eq!(verify_chain(&lease.document, &keyring(), now()).unwrap(), chain);
    }
}

/// FE-17: no record contains a usable token.
#[test]
fn a_chain_document_cannot_be_used_as_a_token() {
    let document = document();
    assert_eq!(Token::read(&document).unwrap_err(), LeaseError::NotBase64);
    let text = URL_SAFE.encode(&document);
    assert_eq!(Token::read(text.as_bytes()).unwrap_err(), LeaseError::NotBiscuit);
    // The document contains all blocks, but not the proof of possession of the token.
    let value: Value = serde_json::from_slice(&document).unwrap();
    let decode =
        |block: &Value, field: &str| STANDARD.decode(block[field].as_str().unwrap()).unwrap();
    let block = |block: &Value| schema::SignedBlock {
        block: decode(block, "block"),
        next_key: schema::PublicKey { algorithm: 0, key: decode(block, "next_key") },
        signature: decode(block, "signature"),
        external_signature: None,
        version: Some(1),
    };
    let proofs = [
        schema::proof::Content::NextSecret(NEXT.to_vec()),
        schema::proof::Content::FinalSignature(decode(&value["blocks"][1], "signature")),
    ];
    for proof in proofs {
        let rebuilt = schema::Biscuit {
            root_key_id: Some(crate::fixture::hint(&key(SECRET))),
            authority: block(&value["blocks"][0]),
            blocks: vec![block(&value["blocks"][1])],
            proof: schema::Proof { content: Some(proof) },
        };
        assert_eq!(accept(&encode(&rebuilt)).unwrap_err(), LeaseError::Signature);
    }
}

/// FE-17
#[test]
fn a_chain_document_with_any_bit_flipped_is_rejected() {
    let document = document();
    for index in 0..document.len() {
        for bit in 0..8 {
            let mut flipped = document.clone();
            flipped[index] ^= 1 << bit;
            assert!(verify_chain(&flipped, &keyring(), now()).is_err(), "byte {index}, bit {bit}");
        }
    }
}

/// FE-17: each lease has exactly one document, identified by its digest.
#[test]
fn malformed_or_noncanonical_chain_document_is_rejected() {
    let text = String::from_utf8(document()).unwrap();
    let cases = [
        text.replace("{\"blocks\"", "{ \"blocks\""),
        format!("{text}\n"),
        text.replace("\"version\":1", "\"version\":0"),
        text.replace("lease-chain/1", "lease-chain/2"),
        text.replace("\"key\"", "\"more\":1,\"key\""),
        text.replace("\"format\":\"actum.lease-chain/1\",", ""),
        "{}".to_owned(),
        String::new(),
        format!(
            "{{\"blocks\":[],\"format\":\"actum.lease-chain/1\",\"key\":\"{}\"}}",
            key(SECRET).id
        ),
    ];
    for text in cases {
        let error = read_chain(text.as_bytes()).unwrap_err();
        assert_eq!(error.reason(), "LEASE_MALFORMED", "{text}");
    }
}

/// D-7
#[test]
fn chain_is_verified_with_the_key_valid_at_that_time() {
    let document = document();
    let right = key(SECRET);
    let expired = KeyEntry { not_after: Some(now()), ..right.clone() };
    let ring = Keyring::new(vec![expired]);
    assert!(verify_chain(&document, &ring, now()).is_ok());
    let later = verify_chain(&document, &ring, seconds(1_800_000_001)).unwrap_err();
    assert_eq!(later.reason(), "KEY_EXPIRED");
    let revoked = Keyring::new(vec![KeyEntry { revoked: Some(now()), ..right }]);
    assert_eq!(verify_chain(&document, &revoked, now()).unwrap_err().reason(), "KEY_REVOKED");
    let none = Keyring::new(vec![key([1; 32])]);
    assert_eq!(verify_chain(&document, &none, now()).unwrap_err().reason(), "LEASE_KEY_UNKNOWN");
    let other = KeyEntry { public: key([1; 32]).public, ..key(SECRET) };
    let other = verify_chain(&document, &Keyring::new(vec![other]), now());
    assert_eq!(other.unwrap_err(), LeaseError::Signature);
}
