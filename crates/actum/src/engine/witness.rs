//! Witness: a workspace remembers the entry that recorded its last run, so that a ledger which lost its
//! newest entries does not go on as if it had not.

use actum_core::merkle::Node;
use actum_core::receipt::EntryRef;
use actum_ledger::{LedgerError, Log};
use actum_workspace::disk::Disk;
use actum_workspace::{Transaction, View};

use crate::engine::publish::Intent;
use crate::engine::settle::Receipt;
use crate::error::Result;

/// The entry that recorded the last run of a workspace, as the workspace tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Witness(EntryRef);

impl Witness {
    /// What a workspace tells, for who only looks.
    ///
    /// # Errors
    /// `Workspace` where it cannot be read.
    pub fn of<D: Disk>(workspace: &View<D>) -> Result<Option<Self>> {
        Ok(Self::read(workspace.witness()?))
    }

    pub(crate) fn under<D: Disk>(lock: &Transaction<'_, D>) -> Result<Option<Self>> {
        Ok(Self::read(lock.witness()?))
    }

    /// What cannot be read says nothing.
    fn read(line: Option<String>) -> Option<Self> {
        Some(Self(serde_json::from_str(&line?).ok()?))
    }

    /// Sees to it that a log holds the entry still, where it is the log that acknowledged it.
    ///
    /// # Errors
    /// `Forgot`; any other where the log cannot be read.
    pub fn must_be_in(&self, log: &dyn Log, origin: &str) -> std::result::Result<(), LedgerError> {
        let EntryRef { origin: named, index, leaf } = &self.0;
        if named != origin {
            return Ok(());
        }
        let (index, size) = (*index, log.size()?);
        if index < size && log.node(Node { level: 0, index })? == *leaf {
            return Ok(());
        }
        Err(LedgerError::Forgot { origin: origin.to_owned(), index, size })
    }

    /// The line that a workspace keeps of a receipt.
    pub(crate) fn line(receipt: &Receipt, intent: &Intent) -> Option<String> {
        let (index, leaf) = (receipt.index, receipt.leaf);
        let entry = EntryRef { origin: intent.entry.origin.clone(), index, leaf };
        serde_json::to_string(&entry).ok()
    }
}
