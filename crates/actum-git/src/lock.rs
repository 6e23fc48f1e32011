//! The lock of the user's index, which a process that is killed does not keep.
//!
//! git knows a lock by its name: whoever makes `.git/index.lock` has it, and what a killed process leaves stays in
//! everybody's way. Ours is a second name of `.git/actum.lock`, of which the living holder has a lock of the system
//! (flock(2)). So whoever gets that one, and finds both names to be one file, holds what nobody else can claim.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OWN: &str = "actum.lock";

/// The lock of an index; dropped, it is let go.
#[derive(Debug)]
pub(crate) struct IndexLock {
    held: File,
    own: PathBuf,
    index: PathBuf,
}

impl IndexLock {
    /// Takes the lock in a `.git` directory, also from a process of actum that is no more. None where somebody has it.
    pub(crate) fn take(directory: &Path) -> io::Result<Option<Self>> {
        let own = directory.join(OWN);
        let held = opened(&own)?;
        match held.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its holder may have let it go, name and all, after it was opened here.
        if !is_named(&held, &own)? {
            return Ok(None);
        }
        let index = directory.join("index.lock");
        let is_taken = match fs::hard_link(&own, &index) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => is_named(&held, &index),
            linked => linked.map(|()| true),
        };
        match is_taken {
            Ok(true) => Ok(Some(Self { held, own, index })),
            others => {
                remove(&own)?;
                others.map(|_| None)
            }
        }
    }

    /// Lets a lock go whose holder is no more; any other one stays.
    pub(crate) fn let_go_of_left(directory: &Path) -> io::Result<()> {
        if directory.join(OWN).try_exists()? {
            drop(Self::take(directory)?);
        }
        Ok(())
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // What cannot be removed here the next one of us takes over.
        remove(&self.index).ok();
        remove(&self.own).ok();
        // A program that another thread starts right now has a copy of the handle for a moment.
        self.held.unlock().ok();
    }
}

/// Opens a file that may have to be made; no link is followed to make one.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    match options.clone().create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => options.open(path),
        made => made,
    }
}

/// Whether a name is that of an open file.
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    let named = match fs::symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    let file = file.metadata()?;
    Ok((file.dev(), file.ino()) == (named.dev(), named.ino()))
}

/// Removes a file of git's directory, where there is one.
#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
