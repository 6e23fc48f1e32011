//! Recognizes a directory as a home whose creation was interrupted before it had keys.

use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::trust::TRUSTED;
use super::waiting::CONFIGURATION;
use super::{KEYS, KEYS_NEW, LOCK, LedgerHome, NEW, TENANTS};

/// Maximum size of the lock file, which is empty or, if all names in the home are durable, has one byte.
const LOCK_BYTES_MAX: u64 = 1;
/// Permission bits of the lock file.
const LOCK_MODE: u32 = 0o600;

impl LedgerHome {
    /// Names of the directories that actum creates in a home, except for [`LedgerHome::SQL`].
    pub const DIRECTORIES: [&str; 4] = [KEYS, KEYS_NEW, TENANTS, TRUSTED];
    /// Name of the directory for the DuckDB library, which is not part of a ledger and may exist before the home does.
    pub const SQL: &str = "sql";

    /// Returns an entry of the directory that does not belong to a home, or `None` if there is no such entry.
    ///
    /// [`LedgerHome::SQL`] belongs to a home. The other entries that are created before the keys belong to one only if the
    /// lock file, which is created first, exists and looks as expected. An empty or missing directory has no foreign entry.
    ///
    /// # Errors
    /// Returns an error if the directory cannot be read.
    pub fn foreign_entry(directory: &Path) -> io::Result<Option<PathBuf>> {
        let entries = match std::fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            entries => entries?,
        };
        let has_lock = is_lock(&directory.join(LOCK))?;
        for entry in entries {
            let entry = entry?;
            // The library may be installed before anything is recorded.
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

/// Returns whether an entry with this name is created together with the keys of a home, or before them.
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
