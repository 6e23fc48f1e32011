//! Crash states of every kind of change, interrupted at every call by a kill and by power cuts. Afterwards the tree is
//! in its old or its new state, never between them (FO-2).

use actum_core::FileMode;
use actum_edit::{EmptyParents, ModeChange, Operation};
use actum_testkit::SimDisk;
use actum_workspace::{GcOptions, RunOptions};

use crate::changes::{apply, base, create, delete, open, patch, path, rename};
use crate::explore::{Effort, LARGE, THOROUGH, cuts, explore, tree};

/// Reduced effort for changes with two large files.
const FEW: Effort = Effort { states: 4, states_in_recovery: 0, stride: 61 };

fn holds(operations: Vec<Operation>) {
    holds_on(&base(), operations, THOROUGH);
}

fn holds_on(disk: &SimDisk, operations: Vec<Operation>, effort: Effort) {
    let result = explore(
        disk,
        &move |disk| open(&disk)?.apply_operations(&operations, RunOptions::default()).map(drop),
        effort,
    );
    match result {
        Ok(count) => eprintln!("{count:?}"),
        Err(violation) => panic!("{violation}"),
    }
}

/// FO-2
#[test]
fn modifying_one_file_is_atomic() {
    holds(vec![patch("a", 1, "one", "ONE")]);
}

/// FO-2
#[test]
fn modifying_two_files_is_atomic() {
    holds(vec![patch("a", 1, "one", "ONE"), patch("b", 2, "dos", "DOS")]);
}

/// FO-2
#[test]
fn created_files_and_their_directories_appear_together_or_not_at_all() {
    holds(vec![create("n/e/w", "new\n"), create("n/x", "")]);
}

/// FO-2
#[test]
fn deleted_files_and_their_directory_disappear_together_or_not_at_all() {
    holds(vec![delete("a"), delete("d/c")]);
}

/// FO-2
#[test]
fn renamed_file_is_at_exactly_one_path() {
    holds(vec![rename("a", "n/a"), rename("d/c", "c")]);
}

/// FO-2
#[test]
fn swapping_two_files_is_atomic() {
    holds(vec![rename("a", "t"), rename("b", "a"), rename("t", "b")]);
}

/// FO-2
#[test]
fn renaming_and_editing_a_file_is_atomic() {
    holds(vec![rename("a", "z"), patch("z", 1, "one", "ONE")]);
}

/// FO-2
#[test]
fn a_copied_file_appears_whole_or_not_at_all() {
    holds(vec![Operation::Copy { from: path("run.sh"), to: path("d/run.sh") }]);
}

/// FO-2
#[test]
fn changing_modes_is_atomic() {
    holds(vec![
        Operation::Chmod { path: path("a"), mode: ModeChange::Executable(true) },
        Operation::Chmod { path: path("run.sh"), mode: ModeChange::Exact(FileMode::new(0o600)) },
    ]);
}

/// FO-2, AA-6
#[test]
fn creating_and_removing_empty_directories_is_atomic() {
    let delete =
        Operation::Delete { path: path("d/c"), expected: None, parents: EmptyParents::Keep };
    let mode = Some(FileMode::PRIVATE_DIRECTORY);
    holds(vec![
        delete,
        Operation::RemoveDirectory { path: path("d") },
        Operation::MakeDirectory { path: path("n/e"), mode },
    ]);
}

/// FO-2
#[test]
fn replacing_a_file_with_a_directory_is_atomic() {
    holds(vec![delete("a"), create("a/b", "deep\n")]);
}

/// FO-2
#[test]
fn replacing_a_directory_with_a_file_is_atomic() {
    holds(vec![delete("d/c"), create("d", "file\n")]);
}

/// FO-2
#[test]
fn modifying_a_large_file_is_atomic() {
    let disk = base();
    let large: String = (0..70_000).map(|line| format!("line number {line}\n")).collect();
    disk.put("large", large.as_bytes());
    disk.settle();
    holds_on(&disk, vec![patch("large", 3, "line number 2", "LINE")], LARGE);
}

/// FO-2
#[test]
fn deleting_and_renaming_large_files_is_atomic() {
    let disk = base();
    let large = vec![b'x'; (1 << 20) + 1];
    disk.put("large", &large);
    disk.put("huge", &large);
    disk.settle();
    holds_on(&disk, vec![delete("large"), rename("huge", "d/huge")], LARGE);
}

/// FO-5
#[test]
fn undo_is_atomic() {
    let disk = base();
    let operations = [patch("a", 1, "one", "ONE"), create("n/w", "w\n"), delete("d/c")];
    let run = open(&disk).unwrap().apply_operations(&operations, RunOptions::default()).unwrap();
    let check = |disk: &SimDisk| {
        let result = explore(disk, &move |disk| open(&disk)?.revert(run).map(drop), THOROUGH);
        result.unwrap_or_else(|violation| panic!("{violation}"));
    };
    // Undo from the journal and from the history.
    let settled = disk.clone_deep();
    settled.settle();
    check(&settled);
    open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
    disk.settle();
    check(&disk);
}

/// An undo on a disk with too little space for copies uses the kept files themselves. Interrupted at any call, it
/// leaves the tree in its old or new state, and so does its redo.
///
/// FO-2, FO-5
#[test]
fn undo_that_moves_kept_files_is_atomic() {
    let disk = base();
    let content = |byte: u8| vec![byte; (1 << 20) + 1];
    disk.put("deleted", content(b'd'));
    disk.put("replaced", content(b'r'));
    disk.settle();
    let write = Operation::Write { path: path("replaced"), content: content(b'n'), expected: None };
    let operations = [delete("deleted"), write, patch("a", 1, "one", "ONE")];
    let run = open(&disk).unwrap().apply_operations(&operations, RunOptions::default()).unwrap();
    let check = |disk: &SimDisk| {
        let undo = move |disk: SimDisk| {
            disk.set_free_bytes(256 << 10);
            open(&disk)?.revert(run).map(drop)
        };
        let result = explore(disk, &undo, FEW);
        result.unwrap_or_else(|violation| panic!("undo: {violation}"));
        let undone = disk.clone_deep();
        undo(undone.clone()).unwrap();
        let redo = move |disk: SimDisk| {
            disk.set_free_bytes(256 << 10);
            let mut workspace = open(&disk)?;
            let (_, redo) = workspace.begin_redo(run, RunOptions::default())?;
            redo.commit().map(drop)
        };
        let result = explore(&undone, &redo, FEW);
        result.unwrap_or_else(|violation| panic!("redo: {violation}"));
    };
    // Undo from the journal, while the tree is not yet durable.
    check(&disk);
}

/// FO-2
#[test]
fn moving_runs_into_the_history_changes_no_file() {
    let disk = base();
    let mut workspace = open(&disk).unwrap();
    for (old, new) in [("one", "two"), ("two", "three")] {
        let operations = [patch("a", 1, old, new)];
        workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    }
    drop(workspace);
    // Only the journal is durable at this point.
    let result = explore(&disk, &|disk| open(&disk)?.gc(&GcOptions::default()).map(drop), THOROUGH);
    result.unwrap_or_else(|violation| panic!("{violation}"));
}

/// FO-2
#[test]
fn run_on_an_unsynced_tree_is_atomic() {
    let disk = base();
    let mut workspace = open(&disk).unwrap();
    // A file that only the first run touched is next to one that the second run touches.
    let operations = [
        patch("a", 1, "one", "1"),
        create("n", "n\n"),
        create("only", "first\n"),
        delete("b"),
        delete("run.sh"),
    ];
    workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    drop(workspace);
    holds_on(
        &disk,
        vec![patch("a", 1, "1", "uno"), rename("n", "m"), create("b", "B\n")],
        THOROUGH,
    );
}

/// FO-2
#[test]
fn run_after_a_killed_run_is_atomic() {
    let change = [patch("a", 1, "one", "ONE")];
    let whole = base();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = base();
        disk.kill_at(at);
        drop(apply(&disk, &change));
        disk.revive();
        disk.clear_faults();
        // The next process continues with the state that the killed one left in memory.
        let next = [patch("b", 1, "uno", "UNO")];
        let effort = Effort { states: 24, states_in_recovery: 0, stride: 1 };
        drop(open(&disk).unwrap());
        let result = explore(&disk, &move |disk| apply(&disk, &next), effort);
        result.unwrap_or_else(|violation| panic!("after a kill before call {at}: {violation}"));
    }
}

/// FO-2
#[test]
fn first_open_of_a_workspace_changes_no_file() {
    let disk = SimDisk::new();
    disk.put("a", b"one\n");
    disk.settle();
    let result = explore(&disk, &|disk| open(&disk).map(drop), LARGE);
    result.unwrap_or_else(|violation| panic!("{violation}"));
}

/// FO-2: a power cut restores names that a run removed together with their directory, although a later run created the
/// directory again.
#[test]
fn old_entries_of_a_recreated_directory_stay_removed() {
    let removals = [
        ("the run removes the directory", vec![vec![delete("d/c")]]),
        ("the run moves the last file away", vec![vec![rename("d/c", "c")]]),
        (
            "a file takes the place",
            vec![vec![delete("d/c"), create("d", "x\n")], vec![delete("d")]],
        ),
    ];
    for (name, removal) in removals {
        let disk = base();
        for run in removal {
            apply(&disk, &run).unwrap();
            disk.advance(5_000);
        }
        apply(&disk, &[create("d/new", "new\n")]).unwrap();
        disk.advance(5_000);
        apply(&disk, &[delete("d/new")]).unwrap();
        disk.advance(5_000);
        apply(&disk, &[create("d/e/newer", "newer\n")]).unwrap();
        let wanted = tree(&disk);
        for state in disk.crash_states(512) {
            drop(open(&state).unwrap());
            assert_eq!(tree(&state), wanted, "{name}; lost: {:#?}", state.lost());
        }
    }
}

/// FO-2: without a journal, a power cut can turn a file's inode back into the directory that it was before, including
/// its entries. The directory is kept in the lost directory, without entries of files that have other names.
#[test]
fn file_whose_inode_reverted_to_a_directory_is_repaired() {
    for is_deleted in [false, true] {
        let disk = base();
        disk.put("before/old", b"old\n");
        disk.hard_link("a", "before/other");
        disk.advance(5_000);
        apply(&disk, &[create("d/new", "new\n")]).unwrap();
        disk.settle();
        if is_deleted {
            apply(&disk, &[delete("d/new")]).unwrap();
        }
        let mut count = 0;
        for state in disk.crash_states(64) {
            if state.stat_of("d/new").is_none() {
                continue;
            }
            count += 1;
            state.revert_inode("d/new", "before");
            drop(open(&state).unwrap());
            assert_eq!(state.get("d/new"), (!is_deleted).then(|| b"new\n".to_vec()));
            assert_eq!(state.stat_of("a").unwrap().links, 1);
            let is_kept =
                |path: &String| path.starts_with(".actum/lost/") && path.ends_with("/old");
            assert_eq!(state.snapshot().keys().filter(|path| is_kept(path)).count(), 1);
        }
        assert!(count > 0);
    }
}
