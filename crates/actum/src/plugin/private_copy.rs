//! Private, read-only copy of a package, stored next to the driver in a temporary directory that belongs to this user.
//! If the package does not declare the module kind of its `.js` files, there is one copy for each kind.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::directory::Files;
use super::modules::NODE_MANIFEST;
use super::package::Package;

/// Source of the driver script that loads and calls a step of a package.
const DRIVER: &str = include_str!("driver.cjs");
/// Directory for temporary files. `TMPDIR` is ignored, because the environment must not decide where code runs from.
const TEMPORARY: &str = "/tmp";

/// Private copy of a package in a temporary directory, which is removed on drop.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    directory: TempDir,
    copies: usize,
}

impl PrivateCopy {
    pub(super) fn new(package: &Package) -> io::Result<Self> {
        let place = fs::canonicalize(TEMPORARY)?;
        // `tempfile` creates the directory with mode 0700.
        let directory = tempfile::Builder::new().prefix("actum-plugin-").tempdir_in(place)?;
        let copy = Self { directory, copies: package.run_as.len() };
        for (place, manifest) in copy.packages().zip(&package.run_as) {
            write(&package.files, manifest, &place)?;
        }
        put(&copy.driver(), DRIVER.as_bytes(), READ)?;
        DirBuilder::new().mode(0o700).create(copy.nothing())?;
        Ok(copy)
    }

    /// Returns the directories of all copies of the package.
    pub(super) fn packages(&self) -> impl Iterator<Item = PathBuf> {
        (0..self.copies).map(|number| self.directory.path().join(format!("package-{number}")))
    }

    /// Returns the path of the driver script.
    pub(super) fn driver(&self) -> PathBuf {
        self.directory.path().join("driver.cjs")
    }

    /// Returns the path of an empty directory, which replaces the workspace for packages without access to it.
    pub(super) fn nothing(&self) -> PathBuf {
        self.directory.path().join("nothing")
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // Deleting files requires write permission on their directories, except for root.
        for package in self.packages() {
            // On failure, the copy remains as an ordinary temporary file.
            drop(make_writable(&package));
        }
    }
}

/// Mode of read-only files that are not executable.
const READ: u32 = 0o400;
/// Mode of read-only directories and executable files.
const READ_AND_EXECUTE: u32 = 0o500;

/// Creates `directory`, which must not exist, and writes the files to it. The `package.json` among them is replaced by
/// `manifest`.
fn write(files: &Files, manifest: &[u8], directory: &Path) -> io::Result<()> {
    let mut directories = BTreeSet::from([directory.to_owned()]);
    for path in files.keys() {
        let above = Path::new(path).ancestors().skip(1);
        directories.extend(above.map(|above| directory.join(above)));
    }
    // Sorted order puts parent directories before their children.
    for made in &directories {
        DirBuilder::new().mode(0o700).create(made)?;
    }
    put(&directory.join(NODE_MANIFEST), manifest, READ)?;
    for (path, file) in files.iter().filter(|(path, _)| *path != NODE_MANIFEST) {
        let mode = if file.is_executable { READ_AND_EXECUTE } else { READ };
        put(&directory.join(path), &file.bytes, mode)?;
    }
    for made in directories.iter().rev() {
        fs::set_permissions(made, Permissions::from_mode(READ_AND_EXECUTE))?;
    }
    Ok(())
}

fn put(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(bytes)
}

fn make_writable(directory: &Path) -> io::Result<()> {
    fs::set_permissions(directory, Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            make_writable(&entry.path())?;
        }
    }
    Ok(())
}
