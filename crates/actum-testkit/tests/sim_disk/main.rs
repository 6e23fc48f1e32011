//! Checks that the simulated disk behaves as a real one may.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_truncation,
    reason = "the whole crate is a test"
)]

use std::collections::BTreeSet;
use std::path::Path;

use actum_core::FileMode;
use actum_testkit::{SimDisk, SimHandle};
use actum_workspace::disk::Disk;

mod calls;
mod faults;
mod kernel;
mod power;

/// Upper bound on the number of states, which no test here exceeds.
const ALL: usize = 100_000;

fn root_of(disk: &SimDisk) -> SimHandle {
    disk.open_root(Path::new("/")).unwrap()
}

/// Creates a file with some content and syncs nothing.
fn write_new(disk: &SimDisk, parent: &SimHandle, name: &str, bytes: &[u8]) -> SimHandle {
    let file = disk.create(parent, name.as_bytes(), FileMode::REGULAR).unwrap();
    disk.write_at(&file, bytes, 0).unwrap();
    file
}

/// Returns the possible contents of a file after a power cut, where `None` means that it does not exist.
fn contents(disk: &SimDisk, path: &str) -> BTreeSet<Option<Vec<u8>>> {
    let states = disk.crash_states(ALL);
    assert!(states.is_exhaustive());
    states.map(|state| state.get(path)).collect()
}

/// Returns the possible combined contents of several files as text, with `-` for a missing file.
fn outcomes(disk: &SimDisk, paths: &[&str]) -> Vec<String> {
    let states = disk.crash_states(ALL);
    assert!(states.is_exhaustive());
    let text = |state: &SimDisk, path: &&str| match state.get(path) {
        Some(bytes) => String::from_utf8(bytes).unwrap().replace('\0', "0"),
        None => "-".into(),
    };
    let line =
        |state: SimDisk| paths.iter().map(|path| text(&state, path)).collect::<Vec<_>>().join(" ");
    let mut lines: Vec<String> = states.map(line).collect();
    lines.sort();
    lines
}
