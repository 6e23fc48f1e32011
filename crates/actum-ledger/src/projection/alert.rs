//! Rule for entries that mark an alert as seen by a user (EX-18).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Checks that an `ALERT_SEEN` entry refers to an alert. `leaf` is the hash of the entry that it refers to, or `None` if
/// that entry did not raise an alert. The same alert may be marked as seen several times.
///
/// # Errors
/// Returns [`Refusal::NoAlert`] if the entry does not refer to an alert, or states the wrong hash for it.
pub(crate) fn follows(leaf: Option<Digest>, facts: &EntryFacts) -> Result<(), Refusal> {
    match facts.follows {
        Some((_, named)) if leaf == Some(named) => Ok(()),
        follows => Err(Refusal::NoAlert { index: follows.unzip().0 }),
    }
}
