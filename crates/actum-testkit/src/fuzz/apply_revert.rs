//! Fuzz target that applies arbitrary operations. They must be applied completely or not at all, and undo must restore the previous
//! state.

use std::path::Path;

use actum_core::RelPath;
use actum_edit::edit::{Edit, Occurrences, Replacement};
use actum_edit::{EmptyParents, LineHunk, ModeChange, Operation, line_diff};
use actum_workspace::{ExistingFiles, GcOptions, HunkPlaces, Limits, RunOptions, Workspace};

use super::bytes::Bytes;
use crate::SimDisk;

const PATHS: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/a", "x", "x/y", "d"];
const RUNS_MAX: usize = 6;

pub(super) fn run(input: &[u8]) {
    let mut bytes = Bytes(input);
    let disk = SimDisk::new();
    disk.put("a", b"first\nline\n");
    disk.put("d/a", b"second");
    let mut workspace = Workspace::open_on(disk.clone(), Path::new("/")).unwrap();
    let mut past = Vec::new();
    for _ in 0..RUNS_MAX {
        if bytes.is_empty() {
            break;
        }
        let before = disk.snapshot_without(".actum");
        let flags = bytes.byte();
        let operations: Vec<_> = (0..1 + bytes.below(4)).map(|_| operation(&mut bytes)).collect();
        match workspace.apply_operations(&operations, options(flags)) {
            Ok(run) => past.push((run, before)),
            Err(error) => {
                assert_eq!(disk.snapshot_without(".actum"), before, "{error}");
                assert!(!error.to_string().chars().any(char::is_control), "{error}");
            }
        }
        if flags & 4 != 0 {
            workspace.gc(&GcOptions::default()).unwrap();
        }
    }
    while let Some((run, before)) = past.pop() {
        let after = disk.snapshot_without(".actum");
        let undo = workspace.revert(run).unwrap();
        assert_eq!(disk.snapshot_without(".actum"), before);
        let redo = workspace.revert(undo).unwrap();
        assert_eq!(disk.snapshot_without(".actum"), after);
        workspace.revert(redo).unwrap();
        assert_eq!(disk.snapshot_without(".actum"), before);
    }
}

fn options(flags: u8) -> RunOptions {
    let mut limits = Limits::default();
    if flags & 1 != 0 {
        limits.existing_files = ExistingFiles::Replace;
    }
    if flags & 2 != 0 {
        limits.hunk_places = HunkPlaces::Searched;
    }
    RunOptions { limits, ..RunOptions::default() }
}

fn operation(bytes: &mut Bytes<'_>) -> Operation {
    let parents = EmptyParents::Remove;
    let kind = bytes.below(8);
    let path = path(bytes);
    match kind {
        0 => Operation::Create { path, content: bytes.piece().to_vec(), mode: None },
        1 => Operation::Write { path, content: bytes.piece().to_vec(), expected: None },
        2 => Operation::Delete { path, expected: None, parents },
        3 => Operation::Rename { from: path, to: self::path(bytes), parents },
        4 => Operation::Copy { from: path, to: self::path(bytes) },
        5 => Operation::Chmod { path, mode: ModeChange::Executable(bytes.byte() & 1 == 0) },
        6 => {
            let (old, new) = (bytes.piece().to_vec(), bytes.piece().to_vec());
            let occurrences = Occurrences::All;
            let edit = Edit::Replace(Replacement { old, new, occurrences });
            Operation::Edit { path, edit, expected: None }
        }
        _ => Operation::Patch { path, hunks: hunks(bytes), expected: None },
    }
}

fn path(bytes: &mut Bytes<'_>) -> RelPath {
    RelPath::new(PATHS[bytes.below(PATHS.len())]).unwrap()
}

/// Returns hunks that are computed from a content that a file may have, or from arbitrary bytes.
fn hunks(bytes: &mut Bytes<'_>) -> Vec<LineHunk> {
    let old: &[u8] = match bytes.below(4) {
        0 => b"first\nline\n",
        1 => b"second",
        2 => b"",
        _ => bytes.piece(),
    };
    line_diff::hunks(old, bytes.piece(), 3)
}
