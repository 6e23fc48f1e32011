//! Kept images: undo restores the bytes of a large file even if they are changed through another hard link (FO-5).

use actum_core::{FileMode, RunId};
use actum_edit::{ModeChange, Operation};
use actum_testkit::SimDisk;
use actum_workspace::{Error, ErrorKind, RunOptions, State};

use crate::changes::{delete, open, path, rename};
use crate::explore::{LARGE, explore};

const BEFORE: u8 = b'x';
const AFTER: u8 = b'y';
const MINE: &[u8] = b"mine!";

/// Returns content that is too large for the journal.
fn large(byte: u8) -> Vec<u8> {
    vec![byte; (1 << 20) + 5_000]
}

fn write(byte: u8) -> Operation {
    Operation::Write { path: path("f"), content: large(byte), expected: None }
}

fn make_private(file: &str) -> Operation {
    Operation::Chmod { path: path(file), mode: ModeChange::Exact(FileMode::PRIVATE) }
}

/// Returns a workspace with a large file, optionally with another hard link.
fn workspace(other_name: bool) -> SimDisk {
    let disk = SimDisk::new();
    disk.put("f", large(BEFORE));
    if other_name {
        disk.hard_link("f", "other");
    }
    drop(open(&disk).unwrap());
    disk.settle();
    disk.advance(60_000);
    disk
}

fn apply(disk: &SimDisk, change: &[Operation]) -> Result<RunId, Error> {
    open(disk)?.apply_operations(change, RunOptions::default())
}

fn revert(disk: &SimDisk, run: RunId) -> RunId {
    open(disk).unwrap().revert(run).unwrap()
}

#[track_caller]
fn holds(disk: &SimDisk, file: &str, byte: u8) {
    assert!(
        disk.get(file).is_some_and(|bytes| bytes == large(byte)),
        "`{file}` holds something else"
    );
}

/// FO-5
#[test]
fn undo_restores_a_large_file_after_a_write_to_its_hard_link() {
    let changes: [&[Operation]; 3] =
        [&[delete("f")], &[write(AFTER)], &[rename("f", "g"), make_private("g")]];
    for change in changes {
        let disk = workspace(true);
        let run = apply(&disk, change).unwrap();
        disk.overwrite("other", MINE, 0);
        revert(&disk, run);
        holds(&disk, "f", BEFORE);
        assert!(disk.get("other").unwrap().starts_with(MINE));
    }
}

/// FO-5
#[test]
fn redo_restores_a_large_file_after_a_write_to_its_new_hard_link() {
    let disk = workspace(false);
    let run = apply(&disk, &[write(AFTER)]).unwrap();
    disk.advance(60_000);
    disk.hard_link("f", "other");
    let undo = revert(&disk, run);
    holds(&disk, "f", BEFORE);
    disk.overwrite("other", MINE, 0);
    revert(&disk, undo);
    holds(&disk, "f", AFTER);
}

/// FO-5, FO-6
#[test]
fn large_file_hard_linked_during_a_run_is_restored_or_not_replaced() {
    let change = [delete("f")];
    let whole = workspace(false);
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let calls = whole.trace().split_off(first);
    let taken = calls.iter().position(|call| call.starts_with("rename `f`")).unwrap();
    let mut refused = 0;
    for (at, call) in calls.iter().enumerate().take(taken + 1) {
        let disk = workspace(false);
        disk.before_call(at, |disk| disk.hard_link("f", "other"));
        match apply(&disk, &change) {
            Ok(run) => {
                disk.overwrite("other", MINE, 0);
                revert(&disk, run);
            }
            Err(error) => {
                assert!(
                    matches!(error.kind, ErrorKind::Conflict { .. }),
                    "before `{call}`: {error}"
                );
                assert_eq!(error.state, State::Restored, "before `{call}`");
                refused += 1;
            }
        }
        holds(&disk, "f", BEFORE);
    }
    assert!(refused > 0);
}

/// Links that actum itself creates are no reason to copy a file.
///
/// FO-5
#[test]
fn large_file_without_foreign_hard_links_is_not_copied() {
    let disk = workspace(false);
    for byte in [AFTER, BEFORE, AFTER] {
        let first = disk.calls();
        apply(&disk, &[write(byte)]).unwrap();
        let copies = disk.trace().split_off(first);
        let copies = copies.iter().filter(|call| call.starts_with("create `.actum/keep/"));
        assert_eq!(copies.count(), 0);
    }
    let moved = apply(&disk, &[rename("f", "g")]).unwrap();
    revert(&disk, moved);
    holds(&disk, "f", AFTER);
}

/// FO-5, FO-1, FO-2
#[test]
fn deleting_a_hard_linked_large_file_is_atomic() {
    let action = |disk: SimDisk| apply(&disk, &[delete("f")]).map(drop);
    explore(&workspace(true), &action, LARGE).unwrap();
    // The file can be restored even if power is cut right after the run was acknowledged.
    let disk = workspace(true);
    let run = apply(&disk, &[delete("f")]).unwrap();
    for state in disk.crash_states(6).step_by(61).take(40) {
        state.overwrite("other", MINE, 0);
        revert(&state, run);
        holds(&state, "f", BEFORE);
    }
}
