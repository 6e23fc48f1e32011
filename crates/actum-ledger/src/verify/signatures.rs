//! The signatures of entries: of all changes of keys, of all that people signed, and of receipts that no
//! checkpoint vouches for.

use std::ops::Range;

use actum_record::ledger::EntryKind;

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::link::Link;
use crate::sqlite::{Unpacker, fault};

/// Whether a signed note counts; where it does not, why.
pub type NoteCheck<'a> = dyn FnMut(&str) -> Result<(), String> + 'a;
/// The same of the envelope that an entry of this kind is.
pub type EntryCheck<'a> = dyn FnMut(EntryKind, &[u8]) -> Result<(), String> + 'a;

/// What looks at signatures: whoever knows the keys. Nothing but them has to be looked at.
pub struct Checks<'a> {
    /// Of each checkpoint.
    pub note: &'a mut NoteCheck<'a>,
    /// Of `EFFECT_DONE`, `KEY_ROTATED`, `PLAN_ANSWERED`, `CATALOG_CHANGED` and `HISTORY_FORGOTTEN`, which alone are
    /// envelopes.
    pub entry: &'a mut EntryCheck<'a>,
    /// Which receipts it is asked about; about the others it is always asked.
    pub receipts: Receipts,
}

/// Of which receipts the own signatures are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipts {
    /// Of those behind the newest sound checkpoint: nothing else signed says that they are what they were.
    NotCovered,
    /// Of all.
    All,
}

impl Fold {
    /// Looks at the signature of an entry, where it has one.
    pub(crate) fn signature(
        &mut self,
        checks: &mut Checks<'_>,
        kind: EntryKind,
        index: u64,
        body: &[u8],
    ) {
        let is_receipt = match kind {
            EntryKind::LogStarted
            | EntryKind::EffectStarted
            | EntryKind::PlanRefused
            | EntryKind::PlanQueued
            | EntryKind::ActionStarted
            | EntryKind::ActionEnded
            | EntryKind::AlertRaised
            | EntryKind::AlertSeen => return,
            EntryKind::KeyRotated
            | EntryKind::PlanAnswered
            | EntryKind::CatalogChanged
            | EntryKind::HistoryForgotten => false,
            EntryKind::EffectDone => true,
        };
        match (checks.entry)(kind, body) {
            Ok(()) if is_receipt => self.receipt(),
            Ok(()) => {}
            Err(message) => self.tell(Subject::Entry(index), message),
        }
    }
}

/// Looks at those of a log of `size` entries, of which checkpoints cover `covered`.
pub(super) fn check(
    link: &Link,
    fold: &mut Fold,
    (covered, size): (u64, u64),
    checks: &mut Checks<'_>,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LedgerError> {
    let from = match checks.receipts {
        Receipts::NotCovered => covered,
        Receipts::All => 0,
    };
    let always = fold.key_entries().iter().chain(fold.signed()).copied();
    let always = always.filter(|index| *index < from);
    let mut ranges: Vec<Range<u64>> = always.map(|index| index..index.saturating_add(1)).collect();
    ranges.push(from..size);
    let mut ranges = ranges.into_iter();
    let looked = ranges.try_for_each(|range| rows(link, fold, range, checks, progress));
    looked.map_err(|error| fault("read", &link.path, error))
}

/// What is no entry was told before.
fn rows(
    link: &Link,
    fold: &mut Fold,
    range: Range<u64>,
    checks: &mut Checks<'_>,
    progress: &mut dyn FnMut(u64),
) -> rusqlite::Result<()> {
    let sql = "SELECT seq, kind, body FROM entry WHERE seq >= ? AND seq < ? ORDER BY seq";
    let mut statement = link.connection.prepare_cached(sql)?;
    let mut rows = statement.query([range.start, range.end])?;
    let mut unpacker = Unpacker::default();
    while let Some(row) = rows.next()? {
        let index: u64 = row.get(0)?;
        let kind = row.get_ref(1)?.as_str().ok().and_then(EntryKind::of_name);
        let stored = row.get_ref(2)?.as_blob().ok();
        let body = stored.and_then(|stored| unpacker.unpack(stored).ok());
        if let (Some(kind), Some(body)) = (kind, body) {
            fold.signature(checks, kind, index, body);
        }
        progress(index.saturating_add(1));
    }
    Ok(())
}
