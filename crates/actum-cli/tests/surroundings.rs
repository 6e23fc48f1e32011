//! Where the program is started, and where its output goes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test fails by panicking, and plays the user"
)]

mod program;

use std::fs::{self, File};
use std::io::Write;
use std::process::Stdio;

use program::{Ended, actum, command, text, workspace};

#[test]
fn the_workspace_is_found_from_below_and_by_name() {
    let (directory, root) = workspace();
    let below = root.join("sub");
    assert_eq!(actum(&below, &["apply", "../../change.diff"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
    assert_eq!(actum(directory.path(), &["-C", "workspace/sub", "undo"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
    // The input lies where `-C` leads, too.
    assert_eq!(actum(directory.path(), &["apply", "-C", "workspace", "../change.diff"]).code, 0);
    assert!(!below.join(".actum").exists() && !directory.path().join(".actum").exists());
}

#[test]
fn a_command_outside_a_workspace_is_refused_and_apply_makes_one() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("project/.git")).unwrap();
    fs::create_dir(root.join("project/src")).unwrap();
    let below = root.join("project/src");
    for verb in ["status", "log", "undo", "recover", "gc"] {
        let refused = actum(&below, &[verb]);
        assert_eq!(refused.code, 1, "{verb}");
        assert!(refused.stderr.starts_with("error: there is no workspace here: "), "{verb}");
    }
    let mut apply = command(&below, &["apply", "-"]);
    let mut apply =
        apply.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let diff = b"--- /dev/null\n+++ b/src/a.txt\n@@ -0,0 +1 @@\n+a\n";
    apply.stdin.take().unwrap().write_all(diff).unwrap();
    let applied = Ended::from(apply.wait_with_output().unwrap());
    assert_eq!(applied.code, 0, "{applied:?}");
    assert_eq!(applied.stderr, format!("note: made a workspace in {}/project\n", root.display()));
    assert_eq!(text(&below, "a.txt"), "a\n");
    assert!(actum(&below, &["log"]).stdout.ends_with("  1 file  +1 -0  apply standard input\n"));
}

#[test]
fn init_says_where_and_can_be_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let shown = root.display();
    assert_eq!(actum(&root, &["init"]).stdout, format!("made a workspace in {shown}\n"));
    let again = Ended {
        code: 0,
        stdout: format!("there is a workspace in {shown} already\n"),
        stderr: String::new(),
    };
    assert_eq!(actum(&root, &["init"]), again);
    fs::create_dir(root.join("below")).unwrap();
    assert_eq!(actum(&root.join("below"), &["init"]), again);
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let (_directory, root) = workspace();
    for arguments in [&["apply", "../change.diff"][..], &["log"], &["--json", "log"], &["--help"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let ended = command(&root, arguments).stdout(writer).output().unwrap();
        let ended = Ended::from(ended);
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""), "{arguments:?}");
    }
    assert_eq!(text(&root, "a.txt"), "one\n");
}

#[test]
fn a_result_that_cannot_be_written_is_told() {
    let (_directory, root) = workspace();
    for arguments in [&["apply", "../change.diff"][..], &["--json", "log"]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let ended = Ended::from(command(&root, arguments).stdout(full).output().unwrap());
        assert_eq!(ended.code, 4);
        assert!(
            ended.stderr.starts_with(
                "error: the command did its work, but its result could not be written: "
            ),
            "{}",
            ended.stderr
        );
    }
    assert_eq!(text(&root, "a.txt"), "one\n");
}

#[test]
fn a_file_with_other_names_waits_for_a_person_since_undo_does_not_tie_them_again() {
    let (_directory, root) = workspace();
    fs::hard_link(root.join("a.txt"), root.join("other.txt")).unwrap();
    let applied = actum(&root, &["apply", "../change.diff"]);
    assert_eq!(applied.code, 6);
    let told = "R3: `a.txt` has another name elsewhere, and undo does not tie them again\n";
    assert!(applied.stderr.contains(told), "{applied:?}");
    assert_eq!((text(&root, "a.txt"), text(&root, "other.txt")), ("1\n".into(), "1\n".into()));
    let looked = actum(&root, &["apply", "--dry-run", "../change.diff"]);
    assert_eq!(
        looked.stderr,
        format!(
            "note: `a.txt` has other names (hard links); they keep the old content\n\
             note: this would wait for a person: {told}"
        )
    );
}

#[test]
fn the_log_shows_the_newest_runs_and_says_how_many_are_older() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["log"]).stdout, "no runs yet\n");
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let log = actum(&root, &["log", "-n", "1"]);
    assert_eq!(log.stdout.lines().count(), 1);
    assert!(log.stdout.contains("  undo "));
    assert_eq!(log.stderr, "note: 1 older; `actum log -n 2` lists all\n");
}

/// FO-9: what is forgotten cannot be undone, and what is kept can.
#[test]
fn gc_forgets_the_oldest_runs_beyond_the_limit() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["undo"]).code, 0);
    let collected = actum(&root, &["gc", "--max-runs", "1"]);
    assert_eq!(collected.code, 0);
    assert!(collected.stdout.contains("\nforgot 1 run, "), "{}", collected.stdout);
    assert_eq!(actum(&root, &["log"]).stdout.lines().count(), 1);
    let undo = actum(&root, &["log", "--json"]).stdout;
    let undo: serde_json::Value = serde_json::from_str(&undo).unwrap();
    assert_eq!(actum(&root, &["undo", undo["runs"][0]["run"].as_str().unwrap()]).code, 0);
    assert_eq!(text(&root, "a.txt"), "one\n");
}
