//! Recorded runs, as the ledger proves them.

use std::fmt;

use actum_core::canonical::describe;
use actum_core::{Digest, RunId, Status};
use actum_gate::decision::Undone;
use actum_gate::{VerifiedReceipt, signed_intent, verify_receipt};
use actum_ledger::{LedgerError, Log, RunRow};
use actum_record::keyring::Keyring;
use actum_record::ledger::EffectStarted;
use actum_record::merkle::leaf_hash;
use actum_record::receipt::{EntryRef, Statement};
use actum_record::signer::KeyId;

use crate::records::Records;

/// Record of a run, compared and verified before any of it is shown: the owner of a ledger file can write to it.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Index of the intent, counted from 0.
    pub started: u64,
    /// Intent: the bytes whose hash is in the tree and in the receipt.
    pub intent: EffectStarted,
    /// Receipt, with the key that signed it. `None` until the end of the run is recorded.
    pub receipt: Option<(Receipt, KeyId)>,
}

impl Records {
    /// Returns the record of a run, if any.
    ///
    /// # Errors
    /// `Ledger`, `Damaged` among them.
    pub fn recorded(&self, run: RunId) -> crate::error::Result<Option<RecordedRun>> {
        Ok(self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| RecordedRun::read(log, self.keyring(), row)).transpose()
        })?)
    }

    /// Returns the facts about a run that will be undone, if it is recorded.
    ///
    /// # Errors
    /// As [`recorded`](Self::recorded).
    pub(crate) fn undone(&self, run: RunId) -> crate::error::Result<Option<Undone>> {
        let undone = self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| facts_for_undo(log, self.keyring(), &row)).transpose()
        });
        match undone {
            // A damaged record proves nothing. Its run can still be undone, as a new change.
            Err(LedgerError::Damaged { .. }) => Ok(None),
            undone => Ok(undone?),
        }
    }
}

/// Returns the facts that decide how the undo of a run is judged, from the intent and the signed receipt of `row`.
///
/// # Errors
/// As [`RecordedRun::read`].
pub fn facts_for_undo(
    log: &dyn Log,
    keyring: &Keyring,
    row: &RunRow,
) -> Result<Undone, LedgerError> {
    let (intent, leaf) = intent(log, row)?;
    if let Some(done) = row.done {
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(done, error);
        let envelope = log.sound_entry(done)?.body;
        let signed = signed_intent(&envelope, keyring).map_err(|error| damaged(&error))?;
        if (signed.run, signed.intent.index, signed.intent.leaf) != (row.run, row.started, leaf) {
            return Err(damaged(&format_args!("it is not the receipt of the run {}", row.run)));
        }
    }
    Ok(Undone { actor: intent.actor, approved: intent.approval.is_some() })
}

/// Returns the intent of `row`, and its leaf hash.
fn intent(log: &dyn Log, row: &RunRow) -> Result<(EffectStarted, Digest), LedgerError> {
    let damaged = |error: &dyn fmt::Display| LedgerError::entry(row.started, error);
    let body = log.sound_entry(row.started)?.body;
    let intent: EffectStarted =
        serde_json::from_slice(&body).map_err(|error| damaged(&describe(&error)))?;
    if intent.run != row.run || intent.workspace != row.workspace {
        return Err(damaged(&format_args!("it is not the intent of the run {}", row.run)));
    }
    Ok((intent, leaf_hash(&body)))
}

impl RecordedRun {
    /// Reads the run of `row`. The keys are the ones that the reader trusts.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` if an entry has changed, or no key of the keyring signed the receipt.
    pub fn read(log: &dyn Log, keyring: &Keyring, row: RunRow) -> Result<Self, LedgerError> {
        let (index, run) = (row.started, row.run);
        let (intent, leaf_of_intent) = intent(log, &row)?;
        let Some(done) = row.done else {
            return Ok(Self { started: index, intent, receipt: None });
        };
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(done, error);
        let envelope = log.sound_entry(done)?.body;
        let verified = verify_receipt(&envelope, keyring).map_err(|error| damaged(&error))?;
        let VerifiedReceipt { statement, key, leaf, .. } = verified;
        if statement.predicate.run != run {
            return Err(damaged(&format_args!("it is not the receipt of the run {run}")));
        }
        let named = &statement.predicate.intent;
        if (named.index, named.leaf) != (index, leaf_of_intent) {
            return Err(damaged(&format_args!(
                "it was signed over another intent than entry {index} is now"
            )));
        }
        let receipt = Receipt { index: done, leaf, envelope, statement };
        Ok(Self { started: index, intent, receipt: Some((receipt, key)) })
    }
}

/// Signed end of a run, as the ledger holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Index in the log, counted from 0.
    pub index: u64,
    /// Hash as a leaf of the Merkle tree.
    pub leaf: Digest,
    /// Exact bytes: a DSSE envelope.
    pub envelope: Vec<u8>,
    /// Statement in the envelope.
    pub statement: Statement,
}

impl Receipt {
    /// Returns the reference to its entry in the log of this name.
    pub(crate) fn entry(&self, origin: &str) -> EntryRef {
        EntryRef { origin: origin.to_owned(), index: self.index, leaf: self.leaf }
    }

    /// Returns the status of the run.
    pub fn status(&self) -> Status {
        self.statement.predicate.status
    }
}
