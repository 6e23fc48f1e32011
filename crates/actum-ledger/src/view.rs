//! One tenant's log, open for reading: what it was at one moment.

use std::path::Path;

use actum_record::ledger::TenantId;

use crate::error::LedgerError;
use crate::home::LedgerHome;
use crate::sqlite::link::{Link, Linked};
use crate::sqlite::open_for_reading;

/// A log as it was when this was opened. It makes no file, and no writer waits for it; while it is
/// open the database cannot shorten its own log, so it should not be kept for long.
#[derive(Debug)]
pub struct LedgerView {
    pub(crate) link: Link,
}

impl LedgerView {
    /// Opens the log of a tenant. `None` where there is none yet.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn open(home: &LedgerHome, tenant: &TenantId) -> Result<Option<Self>, LedgerError> {
        match home.existing_tenant(tenant)? {
            Some(directory) => Self::open_directory(directory.path()),
            None => Ok(None),
        }
    }

    /// The same by the directory in which the log lies.
    ///
    /// # Errors
    /// [`LedgerError`].
    pub fn open_directory(directory: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(open_for_reading(directory)?.map(|link| Self { link }))
    }

    /// Where the database is.
    pub fn path(&self) -> &Path {
        &self.link.path
    }
}

impl Linked for LedgerView {
    fn link(&self) -> &Link {
        &self.link
    }
}
