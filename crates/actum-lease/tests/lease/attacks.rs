//! Modified tokens: blocks are accepted only in the order in which they were signed.

use actum_lease::LeaseError;
use actum_record::lease::{LeaseTerms, Quotas};
use biscuit_auth::format::schema;

use crate::fixture::{accept, bytes, decoded, encode, granted, least, terms};

fn uses(uses: u64) -> LeaseTerms {
    LeaseTerms { uses: Some(uses), ..LeaseTerms::default() }
}

fn wall(wall_ms: u64) -> LeaseTerms {
    LeaseTerms {
        quotas: Quotas { wall_ms: Some(wall_ms), ..Quotas::default() },
        ..LeaseTerms::default()
    }
}

/// FE-17
#[test]
fn a_token_with_any_bit_flipped_is_rejected() {
    let token = granted(&terms()).attenuate(&uses(1)).unwrap();
    for token in [bytes(&token), bytes(&token.seal().unwrap())] {
        assert!(accept(&token).is_ok());
        for index in 0..token.len() {
            for bit in 0..8 {
                let mut flipped = token.clone();
                flipped[index] ^= 1 << bit;
                assert!(accept(&flipped).is_err(), "byte {index}, bit {bit}");
            }
        }
    }
}

/// FE-17
#[test]
fn truncated_token_is_rejected_at_every_length() {
    let token = bytes(&granted(&terms()).attenuate(&uses(1)).unwrap());
    for length in 0..token.len() {
        assert!(accept(&token[..length]).is_err(), "{length}");
    }
}

/// FE-17
#[test]
fn dropped_reordered_repeated_or_spliced_blocks_are_rejected() {
    let whole = granted(&least()).attenuate(&uses(1)).unwrap().attenuate(&wall(5)).unwrap();
    let other = granted(&least()).attenuate(&uses(9)).unwrap().attenuate(&wall(9)).unwrap();
    let sealed = decoded(&whole.seal().unwrap());
    let (whole, other) = (decoded(&whole), decoded(&other));
    type Attack = fn(&mut schema::Biscuit, &schema::Biscuit);
    let attacks: [(&str, Attack); 9] = [
        ("last dropped", |token, _| drop(token.blocks.pop())),
        ("middle dropped", |token, _| drop(token.blocks.remove(0))),
        ("all dropped", |token, _| token.blocks.clear()),
        ("reordered", |token, _| token.blocks.reverse()),
        ("repeated", |token, _| token.blocks.push(token.blocks[1].clone())),
        ("first replaced", |token, other| token.authority = other.authority.clone()),
        ("second replaced", |token, other| token.blocks[0] = other.blocks[0].clone()),
        ("last replaced", |token, other| token.blocks[1] = other.blocks[1].clone()),
        ("proof replaced", |token, other| token.proof = other.proof.clone()),
    ];
    for token in [whole, sealed] {
        assert!(accept(&encode(&token)).is_ok());
        for (name, attack) in attacks {
            let mut attacked = token.clone();
            attack(&mut attacked, &other);
            let error = accept(&encode(&attacked)).expect_err(name);
            // A moved block refers to other texts of the symbol table, so it may be rejected for its form before its signature is
            // checked.
            assert!(
                matches!(error, LeaseError::Signature | LeaseError::Form { .. }),
                "{name}: {error}"
            );
        }
    }
}

/// FE-17: the content of a block cannot be replaced by a less restrictive one.
#[test]
fn block_with_swapped_content_is_rejected() {
    let narrow = granted(&least()).attenuate(&uses(1)).unwrap();
    let wide = granted(&least()).attenuate(&uses(1_000)).unwrap();
    let (mut narrow, wide) = (decoded(&narrow), decoded(&wide));
    narrow.blocks[0].block = wide.blocks[0].block.clone();
    assert_eq!(accept(&encode(&narrow)).unwrap_err(), LeaseError::Signature);
}
