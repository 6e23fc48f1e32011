//! The signatures of entries: of all changes of keys, of all that people signed, and of receipts that no
//! checkpoint vouches for.

use std::ops::Range;

use actum_record::ledger::EntryKind;

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{Snapshot, StoredBytes};

/// Check of a signed note; fails with the reason why it does not count.
pub type NoteCheck<'a> = dyn FnMut(&str) -> Result<(), String> + 'a;
/// Check of the envelope that an entry of this kind is.
pub type EntryCheck<'a> = dyn FnMut(EntryKind, &[u8]) -> Result<(), String> + 'a;

/// Checks of signatures, by a caller who knows the keys. Only signatures have to be checked.
pub struct Checks<'a> {
    /// Check of each checkpoint.
    pub note: &'a mut NoteCheck<'a>,
    /// Check of `EFFECT_DONE`, `FILE_TASK_ENDED`, `KEY_ROTATED`, `PLAN_ANSWERED`,
    /// `CATALOG_CHANGED`, `HISTORY_FORGOTTEN`, `LEASE_GRANTED`, `LEASE_REVOKED` and `SLO_WAIVED`,
    /// which alone are envelopes.
    pub entry: &'a mut EntryCheck<'a>,
    /// Receipts that `entry` is called for; for the other kinds it is always called.
    pub receipts: Receipts,
}

/// Receipts, the results of file tasks among them, whose own signatures are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipts {
    /// Receipts behind the newest sound checkpoint: nothing else that is signed proves that they
    /// are unchanged.
    NotCovered,
    /// All of them.
    All,
}

/// Kind of the check of an entry's signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureKind {
    /// The entry has no signature.
    Unsigned,
    /// Always.
    Always,
    /// Depends on [`Checks::receipts`].
    Receipt,
}

impl SignatureKind {
    /// Returns how that of entries of a kind is.
    pub(crate) fn new(kind: EntryKind) -> Self {
        match kind {
            EntryKind::LogStarted
            | EntryKind::EffectStarted
            | EntryKind::PlanRefused
            | EntryKind::PlanQueued
            | EntryKind::ActionStarted
            | EntryKind::ActionEnded
            | EntryKind::AlertRaised
            | EntryKind::AlertSeen
            | EntryKind::FileTaskStarted
            | EntryKind::AgentExecution
            | EntryKind::AgentAccessDecided
            | EntryKind::AgentConfirmation
            | EntryKind::IntakeResolved => Self::Unsigned,
            EntryKind::KeyRotated
            | EntryKind::PlanAnswered
            | EntryKind::CatalogChanged
            | EntryKind::HistoryForgotten
            | EntryKind::LeaseGranted
            | EntryKind::LeaseRevoked
            | EntryKind::SloWaived => Self::Always,
            EntryKind::EffectDone | EntryKind::FileTaskEnded => Self::Receipt,
        }
    }
}

impl Fold {
    /// Checks the signature of an entry, if it has one.
    pub(crate) fn signature(
        &mut self,
        checks: &mut Checks<'_>,
        kind: EntryKind,
        index: u64,
        body: &[u8],
    ) {
        let signature = SignatureKind::new(kind);
        if signature == SignatureKind::Unsigned {
            return;
        }
        match (checks.entry)(kind, body) {
            Ok(()) if signature == SignatureKind::Receipt => self.receipt(),
            Ok(()) => {}
            Err(message) => self.tell(Subject::Entry(index), message),
        }
    }
}

/// Checks those of a log of `size` entries, of which checkpoints cover `covered`.
pub(super) fn check(
    log: &dyn Snapshot,
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
    for range in ranges {
        log.scan_entries(range, &mut |entry| {
            // Bytes that are no entry were reported before.
            let kind = entry.kind.and_then(EntryKind::of_name);
            if let (Some(kind), StoredBytes::Whole(body)) = (kind, entry.body) {
                fold.signature(checks, kind, entry.index, body);
            }
            progress(entry.index.saturating_add(1));
        })?;
    }
    Ok(())
}
