//! Granting, attenuating and sealing leases, and the keys that are accepted.

use std::fmt::Write as _;

use actum_core::Timestamp;
use actum_lease::{GrantError, LeaseError, Token, grant, verify, write_checks};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::lease::{LeaseTermError, LeaseTerms};
use actum_record::signer::{KeyId, KeyRole};

use crate::fixture::{
    SECRET, accept, bytes, decoded, encode, granted, hint, key, keyring, least, now, seconds, terms,
};

fn narrower() -> LeaseTerms {
    LeaseTerms {
        uses: Some(1),
        agent: Some("planner/copier".parse().unwrap()),
        ..LeaseTerms::default()
    }
}

/// FE-17
#[test]
fn attenuated_lease_is_verified_with_its_terms() {
    let token = granted(&terms()).attenuate(&narrower()).unwrap();
    let lease = verify(&token, &keyring(), now()).unwrap();
    let found: Vec<&LeaseTerms> = lease.blocks.iter().map(|block| &block.terms).collect();
    assert_eq!(found, [&terms(), &narrower()]);
    assert_eq!(lease.key, key(SECRET).id);
    assert_eq!(lease.blocks, token.blocks());
}

/// FE-17
#[test]
fn token_text_may_have_outer_whitespace_and_no_padding() {
    let token = granted(&least());
    let text = token.to_text();
    let padded = format!(" \t{}\r\n", &*text);
    for text in [padded.as_str(), text.trim_end_matches('=')] {
        let read = Token::read(text.as_bytes()).unwrap();
        assert_eq!(read.to_text(), token.to_text());
    }
    for wrong in ["", "=", "%", &format!("{}!", &*text), &format!("{} {}", &text[..8], &text[8..])]
    {
        let error = Token::read(wrong.as_bytes()).unwrap_err();
        assert_eq!(error.reason(), "LEASE_MALFORMED", "{wrong}");
    }
}

/// FE-17: no log contains a usable token.
#[test]
fn printed_token_shows_only_the_id_of_its_last_block() {
    let token = granted(&least());
    assert_eq!(format!("{token:?}"), format!("Token({})", token.blocks()[0].id));
}

/// FE-17
#[test]
fn sealed_token_cannot_be_attenuated_or_sealed_again() {
    let sealed = granted(&terms()).seal().unwrap();
    assert!(sealed.is_sealed());
    assert!(verify(&sealed, &keyring(), now()).is_ok());
    assert_eq!(sealed.attenuate(&narrower()).unwrap_err(), GrantError::Sealed);
    assert_eq!(sealed.seal().unwrap_err(), GrantError::Sealed);
    let mut forged = decoded(&sealed);
    forged.proof = decoded(&granted(&terms())).proof;
    assert_eq!(accept(&encode(&forged)).unwrap_err(), LeaseError::Signature);
}

/// FE-17
#[test]
fn invalid_lease_terms_are_not_granted() {
    let incomplete = LeaseTerms { expires: None, ..terms() };
    let expected = GrantError::Terms { source: LeaseTermError::Incomplete { field: "expires" } };
    assert_eq!(grant(&SECRET, &incomplete).unwrap_err(), expected);
    for (micros, is_held) in [(1_000_000, true), (1_000_001, false), (0, true), (-1_000_000, false)]
    {
        let given = Timestamp::from_micros(micros);
        let granted = grant(&SECRET, &LeaseTerms { expires: Some(given), ..terms() });
        let expected = GrantError::Time { field: "expires", given };
        assert_eq!(granted.err(), (!is_held).then_some(expected), "{micros}");
    }
    let last = Timestamp::from_micros(i64::MAX);
    assert!(grant(&SECRET, &LeaseTerms { expires: Some(last), ..terms() }).is_ok());
    let token = granted(&terms());
    assert_eq!(token.attenuate(&LeaseTerms::default()).unwrap_err(), GrantError::Empty);
    let empty = LeaseTerms { capabilities: Some([].into()), ..LeaseTerms::default() };
    assert_eq!(token.attenuate(&empty).unwrap_err().reason(), "LEASE_TERMS_INVALID");
}

/// D-7
#[test]
fn lease_key_validity_is_checked_at_verification_time() {
    let token = granted(&terms());
    let right = key(SECRET);
    let with = |entry: KeyEntry| verify(&token, &Keyring::new(vec![entry]), now());
    let early = KeyEntry { not_before: seconds(1_800_000_001), ..right.clone() };
    let expired = KeyEntry { not_after: Some(seconds(1_799_999_999)), ..right.clone() };
    let revoked = KeyEntry { revoked: Some(seconds(1)), ..right.clone() };
    let cases = [(early, "KEY_NOT_YET_VALID"), (expired, "KEY_EXPIRED"), (revoked, "KEY_REVOKED")];
    for (entry, reason) in cases {
        assert_eq!(with(entry).unwrap_err().reason(), reason);
    }
    // A key with the public half of the lease key but another role is not a lease key.
    let other_role = KeyEntry { role: KeyRole::Result, ..right.clone() };
    assert_eq!(with(other_role).unwrap_err().reason(), "LEASE_KEY_UNKNOWN");
    assert!(with(right).is_ok());
}

/// D-7
#[test]
fn lease_of_an_unknown_key_is_rejected_even_with_a_known_hint() {
    let foreign = grant(&[3; 32], &terms()).unwrap();
    let expected = LeaseError::KeyUnknown { hint: Some(hint(&key([3; 32]))) };
    assert_eq!(verify(&foreign, &keyring(), now()).unwrap_err(), expected);
    let mut forged = decoded(&foreign);
    forged.root_key_id = Some(hint(&key(SECRET)));
    assert_eq!(accept(&encode(&forged)).unwrap_err(), LeaseError::Signature);
    forged.root_key_id = None;
    assert_eq!(accept(&encode(&forged)).unwrap_err(), LeaseError::KeyUnknown { hint: None });
}

/// D-7
#[test]
fn both_keys_with_the_same_hint_are_tried() {
    let right = key(SECRET);
    let id = format!("\"{}00000000\"", &right.id.as_str()[..8]);
    let id: KeyId = serde_json::from_str(&id).unwrap();
    let other = KeyEntry { id, ..key([4; 32]) };
    for keys in [vec![other.clone(), right.clone()], vec![right.clone(), other.clone()]] {
        let lease = verify(&granted(&terms()), &Keyring::new(keys), now()).unwrap();
        assert_eq!(lease.key, right.id);
    }
    let error = verify(&granted(&terms()), &Keyring::new(vec![other]), now()).unwrap_err();
    assert_eq!(error, LeaseError::Signature);
}

/// D-7: the error about a revoked key is returned only for leases that the key actually signed, not for forged ones.
#[test]
fn forged_lease_is_not_reported_as_signed_by_a_revoked_key() {
    let mut forged = decoded(&grant(&[3; 32], &terms()).unwrap());
    forged.root_key_id = Some(hint(&key(SECRET)));
    let forged = crate::fixture::read(&encode(&forged)).unwrap();
    let revoked = KeyEntry { revoked: Some(seconds(1)), ..key(SECRET) };
    let error = verify(&forged, &Keyring::new(vec![revoked]), now()).unwrap_err();
    assert!(!matches!(error, LeaseError::Key { source: KeyProblem::Revoked { .. } }));
    assert_eq!(error, LeaseError::Signature);
}

/// FE-17
#[test]
fn written_checks_match_the_documented_form() {
    let page = include_str!("../../../../docs/lease-format.md");
    let mut expected = String::from("```datalog\n");
    expected.write_str(&write_checks(&terms())).unwrap();
    expected.push_str("```\n");
    assert!(page.contains(&expected), "{expected}");
}

/// FE-17: a lease has the ids of all its blocks, so revoking a lease also revokes every lease attenuated from it.
#[test]
fn attenuated_lease_keeps_the_ids_of_earlier_blocks() {
    let token = granted(&terms());
    let child = token.attenuate(&narrower()).unwrap();
    let other = token.attenuate(&narrower()).unwrap();
    assert_eq!(child.blocks()[0], token.blocks()[0]);
    assert_ne!(child.blocks()[1].id, other.blocks()[1].id);
    assert_ne!(bytes(&child), bytes(&other));
}
