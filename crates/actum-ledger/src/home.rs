//! Home directory of ledgers and keys (`ACTUM_HOME`), to which no other user may have access.
//!
//! ```text
//! HOME/lock             locked while names in HOME change; not empty if all names are durable
//! HOME/keys/            private keys and the keyring (see `keys`); either complete or missing
//! HOME/keys.new/        `keys` while it is being created
//! HOME/tenants/TENANT/  log of a tenant
//! HOME/configuration    path of the operator's configuration (see `waiting`)
//! HOME/waiting          exists once a decision has been pending (see `waiting`)
//! HOME/trusted/         workspaces whose policies are trusted (see `trust`)
//! ```

mod activity;
mod begun;
mod disk;
mod problem;
mod trust;
mod waiting;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use actum_record::keyring::KEYS_DIRECTORY as KEYS;
use actum_record::ledger::TenantId;
use actum_record::signer::KeyRole;

pub use activity::{Activity, ActivityMark, Marks, TaskTurn};
pub(crate) use disk::{Directory, FileId, random};
pub(crate) use problem::Shown;
pub use problem::{HomeError, Thing};
pub use trust::TrustedPolicy;

use disk::{Lock, Sharing};

/// Name of the directory of private keys while it is being created.
pub(crate) const KEYS_NEW: &str = "keys.new";
const LOCK: &str = "lock";
const TENANTS: &str = "tenants";
/// Suffix of temporary files, which are renamed once they are complete.
const NEW: &str = ".new";

/// Open home directory of ledgers and keys.
///
/// Opening it checks that the directory belongs to the user of this process, and that no other user has access to it.
#[derive(Debug, Clone)]
pub struct LedgerHome {
    root: Arc<Directory>,
}

/// Open directory of one tenant's log. It has passed the same checks as the home itself.
#[derive(Debug)]
pub struct TenantHome {
    directory: Directory,
}

impl LedgerHome {
    /// Opens the home at an absolute path. If it does not exist, creates it together with its missing parent directories,
    /// all of them accessible only to the user.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the path is relative, a symbolic link or not a directory. The directory must belong to
    /// the current user, be writable, and be closed to other users.
    pub fn open(path: &Path) -> Result<Self, HomeError> {
        let path = &plain(path)?;
        let root = match Directory::open(path)? {
            Some(root) => root,
            None => {
                Directory::make(path)?;
                let gone = || HomeError::Other { path: path.clone(), what: Thing::Directory };
                Directory::open(path)?.ok_or_else(gone)?
            }
        };
        root.check_writable()?;
        Ok(Self { root: Arc::new(root) })
    }

    /// Opens an existing home for reading, without creating or writing anything. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the path cannot be used as a home.
    pub fn open_existing(path: &Path) -> Result<Option<Self>, HomeError> {
        Ok(Directory::open(&plain(path)?)?.map(|root| Self { root: Arc::new(root) }))
    }

    /// Returns the absolute path of the home.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// Opens the directory of a tenant's log. If it does not exist, creates it durably.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the directory cannot be opened or created.
    pub fn tenant(&self, tenant: &TenantId) -> Result<TenantHome, HomeError> {
        self.settled()?;
        if let Some(found) = self.existing_tenant(tenant)? {
            return Ok(found);
        }
        let directory =
            self.change(|root| root.directory_made(TENANTS)?.directory_made(tenant.as_str()))?;
        Ok(TenantHome { directory })
    }

    /// Opens the directory of a tenant's log. Returns `None` if it does not exist.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the directory exists but cannot be used.
    pub fn existing_tenant(&self, tenant: &TenantId) -> Result<Option<TenantHome>, HomeError> {
        let Some(tenants) = self.root.directory(TENANTS)? else { return Ok(None) };
        let directory = tenants.directory(tenant.as_str())?;
        Ok(directory.map(|directory| TenantHome { directory }))
    }

    /// Lists all tenants that have a directory in the home, sorted by name.
    ///
    /// # Errors
    /// Returns [`HomeError`] if the directory of tenants cannot be read.
    pub fn tenants(&self) -> Result<Vec<TenantId>, HomeError> {
        let Some(tenants) = self.root.directory(TENANTS)? else { return Ok(Vec::new()) };
        Ok(tenants.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Returns the directory of the home, for callers that change no names and do not depend on durable ones.
    pub(crate) fn root(&self) -> &Directory {
        &self.root
    }

    /// Waits until no process is changing names in the home, and ensures that all existing names are durable.
    ///
    /// No process can change names while the returned lock is held.
    pub(crate) fn settled(&self) -> Result<Lock, HomeError> {
        loop {
            let lock = self.root.lock(LOCK, Sharing::Shared)?;
            if lock.is_settled()? {
                return Ok(lock);
            }
            drop(lock);
            // The last process that changed names was killed, or the home is new or a copy of another one. Sync all names.
            self.change(|_| Ok::<_, HomeError>(()))?;
        }
    }

    /// Changes names in the home while holding the exclusive lock, and makes the changes durable before it returns.
    pub(crate) fn change<T, E: From<HomeError>>(
        &self,
        change: impl FnOnce(&Directory) -> Result<T, E>,
    ) -> Result<T, E> {
        let (changed, unsynced) = self.change_and_sync(change)?;
        unsynced.map_or(Ok(changed), |error| Err(error.into()))
    }

    /// Changes names in the home like [`Self::change`], but returns an error of the final sync next to the result, because
    /// the change has already taken effect.
    pub(crate) fn change_and_sync<T, E: From<HomeError>>(
        &self,
        change: impl FnOnce(&Directory) -> Result<T, E>,
    ) -> Result<(T, Option<HomeError>), E> {
        let lock = self.root.lock(LOCK, Sharing::Exclusive)?;
        lock.settle(false)?;
        let changed = change(&self.root)?;
        let synced = self.sync().and_then(|()| lock.settle(true));
        Ok((changed, synced.err().map(HomeError::unsynced)))
    }

    /// Makes all names in the home durable, together with the names of its parent directories.
    fn sync(&self) -> Result<(), HomeError> {
        if let Some(tenants) = self.root.directory(TENANTS)? {
            tenants.sync()?;
        }
        self.sync_keys()?;
        self.root.sync()?;
        self.root.sync_way()
    }

    /// Makes the names of private keys and their directories durable, if the home has keys.
    fn sync_keys(&self) -> Result<(), HomeError> {
        let Some(keys) = self.root.directory(KEYS)? else { return Ok(()) };
        for role in KeyRole::ALL {
            if let Some(keys_of_role) = keys.directory(role.as_str())? {
                keys_of_role.sync()?;
            }
        }
        keys.sync()
    }
}

impl TenantHome {
    /// Returns the path of the tenant's directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the open directory of the tenant.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }
}

/// Checks that a path is absolute, and strips trailing slashes and dots, which would make the kernel follow a symbolic
/// link at the end of the path.
fn plain(path: &Path) -> Result<PathBuf, HomeError> {
    if !path.is_absolute() {
        return Err(HomeError::Relative { path: path.to_owned() });
    }
    Ok(path.components().collect())
}
