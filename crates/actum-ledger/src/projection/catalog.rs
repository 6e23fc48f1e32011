//! What is known of the catalog: which change of it was the last (AA-13).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Whether a change of the catalog can stand where `newest` is the last one, or the beginning of a log in which
/// there is none. So what was signed once is appended once, and nobody brings it back.
///
/// # Errors
/// [`Refusal`] where it follows another entry.
pub(crate) fn follows(newest: Option<(u64, Digest)>, facts: &EntryFacts) -> Result<(), Refusal> {
    match (facts.follows, newest) {
        (follows, newest) if follows == newest => Ok(()),
        (follows, newest) => {
            let (index, newest) = (follows.unzip().0, newest.unzip().0);
            Err(Refusal::OtherCatalog { index, newest })
        }
    }
}
