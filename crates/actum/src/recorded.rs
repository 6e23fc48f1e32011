//! A run as its ledger proves it, for whoever reads.

use std::fmt;
use std::sync::Arc;

use actum_core::RunId;
use actum_core::canonical::plainly;
use actum_core::keyring::Keyring;
use actum_core::ledger::EffectStarted;
use actum_core::merkle::leaf_hash;
use actum_core::signer::KeyId;
use actum_gate::decision::Undone;
use actum_gate::{VerifiedReceipt, verify_receipt};
use actum_ledger::{LedgerError, Log, RunRow, Store};

use crate::engine::settle::Receipt;
use crate::error::Error;
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
    pub(crate) fn recorded(&self, run: RunId) -> crate::error::Result<Option<RecordedRun>> {
        let keys = Arc::clone(&self.keys);
        let asked = self.ledger.ask(move |store: &mut dyn Store| {
            let row = store.run(run)?;
            row.map(|row| RecordedRun::read(store, keys.keyring(), row)).transpose()
        });
        Ok(asked.wait()?)
    }

    /// Facts about a run that is to be taken back, where it is recorded.
    ///
    /// # Errors
    /// As [`recorded`](Self::recorded).
    pub(crate) fn undone(&self, run: RunId) -> crate::error::Result<Option<Undone>> {
        match self.recorded(run) {
            Ok(recorded) => Ok(recorded.map(|recorded| recorded.undone())),
            // A damaged record proves nothing, and its run can still be undone: as a new change.
            Err(Error::Ledger { source: LedgerError::Damaged { .. }, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl RecordedRun {
    /// Facts that decide how its undo is judged.
    pub fn undone(&self) -> Undone {
        Undone { actor: self.intent.actor.clone(), approved: self.intent.approval.is_some() }
    }

    /// Reads what `row` tells of. The keys are the ones that the reader trusts.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` where an entry is not what it was, or no key of the keyring signed the
    /// receipt.
    pub fn read(log: &dyn Log, keyring: &Keyring, row: RunRow) -> Result<Self, LedgerError> {
        let (index, run) = (row.started, row.run);
        let damaged = |error: &dyn fmt::Display| LedgerError::entry(index, error);
        let body = log.sound_entry(index)?.body;
        let intent: EffectStarted =
            serde_json::from_slice(&body).map_err(|error| damaged(&plainly(&error)))?;
        if intent.run != run || intent.workspace != row.workspace {
            return Err(damaged(&format_args!("it is not the intent of the run {run}")));
        }
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
        if (named.index, named.leaf) != (index, leaf_hash(&body)) {
            return Err(damaged(&format_args!(
                "it was signed over another intent than entry {index} is now"
            )));
        }
        let receipt = Receipt { index: done, leaf, envelope, statement };
        Ok(Self { started: index, intent, receipt: Some((receipt, key)) })
    }
}
