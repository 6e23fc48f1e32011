//! A copy of a package that nobody but this process can change, with the driver beside it.

use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::directory::Files;
use super::package::Package;

/// What calls a package; it stands beside the copy as it is in this program.
const DRIVER: &str = include_str!("driver.mjs");
/// Where temporary files are. Whoever sets `TMPDIR` does not choose where code is run from.
const TEMPORARY: &str = "/tmp";

/// A copy in a directory of its own, which is removed with this.
#[derive(Debug)]
pub(super) struct PrivateCopy {
    directory: TempDir,
}

impl PrivateCopy {
    pub(super) fn of(package: &Package) -> io::Result<Self> {
        let place = fs::canonicalize(TEMPORARY)?;
        // Its mode is 0700.
        let directory = tempfile::Builder::new().prefix("actum-plugin-").tempdir_in(place)?;
        let copy = Self { directory };
        package.unpack(&copy.package())?;
        put(&copy.driver(), DRIVER.as_bytes(), READ)?;
        DirBuilder::new().mode(0o700).create(copy.nothing())?;
        Ok(copy)
    }

    /// The files of the package.
    pub(super) fn package(&self) -> PathBuf {
        self.directory.path().join("package")
    }

    /// The driver.
    pub(super) fn driver(&self) -> PathBuf {
        self.directory.path().join("driver.mjs")
    }

    /// An empty directory, for a package that sees no workspace.
    pub(super) fn nothing(&self) -> PathBuf {
        self.directory.path().join("nothing")
    }
}

impl Drop for PrivateCopy {
    fn drop(&mut self) {
        // A directory that cannot be written cannot be emptied, unless by root.
        drop(make_writable(&self.package())); // what is left is a temporary file among others
    }
}

/// Modes of what is only read.
const READ: u32 = 0o400;
const READ_AND_EXECUTE: u32 = 0o500;

/// Writes files to `directory`, where nothing may be.
pub(super) fn write(files: &Files, directory: &Path) -> io::Result<()> {
    let mut directories = BTreeSet::from([directory.to_owned()]);
    for path in files.keys() {
        let above = Path::new(path).ancestors().skip(1);
        directories.extend(above.map(|above| directory.join(above)));
    }
    // Outer ones come first, in the order of their names.
    for made in &directories {
        DirBuilder::new().mode(0o700).create(made)?;
    }
    for (path, file) in files {
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
