//! Scratch directories on the host, removed with all that is in them.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::SCRATCH;

/// A directory of the host for temporary files, which is removed with all that is in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Its path on the host.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn new() -> io::Result<Self> {
        let place = Path::new(SCRATCH).canonicalize()?;
        let path = place.join(unique_name()?);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if std::fs::remove_dir_all(&self.0).is_err() {
            // The command may have taken our permissions from its directories.
            drop(make_removable(&self.0).and_then(|()| std::fs::remove_dir_all(&self.0)));
        }
    }
}

/// Draws a random name that no other process uses.
pub(crate) fn unique_name() -> io::Result<String> {
    let mut name = [0; 8];
    rustix::rand::getrandom(&mut name, rustix::rand::GetRandomFlags::empty())?;
    Ok(format!("actum-{:016x}", u64::from_le_bytes(name)))
}

/// Gives us all permissions of the directories at and below `directory`. Each is held while its permissions change, and so
/// is never another one that a link leads to.
fn make_removable(directory: &Path) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let held = rustix::fs::open(directory, flags, Mode::empty())?;
    let held_path = PathBuf::from(format!("/proc/self/fd/{}", held.as_raw_fd()));
    std::fs::set_permissions(&held_path, std::fs::Permissions::from_mode(0o700))?;
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

    /// AA-10, FE-12: what a command does to its scratch directory does not keep it there. Root is held to modes only
    /// without the capabilities that pass over them.
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
            assert!(std::fs::read_dir(scratch.path()).is_err(), "modes do not hold here");
            drop(scratch);
        });
        removed.join().unwrap();
        assert!(place.symlink_metadata().is_err());
        let left = std::fs::metadata(outside.path()).unwrap().permissions().mode();
        assert_eq!(left & 0o777, 0o500, "a link leads nowhere");
    }
}
