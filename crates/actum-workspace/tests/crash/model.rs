//! Random transactions compared with a model. The result equals the model, and undo restores the earlier state (FO-5,
//! FO-9, FO-10).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use actum_core::text::lines;
use actum_core::{Digest, FileMode, RelPath, RunId};
use actum_edit::{EmptyParents, LineHunk, ModeChange, Operation};
use actum_testkit::{Node, SimDisk};
use actum_workspace::path_change::{Content, PathChange, State};
use actum_workspace::{
    Change, ChangeKind, Committed, Extent, GcOptions, Lines, RunOptions, View, Workspace,
};
use proptest::prelude::*;

/// Model of a workspace: the mode and bytes of each path. The bytes of a link are its target.
type Model = BTreeMap<String, (u32, Vec<u8>)>;

const PATHS: [&str; 8] = ["a", "b", "d/a", "d/b", "d/e/a", "x", "x/y", "d"];

#[derive(Debug, Clone)]
enum Step {
    Create(usize, Vec<u8>),
    Write(usize, Vec<u8>),
    /// Replaces the first line.
    Patch(usize, u8),
    Delete(usize),
    Rename(usize, usize),
    Copy(usize, usize),
    Chmod(usize, bool),
    /// Creates a link, or changes its target.
    Link(usize, u8),
}

fn step() -> impl Strategy<Value = Step> {
    let path = 0..PATHS.len();
    let bytes = proptest::collection::vec(any::<u8>(), 0..12);
    prop_oneof![
        3 => (path.clone(), bytes.clone()).prop_map(|(p, b)| Step::Create(p, b)),
        3 => (path.clone(), bytes).prop_map(|(p, b)| Step::Write(p, b)),
        3 => (path.clone(), any::<u8>()).prop_map(|(p, b)| Step::Patch(p, b)),
        2 => path.clone().prop_map(Step::Delete),
        2 => (path.clone(), path.clone()).prop_map(|(f, t)| Step::Rename(f, t)),
        1 => (path.clone(), path.clone()).prop_map(|(f, t)| Step::Copy(f, t)),
        1 => (path.clone(), any::<bool>()).prop_map(|(p, x)| Step::Chmod(p, x)),
        2 => (path, any::<u8>()).prop_map(|(p, t)| Step::Link(p, t)),
    ]
}

fn operation(model: &Model, step: &Step) -> Operation {
    let path = |index: &usize| RelPath::new(PATHS[*index]).unwrap();
    let parents = EmptyParents::Remove;
    match step {
        Step::Create(p, content) => {
            Operation::Create { path: path(p), content: content.clone(), mode: None }
        }
        Step::Write(p, content) => {
            Operation::Write { path: path(p), content: content.clone(), expected: None }
        }
        Step::Patch(p, new) => {
            let content = model.get(PATHS[*p]).map(|(_, content)| content.as_slice());
            let hunk = replace_first_line(content.unwrap_or(b"gone\n"), &new_line(*new));
            Operation::Patch { path: path(p), hunks: vec![hunk], expected: None }
        }
        Step::Delete(p) => Operation::Delete { path: path(p), expected: None, parents },
        Step::Rename(from, to) => Operation::Rename { from: path(from), to: path(to), parents },
        Step::Copy(from, to) => Operation::Copy { from: path(from), to: path(to) },
        Step::Chmod(p, executable) => {
            let mode = ModeChange::Executable(*executable);
            Operation::Chmod { path: path(p), mode }
        }
        Step::Link(p, new) => {
            let there = model.get(PATHS[*p]).filter(|(mode, _)| is_link(*mode));
            let expected = there.map(|(_, target)| Digest::of(target));
            Operation::Link { path: path(p), target: target(*new), expected }
        }
    }
}

fn is_link(mode: u32) -> bool {
    mode == FileMode::LINK.bits()
}

fn target(word: u8) -> Vec<u8> {
    format!("{}{word}", "../".repeat(usize::from(word % 3))).into_bytes()
}

fn new_line(word: u8) -> String {
    format!("line {word}\n")
}

fn first_line(content: &[u8]) -> &[u8] {
    content.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default()
}

fn replace_first_line(content: &[u8], new: &str) -> LineHunk {
    let old = first_line(content);
    let old_lines = u32::from(!old.is_empty());
    let mut body = Vec::new();
    if !old.is_empty() {
        body.extend([b"-", old].concat());
    }
    if !old.is_empty() && !old.ends_with(b"\n") {
        body.extend(b"\n\\ No newline at end of file\n");
    }
    body.extend(format!("+{new}").into_bytes());
    let at_end = old.is_empty();
    LineHunk { old_start: old_lines, old_lines, new_start: 1, new_lines: 1, body, at_end }
}

/// Returns true if the path is in use, or if one of its parent components is a file.
fn taken(model: &Model, path: &str) -> bool {
    let below = format!("{path}/");
    let on_the_way = |known: &String| {
        path.starts_with(known.as_str()) && path.as_bytes().get(known.len()) == Some(&b'/')
    };
    model.keys().any(|known| known == path || known.starts_with(&below) || on_the_way(known))
}

/// Applies a step to the model. Returns false if the workspace must reject the step.
fn step_on(model: &mut Model, step: &Step) -> bool {
    let name = |index: &usize| PATHS[*index].to_owned();
    let is_taken = matches!(step, Step::Link(p, _) if taken(model, PATHS[*p]));
    match step {
        Step::Create(p, bytes) => {
            if taken(model, PATHS[*p]) {
                return false;
            }
            model.insert(name(p), (0o644, bytes.clone()));
        }
        Step::Write(p, bytes) => match model.get_mut(PATHS[*p]) {
            Some((mode, content)) if !is_link(*mode) => content.clone_from(bytes),
            Some(_) | None => return false,
        },
        Step::Patch(p, new) => match model.get_mut(PATHS[*p]) {
            Some((mode, content)) if !is_link(*mode) => {
                let rest = content.split_off(first_line(content).len());
                *content = [new_line(*new).into_bytes(), rest].concat();
            }
            Some(_) | None => return false,
        },
        Step::Delete(p) => return model.remove(PATHS[*p]).is_some(),
        Step::Rename(from, to) | Step::Copy(from, to) => {
            let Some(file) = model.get(PATHS[*from]).cloned() else { return false };
            let mut rest = model.clone();
            if matches!(step, Step::Rename(..)) && from != to {
                // A file may move to the path of its own directory, or below its own old name.
                rest.remove(PATHS[*from]);
            }
            if taken(&rest, PATHS[*to]) {
                return false;
            }
            *model = rest;
            model.insert(name(to), file);
        }
        Step::Chmod(p, executable) => match model.get_mut(PATHS[*p]) {
            Some((mode, _)) if !is_link(*mode) => {
                *mode = FileMode::new(*mode).with_executable(*executable).bits();
            }
            // A directory exists if there is a file below it.
            None => return model.keys().any(|known| known.starts_with(&format!("{}/", PATHS[*p]))),
            Some(_) => return false,
        },
        Step::Link(p, new) => match model.get_mut(PATHS[*p]) {
            Some((mode, content)) if is_link(*mode) => *content = target(*new),
            Some(_) => return false,
            None if is_taken => return false,
            None => drop(model.insert(name(p), (FileMode::LINK.bits(), target(*new)))),
        },
    }
    true
}

fn files(disk: &SimDisk) -> Model {
    disk.snapshot_without(".actum")
        .into_iter()
        .filter_map(|(path, node)| match node {
            Node::File { mode, bytes, .. } => Some((path, (mode.bits(), bytes.to_vec()))),
            Node::Symlink { target } => Some((path, (FileMode::LINK.bits(), target.to_vec()))),
            Node::Directory { .. } | Node::Special => None,
        })
        .collect()
}

/// Bytes of files before and after a change, by path.
type Differences = BTreeMap<String, (Option<Vec<u8>>, Option<Vec<u8>>)>;

/// Returns the file differences in a diff.
fn differences(changes: Vec<PathChange>) -> Differences {
    let bytes = |state: State| match state {
        State::File { content: Content::Known(bytes), .. } => Some(bytes.to_vec()),
        State::File { content, .. } => panic!("{content:?}"),
        State::Absent | State::Directory { .. } => None,
    };
    let differences = changes.into_iter().map(|PathChange { path, before, after, .. }| {
        (path.to_string(), (bytes(before), bytes(after)))
    });
    differences.filter(|(_, (before, after))| before.is_some() || after.is_some()).collect()
}

/// Returns the file differences between two models.
fn difference(before: &Model, after: &Model) -> Differences {
    let bytes = |model: &Model, path: &String| model.get(path).map(|(_, bytes)| bytes.clone());
    let changed =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path));
    changed.map(|path| (path.clone(), (bytes(before, path), bytes(after, path)))).collect()
}

fn apply(
    workspace: &mut Workspace<SimDisk>,
    operations: &[Operation],
) -> actum_workspace::Result<Committed> {
    let mut transaction = workspace.begin(RunOptions::default())?;
    operations.iter().try_for_each(|operation| transaction.operate(operation))?;
    transaction.commit()
}

/// Returns the changes of a run as they are reported after the commit.
fn shown(disk: &SimDisk, run: RunId) -> Vec<Change> {
    let view = View::open_on(disk.clone(), Path::new("/")).unwrap();
    view.show(run).unwrap().changes.into_iter().map(|shown| shown.change).collect()
}

/// Checks that every changed file is reported exactly once, and that the reported line counts match its content before
/// and after.
fn accounts_for_every_line(changes: &[Change], before: &Model, after: &Model) {
    let mut paths = BTreeSet::new();
    for Change { path, kind, extent, .. } in changes {
        let path = path.to_string();
        let is_of_directory = !before.contains_key(&path) && !after.contains_key(&path);
        if *kind == ChangeKind::Mode && is_of_directory {
            continue;
        }
        let old = match kind {
            ChangeKind::Created => None,
            ChangeKind::Renamed { from } => {
                paths.insert(from.to_string());
                Some(&before[&from.to_string()])
            }
            ChangeKind::Modified
            | ChangeKind::Mode
            | ChangeKind::Attributes
            | ChangeKind::Deleted => Some(&before[&path]),
            ChangeKind::DirectoryCreated | ChangeKind::DirectoryRemoved => continue,
        };
        let new = (*kind != ChangeKind::Deleted).then(|| &after[&path]);
        let lines = |file: Option<&(u32, Vec<u8>)>| file.map_or(Some(0), |file| lines(&file.1));
        let same = old.map(|file| &file.1) == new.map(|file| &file.1);
        match (extent, lines(old), lines(new)) {
            (Extent::Lines(counted), _, _) if same => assert_eq!(*counted, Lines::default()),
            (Extent::Lines(Lines { added, removed }), Some(old), Some(new)) => {
                assert_eq!(old + added, new + removed, "{path}");
            }
            (differences, old, new) => {
                let size = |file: Option<&(u32, Vec<u8>)>| file.map_or(0, |it| it.1.len() as u64);
                assert!(old.is_none() || new.is_none(), "{path}: {differences:?}");
                let (before, after) = (size(before.get(&path)), size(after.get(&path)));
                if !matches!(kind, ChangeKind::Renamed { .. } | ChangeKind::Created) {
                    assert_eq!(*differences, Extent::Bytes { before, after }, "{path}");
                }
            }
        }
        paths.insert(path);
    }
    let differing = before.keys().chain(after.keys());
    let differing = differing.filter(|path| before.get(*path) != after.get(*path)).cloned();
    assert_eq!(paths, differing.collect());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// FO-4, FO-5, FO-10
    #[test]
    fn runs_match_the_model_and_undo_reverses_them(
        runs in proptest::collection::vec((proptest::collection::vec(step(), 1..6), any::<bool>()), 1..6),
    ) {
        let disk = SimDisk::new();
        disk.put("a", b"first\n");
        disk.put("d/a", b"second\n");
        let mut model = files(&disk);
        let mut workspace = Workspace::open_on(disk.clone(), Path::new("/")).unwrap();
        let (mut past, mut states) = (Vec::new(), Vec::new());
        for (steps, collect) in &runs {
            let before = disk.snapshot_without(".actum");
            let mut wanted = model.clone();
            let mut operations = Vec::new();
            let possible = steps.iter().all(|step| {
                operations.push(operation(&wanted, step));
                step_on(&mut wanted, step)
            });
            match apply(&mut workspace, &operations) {
                Ok(Committed { run, changes, .. }) => {
                    prop_assert!(possible, "the model refuses {steps:?}");
                    accounts_for_every_line(&changes, &model, &wanted);
                    prop_assert_eq!(&changes[..], &shown(&disk, run)[..]);
                    prop_assert_eq!(files(&disk), wanted.clone());
                    states.push((run, std::mem::replace(&mut model, wanted.clone()), wanted));
                    past.push((run, before));
                }
                Err(error) => {
                    prop_assert!(!possible, "the workspace refuses {steps:?}: {error}");
                    prop_assert_eq!(disk.snapshot_without(".actum"), before);
                }
            }
            if *collect {
                workspace.gc(&GcOptions::default()).unwrap();
            }
        }
        // The content before and after each run, and between any two runs, can still be read.
        let view = View::open_on(disk.clone(), Path::new("/")).unwrap();
        for (index, (run, before, after)) in states.iter().enumerate() {
            prop_assert_eq!(differences(view.diff(*run).unwrap()), difference(before, after));
            for (later, _, last) in &states[index..] {
                prop_assert_eq!(
                    differences(view.diff_between(*run, *later).unwrap()),
                    difference(after, last)
                );
            }
        }
        while let Some((run, before)) = past.pop() {
            let after = disk.snapshot_without(".actum");
            let mut undone = |run, expected: &_| {
                let was = files(&disk);
                let transaction = workspace.begin_undo(run, RunOptions::default()).unwrap();
                let Committed { run, changes, .. } = transaction.commit().unwrap();
                prop_assert_eq!(&disk.snapshot_without(".actum"), expected);
                accounts_for_every_line(&changes, &was, &files(&disk));
                prop_assert_eq!(changes.to_vec(), shown(&disk, run));
                Ok(run)
            };
            let undo = undone(run, &before)?;
            let redo = undone(undo, &after)?;
            undone(redo, &before)?;
        }
    }
}
