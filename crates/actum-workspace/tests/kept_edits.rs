//! Undo of a run whose files were edited since: what the run changed is taken out, the rest stays.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test may fail loudly"
)]

use actum_core::edit::{Edit, Occurrences, Replacement};
use actum_core::{Operation, RelPath, RunId};
use actum_testkit::TestDir;
use actum_workspace::{
    Difference, Error, ErrorKind, LaterEdits, Limits, LinuxDisk, RunOptions, State, Transaction,
    View, Workspace,
};

const LINES: usize = 14;
/// How many lines around a change must be as the run left them.
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

/// A workspace with one file, in which a run made the given change.
fn with_run(old: &str, new: &str) -> (TestDir, Workspace, RunId) {
    let dir = TestDir::new();
    dir.put("a", numbered().concat());
    let mut workspace = Workspace::open(dir.path()).unwrap();
    let run = workspace.apply_operations(&[replace("a", old, new)], RunOptions::default()).unwrap();
    (dir, workspace, run)
}

fn refused_lines(error: &Error) {
    let ErrorKind::ChangedSince { conflicts, .. } = &error.kind else { panic!("{error}") };
    assert_eq!(conflicts[0].difference, Difference::Lines, "{error}");
    assert_eq!(error.state, State::Unchanged);
}

/// FO-5, FO-9
#[test]
fn an_edit_at_a_distance_is_kept_and_a_near_one_is_a_conflict() {
    for (of_run, by_hand) in (0..LINES).flat_map(|a| (0..LINES).map(move |b| (a, b))) {
        let old = format!("line {of_run}\n");
        let (dir, mut workspace, run) = with_run(&old, "run\n");
        let mut lines = numbered();
        "run\n".clone_into(&mut lines[of_run]);
        "hand\nwork\n".clone_into(&mut lines[by_hand]);
        dir.put("a", lines.concat());
        let edited = dir.tree();
        let error = workspace.begin_undo(run, RunOptions::default()).err().unwrap();
        assert!(matches!(error.kind, ErrorKind::ChangedSince { .. }), "without leave: {error}");

        let undone = undo(&mut workspace, run, |transaction| {
            assert_eq!(transaction.kept_edits(), [RelPath::new("a").unwrap()]);
        });
        if of_run.abs_diff(by_hand) <= CONTEXT {
            refused_lines(&undone.unwrap_err());
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
fn what_stands_twice_is_not_taken_out() {
    let (dir, mut workspace, run) = with_run("line 6\n", "run\n");
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", format!("{now}{now}"));
    refused_lines(&undo(&mut workspace, run, |_| {}).unwrap_err());
}

/// FO-5
#[test]
fn of_several_pieces_all_are_taken_out_or_none() {
    let (old, new) = ("line 1\n", "run 1\n");
    let (dir, mut workspace, _) = with_run("line 5\n", "line five\n");
    let two = [replace("a", old, new), replace("a", "line 12\n", "run 12\n")];
    let run = workspace.apply_operations(&two, RunOptions::default()).unwrap();
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", now.replace("line 13\n", "hand\n"));
    let edited = dir.tree();
    refused_lines(&undo(&mut workspace, run, |_| {}).unwrap_err());
    assert_eq!(dir.tree(), edited);
    dir.put("a", now.replace("line 6\n", "hand\n"));
    undo(&mut workspace, run, |_| {}).unwrap();
    let expected = now.replace("line 6\n", "hand\n").replace("run ", "line ");
    assert_eq!(String::from_utf8(dir.get("a").unwrap()).unwrap(), expected);
}

/// FO-5
#[test]
fn a_file_that_the_run_made_or_whose_mode_changed_is_a_conflict_as_ever() {
    let (dir, mut workspace, run) = with_run("line 2\n", "run\n");
    let path = RelPath::new("new").unwrap();
    let create = Operation::Create { path, content: numbered().concat().into_bytes(), mode: None };
    let made = workspace.apply_operations(&[create], RunOptions::default()).unwrap();
    dir.put("new", "else\n");
    refused_lines(&undo(&mut workspace, made, |_| {}).unwrap_err());
    let now = String::from_utf8(dir.get("a").unwrap()).unwrap();
    dir.put("a", now.replace("line 13\n", "hand\n"));
    dir.chmod("a", 0o600);
    refused_lines(&undo(&mut workspace, run, |_| {}).unwrap_err());
}

/// FO-5
#[test]
fn what_a_run_changed_is_still_shown_when_the_file_was_edited_since() {
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
    assert_eq!(lines_of(format!("hand\n{now}")), Some((5, 5)));
    assert_eq!(lines_of(now.replace("line 5\n", "hand\n")), None);
}
