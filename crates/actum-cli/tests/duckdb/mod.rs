//! The DuckDB library for tests.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::home_of;

/// Returns the path and SHA-256 of the library that `cargo xtask test` installed.
#[allow(dead_code, reason = "not every test pins it")]
pub(crate) fn installed() -> (std::path::PathBuf, String) {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/sql");
    let mut libraries = fs::read_dir(directory).expect("`cargo xtask test` installs DuckDB");
    let library = libraries.next().unwrap().unwrap().path().canonicalize().unwrap();
    let digest = actum_core::Digest::of(&fs::read(&library).unwrap()).to_string();
    (library, digest)
}

/// Installs the test library in the home of a workspace.
#[allow(dead_code, reason = "not every test installs it")]
pub(crate) fn install_duckdb(root: &Path) {
    let installed = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools/sql");
    let directory = home_of(root).join("sql");
    fs::create_dir_all(&directory).unwrap();
    fs::set_permissions(home_of(root), Permissions::from_mode(0o700)).unwrap();
    let libraries = fs::read_dir(&installed).expect("`cargo xtask test` installs DuckDB");
    for library in libraries {
        let library = library.unwrap().path();
        let place = directory.join(library.file_name().unwrap());
        if fs::hard_link(&library, &place).is_err() {
            fs::copy(&library, &place).unwrap();
        }
    }
}
