//! Verification of the signatures of entries. It covers key changes, entries that users signed, and receipts that are not
//! protected by a checkpoint.

use std::ops::Range;

use actum_record::ledger::EntryKind;

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{Snapshot, StoredBytes};

/// Function that verifies a signed note, and returns a message if the note is invalid.
pub type NoteCheck<'a> = dyn FnMut(&str) -> Result<(), String> + 'a;
/// Function that verifies the signed envelope of an entry of the given kind, and returns a message if it is invalid.
pub type EntryCheck<'a> = dyn FnMut(EntryKind, &[u8]) -> Result<(), String> + 'a;

/// Functions that verify signatures, provided by a caller that has the keys. They only need to check the signatures.
pub struct Checks<'a> {
    /// Function that is called for each checkpoint.
    pub note: &'a mut NoteCheck<'a>,
    /// Function that is called for entries in signed envelopes.
    ///
    /// Their kinds are `EFFECT_DONE`, `FILE_TASK_ENDED`, `KEY_ROTATED`, `PLAN_ANSWERED`, `CATALOG_CHANGED`,
    /// `HISTORY_FORGOTTEN`, `LEASE_GRANTED`, `LEASE_REVOKED` and `SLO_WAIVED`.
    pub entry: &'a mut EntryCheck<'a>,
    /// Receipts for which `entry` is called. For signed entries of other kinds, it is always called.
    pub receipts: Receipts,
}

/// Selection of the receipts whose own signatures are checked. Results of file tasks are treated as receipts, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipts {
    /// Only receipts after the newest valid checkpoint, because no other signature protects them.
    NotCovered,
    /// All receipts in the log.
    All,
}

/// Condition under which the signature of an entry is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SignatureKind {
    /// The entry has no signature.
    Unsigned,
    /// The entry has a signature, which is always checked.
    Always,
    /// The entry is a receipt, so [`Checks::receipts`] determines whether its signature is checked.
    Receipt,
}

impl SignatureKind {
    /// Returns the condition for entries of a kind.
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
    /// Checks the signature of an entry if its kind has one, and reports an invalid signature as a finding.
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
            Err(message) => self.add_finding(Subject::Entry(index), message),
        }
    }
}

/// Checks the signatures of entries in a log with `size` entries, of which checkpoints cover the first `covered`.
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
            // Skip invalid entries, because they have already been reported.
            let kind = entry.kind.and_then(EntryKind::of_name);
            if let (Some(kind), StoredBytes::Whole(body)) = (kind, entry.body) {
                fold.signature(checks, kind, entry.index, body);
            }
            progress(entry.index.saturating_add(1));
        })?;
    }
    Ok(())
}
