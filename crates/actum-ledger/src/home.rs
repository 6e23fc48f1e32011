//! Home of the ledger (`ACTUM_HOME`): opened once, and closed to all other users.
//!
//! ```text
//! HOME/lock             taken to change names in HOME; not empty if all of them are durable
//! HOME/keys/            private keys, and the keyring (see `keys`); there or not, but never half
//! HOME/keys.new/        the same while it is made
//! HOME/tenants/TENANT/  one log each
//! HOME/configuration    path of the operator's configuration (see `waiting`)
//! HOME/waiting          there once a decision has waited (see `waiting`)
//! HOME/trusted/         which workspaces' policies are trusted (see `trust`)
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

pub use activity::{Activity, Marks, TaskTurn, UnderWay};
pub(crate) use disk::{Directory, FileId, random};
pub(crate) use problem::Shown;
pub use problem::{HomeError, Thing};
pub use trust::TrustedPolicy;

use disk::{Lock, Sharing};

/// Directory of the private keys while it is made.
pub(crate) const KEYS_NEW: &str = "keys.new";
const LOCK: &str = "lock";
const TENANTS: &str = "tenants";
/// End of the name of a file until it gets its own.
const NEW: &str = ".new";

/// Home of the ledger. Opening one checks that it is a directory of the user of this process, and
/// that no other user can reach its content.
#[derive(Debug, Clone)]
pub struct LedgerHome {
    root: Arc<Directory>,
}

/// The directory of one tenant's log; checked like the home itself.
#[derive(Debug)]
pub struct TenantHome {
    directory: Directory,
}

impl LedgerHome {
    /// Opens the home at an absolute path; makes it if it is missing, with the directories above
    /// it, each for the user alone.
    ///
    /// # Errors
    /// [`HomeError`]: a path that is not absolute, a symbolic link, an entry that is no directory,
    /// another owner than the user of this process, access for others, no permission to write.
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

    /// Opens the home for reading: nothing is made or written, and a missing one is `None`.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn open_existing(path: &Path) -> Result<Option<Self>, HomeError> {
        Ok(Directory::open(&plain(path)?)?.map(|root| Self { root: Arc::new(root) }))
    }

    /// Path of the home.
    pub fn path(&self) -> &Path {
        self.root.path()
    }

    /// The directory of a tenant's log, made if it is missing, and then durable.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn tenant(&self, tenant: &TenantId) -> Result<TenantHome, HomeError> {
        self.settled()?;
        if let Some(found) = self.existing_tenant(tenant)? {
            return Ok(found);
        }
        let directory =
            self.change(|root| root.directory_made(TENANTS)?.directory_made(tenant.as_str()))?;
        Ok(TenantHome { directory })
    }

    /// Opens the home of a tenant, if it exists.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn existing_tenant(&self, tenant: &TenantId) -> Result<Option<TenantHome>, HomeError> {
        let Some(tenants) = self.root.directory(TENANTS)? else { return Ok(None) };
        let directory = tenants.directory(tenant.as_str())?;
        Ok(directory.map(|directory| TenantHome { directory }))
    }

    /// All tenants that have a directory, in the order of their names.
    ///
    /// # Errors
    /// [`HomeError`].
    pub fn tenants(&self) -> Result<Vec<TenantId>, HomeError> {
        let Some(tenants) = self.root.directory(TENANTS)? else { return Ok(Vec::new()) };
        Ok(tenants.names()?.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// Directory of the home, for callers that change nothing and need nothing to be durable.
    pub(crate) fn root(&self) -> &Directory {
        &self.root
    }

    /// Waits until no process changes names, and makes the existing names durable. While the lock
    /// is held no process changes any.
    pub(crate) fn settled(&self) -> Result<Lock, HomeError> {
        loop {
            let lock = self.root.lock(LOCK, Sharing::Shared)?;
            if lock.is_settled()? {
                return Ok(lock);
            }
            drop(lock);
            // The last process was killed, or the home is new or a copy.
            self.change(|_| Ok::<_, HomeError>(()))?;
        }
    }

    /// Changes names, alone; when it returns they are durable.
    pub(crate) fn change<T, E: From<HomeError>>(
        &self,
        change: impl FnOnce(&Directory) -> Result<T, E>,
    ) -> Result<T, E> {
        let (changed, unsynced) = self.change_and_sync(change)?;
        unsynced.map_or(Ok(changed), |error| Err(error.into()))
    }

    /// Changes names as [`Self::change`]. Returns the error of the final sync beside the result,
    /// which counts all the same.
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

    /// Makes all names in the home durable, and those that lead to it.
    fn sync(&self) -> Result<(), HomeError> {
        if let Some(tenants) = self.root.directory(TENANTS)? {
            tenants.sync()?;
        }
        self.sync_keys()?;
        self.root.sync()?;
        self.root.sync_way()
    }

    /// Syncs the names of the private keys and their directories, if there are any.
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
    /// Path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The open directory.
    pub(crate) fn directory(&self) -> &Directory {
        &self.directory
    }
}

/// Returns the path without a slash or a dot at its end, which would make the kernel follow a link
/// there.
fn plain(path: &Path) -> Result<PathBuf, HomeError> {
    if !path.is_absolute() {
        return Err(HomeError::Relative { path: path.to_owned() });
    }
    Ok(path.components().collect())
}
