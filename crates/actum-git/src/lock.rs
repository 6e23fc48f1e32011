//! Locks the user's index so that the lock is not left behind if the process is killed.
//!
//! git identifies a lock by its file name: the process that creates `.git/index.lock` holds the lock, and the file
//! blocks all others even after its process was killed. actum's lock file is a hard link to `.git/actum.lock`, on which
//! its process also holds an flock(2) lock. A process that gets the flock, and finds that both names refer to the same
//! file, therefore holds a lock that no other live process holds.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OWN: &str = "actum.lock";

/// Number of attempts to open the lock file, because its holder may remove it in the meantime.
const TRIES: usize = 8;

/// Lock of the index that excludes other actum processes and, once taken, also git. The holder may use the files that
/// actum left in the directory. Dropping it releases the lock and removes the files that are known to belong to actum.
#[derive(Debug)]
pub(crate) struct IndexLock {
    /// File that both names refer to. On a file system without hard links, it is the file at `index`.
    held: File,
    own: PathBuf,
    index: PathBuf,
}

impl IndexLock {
    /// Takes actum's own lock in a `.git` directory, which excludes other actum processes but not git. Returns `None`
    /// if another process holds it.
    pub(crate) fn own(directory: &Path) -> io::Result<Option<Self>> {
        let (own, index) = (directory.join(OWN), directory.join("index.lock"));
        Ok(held(&own)?.map(|held| Self { held, own, index }))
    }

    /// Returns true if the lock also excludes git. After [`Self::own`], this is the case if a process that no longer
    /// runs left its lock. After [`Self::take`], it is the case unless a user removed the lock file.
    pub(crate) fn is_taken(&self) -> io::Result<bool> {
        is_named(&self.held, &self.index)
    }

    /// Also takes git's lock. Returns `None` if another process holds it.
    pub(crate) fn take(mut self) -> io::Result<Option<Self>> {
        if self.is_taken()? {
            return Ok(Some(self));
        }
        match fs::hard_link(&self.own, &self.index) {
            Ok(()) => Ok(Some(self)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            // The file system does not support hard links, or does not allow one to another user's file. In this case,
            // a killed process leaves its lock behind, just like git does.
            Err(error) if cannot_link(&error) => {
                match OpenOptions::new().write(true).create_new(true).open(&self.index) {
                    Ok(made) => {
                        remove(&self.own)?;
                        self.held = made;
                        Ok(Some(self))
                    }
                    Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
                    Err(error) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if a process took the lock. That process may no longer be running.
    pub(crate) fn was_taken(directory: &Path) -> bool {
        directory.join(OWN).symlink_metadata().is_ok()
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // If a name cannot be removed here, the next actum process takes it over. A file that now belongs to another
        // process is kept.
        for name in [&self.index, &self.own] {
            if is_named(&self.held, name).unwrap_or(false) {
                remove(name).ok();
            }
        }
        // Unlock explicitly, because a program that another thread is starting briefly has a copy of the file handle.
        self.held.unlock().ok();
    }
}

/// Opens and locks the file at `own`, and creates it if necessary. Returns `None` if another process holds the lock.
fn held(own: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let file = opened(own)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // The previous holder may have released the lock and removed the file after it was opened here.
        if is_named(&file, own)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Opens a regular file, or creates it if it does not exist. Objects of other types are not opened.
fn opened(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        let message = format!("`{}` is not a regular file", path.display());
        return Err(io::Error::new(ErrorKind::InvalidInput, message));
    }
    match OpenOptions::new().read(true).open(path) {
        // The holder removed the file when it released the lock.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            OpenOptions::new().write(true).create_new(true).open(path)
        }
        opened => opened,
    }
}

fn cannot_link(error: &io::Error) -> bool {
    let none = [ErrorKind::PermissionDenied, ErrorKind::Unsupported, ErrorKind::TooManyLinks];
    none.contains(&error.kind())
}

/// Returns true if the path `name` refers to the open file.
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    let named = match fs::symlink_metadata(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    let file = file.metadata()?;
    Ok((file.dev(), file.ino()) == (named.dev(), named.ino()))
}

/// Removes a file in the git directory, if it exists.
#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
