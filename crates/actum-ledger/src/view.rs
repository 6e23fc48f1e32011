//! One tenant's log, open for reading: what it was at one moment.

use std::path::Path;

use actum_core::ledger::{RequestKey, TenantId, WorkspaceId};
use actum_core::merkle::Node;
use actum_core::{Digest, RunId};

use crate::error::LedgerError;
use crate::home::LedgerHome;
use crate::sqlite::link::Link;
use crate::sqlite::open_for_reading;
use crate::store::{Entry, Log, RunRow, SignedCheckpoint};

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

impl Log for LedgerView {
    fn size(&self) -> Result<u64, LedgerError> {
        self.link.size()
    }

    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError> {
        self.link.entry(index)
    }

    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError> {
        self.link.entries(from, count)
    }

    fn node(&self, node: Node) -> Result<Digest, LedgerError> {
        self.link.node(node)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        self.link.blob(digest)
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError> {
        self.link.run(run)
    }

    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError> {
        self.link.open_runs(workspace)
    }

    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError> {
        self.link.request(workspace, request)
    }

    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        self.link.newest_checkpoint()
    }

    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError> {
        self.link.checkpoints(size, count)
    }
}
