//! Temporary directories on the host, which are removed with their content after use.

use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, lstat, open};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::SCRATCH;

/// Prefix of the names of scratch directories, followed by hexadecimal digits.
const PREFIX: &str = "actum-";
/// Number of hexadecimal digits in the name of a scratch directory.
const DIGITS: usize = 16;

/// Directory for temporary files on the host, which is removed with its content on drop.
///
/// The owner holds a lock on it (flock(2)). A directory without a lock was left behind by a killed process.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    _lock: OwnedFd,
}

impl Scratch {
    /// Returns the path of the directory on the host.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Creates an empty directory, and removes directories left behind by killed processes.
    pub(crate) fn new() -> io::Result<Self> {
        let place = Path::new(SCRATCH).canonicalize()?;
        // Leftover directories that cannot be removed do no harm, and the next command tries again.
        drop(remove_left_in(&place));
        loop {
            let path = place.join(unique_name()?);
            DirBuilder::new().mode(0o700).create(&path)?;
            let lock = match open_directory(&path) {
                Ok(lock) => lock,
                // Another process considered the directory abandoned and removed it before it was locked.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            retry(|| flock(&lock, FlockOperation::LockExclusive))?;
            // Another process may have removed the directory before it was locked.
            if is_at(&path, &lock)? {
                return Ok(Self { path, _lock: lock });
            }
        }
    }
}

/// Removes the scratch directories of this user that were left behind by killed processes.
///
/// # Errors
/// Returns the first error if a directory cannot be removed, after trying to remove the others as well.
pub fn remove_left_scratch() -> io::Result<()> {
    remove_left_in(&Path::new(SCRATCH).canonicalize()?)
}

fn remove_left_in(place: &Path) -> io::Result<()> {
    let mut result = Ok(());
    for entry in std::fs::read_dir(place)? {
        let entry = entry?;
        if entry.file_name().to_str().is_some_and(is_unique_name) {
            result = result.and(remove_if_left(&entry.path()));
        }
    }
    result
}

fn remove_if_left(path: &Path) -> io::Result<()> {
    let is_own = |stat: &Stat| stat.st_uid == geteuid().as_raw();
    let is_directory = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory;
    match lstat(path) {
        Ok(stat) if is_own(&stat) && is_directory(&stat) => {}
        // The directory belongs to another user, or its owner has removed it in the meantime.
        Ok(_) | Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let lock = match open_directory(path) {
        Ok(lock) => lock,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    match retry(|| flock(&lock, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Ok(()), // in use
        Err(error) => return Err(error.into()),
    }
    if is_at(path, &lock)? && is_own(&fstat(&lock)?) { remove(path) } else { Ok(()) }
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(open(path, flags, Mode::empty())?)
}

/// Returns whether a path still leads to the given open directory.
fn is_at(path: &Path, directory: &OwnedFd) -> io::Result<bool> {
    let held = fstat(directory)?;
    match lstat(path) {
        Ok(found) => Ok((found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)),
        Err(Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn retry(mut call: impl FnMut() -> rustix::io::Result<()>) -> rustix::io::Result<()> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            ended => return ended,
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            // The command may have removed permissions from its directories, so restore them first.
            make_removable(path)?;
            std::fs::remove_dir_all(path)
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // If this fails, a later command removes the directory as abandoned.
        drop(remove(&self.path));
    }
}

/// Returns a random name that is unlikely to be used by another process.
pub(crate) fn unique_name() -> io::Result<String> {
    let mut name = [0; 8];
    rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("{PREFIX}{:0DIGITS$x}", u64::from_le_bytes(name)))
}

fn is_unique_name(name: &str) -> bool {
    let digits = name.strip_prefix(PREFIX).unwrap_or_default();
    digits.len() == DIGITS && digits.bytes().all(|it| matches!(it, b'0'..=b'9' | b'a'..=b'f'))
}

/// Grants the owner all permissions on `directory` and the directories below it. Each one is opened before
/// its mode is changed, so that a symbolic link cannot redirect the change.
fn make_removable(directory: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = open(directory, flags, Mode::empty())?;
    let held_path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    std::fs::set_permissions(&held_path, Permissions::from_mode(0o700))?;
    for entry in std::fs::read_dir(&held_path)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_removable(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustix::thread::CapabilitySet;

    use super::*;

    /// AA-10, FE-12: a command cannot prevent its scratch directory from being removed. The test drops the
    /// capabilities with which root ignores file modes.
    #[test]
    fn a_scratch_directory_without_permissions_is_removed() {
        let mode = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        let scratch = Scratch::new().unwrap();
        let (place, outside) = (scratch.path().to_owned(), Scratch::new().unwrap());
        let inner = place.join("inner/deep");
        std::fs::DirBuilder::new().recursive(true).create(&inner).unwrap();
        std::os::unix::fs::symlink(outside.path(), inner.join("link")).unwrap();
        mode(outside.path(), 0o500);
        for path in [inner.as_path(), place.join("inner").as_path(), place.as_path()] {
            mode(path, 0o000);
        }
        let removed = std::thread::spawn(move || {
            let mut sets = rustix::thread::capabilities(None).unwrap();
            sets.effective -= CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH;
            rustix::thread::set_capabilities(None, sets).unwrap();
            assert!(std::fs::read_dir(scratch.path()).is_err(), "file modes have no effect here");
            drop(scratch);
        });
        removed.join().unwrap();
        assert!(place.symlink_metadata().is_err());
        let left = std::fs::metadata(outside.path()).unwrap().permissions().mode();
        assert_eq!(left & 0o777, 0o500, "a link must not be followed");
    }

    /// EX-9: the next command removes the scratch directory of a killed process. Directories that are in
    /// use or have a different name are kept.
    #[test]
    fn scratch_directory_of_a_killed_process_is_removed() {
        let used = Scratch::new().unwrap();
        let left = Scratch::new().unwrap();
        let path = left.path().to_owned();
        std::fs::create_dir(path.join("staged")).unwrap();
        std::fs::write(path.join("staged/a.txt"), "content").unwrap();
        let Scratch { path: _, _lock: lock } = &left;
        flock(lock, FlockOperation::Unlock).unwrap(); // as the kernel does when a process exits
        let other = tempfile::Builder::new().prefix(PREFIX).tempdir_in(SCRATCH).unwrap();
        let next = Scratch::new().unwrap();
        assert!(path.symlink_metadata().is_err());
        for kept in [used.path(), other.path(), next.path()] {
            assert!(kept.is_dir(), "{}", kept.display());
        }
    }

    #[test]
    fn scratch_directory_names_are_recognized() {
        assert!(is_unique_name(&unique_name().unwrap()));
        for other in
            ["actum-", "actum-0123456789abcde", "actum-0123456789abcdeF", "actum-plugin-abcdefghi"]
        {
            assert!(!is_unique_name(other), "{other}");
        }
    }
}
