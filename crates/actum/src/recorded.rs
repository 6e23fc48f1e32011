//! A run as its ledger proves it, for whoever reads.

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

/// What is recorded of one run, compared and verified before anyone is shown any of it: the file of a ledger
/// can be written by whoever owns it.
#[derive(Debug, Clone)]
pub struct RecordedRun {
    /// Where its intent is, counted from 0.
    pub started: u64,
    /// Its intent: the bytes that have the hash that the tree, and the receipt, have of it.
    pub intent: EffectStarted,
    /// Its receipt, and the key that signed it. `None` while how the run ended is not recorded.
    pub receipt: Option<(Receipt, KeyId)>,
}

impl Records {
    /// What is recorded of a run, if anything.
    ///
    /// # Errors
    /// `Ledger`, `Damaged` among them.
    pub fn recorded(&self, run: RunId) -> crate::error::Result<Option<RecordedRun>> {
        Ok(self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| RecordedRun::read(log, self.keyring(), row)).transpose()
        })?)
    }

    /// Facts about a run that is to be taken back, where it is recorded.
    ///
    /// # Errors
    /// As [`recorded`](Self::recorded).
    pub(crate) fn undone(&self, run: RunId) -> crate::error::Result<Option<Undone>> {
        let undone = self.ledger.read(|log| {
            let row = log.run(run)?;
            row.map(|row| facts_for_undo(log, self.keyring(), &row)).transpose()
        });
        match undone {
            // A damaged record proves nothing, and its run can still be undone: as a new change.
            Err(LedgerError::Damaged { .. }) => Ok(None),
            undone => Ok(undone?),
        }
    }
}

/// Facts that decide how the undo of a run is judged, from the intent and the signed receipt that `row` names.
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

/// The intent that `row` names, and its leaf hash.
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
    /// Reads what `row` tells of. The keys are the ones that the reader trusts.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` where an entry is not what it was, or no key of the keyring signed the
    /// receipt.
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

/// The signed end of a run, as the ledger holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Receipt {
    /// Its place in the log, counted from 0.
    pub index: u64,
    /// Its hash as a leaf of the Merkle tree.
    pub leaf: Digest,
    /// The exact bytes: a DSSE envelope.
    pub envelope: Vec<u8>,
    /// What it states.
    pub statement: Statement,
}

impl Receipt {
    /// Its entry in the log of this name.
    pub(crate) fn entry(&self, origin: &str) -> EntryRef {
        EntryRef { origin: origin.to_owned(), index: self.index, leaf: self.leaf }
    }

    /// How the run ended.
    pub fn status(&self) -> Status {
        self.statement.predicate.status
    }
}
