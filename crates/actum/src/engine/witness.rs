//! Witness: a workspace remembers the entry that recorded its last run, so that a ledger which lost its
//! newest entries does not go on as if it had not.

use actum_core::canonical::plainly;
use actum_core::merkle::Node;
use actum_core::receipt::EntryRef;
use actum_ledger::{LedgerError, Log};
use actum_workspace::disk::Disk;
use actum_workspace::{Transaction, View};

use crate::engine::publish::Intent;
use crate::engine::settle::Receipt;
use crate::error::Result;

/// The entry that recorded the last run of a workspace in one log, as the workspace tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness(EntryRef);

impl Witness {
    /// What a workspace tells of a log, for who only looks.
    ///
    /// # Errors
    /// `Workspace` where it cannot be read.
    pub fn of<D: Disk>(workspace: &View<D>, log: &str) -> Result<Option<Self>> {
        Self::read(workspace.witness(log)?)
    }

    /// What it tells of any log.
    ///
    /// # Errors
    /// `Workspace` where it cannot be read.
    pub fn of_any_log<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Self::read(workspace.witness_of_any_log()?)
    }

    pub(crate) fn under<D: Disk>(lock: &Transaction<'_, D>, log: &str) -> Result<Option<Self>> {
        Self::read(lock.witness(log)?)
    }

    /// What it tells of another log, where it tells nothing of this one.
    pub(crate) fn elsewhere<D: Disk>(lock: &Transaction<'_, D>, log: &str) -> Result<Option<Self>> {
        Self::read(lock.witness_of_another_log(log)?)
    }

    fn read(line: Option<String>) -> Result<Option<Self>> {
        let Some(line) = line else { return Ok(None) };
        match serde_json::from_str(&line) {
            Ok(entry) => Ok(Some(Self(entry))),
            Err(error) => Err(actum_workspace::unusable_witness(&plainly(&error)).into()),
        }
    }

    /// The name of the log.
    pub fn origin(&self) -> &str {
        &self.0.origin
    }

    /// Sees to it that the log holds the entry still.
    ///
    /// # Errors
    /// `Forgot`; any other where the log cannot be read.
    pub fn must_be_in(&self, log: &dyn Log) -> std::result::Result<(), LedgerError> {
        let EntryRef { origin, index, leaf } = &self.0;
        let (index, size) = (*index, log.size()?);
        if index < size && log.node(Node { level: 0, index })? == *leaf {
            return Ok(());
        }
        Err(LedgerError::Forgot { origin: origin.clone(), index, size })
    }

    /// Has the workspace keep that a receipt recorded its last run.
    pub(crate) fn keep(receipt: &Receipt, intent: &Intent, keep: impl FnOnce(&str, &str)) {
        let (index, leaf) = (receipt.index, receipt.leaf);
        let entry = EntryRef { origin: intent.entry.origin.clone(), index, leaf };
        if let Ok(line) = serde_json::to_string(&entry) {
            keep(&entry.origin, &line);
        }
    }
}
