//! Witness, which is a reference to the ledger entry of a workspace's last run and is stored in the workspace.
//!
//! The witness binds a workspace to its ledger. A ledger that has lost its newest entries is rejected. A ledger that
//! never recorded the workspace is also rejected if another ledger did (`engine/binding.rs`).

use actum_core::canonical::describe;
use actum_core::{Digest, RunId};
use actum_ledger::{LedgerError, Log};
use actum_record::merkle::Node;
use actum_record::receipt::EntryRef;
use actum_record::signer::KeyId;
use actum_workspace::disk::Disk;
use actum_workspace::{Transaction, View};
use serde::{Deserialize, Serialize};

use crate::error::Result;

/// Reference to the log entry of a workspace's last run, with the keys that were in force at that time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    origin: String,
    index: u64,
    leaf: Digest,
    #[serde(flatten)]
    keys: KeysInForce,
    /// Newest run before the workspace was adopted from another ledger. That run is recorded in the other ledger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    adopted: Option<RunId>,
}

/// Keys that were in force when a witness was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeysInForce {
    /// Ids of the keys that sign for the log. Only the installation that owns them has the private keys.
    pub(crate) signing: Vec<KeyId>,
    /// Id of the approval key, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) approval: Option<KeyId>,
}

impl Witness {
    /// Reads the witness of the log with this name, without taking the workspace lock.
    ///
    /// # Errors
    /// Returns `Workspace` if the witness cannot be read.
    pub fn from_view<D: Disk>(workspace: &View<D>, log: &str) -> Result<Option<Self>> {
        Self::read(workspace.witness(log)?)
    }

    /// Reads the witness of any log, without taking the workspace lock.
    ///
    /// # Errors
    /// Returns `Workspace` if the witness cannot be read.
    pub fn of_any_log<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Self::read(workspace.witness_of_any_log()?)
    }

    pub(crate) fn under<D: Disk>(lock: &Transaction<'_, D>, log: &str) -> Result<Option<Self>> {
        Self::read(lock.witness(log)?)
    }

    /// Reads the witness of a log other than `log` while the workspace lock is held.
    pub(crate) fn elsewhere<D: Disk>(lock: &Transaction<'_, D>, log: &str) -> Result<Option<Self>> {
        Self::read(lock.witness_of_another_log(log)?)
    }

    pub(crate) fn read(line: Option<String>) -> Result<Option<Self>> {
        let Some(line) = line else { return Ok(None) };
        match serde_json::from_str(&line) {
            Ok(witness) => Ok(Some(witness)),
            Err(error) => Err(actum_workspace::unusable_witness(&describe(&error)).into()),
        }
    }

    /// Creates the witness for the entry of an adoption. `adopted` is the newest run before the adoption.
    pub(crate) fn of_adoption(entry: EntryRef, keys: KeysInForce, adopted: Option<RunId>) -> Self {
        let EntryRef { origin, index, leaf } = entry;
        Self { origin, index, leaf, keys, adopted }
    }

    /// Returns the newest run before the adoption, which is recorded in another ledger.
    pub fn adopted(&self) -> Option<RunId> {
        self.adopted
    }

    /// Returns the index of the witness's entry in the log.
    pub(crate) fn index(&self) -> u64 {
        self.index
    }

    /// Returns the name of the log.
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// Returns the ids of the keys that signed for the log when the witness was written.
    pub(crate) fn signing_keys(&self) -> &[KeyId] {
        &self.keys.signing
    }

    /// Returns the id of the approval key that was in force when the witness was written.
    pub(crate) fn approval(&self) -> Option<&KeyId> {
        self.keys.approval.as_ref()
    }

    /// Checks that the log still contains the entry of the witness.
    ///
    /// # Errors
    /// Returns [`LedgerError::Forgot`] if the entry is missing or different, or another error if the log cannot be read.
    pub fn check_in(&self, log: &dyn Log) -> std::result::Result<(), LedgerError> {
        let Self { origin, index, leaf, .. } = self;
        let (index, size) = (*index, log.size()?);
        if index < size && log.node(Node { level: 0, index })? == *leaf {
            return Ok(());
        }
        Err(LedgerError::Forgot { origin: origin.clone(), index, size })
    }

    /// Writes a new witness for the entry that recorded the last run. If this fails, the old witness remains.
    pub(crate) fn keep(entry: EntryRef, keys: KeysInForce, keep: impl FnOnce(&str, &str)) {
        let EntryRef { origin, index, leaf } = entry;
        Self { origin, index, leaf, keys, adopted: None }.write(keep);
    }

    /// Serializes the witness and passes the name of its log and the resulting line to `keep`.
    pub(crate) fn write(&self, keep: impl FnOnce(&str, &str)) {
        if let Ok(line) = serde_json::to_string(self) {
            keep(&self.origin, &line);
        }
    }
}
