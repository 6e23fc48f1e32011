//! Reads the catalog from the ledger, and verifies the change that recorded it.

use actum_core::Digest;
use actum_gate::{VerifiedChange, verify_change};
use actum_ledger::{LedgerError, Log};
use actum_record::keyring::Keyring;
use actum_record::ledger::{CatalogChanged, EntryKind};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::EntryRef;

use super::{Catalog, CatalogError};

/// Catalog as the ledger records it, and whether its newest change is valid.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Catalog after the newest change that passed verification.
    pub catalog: Catalog,
    /// Entry of the newest change, valid or not, which the next change must reference. If there is no change yet, this
    /// is the first entry of the log.
    pub last: EntryRef,
    /// Reason why the newest change failed verification, if it did. No catalog is in force then, until the operator
    /// records a new change.
    pub unproven: Option<CatalogError>,
}

impl Standing {
    /// Reads the catalog from the ledger.
    ///
    /// # Errors
    /// `Ledger` if the ledger cannot be read or an entry was modified.
    pub fn read(log: &dyn Log, keyring: &Keyring) -> Result<Self, CatalogError> {
        let last = before(log, None)?;
        let (mut unproven, mut behind) = (None, None);
        loop {
            let newest = log.newest_of_kind(EntryKind::CatalogChanged, behind, 1)?;
            let Some(index) = newest.first().copied() else {
                return Ok(Self { catalog: Catalog::core()?, last, unproven });
            };
            match proven(log, keyring, index) {
                Ok(catalog) => return Ok(Self { catalog, last, unproven }),
                Err(CatalogError::Ledger(error)) => return Err(error.into()),
                Err(problem) => {
                    unproven.get_or_insert(problem);
                    behind = Some(index);
                }
            }
        }
    }

    /// Returns the ledger index of the newest `CATALOG_CHANGED` entry, valid or not, or `None` if there is none.
    pub fn changed(&self) -> Option<u64> {
        // The entry at index 0 only begins the log, so it is never a change.
        Some(self.last.index).filter(|index| *index > 0)
    }

    /// Returns the catalog in force.
    ///
    /// # Errors
    /// Returns the reason why the newest change failed verification, if it did.
    pub fn in_force(self) -> Result<Catalog, CatalogError> {
        self.unproven.map_or(Ok(self.catalog), Err)
    }
}

/// Returns a reference to the newest change before entry `behind`, or to the first entry of the log if there is no
/// change.
fn before(log: &dyn Log, behind: Option<u64>) -> Result<EntryRef, LedgerError> {
    let newest = log.newest_of_kind(EntryKind::CatalogChanged, behind, 1)?;
    let index = newest.first().copied().unwrap_or(0);
    let leaf = leaf_hash(&log.sound_entry(index)?.body);
    Ok(EntryRef { origin: log.origin()?, index, leaf })
}

/// Verifies the catalog change at `index`, and returns the catalog that it records.
fn proven(log: &dyn Log, keyring: &Keyring, index: u64) -> Result<Catalog, CatalogError> {
    let body = log.sound_entry(index)?.body;
    let VerifiedChange { changed, .. } = verify_change(&body, keyring)
        .map_err(|problem| CatalogError::Unproven { index, problem })?;
    let CatalogChanged { follows, action, to, snapshot, .. } = changed;
    if follows != before(log, Some(index))? {
        return Err(CatalogError::Misplaced { index });
    }
    let wrong = |message: String| CatalogError::Snapshot { index, message };
    let bytes = log.blob(&snapshot)?.ok_or_else(|| wrong("is missing".to_owned()))?;
    if Digest::of(&bytes) != snapshot {
        return Err(wrong("was changed".to_owned()));
    }
    let catalog = Catalog::of_snapshot(&bytes)?.map_err(wrong)?;
    match catalog.find(&action).is_some_and(|registered| registered.state == to) {
        true => Ok(catalog),
        false => Err(wrong(format!("does not contain the action `{action}` as {}", to.as_str()))),
    }
}
