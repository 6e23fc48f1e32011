//! Standing of the catalog: its content in the ledger, and whether that is proven.

use actum_core::Digest;
use actum_gate::{VerifiedChange, verify_change};
use actum_ledger::{LedgerError, Log};
use actum_record::keyring::Keyring;
use actum_record::ledger::{CatalogChanged, EntryKind};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::EntryRef;

use super::{Catalog, CatalogError};

/// Catalog after the last proven change, and the entry that the next change follows.
#[derive(Debug, Clone)]
pub struct Standing {
    /// Catalog after the last proven change.
    pub catalog: Catalog,
    /// Last change, proven or not; the beginning of the log if there is no change.
    pub last: EntryRef,
    /// Reason why the last change does not count. Until the operator makes a new change, no catalog is in force.
    pub unproven: Option<CatalogError>,
}

impl Standing {
    /// Reads the catalog of the ledger.
    ///
    /// # Errors
    /// `Ledger` if it cannot be read, or an entry was altered.
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

    /// Returns the index of the newest `CATALOG_CHANGED`, proven or not; `None` before the first.
    pub fn changed(&self) -> Option<u64> {
        // Index 0 begins the log, so no change has it.
        Some(self.last.index).filter(|index| *index > 0)
    }

    /// Returns the catalog in force.
    ///
    /// # Errors
    /// Reason why the last change does not count.
    pub fn in_force(self) -> Result<Catalog, CatalogError> {
        self.unproven.map_or(Ok(self.catalog), Err)
    }
}

/// Returns a reference to the last change before an entry, or to the beginning of the log if there is no change.
fn before(log: &dyn Log, behind: Option<u64>) -> Result<EntryRef, LedgerError> {
    let newest = log.newest_of_kind(EntryKind::CatalogChanged, behind, 1)?;
    let index = newest.first().copied().unwrap_or(0);
    let leaf = leaf_hash(&log.sound_entry(index)?.body);
    Ok(EntryRef { origin: log.origin()?, index, leaf })
}

/// Returns the catalog that a change leads to, if all of it is valid.
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
        false => Err(wrong(format!("does not have the action `{action}` as {}", to.as_str()))),
    }
}
