//! Identity: a workspace keeps its id when it moves, but a copy of it gets a new one.

use std::fs;
use std::path::Path;

use actum_core::{RelPath, RunId};
use actum_edit::Operation;
use actum_record::ledger::WorkspaceId;
use actum_workspace::{Ending, ErrorKind, GcOptions, Outcome, RunOptions, View, Workspace};

fn name(root: &Path) -> WorkspaceId {
    let mut workspace = Workspace::open(root).unwrap();
    let transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.workspace_id().unwrap()
}

fn create(path: &str) -> [Operation; 1] {
    [Operation::Create { path: RelPath::new(path).unwrap(), content: b"x".to_vec(), mode: None }]
}

/// AEC-7
#[test]
fn workspace_keeps_its_id_when_moved_and_a_copy_gets_a_new_one() {
    let directory = tempfile::tempdir().unwrap();
    let (root, moved) = (directory.path().join("a"), directory.path().join("b"));
    fs::create_dir(&root).unwrap();
    let first = name(&root);
    assert_eq!(name(&root), first);
    fs::rename(&root, &moved).unwrap();
    assert_eq!(name(&moved), first);
    assert_eq!(View::open(&moved).unwrap().workspace_id().unwrap(), Some(first));
    // Copy as made by `cp -a`.
    Workspace::open(&moved).unwrap();
    fs::create_dir_all(root.join(".actum")).unwrap();
    for name in ["journal", "id", "lock"] {
        fs::copy(moved.join(".actum").join(name), root.join(".actum").join(name)).unwrap();
    }
    assert_eq!(View::open(&root).unwrap().workspace_id().unwrap(), None);
    let copy = name(&root);
    assert_ne!(copy, first);
    assert_eq!((name(&root), name(&moved)), (copy, first));
}

/// AEC-7: replacing a damaged id would make every repeated request look like a new one.
#[test]
fn damaged_workspace_id_is_rejected_and_not_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let first = name(root);
    let file = root.join(".actum/id");
    let sound = fs::read(&file).unwrap();
    for damaged in [&b""[..], b"x", &sound[..sound.len() - 1], &[0xff; 64]] {
        fs::write(&file, damaged).unwrap();
        let mut workspace = Workspace::open(root).unwrap();
        let transaction = workspace.begin(RunOptions::default()).unwrap();
        let error = transaction.workspace_id().unwrap_err();
        assert!(matches!(error.kind, ErrorKind::State { .. }), "{error}");
        assert_eq!(fs::read(&file).unwrap(), damaged);
    }
    fs::write(&file, &sound).unwrap();
    assert_eq!(name(root), first);
}

/// AEC-8: the record of a run shows whether it began. If that record is no longer available, the outcome is unknown.
#[test]
fn run_outcome_is_reported_or_unknown() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let mut workspace = Workspace::open(root).unwrap();
    let never = RunId::from_random(1);
    let place = |workspace: &mut Workspace| workspace.begin(RunOptions::default()).unwrap().place();
    let ending = |workspace: &mut Workspace, run, place| {
        let transaction = workspace.begin(RunOptions::default()).unwrap();
        transaction.ending_of(run, place).unwrap()
    };
    let at = place(&mut workspace);
    assert_eq!(ending(&mut workspace, never, at), Ending::NeverBegan, "nothing is there yet");
    let run = workspace.apply_operations(&create("a"), RunOptions::default()).unwrap();
    let is_committed = |ending| matches!(ending, Ending::Ended(Outcome::Committed, _));
    assert!(is_committed(ending(&mut workspace, run, at)));
    assert_eq!(ending(&mut workspace, never, at), Ending::NeverBegan, "another run is there");
    workspace.gc(&GcOptions::default()).unwrap();
    assert!(is_committed(ending(&mut workspace, run, at)), "the history tells it");
    let record = fs::read_dir(root.join(".actum/history")).unwrap().next().unwrap().unwrap().path();
    let sound = fs::read(&record).unwrap();
    fs::write(&record, "").unwrap();
    assert_eq!(ending(&mut workspace, run, at), Ending::Unknown, "its record is damaged");
    fs::write(&record, sound).unwrap();
    workspace.apply_operations(&create("b"), RunOptions::default()).unwrap();
    workspace.gc(&GcOptions { runs_max: 0, ..GcOptions::default() }).unwrap();
    assert_eq!(ending(&mut workspace, run, at), Ending::Unknown, "it was forgotten");
    assert_eq!(ending(&mut workspace, never, at), Ending::Unknown);
    drop(workspace);
    let at = place(&mut Workspace::open(root).unwrap());
    let journal = root.join(".actum/journal");
    let mut bytes = fs::read(&journal).unwrap();
    bytes[100] ^= 1;
    fs::write(&journal, bytes).unwrap();
    Workspace::set_aside_journal(root).unwrap();
    fs::remove_dir_all(root.join(".actum/lost")).unwrap();
    let mut workspace = Workspace::open(root).unwrap();
    assert_eq!(ending(&mut workspace, never, at), Ending::Unknown, "its journal is gone");
}

/// Copies a tree as `cp -al` does, by adding a hard link to each file.
fn copy_by_links(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy_by_links(&entry.path(), &to),
            false => fs::hard_link(entry.path(), to).unwrap(),
        }
    }
}

/// FO-2, FO-9: a hard-linked copy shares no file that actum writes in place, whichever workspace is used first.
#[test]
fn hard_linked_workspace_copy_gets_a_separate_journal() {
    for is_copy_first in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let (root, copy) = (directory.path().join("a"), directory.path().join("b"));
        fs::create_dir(&root).unwrap();
        let apply = |root: &Path, path: &str| {
            Workspace::open(root).unwrap().apply_operations(&create(path), RunOptions::default())
        };
        let runs = |root: &Path| {
            let view = View::open(root).unwrap();
            view.runs().unwrap().iter().map(|run| run.run).collect::<Vec<_>>()
        };
        let first = apply(&root, "one").unwrap();
        // A handle opened before the copy is used after it.
        let mut open = Workspace::open(&root).unwrap();
        copy_by_links(&root, &copy);
        let copied = is_copy_first.then(|| apply(&copy, "two").unwrap());
        let own = open.apply_operations(&create("three"), RunOptions::default()).unwrap();
        let copied = copied.unwrap_or_else(|| apply(&copy, "two").unwrap());
        let mut of_root = runs(&root);
        let mut of_copy = runs(&copy);
        of_root.sort();
        of_copy.sort();
        let sorted = |mut runs: [RunId; 2]| {
            runs.sort();
            runs
        };
        assert_eq!(
            (of_root, of_copy),
            (sorted([first, own]).into(), sorted([first, copied]).into())
        );
        for root in [&root, &copy] {
            for entry in fs::read_dir(root.join(".actum")).unwrap().map(Result::unwrap) {
                let found = entry.metadata().unwrap();
                let is_shared =
                    found.is_file() && std::os::unix::fs::MetadataExt::nlink(&found) > 1;
                assert!(
                    !is_shared || entry.file_name() == "lock" || entry.file_name() == ".gitignore"
                );
            }
        }
        assert!(root.join("three").exists() && !root.join("two").exists());
        assert!(copy.join("two").exists() && !copy.join("three").exists());
    }
}
