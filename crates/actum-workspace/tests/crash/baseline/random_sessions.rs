//! Random agent sessions: commands, runs and edits in any order can be undone back to the initial state.

use std::collections::BTreeSet;

use actum_core::RunId;
use actum_edit::Operation;
use actum_testkit::SimDisk;
use actum_workspace::disk::Kind;
use actum_workspace::{RunOptions, SnapshotId};
use proptest::prelude::*;

use super::{adopt, begin, end, snapshot, workspace};
use crate::changes::{delete, open, path};
use crate::explore::{Tree, tree};

/// State in which a command leaves a path.
#[derive(Debug, Clone)]
enum Left {
    Nothing,
    /// Regular file that contains this byte.
    File(u8),
    /// Symbolic link to this name.
    Link(u8),
}

/// Step of a session that affects a few paths.
#[derive(Debug, Clone)]
enum Step {
    /// A command changes a path.
    Command(usize, Left),
    /// A run writes or removes a file, unless a command changed it and the change was not adopted.
    Run(usize, Option<u8>),
    /// A client announces an edit of a file, makes it, and adopts it.
    Edit(usize, u8),
    /// The turn ends, and the next one begins.
    Turn,
    /// Every undeclared change is adopted as a run.
    Adopt,
    /// The newest run is undone, and then that undo is undone.
    ThereAndBack,
}

const NAMES: [&str; 5] = ["a", "b", "d/c", "new", "deep/er/new"];

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (path, byte) = (0..NAMES.len(), prop::option::of(0u8..4));
    let left = prop_oneof![
        1 => Just(Left::Nothing),
        2 => (0u8..4).prop_map(Left::File),
        1 => (0u8..4).prop_map(Left::Link),
    ];
    let step = prop_oneof![
        4 => (path.clone(), left).prop_map(|(path, left)| Step::Command(path, left)),
        3 => (path.clone(), byte).prop_map(|(path, byte)| Step::Run(path, byte)),
        2 => (path, 0u8..4).prop_map(|(path, byte)| Step::Edit(path, byte)),
        1 => Just(Step::Turn),
        2 => Just(Step::Adopt),
        1 => Just(Step::ThereAndBack),
    ];
    prop::collection::vec(step, 1..14)
}

/// Leaves a path as a command would. Files are written in place, and only links are replaced.
fn put(disk: &SimDisk, name: &str, left: &Left) {
    disk.advance(50);
    let is_link = is_link(disk, name);
    if disk.stat_of(name).is_some() && (is_link || !matches!(left, Left::File(_))) {
        disk.remove(name);
    }
    if let Some((directory, _)) = name.rsplit_once('/').filter(|_| !matches!(left, Left::Nothing)) {
        disk.mkdir_p(directory);
    }
    match left {
        Left::Nothing => {}
        Left::File(byte) => disk.put(name, vec![*byte; 40]),
        Left::Link(byte) => disk.symlink(name, format!("to{byte}")),
    }
    disk.advance(50);
}

fn is_link(disk: &SimDisk, name: &str) -> bool {
    disk.stat_of(name).is_some_and(|stat| stat.kind == Kind::Symlink)
}

fn in_effect(disk: &SimDisk) -> Vec<RunId> {
    let mut workspace = open(disk).unwrap();
    let transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.runs_in_effect(1_000).unwrap()
}

fn adopt_all(disk: &SimDisk) {
    let changes = snapshot(disk, &[]).unwrap();
    assert!(changes.others.is_empty(), "{changes:?}");
    if !changes.adoptable.is_empty() {
        adopt(disk).unwrap();
    }
    assert!(snapshot(disk, &[]).unwrap().adoptable.is_empty());
}

/// Returns files and links. Directories that a command made and emptied again remain.
fn files(tree: Tree) -> Vec<(String, String)> {
    let named = tree.into_iter().map(|(path, node)| (format!("{path:?}"), format!("{node:?}")));
    named.filter(|(_, node)| node.contains("file") || node.contains("link")).collect()
}

proptest! {
    /// Issue 27: after the commands, runs and edits of a session are adopted, undoing every run, newest first, restores
    /// the files from before the first prompt.
    #[test]
    fn undoing_an_adopted_session_restores_the_initial_tree(steps in steps()) {
        let disk = workspace();
        let before = tree(&disk);
        begin(&disk).unwrap();
        let mut by_commands = BTreeSet::new();
        for step in steps {
            match step {
                Step::Command(path, left) => {
                    by_commands.insert(path);
                    put(&disk, NAMES[path], &left);
                }
                Step::Run(path, _) | Step::Edit(path, _)
                    if by_commands.contains(&path) || is_link(&disk, NAMES[path]) => {}
                Step::Run(at, content) => {
                    let name = NAMES[at];
                    let operation = match (content, disk.get(name)) {
                        (Some(byte), Some(_)) => Operation::Write { path: path(name), content: vec![byte; 40], expected: None },
                        (Some(byte), None) => Operation::Create { path: path(name), content: vec![byte; 40], mode: None },
                        (None, Some(_)) => delete(name),
                        (None, None) => continue,
                    };
                    disk.advance(50);
                    // An operation that changes nothing creates no run.
                    drop(open(&disk).unwrap().apply_operations(&[operation], RunOptions::default()));
                    disk.advance(50);
                }
                Step::Edit(at, byte) => {
                    let call = SnapshotId::new(&["call"]);
                    let mut workspace = open(&disk).unwrap();
                    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
                    transaction.look_at(&path(NAMES[at])).unwrap();
                    transaction.take_snapshot(call).unwrap();
                    drop(transaction);
                    put(&disk, NAMES[at], &Left::File(byte));
                    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
                    transaction.adopt(call).unwrap();
                    drop(transaction.commit());
                }
                Step::Turn => {
                    end(&disk).unwrap();
                    begin(&disk).unwrap();
                }
                Step::Adopt => {
                    adopt_all(&disk);
                    by_commands.clear();
                }
                Step::ThereAndBack => {
                    let newest = in_effect(&disk).first().copied();
                    if let Some(run) = newest.filter(|_| by_commands.is_empty()) {
                        let undo = open(&disk).unwrap().revert(run).unwrap();
                        open(&disk).unwrap().revert(undo).unwrap();
                        disk.advance(50);
                    }
                }
            }
        }
        adopt_all(&disk);
        for run in in_effect(&disk) {
            open(&disk).unwrap().revert(run).unwrap();
        }
        prop_assert_eq!(files(tree(&disk)), files(before));
    }
}
