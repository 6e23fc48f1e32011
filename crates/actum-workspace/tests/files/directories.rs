//! Directories that are created and removed explicitly, as commands do.

use std::os::unix::fs::MetadataExt;

use crate::there_and_back::there_and_back;
use actum_core::{FileMode, PathRule, RelPath, Scope};
use actum_edit::{EmptyParents, Operation};
use actum_testkit::TestDir;
use actum_workspace::{ErrorKind, Limits, RunOptions, Workspace};

fn path(path: impl AsRef<[u8]>) -> RelPath {
    RelPath::new(path).unwrap()
}

fn create(file: &str, content: &str) -> Operation {
    Operation::Create { path: path(file), content: content.into(), mode: None }
}

/// AA-4: files and empty directories that a command leaves are preserved unchanged.
#[test]
fn directories_are_created_removed_and_restored_explicitly() {
    let dir = TestDir::new();
    dir.put("old/inner/a", "a\n");
    let make = |name: &str, mode: Option<u32>| Operation::MakeDirectory {
        path: path(name),
        mode: mode.map(FileMode::new),
    };
    let gone = |name: &str| Operation::RemoveDirectory { path: path(name) };
    let kept = |file: &str| Operation::Delete {
        path: path(file),
        expected: None,
        parents: EmptyParents::Keep,
    };
    let operations = [
        make("new/empty", Some(0o750)),
        make("plain", None),
        kept("old/inner/a"),
        gone("old/inner"),
        make("old/inner", None),
        gone("old/inner"),
    ];
    there_and_back(&dir, &operations, || {
        let mode = |name: &str| std::fs::metadata(dir.path().join(name)).unwrap().mode() & 0o7777;
        assert_eq!(mode("new/empty"), 0o750);
        assert!(dir.path().join("plain").is_dir());
        assert!(dir.path().join("old").is_dir());
        assert!(!dir.path().join("old/inner").exists());
    });
}

/// AA-4, FO-3
#[test]
fn directory_outside_the_scope_changes_only_for_an_allowed_file() {
    let dir = TestDir::new();
    dir.put("old/deep/a", "a\n");
    let make = |name: &str| Operation::MakeDirectory { path: path(name), mode: None };
    let gone = |name: &str| Operation::RemoveDirectory { path: path(name) };
    let limits = Limits {
        scope: Scope {
            allow: Some(vec![
                PathRule::new("new/in/").unwrap(),
                PathRule::new("old/deep/").unwrap(),
            ]),
            deny: vec![PathRule::new("new/in/no").unwrap()],
        },
        ..Limits::default()
    };
    let options = || RunOptions { limits: limits.clone(), ..RunOptions::default() };
    let kept =
        Operation::Delete { path: path("old/deep/a"), expected: None, parents: EmptyParents::Keep };
    let mut workspace = Workspace::open(dir.path()).unwrap();
    for refused in [vec![make("new")], vec![make("new/in/no")], vec![make("new"), make("other")]] {
        let error = workspace.apply_operations(&refused, options()).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Scope { .. }), "{error}");
    }
    let fits = [
        make("new"),
        make("new/in"),
        create("new/in/a", "a\n"),
        make("new/in/empty"),
        kept,
        gone("old/deep"),
        gone("old"),
    ];
    workspace.apply_operations(&fits, options()).unwrap();
    assert!(dir.path().join("new/in/empty").is_dir() && !dir.path().join("old").exists());
}

/// AA-4, FO-3
#[test]
fn emptied_directory_is_removed_when_its_file_moves_out() {
    let dir = TestDir::new();
    dir.put("d/a", "a\n");
    let rules = ["b", "d/a"].map(|rule| PathRule::new(rule).unwrap());
    let scope = Scope { allow: Some(rules.to_vec()), deny: Vec::new() };
    let limits = Limits { scope, ..Limits::default() };
    let parents = EmptyParents::Remove;
    let moved = Operation::Rename { from: path("d/a"), to: path("b"), parents };
    let mut workspace = Workspace::open(dir.path()).unwrap();
    workspace.apply_operations(&[moved], RunOptions { limits, ..RunOptions::default() }).unwrap();
    assert!(!dir.path().join("d").exists());
}

/// AA-4
#[test]
fn creating_an_existing_or_removing_a_nonempty_directory_is_rejected() {
    let dir = TestDir::new();
    dir.put("full/a", "a\n");
    let before = dir.tree();
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let gone = |name: &str| Operation::RemoveDirectory { path: path(name) };
    let cases = [
        (Operation::MakeDirectory { path: path("full"), mode: None }, "`full`"),
        (gone("full"), "the directory to remove is not empty"),
        (gone("full/a"), "`full/a`"),
        (gone("none"), "`none`"),
    ];
    for (operation, expected) in cases {
        let error = workspace.apply_operations(&[operation], RunOptions::default()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.to_string().ends_with("nothing was changed"), "{error}");
    }
    drop(workspace);
    assert_eq!(dir.tree(), before);
}

/// FO-5, issue 22 (claims)
#[test]
fn undo_does_not_report_a_removed_directory_that_was_recreated() {
    let dir = TestDir::new();
    dir.put("d/x", "x\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let delete =
        Operation::Delete { path: path("d/x"), expected: None, parents: EmptyParents::Remove };
    let run = workspace.apply_operations(&[delete], RunOptions::default()).unwrap();
    assert!(!dir.join("d").exists());
    dir.mkdir("d");
    dir.chmod("d", 0o700);
    let undo = workspace.begin_undo(run, RunOptions::default()).unwrap().commit().unwrap();
    let changed: Vec<_> = undo.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(changed, ["d/x"]);
    assert_eq!(dir.join("d").metadata().unwrap().mode() & 0o777, 0o700);
}
