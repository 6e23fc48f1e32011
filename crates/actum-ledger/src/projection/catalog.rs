//! Catalog in the projection: its last change (AA-13).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Checks that a change of the catalog follows `newest`, which is the last one, or the beginning of
/// a log without one. So a signed change is appended once, and cannot be replayed.
///
/// # Errors
/// [`Refusal`] if it follows another entry.
pub(crate) fn follows(newest: Option<(u64, Digest)>, facts: &EntryFacts) -> Result<(), Refusal> {
    match (facts.follows, newest) {
        (follows, newest) if follows == newest => Ok(()),
        (follows, newest) => {
            let (index, newest) = (follows.unzip().0, newest.unzip().0);
            Err(Refusal::OtherCatalog { index, newest })
        }
    }
}
