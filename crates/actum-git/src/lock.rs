//! Lock of the user's index, which a process that is killed does not keep.
//!
//! git knows a lock by its name: the process that makes `.git/index.lock` has it, and the file that a killed process
//! leaves blocks all others. actum's lock is a second name of `.git/actum.lock`, on which the live holder has a lock of
//! the system (flock(2)). So a process that gets that one, and finds both names to be one file, holds what no other
//! process can claim.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OWN: &str = "actum.lock";

/// Number of times that a file is opened again if its holder removes it meanwhile.
const TRIES: usize = 8;

/// actum's part of the lock, whether or not git's part is taken: its holder alone uses the files that actum left in the
/// directory. Dropping it releases it, and removes all that is known to be actum's.
#[derive(Debug)]
pub(crate) struct IndexLock {
    /// File that both names refer to; without hard links the one that `index` refers to.
    held: File,
    own: PathBuf,
    index: PathBuf,
}

impl IndexLock {
    /// Takes actum's own part in a `.git` directory, which keeps other processes of actum away, but not git. Returns
    /// `None` if another process has it.
    pub(crate) fn own(directory: &Path) -> io::Result<Option<Self>> {
        let (own, index) = (directory.join(OWN), directory.join("index.lock"));
        Ok(held(&own)?.map(|held| Self { held, own, index }))
    }

    /// Returns true if the lock keeps git away. After [`Self::own`] this holds if a process that no longer runs left
    /// it, and after [`Self::take`] as long as no user removes it by hand.
    pub(crate) fn is_taken(&self) -> io::Result<bool> {
        is_named(&self.held, &self.index)
    }

    /// Keeps git away as well. Returns `None` if another process does.
    pub(crate) fn take(mut self) -> io::Result<Option<Self>> {
        if self.is_taken()? {
            return Ok(Some(self));
        }
        match fs::hard_link(&self.own, &self.index) {
            Ok(()) => Ok(Some(self)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            // The file system has no hard links, or none of another user's file. A killed process then leaves the lock,
            // as git itself does.
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

    /// Returns true if a process took it, which may no longer run.
    pub(crate) fn was_taken(directory: &Path) -> bool {
        directory.join(OWN).symlink_metadata().is_ok()
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // The next process of actum takes over a name that cannot be removed here; a file that now belongs to another
        // process remains.
        for name in [&self.index, &self.own] {
            if is_named(&self.held, name).unwrap_or(false) {
                remove(name).ok();
            }
        }
        // A program that another thread starts right now has a copy of the handle for a moment.
        self.held.unlock().ok();
    }
}

/// Opens and locks the file at `own`, which may have to be made, for this process. Returns `None` if another process
/// has it.
fn held(own: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let file = opened(own)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its holder may have released it, and removed its name, after it was opened here.
        if is_named(&file, own)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Opens a file that may have to be made; any other object is not opened.
fn opened(path: &Path) -> io::Result<File> {
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        made => return made,
    }
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        let told = format!("something else than a file is in the place of `{}`", path.display());
        return Err(io::Error::new(ErrorKind::InvalidInput, told));
    }
    match OpenOptions::new().read(true).open(path) {
        // Its holder released it.
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

/// Returns true if a name refers to an open file.
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    let named = match fs::symlink_metadata(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    let file = file.metadata()?;
    Ok((file.dev(), file.ino()) == (named.dev(), named.ino()))
}

/// Removes a file of git's directory, if it exists.
#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
