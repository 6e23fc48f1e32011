//! Selection of the DuckDB library, and errors about invalid libraries (EX-9).

use std::fs;
use std::path::{Path, PathBuf};

use actum_sql::{Library, LibraryError, Origin, Pinned, SqlError, TestedLibrary, version_of};

use crate::world::{World, helper, home, host, program};

fn pinned(path: PathBuf, sha256: &str) -> Result<Library, LibraryError> {
    Library::find(&home(), Some(&Pinned { path, sha256: sha256.parse().unwrap() }))
}

fn tested() -> &'static TestedLibrary {
    TestedLibrary::for_this_processor().unwrap()
}

fn version(library: &Library) -> Result<String, SqlError> {
    version_of((&helper(), host(), program()), library)
}

/// EX-9: a library pinned by the policy is loaded from its path, and its version is reported.
#[test]
fn a_pinned_library_is_loaded_from_its_path() {
    let world = World::empty();
    let copy = world.path("elsewhere.so");
    fs::copy(tested().path(&home()), &copy).unwrap();
    let library = pinned(copy, tested().sha256).unwrap();
    library.check().unwrap();
    assert_eq!((library.origin(), &*version(&library).unwrap()), (Origin::Pinned, "v2.0.1"));
    let world = World { library, ..world };
    assert_eq!(world.rows("SELECT 1"), 1);
}

/// EX-9: a library that changed after it was pinned is loaded neither by this process nor by the worker.
#[test]
fn pinned_library_that_changed_is_not_loaded() {
    let world = World::empty();
    let copy = world.path("changed.so");
    fs::copy(tested().path(&home()), &copy).unwrap();
    let library = pinned(copy.clone(), tested().sha256).unwrap();
    let mut bytes = fs::read(&copy).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&copy, bytes).unwrap();
    let error = library.check().unwrap_err();
    assert!(matches!(error, LibraryError::Changed { .. }), "{error}");
    let error = version(&library).unwrap_err().to_string();
    assert!(error.contains("its SHA-256 is ") && error.contains(tested().sha256), "{error}");
}

/// EX-9: a missing file, a file that is no library, and a library for another processor are rejected before loading.
#[test]
fn library_for_another_processor_is_rejected_before_loading() {
    let world = World::empty();
    let found = |name: &str, bytes: Option<&[u8]>| {
        let path = world.path(name);
        if let Some(bytes) = bytes {
            fs::write(&path, bytes).unwrap();
        }
        pinned(path, tested().sha256).unwrap_err()
    };
    let header = |class: u8, order: u8, machine: [u8; 2]| {
        let mut header = vec![0; 64];
        header[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, order]);
        header[18..20].copy_from_slice(&machine);
        header
    };
    for (name, bytes, expected) in [
        ("arm.so", header(2, 1, [183, 0]), "aarch64"),
        ("x86.so", header(1, 1, [3, 0]), "machine 3, 32 bits"),
        ("s390x.so", header(2, 2, [0, 22]), "machine 22, big-endian"),
    ] {
        let error = found(name, Some(&bytes));
        let LibraryError::OtherProcessor { found, .. } = &error else { panic!("{error}") };
        assert_eq!(found, expected, "{error}");
    }
    assert!(matches!(found("text.so", Some(b"#!/bin/sh\n")), LibraryError::NoLibrary { .. }));
    assert!(matches!(found("short.so", Some(b"\x7fELF\x02\x01")), LibraryError::NoLibrary { .. }));
    assert!(matches!(found("none.so", None), LibraryError::Missing { .. }));
    let directory = pinned(world.directory.path().to_owned(), tested().sha256).unwrap_err();
    assert!(matches!(directory, LibraryError::NoLibrary { .. }), "{directory}");
}

/// EX-9: a shared library other than DuckDB is rejected.
#[test]
fn library_that_is_not_duckdb_is_rejected() {
    let candidates = ["/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/libm.so.6", "/lib64/libm.so.6"];
    let path = candidates.iter().map(Path::new).find(|path| path.exists()).unwrap();
    let digest = actum_core::Digest::of(&fs::read(path).unwrap()).to_string();
    let library = pinned(path.to_owned(), &digest).unwrap();
    library.check().unwrap();
    let error = version(&library).unwrap_err();
    assert!(
        matches!(&error, SqlError::Library { message } if message.contains("duckdb_")),
        "{error}"
    );
}
