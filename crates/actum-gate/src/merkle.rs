//! Verifies Merkle proofs (RFC 6962, sections 2.1.1 and 2.1.2) with the algorithms of RFC 9162, sections
//! 2.1.3.2 and 2.1.4.2. [`actum_record::merkle`] creates the proofs.

use actum_core::Digest;
use actum_record::merkle::{empty_root, node_hash};

/// Reason why a Merkle proof is not valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// The log has no entry at the given index.
    #[error("the log has only {size} entries, so there is no entry {index}")]
    NoEntry {
        /// Index of the entry, starting at 0.
        index: u64,
        /// Number of entries in the log.
        size: u64,
    },
    /// The later log is shorter than the earlier one.
    #[error("a log of {old} entries cannot be the beginning of a log of {size} entries")]
    Shorter {
        /// Number of entries in the earlier log.
        old: u64,
        /// Number of entries in the later log.
        size: u64,
    },
    /// The number of hashes in the proof does not match the sizes of the logs.
    #[error("the proof has {found} hashes, which does not match the sizes of the logs")]
    Length {
        /// Number of hashes in the proof.
        found: usize,
    },
    /// The proof leads to a root that differs from the root of the log.
    #[error("the proof does not lead to the root of the log")]
    Root,
    /// The proof leads to a root that differs from the root of the earlier log.
    #[error("the proof does not lead to the root of the earlier log")]
    OldRoot,
}

impl ProofError {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::NoEntry { .. } => "PROOF_NO_ENTRY",
            Self::Shorter { .. } => "PROOF_LOG_SHORTER",
            Self::Length { .. } => "PROOF_LENGTH",
            Self::Root => "PROOF_OTHER_ROOT",
            Self::OldRoot => "PROOF_OTHER_OLD_ROOT",
        }
    }
}

/// Checks that entry `index` of a log with `size` entries and the given `root` has the hash `leaf`.
///
/// # Errors
/// Returns any [`ProofError`] except `Shorter` and `OldRoot`.
pub fn check_inclusion(
    leaf: &Digest,
    index: u64,
    size: u64,
    proof: &[Digest],
    root: &Digest,
) -> Result<(), ProofError> {
    if index >= size {
        return Err(ProofError::NoEntry { index, size });
    }
    let length = ProofError::Length { found: proof.len() };
    let (mut node, mut last) = (index, size - 1);
    let mut hash = *leaf;
    for beside in proof {
        if last == 0 {
            return Err(length);
        }
        if node & 1 == 1 || node == last {
            hash = node_hash(beside, &hash);
            // The last node of a level has no sibling, so it moves up until it is a right child.
            let rises = if node & 1 == 1 { 0 } else { node.trailing_zeros() };
            (node, last) = (node >> rises, last >> rises);
        } else {
            hash = node_hash(&hash, beside);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    match (last, hash == *root) {
        (0, true) => Ok(()),
        (0, false) => Err(ProofError::Root),
        (1.., _) => Err(length),
    }
}

/// Checks that the log of `old_size` entries is a prefix of the log of `size` entries, given the roots of both.
/// An empty log is a prefix of every log.
///
/// # Errors
/// Returns any [`ProofError`] except `NoEntry`.
pub fn check_consistency(
    old_size: u64,
    old_root: &Digest,
    size: u64,
    root: &Digest,
    proof: &[Digest],
) -> Result<(), ProofError> {
    if old_size > size {
        return Err(ProofError::Shorter { old: old_size, size });
    }
    let length = ProofError::Length { found: proof.len() };
    if old_size == 0 || old_size == size {
        let is_old = old_size == size || *old_root == empty_root();
        return match (proof.is_empty(), is_old, size == 0 && *root != empty_root()) {
            (false, _, _) => Err(length),
            (true, false, _) => Err(ProofError::OldRoot),
            (true, true, true) => Err(ProofError::Root),
            (true, true, false) if old_size == size && old_root != root => Err(ProofError::OldRoot),
            (true, true, false) => Ok(()),
        };
    }
    // If the old log is a complete subtree, the proof omits the hash of that subtree.
    let whole = old_size.is_power_of_two().then_some(*old_root);
    let mut hashes = whole.into_iter().chain(proof.iter().copied());
    let rises = (old_size - 1).trailing_ones();
    let (mut node, mut last) = ((old_size - 1) >> rises, (size - 1) >> rises);
    let mut hash = hashes.next().ok_or(length)?;
    let mut old = hash;
    for beside in hashes {
        if last == 0 {
            return Err(length);
        }
        if node & 1 == 1 || node == last {
            old = node_hash(&beside, &old);
            hash = node_hash(&beside, &hash);
            let rises = if node & 1 == 1 { 0 } else { node.trailing_zeros() };
            (node, last) = (node >> rises, last >> rises);
        } else {
            hash = node_hash(&hash, &beside);
        }
        (node, last) = (node >> 1, last >> 1);
    }
    match (last, old == *old_root, hash == *root) {
        (1.., _, _) => Err(length),
        (0, false, _) => Err(ProofError::OldRoot),
        (0, true, false) => Err(ProofError::Root),
        (0, true, true) => Ok(()),
    }
}
