//! Rule for the order of catalog changes (AA-13).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Checks that a catalog change refers to `newest`, which is the latest catalog change, or the first entry of the log if
/// the catalog was never changed. This prevents a signed change from being appended again later.
///
/// # Errors
/// Returns [`Refusal::OtherCatalog`] if the change refers to a different entry.
pub(crate) fn follows(newest: Option<(u64, Digest)>, facts: &EntryFacts) -> Result<(), Refusal> {
    match (facts.follows, newest) {
        (follows, newest) if follows == newest => Ok(()),
        (follows, newest) => {
            let (index, newest) = (follows.unzip().0, newest.unzip().0);
            Err(Refusal::OtherCatalog { index, newest })
        }
    }
}
