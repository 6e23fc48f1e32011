//! What is known of alerts: that there was one which somebody says to have seen (EX-18).

use actum_core::Digest;
use actum_record::ledger::EntryFacts;

use crate::error::Refusal;

/// Whether an entry can say that an alert was seen, where `leaf` is the hash of the entry that it names, if that
/// raised one. That it was seen may be said more than once.
///
/// # Errors
/// [`Refusal`] where it names another entry.
pub(crate) fn follows(leaf: Option<Digest>, facts: &EntryFacts) -> Result<(), Refusal> {
    match facts.follows {
        Some((_, named)) if leaf == Some(named) => Ok(()),
        follows => Err(Refusal::NoAlert { index: follows.unzip().0 }),
    }
}
