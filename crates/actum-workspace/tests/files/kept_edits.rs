//! Undo of a run whose files were edited later: only the run's changes are removed.

use actum_core::{RelPath, RunId};
use actum_edit::Operation;
use actum_edit::edit::{Edit, Occurrences, Replacement};
use actum_testkit::TestDir;
use actum_workspace::{
    Difference, Error, ErrorKind, LaterEdits, Limits, LinuxDisk, RunOptions, State, Transaction,
    View, Workspace,
};

const LINES: usize = 14;
/// Number of lines around a change that must be unchanged since the run.
const CONTEXT: usize = 3;

fn numbered() -> Vec<String> {
    (0..LINES).map(|number| format!("line {number}\n")).collect()
}

fn replace(path: &str, old: &str, new: &str) -> Operation {
    let edit = Edit::Replace(Replacement {
        old: old.as_bytes().to_vec(),
        new: new.as_bytes().to_vec(),
        occurrences: Occurrences::One,
    });
    Operation::Edit { path: RelPath::new(path).unwrap(), edit, expected: None }
}

fn keeping() -> RunOptions {
    let limits = Limits { later_edits: LaterEdits::Keep, ..Limits::default() };
    RunOptions { limits, ..RunOptions::default() }
}

fn undo(
    workspace: &mut Workspace,
    run: RunId,
    end: impl FnOnce(&Transaction<'_, LinuxDisk>),
) -> Result<RunId, Error> {
    let transaction = workspace.begin_undo(run, keeping())?;
    end(&transaction);
    Ok(transaction.commit()?.run)
}

/// Returns a workspace with one file, to which a run made the given change.
fn with_run(old: &str, new: &str) -> (TestDir, Workspace, RunId) {
    let dir = TestDir::new();
    dir.put("a", numbered().concat());
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[replace("a", old, new)], RunOptions::default()).unwrap();
    (dir, workspace, run)
}

fn refused(error: &Error) {
    refused_for(Difference::Around, error);
}

fn refused_for(difference: Difference, error: &Error) {
    let ErrorKind::ChangedSince { conflicts, .. } = &error.kind else { panic!("{error}") };
    assert_eq!(conflicts[0].difference, difference, "{error}");
    assert_eq!(error.state, State::Unchanged);
}

/// FO-5, FO-9
#[test]
fn undo_keeps_distant_edits_and_rejects_nearby_ones() {
    for (of_run, by_hand) in (0..LINES).flat_map(|a| (0..LINES).map(move |b| (a, b))) {
        let old = format!("line {of_run}\n");
        let (dir, mut workspace, run) = with_run(&old, "run\n");
        let mut lines = numbered();
        "run\n".clone_into(&mut lines[of_run]);
        "hand\nwork\n".clone_into(&mut lines[by_hand]);
        dir.put("a", lines.concat());
        let edited = dir.tree();
        let error = workspace.begin_undo(run, RunOptions::default()).err().unwrap();
        let ErrorKind::ChangedSince { conflicts, .. } = &error.kind else { panic!("{error}") };
        let expected = match of_run.abs_diff(by_hand) <= CONTEXT {
            true => Difference::Content,
            false => Difference::Elsewhere,
        };
        assert_eq!(conflicts[0].difference, expected, "without leave");

        let undone = undo(&mut workspace, run, |transaction| {
            assert_eq!(transaction.kept_edits(), [RelPath::new("a").unwrap()]);
        });
        if of_run.abs_diff(by_hand) <= CONTEXT {
            refused(&undone.unwrap_err());
            assert_eq!(dir.tree(), edited);
            continue;
        }
        lines[of_run] = old;
        assert_eq!(dir.get("a").unwrap(), lines.concat().as_bytes(), "{of_run} {by_hand}");
        undo(&mut workspace, undone.unwrap(), |_| {}).unwrap();
        assert_eq!(dir.tree(), edited, "the undo is undone to the byte");
    }
}

/// FO-5
#[test]
fn undo_does_not_remove_text_that_matches_twice() {
    let (dir, mut workspace, run) = with_run("line 6\n", "run\n");
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", format!("{now}{now}"));
    refused(&undo(&mut workspace, run, |_| {}).unwrap_err());
}

/// FO-5
#[test]
fn undo_reverts_all_hunks_or_none() {
    let (old, new) = ("line 1\n", "run 1\n");
    let (dir, mut workspace, _) = with_run("line 5\n", "line five\n");
    let two = [replace("a", old, new), replace("a", "line 12\n", "run 12\n")];
    let run = workspace.apply_operations(&two, RunOptions::default()).unwrap();
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", now.replace("line 13\n", "hand\n"));
    let edited = dir.tree();
    refused(&undo(&mut workspace, run, |_| {}).unwrap_err());
    assert_eq!(dir.tree(), edited);
    dir.put("a", now.replace("line 6\n", "hand\n"));
    undo(&mut workspace, run, |_| {}).unwrap();
    let expected = now.replace("line 6\n", "hand\n").replace("run ", "line ");
    assert_eq!(String::from_utf8(dir.get("a").unwrap()).unwrap(), expected);
}

/// FO-5
#[test]
fn edited_new_file_or_changed_mode_is_still_a_conflict() {
    let (dir, mut workspace, run) = with_run("line 2\n", "run\n");
    let path = RelPath::new("new").unwrap();
    let create = Operation::Create { path, content: numbered().concat().into_bytes(), mode: None };
    let made = workspace.apply_operations(&[create], RunOptions::default()).unwrap();
    dir.put("new", "else\n");
    refused_for(Difference::Content, &undo(&mut workspace, made, |_| {}).unwrap_err());
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", now.replace("line 13\n", "hand\n"));
    dir.chmod("a", 0o600);
    refused_for(Difference::Content, &undo(&mut workspace, run, |_| {}).unwrap_err());
}

/// FO-5
#[test]
fn run_diff_is_shown_although_the_file_was_edited_since() {
    let (dir, workspace, run) = with_run("line 6\n", "run\nrun\n");
    drop(workspace);
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    let lines_of = |content: String| {
        dir.put("a", content);
        let changes = View::open(dir.path()).unwrap().diff(run).unwrap();
        let [excerpt] = changes[0].excerpts.as_slice() else { panic!("{changes:?}") };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        assert_eq!(text(&excerpt.before), numbered()[3..10].concat());
        assert_eq!(text(&excerpt.after), text(&excerpt.before).replace("line 6\n", "run\nrun\n"));
        excerpt.lines
    };
    assert_eq!(lines_of(format!("hand\n{now}")), Some((4, 4)), "as the run counted them");
    assert_eq!(lines_of(now.replace("line 5\n", "hand\n")), Some((4, 4)));
}

/// FO-5, FO-9: these cases are positions that an attack could pass off as that of the run.
#[test]
fn undo_never_mistakes_another_location_for_that_of_the_run() {
    let block = "a\nb\nc\nn: 3\nd\ne\nf\n";
    let twins = |first: &str, second: &str| {
        format!("[web]\n{}[db]\n{}", block.replace('3', first), block.replace('3', second))
    };
    let long = "x".repeat(1_100_000);
    let cases = [
        // A second copy of the block exists, and the original position was edited.
        (twins("3", "1"), twins("3", "3"), twins("3", "5")),
        // Two positions overlap.
        (
            "---\nmode: on\n---\n".to_owned(),
            "---\nmode: off\n---\n".to_owned(),
            "---\nmode: off\n---\nmode: off\n---\n".to_owned(),
        ),
        // The match is the beginning of a longer line, or lines after the end.
        ("a\nb\n".to_owned(), "a\nb\nfoo".to_owned(), "a\nb\nfoobar\nx\n".to_owned()),
        ("a\nb\n".to_owned(), "a\nb\nfoo".to_owned(), "a\nb\nfoo\nbar\n".to_owned()),
        ("a\nlog\n".to_owned(), "a\n".to_owned(), "a\nlog\nmore\n".to_owned()),
        // The file is not recorded by lines.
        (
            format!("fast\nlevel = 1\n{long}\n"),
            format!("fast\nlevel = 2\n{long}\n"),
            format!("fast\nlevel = 25\n{long}\n"),
        ),
    ];
    for (before, left, now) in cases {
        let dir = TestDir::new();
        dir.put("a", &before);
        let mut workspace = Workspace::open(dir.path()).unwrap();
        let path = RelPath::new("a").unwrap();
        let write = Operation::Write { path, content: left.into_bytes(), expected: None };
        let run = workspace.apply_operations(&[write], RunOptions::default()).unwrap();
        dir.put("a", &now);
        let is_in_lines = now.len() < long.len();
        let expected = if is_in_lines { Difference::Around } else { Difference::Content };
        refused_for(expected, &undo(&mut workspace, run, |_| {}).unwrap_err());
        assert_eq!(dir.get("a").unwrap(), now.as_bytes());
    }
}

/// FO-5, FO-9
#[test]
fn undo_skips_a_path_that_is_already_restored() {
    let (dir, mut workspace, _) = with_run("line 2\n", "run\n");
    let path = |name: &str| RelPath::new(name).unwrap();
    let create =
        |name: &str| Operation::Create { path: path(name), content: b"new\n".to_vec(), mode: None };
    let before = dir.tree();
    let operations = [replace("a", "line 9\n", "run\n"), create("d/made"), create("d/gone")];
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    std::fs::remove_file(dir.path().join("d/gone")).unwrap();
    let transaction = workspace.begin_undo(run, RunOptions::default()).unwrap();
    assert_eq!(transaction.as_before(), [path("d/gone")]);
    let undone = transaction.commit().unwrap().run;
    assert_eq!(dir.tree(), before);
    workspace.begin_undo(undone, RunOptions::default()).unwrap().commit().unwrap();
    assert!(dir.get("d/gone").is_none(), "the undo had nothing to do there, nor has its undo");
    assert_eq!(dir.get("d/made").unwrap(), b"new\n");
}
