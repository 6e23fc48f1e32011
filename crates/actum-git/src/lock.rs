//! The lock of the user's index, which a process that is killed does not keep.
//!
//! git knows a lock by its name: whoever makes `.git/index.lock` has it, and what a killed process leaves stays in
//! everybody's way. Ours is a second name of `.git/actum.lock`, of which the living holder has a lock of the system
//! (flock(2)). So whoever gets that one, and finds both names to be one file, holds what nobody else can claim.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

const OWN: &str = "actum.lock";

/// How often a file that its holder removes meanwhile is opened anew.
const TRIES: usize = 8;

/// What is ours of the lock, whether or not it is taken: who has this one is alone with what actum left in the
/// directory. Dropped, it is let go with all that is known to be ours.
#[derive(Debug)]
pub(crate) struct IndexLock {
    /// The file that both names are of; without hard links the one that `index` is the name of.
    held: File,
    own: PathBuf,
    index: PathBuf,
}

impl IndexLock {
    /// Takes our own part in a `.git` directory, which keeps other processes of actum away, and not yet git. None where
    /// another one has it.
    pub(crate) fn own(directory: &Path) -> io::Result<Option<Self>> {
        let (own, index) = (directory.join(OWN), directory.join("index.lock"));
        Ok(held(&own)?.map(|held| Self { held, own, index }))
    }

    /// Whether it keeps git away: after [`Self::own`] that is so where a process left it that is no more, and after
    /// [`Self::take`] as long as nobody removes it by hand.
    pub(crate) fn is_taken(&self) -> io::Result<bool> {
        is_named(&self.held, &self.index)
    }

    /// Keeps git away as well. None where somebody else does.
    pub(crate) fn take(mut self) -> io::Result<Option<Self>> {
        if self.is_taken()? {
            return Ok(Some(self));
        }
        match fs::hard_link(&self.own, &self.index) {
            Ok(()) => Ok(Some(self)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            // There are none, or none of a file of somebody else. Who is killed then leaves it, as with git itself.
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

    /// Whether a process took it, and maybe is no more.
    pub(crate) fn was_taken(directory: &Path) -> bool {
        directory.join(OWN).symlink_metadata().is_ok()
    }
}

impl Drop for IndexLock {
    fn drop(&mut self) {
        // What cannot be removed here the next one of us takes over; what is somebody else's by now stays.
        for name in [&self.index, &self.own] {
            if is_named(&self.held, name).unwrap_or(false) {
                remove(name).ok();
            }
        }
        // A program that another thread starts right now has a copy of the handle for a moment.
        self.held.unlock().ok();
    }
}

/// The file at `own`, which may have to be made, locked for this process. None where another one has it.
fn held(own: &Path) -> io::Result<Option<File>> {
    for _ in 0..TRIES {
        let file = opened(own)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Its holder may have let it go, name and all, after it was opened here.
        if is_named(&file, own)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Opens a file that may have to be made; what is no file is not opened.
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
        // Its holder let it go.
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

/// Whether a name is that of an open file.
fn is_named(file: &File, name: &Path) -> io::Result<bool> {
    let named = match fs::symlink_metadata(name) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        named => named?,
    };
    let file = file.metadata()?;
    Ok((file.dev(), file.ino()) == (named.dev(), named.ino()))
}

/// Removes a file of git's directory, where there is one.
#[expect(clippy::disallowed_methods, reason = "git's own files are reached by their paths")]
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
