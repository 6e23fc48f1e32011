//! Alerts in the projection: which of them a user has seen (EX-18).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Checks an `ALERT_SEEN`, where `leaf` is the hash of the entry that it names, if that raised an
/// alert. An alert may be seen more than once.
///
/// # Errors
/// [`Refusal`] if it names another entry.
pub(crate) fn follows(leaf: Option<Digest>, facts: &EntryFacts) -> Result<(), Refusal> {
    match facts.follows {
        Some((_, named)) if leaf == Some(named) => Ok(()),
        follows => Err(Refusal::NoAlert { index: follows.unzip().0 }),
    }
}
