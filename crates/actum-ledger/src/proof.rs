//! Merkle proofs about a log, computed from its stored hashes. The proofs are verified in `actum-gate`.

use actum_core::Digest;
use actum_record::merkle;

use crate::error::LedgerError;
use crate::log::Log;

/// Returns the proof that the log included entry `index` when it had `size` entries. Returns `None` if `index` is not
/// below `size`, or if the log has fewer than `size` entries.
///
/// # Errors
/// Returns [`LedgerError`] if the log cannot be read.
pub fn inclusion(log: &dyn Log, size: u64, index: u64) -> Result<Option<Vec<Digest>>, LedgerError> {
    if size > log.size()? {
        return Ok(None);
    }
    merkle::inclusion_proof(size, index, |node| log.node(node))
}

/// Returns the proof that the log with `size` entries starts with the log of `old` entries. Returns `None` if `old` is 0
/// or greater than `size`, or if the log has fewer than `size` entries.
///
/// # Errors
/// See [`inclusion`].
pub fn consistency(log: &dyn Log, size: u64, old: u64) -> Result<Option<Vec<Digest>>, LedgerError> {
    if size > log.size()? {
        return Ok(None);
    }
    merkle::consistency_proof(size, old, |node| log.node(node))
}
