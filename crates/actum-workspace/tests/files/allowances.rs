//! Actions that a run may take only if its limits allow them: replacing files, and searching for the position of a
//! hunk. Also edits that locate their own position.

use std::os::unix::fs::MetadataExt;

use actum_core::RelPath;
use actum_edit::edit::{Edit, Occurrences, Replacement};
use actum_edit::hunk::MovedHunk;
use actum_edit::{EmptyParents, LineHunk, Operation};
use actum_testkit::TestDir;
use actum_workspace::{
    Error, ErrorKind, ExistingFiles, HunkPlaces, Limits, RunOptions, State, Workspace,
};

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

fn create(file: &str) -> Operation {
    Operation::Create { path: path(file), content: b"new\n".to_vec(), mode: None }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Remove }
}

fn copy(from: &str, to: &str) -> Operation {
    Operation::Copy { from: path(from), to: path(to) }
}

fn replacing() -> RunOptions {
    let limits = Limits { existing_files: ExistingFiles::Replace, ..Limits::default() };
    RunOptions { limits, ..RunOptions::default() }
}

fn searching() -> RunOptions {
    let limits = Limits { hunk_places: HunkPlaces::Searched, ..Limits::default() };
    RunOptions { limits, ..RunOptions::default() }
}

/// FO-10, FO-5
#[test]
fn file_is_replaced_only_when_allowed_and_undo_restores_it() {
    for operation in [create("there"), rename("from", "there"), copy("from", "there")] {
        let dir = TestDir::new();
        dir.put("there", "old\n");
        dir.chmod("there", 0o640);
        dir.put("from", "from\n");
        let before = dir.tree();
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let operations = [operation];
        let error = workspace.apply_operations(&operations, RunOptions::default()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Exists { .. }), "{error}");
        assert_eq!((error.state, dir.tree()), (State::Unchanged, before.clone()));
        let run = workspace.apply_operations(&operations, replacing()).unwrap();
        assert_ne!(dir.get("there").unwrap(), b"old\n");
        let after = dir.tree();
        let undo = workspace.revert(run).unwrap();
        assert_eq!(dir.tree(), before);
        workspace.revert(undo).unwrap();
        assert_eq!(dir.tree(), after);
    }
}

/// FO-10
#[test]
fn a_replaced_file_keeps_its_mode() {
    let dir = TestDir::new();
    dir.put("run.sh", "old\n");
    dir.chmod("run.sh", 0o750);
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.apply_operations(&[create("run.sh")], replacing()).unwrap();
    assert_eq!(std::fs::metadata(dir.join("run.sh")).unwrap().mode() & 0o7777, 0o750);
}

/// FO-10
#[test]
fn directories_and_the_source_itself_are_never_replaced() {
    let dir = TestDir::new();
    dir.put("d/f", "f\n");
    dir.put("a", "a\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for operation in [create("d"), rename("a", "d"), copy("a", "d"), rename("a", "a")] {
        let error = workspace.apply_operations(&[operation], replacing()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Exists { .. }), "{error}");
    }
    assert_eq!(dir.get("a").unwrap(), b"a\n");
}

fn patch_of_b() -> Operation {
    let body = b" a\n-b\n+B\n".to_vec();
    let hunk =
        LineHunk { old_start: 1, old_lines: 2, new_start: 1, new_lines: 2, body, at_end: false };
    Operation::Patch { path: path("file"), hunks: vec![hunk], expected: None }
}

/// FO-10
#[test]
fn hunk_moves_only_when_allowed_and_the_run_reports_it() {
    let dir = TestDir::new();
    dir.put("file", "x\ny\na\nb\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let error = workspace.apply_operations(&[patch_of_b()], RunOptions::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot patch `file`: hunk 1 does not match at line 1: expected `a\\n`, found `x\\n`; \
         the expected text is at line 3; nothing was changed"
    );
    let mut transaction = workspace.begin(searching()).unwrap();
    transaction.operate(&patch_of_b()).unwrap();
    let moved = MovedHunk { hunk: 1, stated: 1, found: 3 };
    assert_eq!(transaction.moved_hunks(), [(path("file"), moved)]);
    let run = transaction.commit().unwrap().run;
    assert_eq!(dir.get("file").unwrap(), b"x\ny\na\nB\n");
    workspace.revert(run).unwrap();
    assert_eq!(dir.get("file").unwrap(), b"x\ny\na\nb\n");
}

/// FO-10
#[test]
fn hunk_that_matches_twice_is_rejected_even_when_search_is_allowed() {
    let dir = TestDir::new();
    dir.put("file", "x\na\nb\na\nb\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let Error { kind, state, .. } =
        workspace.apply_operations(&[patch_of_b()], searching()).unwrap_err();
    assert_eq!(
        (kind.to_string().as_str(), state),
        (
            "cannot patch `file`: hunk 1 is ambiguous because it matches at lines 2, 4",
            State::Unchanged
        )
    );
}

fn replace(old: &str, new: &str, occurrences: Occurrences) -> Operation {
    let edit = Edit::Replace(Replacement { old: old.into(), new: new.into(), occurrences });
    Operation::Edit { path: path("file"), edit, expected: None }
}

/// FO-10
#[test]
fn edits_see_earlier_edits_and_are_undone_together() {
    let dir = TestDir::new();
    // The content exceeds the limit for memory, so the edit goes through files.
    for size in [10, 200_000] {
        let old = format!("first\n{}last\n", "line of text\n".repeat(size));
        dir.put("file", &old);
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let edits = [
            replace("first", "1st", Occurrences::One),
            replace("1st", "start", Occurrences::One),
            replace("text", "words", Occurrences::All),
        ];
        let run = workspace.apply_operations(&edits, RunOptions::default()).unwrap();
        let new = old.replace("first", "start").replace("text", "words");
        assert_eq!(dir.get("file").unwrap(), new.as_bytes());
        workspace.revert(run).unwrap();
        assert_eq!(dir.get("file").unwrap(), old.as_bytes());
    }
}

/// FO-2, FO-10
#[test]
fn edit_without_a_unique_match_changes_nothing() {
    let dir = TestDir::new();
    dir.put("file", "a\na\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for (operations, message) in [
        (
            vec![replace("a\na", "b", Occurrences::One), replace("a", "c", Occurrences::One)],
            "cannot edit `file`: the text `a` is not in the file; nothing was changed",
        ),
        (
            vec![replace("a", "c", Occurrences::One)],
            "cannot edit `file`: the text `a` occurs 2 times in the file (lines 1, 2), but must occur \
             exactly once; nothing was changed",
        ),
    ] {
        let error = workspace.apply_operations(&operations, RunOptions::default()).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert_eq!(dir.get("file").unwrap(), b"a\na\n");
    }
}
