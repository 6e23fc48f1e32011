//! Requirements on a store for alerts.

use actum_core::Digest;
use actum_record::ledger::EntryKind;

use super::sample::{SampleRun, alert_raised, alert_seen};
use super::{Outcome, append, put, same};
use crate::error::Refusal;
use crate::new_entry::Appended;
use crate::store::Store;

/// Only an alert can be seen, and it can be seen any number of times.
pub(super) fn seen(store: &mut dyn Store) -> Outcome {
    let refusal = |index| Err(Refusal::NoAlert { index: Some(index) });
    let early = append(store, vec![alert_seen((1, Digest::of(b"nothing")))?])?;
    same("none is seen that was not raised", early, refusal(1))?;
    let run = put(store, vec![SampleRun::numbered(1, 0).started()?])?;
    let raised = put(store, vec![alert_raised(1)?])?;
    let at = |appended: &[Appended]| appended.first().map(|entry| (entry.index, entry.leaf));
    let (Some(run), Some(raised)) = (at(&run), at(&raised)) else {
        return same("both are there", false, true);
    };
    let other = append(store, vec![alert_seen(run)?])?;
    same("what raised none is none", other, refusal(1))?;
    let other = append(store, vec![alert_seen((raised.0, run.1))?])?;
    same("it is named by its hash, too", other, refusal(2))?;
    put(store, vec![alert_seen(raised)?])?;
    put(store, vec![alert_raised(2)?, alert_seen(raised)?])?;
    same("those raised", store.newest_of_kind(EntryKind::AlertRaised, None, 9)?, vec![4, 2])?;
    same("those seen", store.newest_of_kind(EntryKind::AlertSeen, None, 9)?, vec![5, 3])?;
    same("nothing came of what was refused", store.size()?, 6)
}
