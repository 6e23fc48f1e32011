//! Proofs about a log, from the hashes that it keeps. Their verifier is in `actum-gate`.

use actum_core::Digest;
use actum_record::merkle;

use crate::error::LedgerError;
use crate::log::Log;

/// Returns the proof that entry `index` is in the log as it was when it had `size` entries. `None`
/// if it is not, or if there are fewer.
///
/// # Errors
/// [`LedgerError`] if the log cannot be read.
pub fn inclusion(log: &dyn Log, size: u64, index: u64) -> Result<Option<Vec<Digest>>, LedgerError> {
    if size > log.size()? {
        return Ok(None);
    }
    merkle::inclusion_proof(size, index, |node| log.node(node))
}

/// Returns the proof that the log of `old` entries is the beginning of the log of `size` entries.
/// `None` if `old` is 0 or more than `size`, or if there are fewer.
///
/// # Errors
/// See [`inclusion`].
pub fn consistency(log: &dyn Log, size: u64, old: u64) -> Result<Option<Vec<Digest>>, LedgerError> {
    if size > log.size()? {
        return Ok(None);
    }
    merkle::consistency_proof(size, old, |node| log.node(node))
}
