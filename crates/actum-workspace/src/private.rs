//! Private places in a workspace: homes of ledgers and keys, recognised by their content, and places that the caller names.
//!
//! The caller of a program chooses its environment, so which home is in use says nothing about where others are.

use std::io;
use std::io::ErrorKind::{CrossesDevices, NotFound, PermissionDenied};
use std::path::Path;

use actum_core::RelPath;
use actum_record::keyring::{KEYRING_BEGINNING_BYTES, KEYRING_FILE, KEYS_DIRECTORY, Keyring};

use crate::disk::{Disk, Kind, LinuxDisk, Stat};
use crate::error::{Doing, ErrorKind, Result};
use crate::transaction::Transaction;
use crate::tree::Tree;

/// Permission bits of the group and of all others.
const OTHERS: u32 = 0o077;

/// Private place that a path lies in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrivatePlace {
    /// Place of keys, credentials or policies that the caller names.
    Named(RelPath),
    /// Home of ledgers and keys.
    Home(RelPath),
}

impl std::fmt::Display for PrivatePlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(place) => {
                write!(f, "`{place}` is a place of keys, credentials or the operator's policy")
            }
            Self::Home(home) => write!(
                f,
                "`{home}/{KEYS_DIRECTORY}/{KEYRING_FILE}` marks `{home}` as a home of ledgers and keys"
            ),
        }
    }
}

/// Whether a directory is a home of ledgers and keys of this user: its `keys` is closed to others, and holds a keyring.
/// One that cannot be read does not count.
pub fn is_ledger_home(directory: &Path) -> bool {
    let disk = LinuxDisk;
    // Few directories have such an entry, so most are not opened.
    let is_there = directory.join(KEYS_DIRECTORY).symlink_metadata().is_ok();
    is_there && disk.open_root(directory).and_then(|it| holds_keys(&disk, &it)).unwrap_or(false)
}

fn holds_keys<D: Disk>(disk: &D, directory: &D::Handle) -> io::Result<bool> {
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
        // It cannot be looked at from here, and nothing else keeps changes from what lies beside it.
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

impl<D: Disk> Transaction<'_, D> {
    /// Rejects a path in a private place before anything there is read, so that no message quotes it. An undo may restore
    /// what its run changed in a directory that became a home since.
    pub(crate) fn check_private(&mut self, path: &RelPath) -> Result<()> {
        let mut named = self.workspace.private.iter();
        let place = named.find(|place| is_within(path, place)).cloned().map(PrivatePlace::Named);
        let place = match place {
            None if !self.takes_back => self.home_holding(path)?.map(PrivatePlace::Home),
            place => place,
        };
        match place {
            None => Ok(()),
            Some(place) => Err(ErrorKind::Private { path: path.clone(), place }.into()),
        }
    }

    /// The home of ledgers and keys that a path leads into. Looks once at each directory.
    fn home_holding(&mut self, path: &RelPath) -> Result<Option<RelPath>> {
        let (disk, root) = (&self.workspace.disk, &self.workspace.home.root);
        let tree = Tree::sharing(disk, root, &self.parents);
        let mut below = path.clone();
        while let Some(directory) = below.parent().filter(|it| !self.looked_at.contains(it)) {
            let handle = match tree.parent(&below) {
                // A path that is no directory yet leads into nothing.
                Err(error) if error.is_in_the_way() => None,
                opened => opened?,
            };
            let is_home = handle.map_or(Ok(false), |handle| holds_keys(disk, &handle));
            if is_home.doing(|| format!("look for ledgers and keys in `{directory}`"))? {
                return Ok(Some(directory));
            }
            self.looked_at.insert(directory.clone());
            below = directory;
        }
        Ok(None)
    }
}

/// Whether a path is a place or lies in it, also on a file system that takes letters of both cases for the same.
fn is_within(path: &RelPath, place: &RelPath) -> bool {
    let (path, place) = (path.as_bytes(), place.as_bytes());
    let is_at = path.get(..place.len()).is_some_and(|it| it.eq_ignore_ascii_case(place));
    is_at && path.get(place.len()).is_none_or(|&next| next == b'/')
}
