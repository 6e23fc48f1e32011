//! Temporary directory on the real file system, for use by a single test.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Temporary directory that is removed when the value is dropped.
pub struct TestDir {
    directory: tempfile::TempDir,
}

/// Object at a path in a [`TestDir`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// A directory with its permission bits.
    Directory(u32),
    /// A regular file with its permission bits and its content.
    File(u32, Vec<u8>),
    /// A symbolic link with its target.
    Symlink(PathBuf),
    /// Any other object, such as a FIFO, socket or device.
    Special,
}

impl Default for TestDir {
    fn default() -> Self {
        Self::new()
    }
}

impl TestDir {
    /// Creates an empty temporary directory in the default location.
    pub fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Creates an empty directory in `/dev/shm`, where syncs are cheap because the file system is in memory. Falls back
    /// to [`TestDir::new`] if `/dev/shm` does not exist.
    pub fn in_memory() -> Self {
        match Path::new("/dev/shm") {
            place if place.is_dir() => {
                Self { directory: tempfile::tempdir_in(place).expect("a directory in memory") }
            }
            _ => Self::new(),
        }
    }

    /// Returns the absolute path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the absolute path of an object in the directory.
    pub fn join(&self, path: impl AsRef<[u8]>) -> PathBuf {
        self.path().join(OsStr::from_bytes(path.as_ref()))
    }

    /// Writes a file, overwriting it in place if it exists. Missing parent directories are created.
    pub fn put(&self, path: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) {
        let path = self.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("the directories");
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    /// Returns the content of a file, or `None` if it cannot be read.
    pub fn get(&self, path: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        fs::read(self.join(path)).ok()
    }

    /// Creates a directory and its missing parents.
    pub fn mkdir(&self, path: impl AsRef<[u8]>) {
        fs::create_dir_all(self.join(path)).expect("a directory");
    }

    /// Removes a file. Panics if it does not exist.
    pub fn remove(&self, path: impl AsRef<[u8]>) {
        fs::remove_file(self.join(path)).expect("a file to remove");
    }

    /// Creates a symbolic link at `path` that points to `target`.
    pub fn symlink(&self, path: impl AsRef<[u8]>, target: impl AsRef<Path>) {
        symlink(target, self.join(path)).expect("a symbolic link");
    }

    /// Sets the permission bits of a file or directory.
    pub fn chmod(&self, path: impl AsRef<[u8]>, mode: u32) {
        fs::set_permissions(self.join(path), fs::Permissions::from_mode(mode)).expect("a mode");
    }

    /// Returns all objects below the directory by relative path, except state directories (`.actum`) and their contents.
    pub fn tree(&self) -> BTreeMap<PathBuf, Held> {
        let mut tree = BTreeMap::new();
        let mut directories = vec![self.path().to_owned()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).expect("a directory to list") {
                let path = entry.expect("an entry").path();
                let metadata = fs::symlink_metadata(&path).expect("an entry to look at");
                if path.ends_with(".actum") {
                    continue;
                }
                let held = if metadata.is_dir() {
                    directories.push(path.clone());
                    Held::Directory(metadata.mode() & 0o7777)
                } else if metadata.is_symlink() {
                    Held::Symlink(fs::read_link(&path).expect("a link to read"))
                } else if metadata.is_file() {
                    Held::File(metadata.mode() & 0o7777, fs::read(&path).expect("a file to read"))
                } else {
                    Held::Special
                };
                let name = path.strip_prefix(self.path()).expect("a path below").to_owned();
                tree.insert(name, held);
            }
        }
        tree
    }
}
