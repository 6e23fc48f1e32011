//! Runs as recorded in the ledger, with verification of their intents and receipts.

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

/// Verified record of a run. Verification is needed because any process of the file's owner can modify the ledger.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Zero-based index of the ledger entry with the intent.
    pub started: u64,
    /// Intent of the run. The hash of its bytes appears in the Merkle tree and in the receipt.
    pub intent: EffectStarted,
    /// Receipt of the run, with the key that signed it, or `None` while the end of the run is not recorded.
    pub receipt: Option<(Receipt, KeyId)>,
}

impl Records {
    /// Reads and verifies the record of a run. Returns `None` if the ledger has no such run.
    ///
    /// # Errors
    /// Returns `Ledger` if the ledger cannot be read, or if the record of the run is damaged.
    pub fn recorded(&self, run: RunId) -> crate::error::Result<Option<RecordedRun>> {
        Ok(self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| RecordedRun::read(log, self.keyring(), row)).transpose()
        })?)
    }

    /// Returns the recorded facts about a run that is about to be undone. Returns `None` if the run is not recorded or its
    /// record is damaged.
    ///
    /// # Errors
    /// Returns `Ledger` if the ledger cannot be read.
    pub(crate) fn undone(&self, run: RunId) -> crate::error::Result<Option<Undone>> {
        let undone = self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| facts_for_undo(log, self.keyring(), &row)).transpose()
        });
        match undone {
            // A damaged record proves nothing, but the run can still be undone like any new change.
            Err(LedgerError::Damaged { .. }) => Ok(None),
            undone => Ok(undone?),
        }
    }
}

/// Returns the facts that the gates need to judge the undo of a run, taken from the intent and the signed receipt of
/// `row`.
///
/// # Errors
/// Returns the same errors as [`RecordedRun::read`].
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

/// Reads the intent of `row`, and returns it with its leaf hash.
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
    /// Reads the run of `row`, and verifies its receipt with the keys in `keyring`.
    ///
    /// # Errors
    /// Returns [`LedgerError::Damaged`] if an entry was modified or the receipt is not signed by a key in `keyring`.
    /// Returns another [`LedgerError`] if reading fails.
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
                "it was signed for an intent that differs from entry {index}"
            )));
        }
        let receipt = Receipt { index: done, leaf, envelope, statement };
        Ok(Self { started: index, intent, receipt: Some((receipt, key)) })
    }
}

/// Receipt of a run as stored in the ledger, which is the signed record of its outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Zero-based index of the receipt in the log.
    pub index: u64,
    /// Leaf hash of the receipt in the Merkle tree.
    pub leaf: Digest,
    /// Exact bytes of the receipt, which are a DSSE envelope.
    pub envelope: Vec<u8>,
    /// Parsed statement from the envelope.
    pub statement: Statement,
}

impl Receipt {
    /// Returns a reference to the receipt's entry in the log named `origin`.
    pub(crate) fn entry(&self, origin: &str) -> EntryRef {
        EntryRef { origin: origin.to_owned(), index: self.index, leaf: self.leaf }
    }

    /// Returns the status of the run.
    pub fn status(&self) -> Status {
        self.statement.predicate.status
    }
}
