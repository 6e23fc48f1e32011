//! Merkle proofs at the limits of their sizes.

use actum_core::Digest;
use actum_gate::{ProofError, check_consistency, check_inclusion};
use actum_record::merkle::{empty_root, leaf_hash};

use crate::material::Log;

/// RFC 6962, sections 2.1.1 and 2.1.2
#[test]
fn generated_proofs_verify_at_every_size() {
    let log = Log::of_size(40);
    for size in 1..=40 {
        let root = log.root_of(size);
        for index in 0..size {
            let leaf = leaf_hash(index.to_string().as_bytes());
            let proof = log.inclusion(size, index);
            assert_eq!(check_inclusion(&leaf, index, size, &proof, &root), Ok(()));
            let other = leaf_hash(b"other");
            let error = check_inclusion(&other, index, size, &proof, &root);
            assert_eq!(error, Err(ProofError::Root), "{index} of {size}");
        }
        for old in 1..=size {
            let (old_root, proof) = (log.root_of(old), log.consistency(size, old));
            assert_eq!(check_consistency(old, &old_root, size, &root, &proof), Ok(()));
            let other = leaf_hash(b"other");
            let error = check_consistency(old, &other, size, &root, &proof);
            assert!(error.is_err(), "{old} of {size}");
        }
    }
}

#[test]
fn every_log_is_consistent_with_the_empty_log_and_itself() {
    let (log, empty) = (Log::of_size(3), empty_root());
    let (root, other) = (log.root(), Digest::of(b"other"));
    assert_eq!(check_consistency(0, &empty, 0, &empty, &[]), Ok(()));
    assert_eq!(check_consistency(0, &empty, 3, &root, &[]), Ok(()));
    assert_eq!(check_consistency(3, &root, 3, &root, &[]), Ok(()));
    let refused = [
        (0, &other, 3, &root, ProofError::OldRoot),
        (0, &other, 0, &other, ProofError::Root),
        (0, &empty, 0, &other, ProofError::Root),
        (3, &other, 3, &root, ProofError::OldRoot),
        (4, &root, 3, &root, ProofError::Shorter { old: 4, size: 3 }),
    ];
    for (old, old_root, size, root, error) in refused {
        assert_eq!(check_consistency(old, old_root, size, root, &[]), Err(error), "{old} {size}");
    }
    let long = ProofError::Length { found: 1 };
    assert_eq!(check_consistency(0, &empty, 3, &root, &[other]), Err(long));
    assert_eq!(check_consistency(3, &root, 3, &root, &[other]), Err(long));
}

#[test]
fn extreme_sizes_and_proof_lengths_are_rejected_without_overflow() {
    let digest = Digest::of(b"root");
    let many = vec![digest; 100_000];
    for (index, size) in [(0, u64::MAX), (u64::MAX - 1, u64::MAX), (1 << 63, u64::MAX)] {
        for length in [0, 1, 63, 64, 65, 100_000] {
            let proof = &many[..length];
            assert!(check_inclusion(&digest, index, size, proof, &digest).is_err());
            assert!(check_consistency(index, &digest, size, &digest, proof).is_err());
            assert!(check_consistency(index + 1, &digest, size, &Digest::of(b"a"), proof).is_err());
        }
    }
    let error = ProofError::NoEntry { index: u64::MAX, size: u64::MAX };
    assert_eq!(check_inclusion(&digest, u64::MAX, u64::MAX, &[], &digest), Err(error));
}
