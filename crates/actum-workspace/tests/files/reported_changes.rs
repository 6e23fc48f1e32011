//! Changes that a run reports: renamed files, binary files and modes, both at commit time and later, for a run and its
//! undo.

use actum_core::{Budget, FileMode, RelPath, RunId};
use actum_edit::{EmptyParents, LineHunk, ModeChange, Operation};
use actum_testkit::TestDir;
use actum_workspace::path_change::PathChange;
use actum_workspace::{
    Change, ChangeKind, ErrorKind, ExistingFiles, Extent, GcOptions, Limits, Lines, Modes,
    RunOptions, View, Workspace,
};

fn path(path: &str) -> RelPath {
    RelPath::new(path).unwrap()
}

fn create(file: &str, content: &str) -> Operation {
    Operation::Create { path: path(file), content: content.into(), mode: None }
}

fn delete(file: &str) -> Operation {
    Operation::Delete { path: path(file), expected: None, parents: EmptyParents::Remove }
}

fn rename(from: &str, to: &str) -> Operation {
    Operation::Rename { from: path(from), to: path(to), parents: EmptyParents::Remove }
}

fn write(file: &str, content: impl AsRef<[u8]>) -> Operation {
    let content = content.as_ref().to_vec();
    Operation::Write { path: path(file), content, expected: None }
}

/// Returns the path, the kind, and the numbers of added and removed lines of each reported change.
fn facts(changes: impl IntoIterator<Item = Change>) -> Vec<(String, ChangeKind, (u64, u64))> {
    let facts = changes.into_iter().map(|Change { path, kind, extent, .. }| {
        let Lines { added, removed } = extent.lines();
        (path.to_string(), kind, (added, removed))
    });
    facts.collect()
}

fn shown(dir: &TestDir, run: RunId) -> Vec<(String, ChangeKind, (u64, u64))> {
    let report = View::open(dir.path()).unwrap().show(run).unwrap();
    facts(report.changes.into_iter().map(|shown| shown.change))
}

fn replace_line(file: &str, line: u32, old: &str, new: &str) -> Operation {
    let body = format!("-{old}\n+{new}\n").into_bytes();
    let (old_start, new_start, one) = (line, line, 1);
    let hunk =
        LineHunk { old_start, old_lines: one, new_start, new_lines: one, body, at_end: false };
    Operation::Patch { path: path(file), hunks: vec![hunk], expected: None }
}

/// FO-4, FO-10
#[test]
fn moved_and_edited_file_is_reported_once_with_its_changed_lines() {
    let lines: String = (1..10).map(|number| format!("line {number}\n")).collect();
    let edit = |file: &str, line: u32| {
        replace_line(file, line, &format!("line {line}"), &format!("LINE {line}"))
    };
    let chmod = Operation::Chmod { path: path("b"), mode: ModeChange::Executable(true) };
    let whole = write("b", lines.replace("line 5", "LINE 5"));
    let ways: [(&[Operation], (u64, u64)); 7] = [
        (&[rename("a", "b")], (0, 0)),
        (&[rename("a", "b"), edit("b", 5)], (1, 1)),
        (&[edit("a", 5), rename("a", "b")], (1, 1)),
        (&[edit("a", 5), rename("a", "t"), rename("t", "b"), edit("b", 6)], (2, 2)),
        (&[rename("a", "b"), edit("b", 5), replace_line("b", 5, "LINE 5", "line five")], (1, 1)),
        (&[rename("a", "b"), whole], (1, 1)),
        (&[rename("a", "b"), edit("b", 5), chmod], (1, 1)),
    ];
    for (steps, (added, removed)) in ways {
        let dir = TestDir::new();
        dir.put("a", &lines);
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let budget = |max_loc| Budget { max_files: Some(1), max_loc: Some(max_loc) };
        let limits = |max_loc| Limits { budget: budget(max_loc), ..Limits::default() };
        let within = |max_loc| RunOptions { limits: limits(max_loc), ..RunOptions::default() };
        let run = workspace.apply_operations(steps, within(added + removed)).unwrap();
        let there = [("b".into(), ChangeKind::Renamed { from: path("a") }, (added, removed))];
        assert_eq!(shown(&dir, run), there, "{steps:?}");
        workspace.gc(&GcOptions::default()).unwrap();
        assert_eq!(shown(&dir, run), there, "from the history");
        let undo = workspace.revert(run).unwrap();
        let back = [("a".into(), ChangeKind::Renamed { from: path("b") }, (removed, added))];
        assert_eq!(shown(&dir, undo), back);
        let redo = workspace.revert(undo).unwrap();
        assert_eq!(shown(&dir, redo), there);
        workspace.revert(redo).unwrap();
        if added > 0 {
            let options = within(added + removed - 1);
            let error = workspace.apply_operations(steps, options).unwrap_err();
            assert!(matches!(error.kind, ErrorKind::Budget { .. }), "{error}");
        }
        assert_eq!(dir.get("a").unwrap(), lines.as_bytes());
    }
}

/// FO-4, FO-10
#[test]
fn moved_and_edited_large_file_is_reported_by_its_edits() {
    let dir = TestDir::new();
    dir.put("a", "line\n".repeat(300_000));
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let steps = [rename("a", "b"), replace_line("b", 7, "line", "LINE")];
    let run = workspace.apply_operations(&steps, RunOptions::default()).unwrap();
    let there = [("b".into(), ChangeKind::Renamed { from: path("a") }, (1, 1))];
    assert_eq!(shown(&dir, run), there);
    let undo = workspace.revert(run).unwrap();
    let back = [("a".into(), ChangeKind::Renamed { from: path("b") }, (1, 1))];
    assert_eq!(shown(&dir, undo), back);
    let run = workspace.apply_operations(&[delete("a")], RunOptions::default()).unwrap();
    assert_eq!(shown(&dir, run), [("a".into(), ChangeKind::Deleted, (0, 300_000))]);
}

/// FO-10
#[test]
fn replacements_and_copies_are_not_reported_as_renames() {
    let renamed = |from: &str| ChangeKind::Renamed { from: path(from) };
    let replace = Limits { existing_files: ExistingFiles::Replace, ..Limits::default() };
    let apply_and_undo = |steps: &[Operation]| {
        let dir = TestDir::new();
        dir.put("a", "a\n1\n");
        dir.put("b", "b\n1\n");
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let options = RunOptions { limits: replace.clone(), ..RunOptions::default() };
        let run = workspace.apply_operations(steps, options).unwrap();
        let undo = workspace.revert(run).unwrap();
        (shown(&dir, run), shown(&dir, undo))
    };
    let (there, back) = apply_and_undo(&[rename("a", "b")]);
    assert_eq!(
        there,
        [("a".into(), ChangeKind::Deleted, (0, 2)), ("b".into(), ChangeKind::Modified, (1, 1)),]
    );
    assert_eq!(
        back,
        [("a".into(), renamed("b"), (0, 0)), ("b".into(), ChangeKind::Created, (2, 0))]
    );
    let (there, back) = apply_and_undo(&[rename("a", "t"), rename("b", "a"), rename("t", "b")]);
    assert_eq!(there, back);
    assert_eq!(
        there,
        [("a".into(), ChangeKind::Modified, (1, 1)), ("b".into(), ChangeKind::Modified, (1, 1)),]
    );
    let (there, _) = apply_and_undo(&[rename("a", "c"), create("a", "new\n")]);
    assert_eq!(
        there,
        [("a".into(), ChangeKind::Created, (1, 0)), ("c".into(), renamed("a"), (0, 0)),]
    );
    let (there, back) = apply_and_undo(&[rename("a", "c"), rename("b", "a")]);
    assert_eq!(there, [("a".into(), renamed("b"), (0, 0)), ("c".into(), renamed("a"), (0, 0))]);
    assert_eq!(back, [("a".into(), renamed("c"), (0, 0)), ("b".into(), renamed("a"), (0, 0))]);
    let (there, _) = apply_and_undo(&[rename("a", "c"), create("a", "a\n1\n")]);
    assert_eq!(there, [("c".into(), ChangeKind::Created, (2, 0))], "nothing has moved");
    let (there, _) = apply_and_undo(&[
        replace_line("a", 1, "a", "A"),
        rename("a", "c"),
        create("a", "new\n"),
        rename("a", "bb"),
    ]);
    assert_eq!(
        there,
        [("bb".into(), ChangeKind::Created, (1, 0)), ("c".into(), renamed("a"), (1, 1)),]
    );
    let (there, _) = apply_and_undo(&[delete("a"), create("a", "new\n"), rename("a", "c")]);
    assert_eq!(
        there,
        [("a".into(), ChangeKind::Deleted, (0, 2)), ("c".into(), ChangeKind::Created, (1, 0)),]
    );
    let copy = Operation::Copy { from: path("a"), to: path("c") };
    let (there, back) = apply_and_undo(&[copy, replace_line("c", 1, "a", "c")]);
    assert_eq!(there, [("c".into(), ChangeKind::Created, (2, 0))]);
    assert_eq!(back, [("c".into(), ChangeKind::Deleted, (0, 2))]);
}

/// FO-4
#[test]
fn binary_file_is_reported_with_a_size_and_no_lines() {
    let dir = TestDir::new();
    dir.put("edit", "1\0\n2\n");
    dir.put("large", vec![0; (1 << 20) + 1]);
    dir.put("text", "1\n2\n");
    dir.put("moved", "\0");
    let steps = [
        replace_line("edit", 2, "2", "two"),
        create("made", "\0"),
        delete("large"),
        write("text", "\0"),
        rename("moved", "there"),
    ];
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let budget = Budget { max_loc: Some(0), max_files: Some(5) };
    let limits = Limits { budget, ..Limits::default() };
    let run = workspace.apply_operations(&steps, RunOptions { limits, ..RunOptions::default() });
    let extents = |run| {
        let report = View::open(dir.path()).unwrap().show(run).unwrap();
        let extents = report.changes.into_iter().map(|it| (it.change.path, it.change.extent));
        extents.map(|(path, extent)| (path.to_string(), extent)).collect::<Vec<_>>()
    };
    let bytes = |before, after| Extent::Bytes { before, after };
    let nothing = Extent::Lines(Lines::default());
    let run = run.unwrap();
    let wanted = [
        ("edit", bytes(5, 7), bytes(7, 5)),
        ("large", bytes((1 << 20) + 1, 0), bytes(0, (1 << 20) + 1)),
        ("made", bytes(0, 1), bytes(1, 0)),
        ("text", bytes(4, 1), bytes(1, 4)),
    ];
    let there = wanted.map(|(path, there, _)| (path.to_owned(), there)).to_vec();
    assert_eq!(extents(run), [there, vec![("there".into(), nothing)]].concat());
    let undo = workspace.revert(run).unwrap();
    let mut back = wanted.map(|(path, _, back)| (path.to_owned(), back)).to_vec();
    back.insert(3, ("moved".into(), nothing));
    assert_eq!(extents(undo), back);
}

/// FO-10
#[test]
fn file_replacing_a_directory_is_reported_alike_at_commit_and_later() {
    for content in ["1\n2\n", "\0"] {
        let dir = TestDir::new();
        dir.put("d/a", "1\n");
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let steps = [delete("d/a"), create("d", content)];
        let there = workspace.apply_operations(&steps, RunOptions::default()).unwrap();
        let undo = workspace.begin_undo(there, RunOptions::default()).unwrap();
        let undone = undo.commit().unwrap();
        let report = View::open(dir.path()).unwrap().show(undone.run).unwrap();
        let later: Vec<_> = report.changes.into_iter().map(|shown| shown.change).collect();
        assert_eq!(later[..], *undone.changes);
        assert_ne!(later[0].extent, Extent::Lines(Lines::default()), "{later:?}");
    }
}

/// FO-10
#[test]
fn mode_change_is_reported_with_its_bits() {
    let dir = TestDir::new();
    dir.put("alone", "1\n");
    dir.put("edited", "1\n");
    dir.chmod("alone", 0o640);
    dir.chmod("edited", 0o755);
    let chmod = |file: &str, executable: bool| Operation::Chmod {
        path: path(file),
        mode: ModeChange::Executable(executable),
    };
    let steps = [chmod("alone", true), write("edited", "2\n"), chmod("edited", false)];
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&steps, RunOptions::default()).unwrap();
    let modes = |run| {
        let report = View::open(dir.path()).unwrap().show(run).unwrap();
        let modes = report.changes.into_iter().map(|it| (it.change.kind, it.change.modes));
        modes.collect::<Vec<_>>()
    };
    let bits =
        |before, after| Some(Modes { before: FileMode::new(before), after: FileMode::new(after) });
    let there =
        [(ChangeKind::Mode, bits(0o640, 0o750)), (ChangeKind::Modified, bits(0o755, 0o644))];
    assert_eq!(modes(run), there);
    let undo = workspace.revert(run).unwrap();
    let back = [(ChangeKind::Mode, bits(0o750, 0o640)), (ChangeKind::Modified, bits(0o644, 0o755))];
    assert_eq!(modes(undo), back);
}

/// FO-10
#[test]
fn diff_of_a_moved_and_edited_file_shows_the_old_path() {
    let dir = TestDir::new();
    dir.put("a", "1\n2\n");
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.operate(&rename("a", "b")).unwrap();
    transaction.operate(&replace_line("b", 1, "1", "one")).unwrap();
    let before = transaction.diff().unwrap();
    let run = transaction.commit().unwrap().run;
    let after = View::open(dir.path()).unwrap().diff(run).unwrap();
    assert_eq!(before, after);
    let from = |changes: &[PathChange]| {
        let from = changes.iter().map(|it| it.renamed_from.as_ref().map(ToString::to_string));
        from.collect::<Vec<_>>()
    };
    assert_eq!(from(&after), [None, Some("a".into())]);
    assert_eq!(from(&PathChange::reversed(after.clone())), [Some("b".into()), None]);
    let undo = workspace.revert(run).unwrap();
    let view = View::open(dir.path()).unwrap();
    assert_eq!(view.diff(undo).unwrap(), PathChange::reversed(after));
}
