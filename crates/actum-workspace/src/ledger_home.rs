//! Detection of homes of ledgers and keys by their content.
//!
//! The caller of a program controls its environment, so the home that is in use proves nothing about where other homes
//! are.

use std::io;
use std::io::ErrorKind::{CrossesDevices, NotFound, PermissionDenied};
use std::path::Path;

use actum_record::keyring::{KEYRING_BEGINNING_BYTES, KEYRING_FILE, KEYS_DIRECTORY, Keyring};

use crate::disk::{Disk, Kind, LinuxDisk, Stat};

/// Permission bits of the group and of all other users.
const OTHERS: u32 = 0o077;

/// Returns true if a directory is a home of ledgers and keys that belongs to this user. Such a home has a directory
/// `keys` that is closed to other users and contains a keyring. An unreadable directory is not considered a home.
pub fn is_ledger_home(directory: &Path) -> bool {
    let disk = LinuxDisk;
    // Most directories contain no `keys`, and this check avoids opening them.
    let is_there = directory.join(KEYS_DIRECTORY).symlink_metadata().is_ok();
    is_there && disk.open_root(directory).and_then(|it| holds_keys(&disk, &it)).unwrap_or(false)
}

/// Returns true if a directory contains a directory `keys` that belongs to this user, is closed to other users and
/// contains a keyring.
pub(crate) fn holds_keys<D: Disk>(disk: &D, directory: &D::Handle) -> io::Result<bool> {
    let name = KEYS_DIRECTORY.as_bytes();
    let is_closed = |found: Stat| {
        let is_own = found.user == disk.identity().0;
        found.kind == Kind::Directory && is_own && found.mode.bits() & OTHERS == 0
    };
    if !disk.stat_at(directory, name)?.is_some_and(is_closed) {
        return Ok(false);
    }
    let keys = match disk.open_directory(directory, name) {
        Err(error) if matches!(error.kind(), NotFound | PermissionDenied) => return Ok(false),
        // The keys are on another file system and cannot be read from here. Assume a home, because nothing else would
        // protect the ledgers next to them from changes.
        Err(error) if error.kind() == CrossesDevices => return Ok(true),
        opened => opened?,
    };
    let name = KEYRING_FILE.as_bytes();
    if !disk.stat_at(&keys, name)?.is_some_and(|found| found.kind == Kind::File) {
        return Ok(false);
    }
    let keyring = match disk.open_file(&keys, name) {
        Err(error) if error.kind() == NotFound => return Ok(false),
        Err(error) if error.kind() == PermissionDenied => return Ok(true),
        opened => opened?,
    };
    let mut beginning = [0; KEYRING_BEGINNING_BYTES];
    let read = disk.read_at(&keyring, &mut beginning, 0)?;
    Ok(Keyring::is_named_in(beginning.get(..read).unwrap_or_default()))
}
