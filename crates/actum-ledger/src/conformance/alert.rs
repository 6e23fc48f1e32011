//! Conformance rules about alerts.

use actum_core::Digest;
use actum_record::ledger::EntryKind;

use super::sample::{SampleRun, alert_raised, alert_seen};
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::new_entry::Appended;
use crate::store::Store;

/// Checks that only a raised alert can be marked as seen, any number of times.
pub(super) fn seen(store: &mut dyn Store) -> Outcome {
    let refusal = |index| Err(Refusal::NoAlert { index: Some(index) });
    let early = append(store, vec![alert_seen((1, Digest::of(b"nothing")))?])?;
    same("an alert must be raised before it is seen", early, refusal(1))?;
    let run = put(store, vec![SampleRun::numbered(1, 0).started()?])?;
    let raised = put(store, vec![alert_raised(1)?])?;
    let at = |appended: &[Appended]| appended.first().map(|entry| (entry.index, entry.leaf));
    let (Some(run), Some(raised)) = (at(&run), at(&raised)) else {
        return same("a run and an alert must add their entries", false, true);
    };
    let other = append(store, vec![alert_seen(run)?])?;
    same("an entry of another kind must not be seen as an alert", other, refusal(1))?;
    let other = append(store, vec![alert_seen((raised.0, run.1))?])?;
    same("an alert must be referred to by its hash", other, refusal(2))?;
    put(store, vec![alert_seen(raised)?])?;
    put(store, vec![alert_raised(2)?, alert_seen(raised)?])?;
    same(
        "raised alerts must be listed with the newest first",
        store.newest_of_kind(EntryKind::AlertRaised, None, 9)?,
        vec![4, 2],
    )?;
    same(
        "seen alerts must be listed with the newest first",
        store.newest_of_kind(EntryKind::AlertSeen, None, 9)?,
        vec![5, 3],
    )?;
    same("a refused request must not add an entry", store.size()?, 6)
}
