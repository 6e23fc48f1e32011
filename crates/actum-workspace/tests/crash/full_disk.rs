//! Undo on a disk without space for copies of kept files, so that it uses the kept files themselves.

use std::path::Path;

use actum_core::RunId;
use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::path_change::{Content, State as Held};
use actum_workspace::{ErrorKind, GcOptions, RunOptions, State, View};

use crate::changes::{delete, open, path};

/// Size of a file that is too large for the journal.
const LARGE: usize = (1 << 20) + 1;
/// Enough space for records, but not for a file of `LARGE` bytes.
const LITTLE: u64 = 256 << 10;

fn content(byte: u8) -> Vec<u8> {
    vec![byte; LARGE]
}

/// Returns a workspace in which a run deleted one large file and replaced another, on a disk that is then nearly full.
fn nearly_full() -> (SimDisk, RunId) {
    let disk = SimDisk::new();
    disk.put("deleted", content(b'd'));
    disk.put("replaced", content(b'r'));
    let write = Operation::Write { path: path("replaced"), content: content(b'n'), expected: None };
    let mut workspace = open(&disk).unwrap();
    let operations = [delete("deleted"), write];
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    disk.set_free_bytes(LITTLE);
    (disk, run)
}

/// Returns the path of the only kept image.
fn kept(disk: &SimDisk) -> String {
    disk.snapshot().into_keys().find(|name| name.starts_with(".actum/keep/")).unwrap()
}

fn redo(disk: &SimDisk, run: RunId) {
    let mut workspace = open(disk).unwrap();
    let (_, redo) = workspace.begin_redo(run, RunOptions::default()).unwrap();
    redo.commit().unwrap();
}

fn is_undone(disk: &SimDisk) -> bool {
    let deleted = disk.get("deleted").is_some_and(|now| now == content(b'd'));
    deleted && disk.get("replaced").is_some_and(|now| now == content(b'r'))
}

fn is_done(disk: &SimDisk) -> bool {
    disk.get("deleted").is_none() && disk.get("replaced").is_some_and(|now| now == content(b'n'))
}

/// FO-5
#[test]
fn undo_and_redo_succeed_on_a_full_disk_when_originals_are_kept() {
    for collects in [false, true] {
        let (disk, run) = nearly_full();
        for _ in 0..2 {
            if collects {
                open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
            }
            open(&disk).unwrap().revert(run).unwrap();
            assert!(is_undone(&disk));
            if collects {
                open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
            }
            redo(&disk, run);
            assert!(is_done(&disk));
        }
    }
}

/// FO-5, FO-9: a run that is still in effect keeps the originals for its undo, including those that a redo kept again.
#[test]
fn protected_run_can_be_undone_again_after_undo_and_redo() {
    let (disk, run) = nearly_full();
    open(&disk).unwrap().revert(run).unwrap();
    redo(&disk, run);
    let options = GcOptions { runs_max: 0, protected: [run].into(), ..GcOptions::default() };
    let report = open(&disk).unwrap().gc(&options).unwrap();
    assert_eq!((report.removed_runs.len(), report.kept_runs), (2, 1));
    open(&disk).unwrap().revert(run).unwrap();
    assert!(is_undone(&disk));
}

/// FO-5, FO-7: a collection stores equal originals as a single file in the history, but an undo publishes separate
/// files.
#[test]
fn equal_originals_kept_by_gc_are_restored_as_separate_files() {
    let disk = SimDisk::new();
    disk.put("x", content(b'd'));
    disk.put("y", content(b'd'));
    let mut workspace = open(&disk).unwrap();
    let run = workspace.apply_operations(&[delete("x"), delete("y")], RunOptions::default());
    let run = run.unwrap();
    drop(workspace);
    disk.set_free_bytes(LITTLE);
    open(&disk).unwrap().revert(run).unwrap();
    redo(&disk, run);
    let options = GcOptions { runs_max: 0, protected: [run].into(), ..GcOptions::default() };
    open(&disk).unwrap().gc(&options).unwrap();
    if let Err(error) = open(&disk).unwrap().revert(run) {
        assert_eq!(error.state, State::Unchanged);
        disk.set_free_bytes(u64::MAX);
        open(&disk).unwrap().revert(run).unwrap();
    }
    disk.overwrite("x", b"edited", 0);
    assert_eq!(disk.get("y").unwrap(), content(b'd'));
    assert_ne!(disk.stat_of("x").unwrap().inode, disk.stat_of("y").unwrap().inode);
}

/// FO-5
#[test]
fn undo_succeeds_over_quota_when_originals_are_kept() {
    let (whole, run) = nearly_full();
    whole.set_free_bytes(u64::MAX);
    let first = whole.calls();
    open(&whole).unwrap().revert(run).unwrap();
    let trace = whole.trace();
    let is_copy = |call: &&String| call.starts_with("write_at") && call.contains("stage");
    let copies = trace.iter().skip(first).filter(is_copy).count();
    assert!(copies > 0, "{trace:#?}");
    let at = trace.iter().skip(first).position(|call| is_copy(&call)).unwrap();
    let (disk, run) = nearly_full();
    disk.set_free_bytes(u64::MAX);
    disk.fail_at(at, Errno::DQUOT);
    open(&disk).unwrap().revert(run).unwrap();
    assert!(is_undone(&disk));
}

/// FO-5
#[test]
fn file_moved_by_undo_has_one_link_once_its_run_is_in_the_history() {
    let (disk, run) = nearly_full();
    open(&disk).unwrap().revert(run).unwrap();
    open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
    for file in ["deleted", "replaced"] {
        assert_eq!(disk.stat_of(file).unwrap().links, 1, "{file}");
    }
    // The history finds a file that an undo moved out of it at its current path, and detects a write to that file.
    let before = |file: &str| {
        let history = View::open_on(disk.clone(), Path::new("/")).unwrap();
        let changes = history.diff(run).unwrap();
        changes.into_iter().find(|change| change.path == path(file)).unwrap().before
    };
    let is_known = |held: Held| matches!(held, Held::File { content: Content::Known(_), .. });
    assert!(is_known(before("deleted")) && is_known(before("replaced")));
    disk.overwrite("deleted", b"edited", 0);
    assert!(!is_known(before("deleted")) && is_known(before("replaced")));
}

/// FO-5, FO-7
#[test]
fn undo_does_not_move_a_kept_file_that_has_another_hard_link() {
    let disk = SimDisk::new();
    disk.put("deleted", content(b'd'));
    let mut workspace = open(&disk).unwrap();
    let run = workspace.apply_operations(&[delete("deleted")], RunOptions::default()).unwrap();
    drop(workspace);
    disk.hard_link(kept(&disk), "other");
    disk.set_free_bytes(LITTLE);
    let error = open(&disk).unwrap().revert(run).unwrap_err();
    assert_eq!(error.state, State::Unchanged);
    assert!(matches!(error.kind, ErrorKind::Io { .. }), "{error}");
    assert!(disk.get("deleted").is_none());
    disk.set_free_bytes(u64::MAX);
    open(&disk).unwrap().revert(run).unwrap();
    disk.overwrite("other", b"edited", 0);
    assert_eq!(disk.get("deleted").unwrap(), content(b'd'));
}

/// The kept image of a file with other hard links is a copy that no other process can open by name.
///
/// FO-5
#[test]
fn undo_of_a_hard_linked_file_succeeds_on_a_full_disk() {
    let disk = SimDisk::new();
    disk.put("deleted", content(b'd'));
    disk.hard_link("deleted", "other");
    let mut workspace = open(&disk).unwrap();
    let run = workspace.apply_operations(&[delete("deleted")], RunOptions::default()).unwrap();
    drop(workspace);
    disk.overwrite("other", b"edited", 0);
    disk.set_free_bytes(LITTLE);
    open(&disk).unwrap().revert(run).unwrap();
    assert_eq!(disk.get("deleted").unwrap(), content(b'd'));
}

/// FO-2, FO-5
#[test]
fn hard_linked_file_is_not_displaced_without_space_for_a_copy() {
    let disk = SimDisk::new();
    disk.put("deleted", content(b'd'));
    disk.hard_link("deleted", "other");
    let mut workspace = open(&disk).unwrap();
    disk.set_free_bytes(LITTLE / 4); // less than one piece of the copy
    let run = workspace.apply_operations(&[delete("deleted")], RunOptions::default());
    let error = run.unwrap_err();
    assert_eq!(error.state, State::Unchanged);
    assert!(matches!(error.kind, ErrorKind::Io { .. }), "{error}");
    assert!(disk.get("deleted").is_some());
    assert!(!disk.snapshot().into_keys().any(|name| name.starts_with(".actum/keep/")));
}

/// FO-5
#[test]
fn undo_copies_kept_files_while_space_remains() {
    let (disk, run) = nearly_full();
    disk.set_free_bytes(u64::MAX);
    open(&disk).unwrap().revert(run).unwrap();
    disk.overwrite("deleted", b"edited", 0);
    let history = View::open_on(disk.clone(), Path::new("/")).unwrap();
    let change = history.diff(run).unwrap().into_iter().next().unwrap();
    assert!(matches!(change.before, Held::File { content: Content::Known(_), .. }));
}
