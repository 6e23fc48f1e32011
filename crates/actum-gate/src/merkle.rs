//! Verification of Merkle proofs (RFC 6962, sections 2.1.1 and 2.1.2, by the algorithms of RFC 9162, sections
//! 2.1.3.2 and 2.1.4.2). [`actum_record::merkle`] makes them.

use actum_core::Digest;
use actum_record::merkle::{empty_root, node_hash};

/// Reason why a proof is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// Entry that is not in the log.
    #[error("the log of {size} entries has no entry {index}")]
    NoEntry {
        /// Index of the entry, counted from 0.
        index: u64,
        /// Size of the log.
        size: u64,
    },
    /// Later log that is shorter than the earlier one.
    #[error("the log of {old} entries is not the beginning of one of {size}")]
    Shorter {
        /// Size of the earlier log.
        old: u64,
        /// Size of the later log.
        size: u64,
    },
    /// Number of hashes that does not match these sizes.
    #[error("the proof has {found} hashes, which is the wrong number for these sizes")]
    Length {
        /// Number of hashes.
        found: usize,
    },
    /// Root that differs from the one to be proven.
    #[error("the proof does not lead to the root of the log")]
    Root,
    /// Root that differs from that of the earlier log.
    #[error("the proof does not lead to the root of the log as it was")]
    OldRoot,
}

impl ProofError {
    /// Returns the permanent name of the problem.
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

/// Checks that the entry `index` of a log of `size` entries has the hash `leaf`, given the `root` of that log.
///
/// # Errors
/// [`ProofError`], except `Shorter` and `OldRoot`.
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
            // The last node of a level moves up until it is a right child.
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

/// Checks that the log of `old_size` entries is a prefix of the log of `size` entries, given both roots. An
/// empty log is a prefix of every log.
///
/// # Errors
/// [`ProofError`], except `NoEntry`.
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
    // A proof for a log that is one complete subtree omits that subtree.
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
