//! Entries by which a directory without keys is known as a home that was begun.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::trust::TRUSTED;
use super::waiting::CONFIGURATION;
use super::{KEYS, KEYS_NEW, LOCK, LedgerHome, NEW, TENANTS};

/// Largest size of the lock: empty, or one byte if all names are durable.
const LOCK_BYTES_MAX: u64 = 1;
/// Permission bits of the lock.
const LOCK_MODE: u32 = 0o600;

impl LedgerHome {
    /// Names of the directories in a home.
    pub const DIRECTORIES: [&str; 4] = [KEYS, KEYS_NEW, TENANTS, TRUSTED];
    /// Name of the directory of the DuckDB library, which is no part of a ledger and may be older.
    pub const SQL: &str = "sql";

    /// Finds an entry that is no part of a home. [`LedgerHome::SQL`] is a part, and so is every
    /// entry that is made before the keys. Those count only beside the lock, which is made first
    /// and must have its form. An empty or missing directory has no such entry.
    ///
    /// # Errors
    /// Those of the system.
    pub fn foreign_entry(directory: &Path) -> io::Result<Option<PathBuf>> {
        let entries = match std::fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        let has_lock = is_lock(&directory.join(LOCK))?;
        for entry in entries {
            let entry = entry?;
            // It may exist before anything is recorded.
            if entry.file_name() == LedgerHome::SQL {
                continue;
            }
            if !has_lock || !is_begun_with(&entry.file_name()) {
                return Ok(Some(entry.path()));
            }
        }
        Ok(None)
    }
}

/// Returns true if an entry of that name is made before the keys of a home, or with them.
fn is_begun_with(name: &OsStr) -> bool {
    let files = [CONFIGURATION, LedgerHome::WAITING];
    let is_new_file = |name: &str| name.strip_suffix(NEW).is_some_and(|it| files.contains(&it));
    name.to_str().is_some_and(|name| {
        name == LOCK
            || LedgerHome::DIRECTORIES.contains(&name)
            || files.contains(&name)
            || is_new_file(name)
    })
}

fn is_lock(path: &Path) -> io::Result<bool> {
    match path.symlink_metadata() {
        Ok(found) => Ok(found.is_file()
            && found.mode() & 0o7777 == LOCK_MODE
            && found.len() <= LOCK_BYTES_MAX
            && found.nlink() == 1),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}
