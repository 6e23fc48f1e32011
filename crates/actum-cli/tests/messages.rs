//! What the program says, and what a terminal gets to see of it.
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

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use actum_workspace::{RunOptions, Workspace};
use program::{Ended, actum, command, workspace};

/// Turns the direction of starts a colour, has no width, ends a line, rings.
const HARMFUL: &str = "x\u{202e}\u{2066}\x1b[31m\u{200b}\u{feff}\n\x07y";
const HARMLESS: &str =
    "x\\342\\200\\256\\342\\201\\246\\033[31m\\342\\200\\213\\357\\273\\277\\n\\007y";

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// D-4
#[test]
fn a_terminal_obeys_nothing_of_what_was_typed() {
    let (_directory, root) = workspace();
    let option = format!("--{HARMFUL}");
    let beginning = format!("log{HARMFUL}");
    let cases: [&[&str]; 9] = [
        &[HARMFUL],
        &[&beginning],
        &["log", &option],
        &["log", HARMFUL],
        &["log", "-n", HARMFUL],
        &["undo", HARMFUL],
        &["apply", "x", "--allow", HARMFUL, "--format", HARMFUL],
        &["apply", HARMFUL],
        &["explain", HARMFUL],
    ];
    for arguments in cases {
        for json in [false, true] {
            let arguments = if json { &[arguments, &["--json"]].concat() } else { arguments };
            let ended = actum(&root, arguments);
            assert_ne!(ended.code, 0, "{arguments:?}");
            let told = if json {
                let told: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
                told["message"].as_str().unwrap().to_owned()
            } else {
                ended.stderr
            };
            assert!(told.contains(HARMLESS), "{arguments:?}: {told}");
            let obeyed = |c: char| HARMFUL.contains(c) && !c.is_ascii_graphic() && c != '\n';
            assert!(!told.contains(obeyed), "{arguments:?}: {told}");
        }
    }
}

/// D-4
#[test]
fn an_argument_that_is_no_text_is_refused_without_being_shown() {
    let (_directory, root) = workspace();
    let mut explain = command(&root, &["explain"]);
    let ended = Ended::from(explain.arg(OsStr::from_bytes(b"\xff\x1b[31m")).output().unwrap());
    assert_eq!(ended.code, 2);
    assert_eq!(
        first_line(&ended.stderr),
        "error: invalid UTF-8 was detected in one or more arguments"
    );
    assert!(!ended.stderr.contains('\x1b'));
}

/// D-4
#[test]
fn who_uses_the_workspace_is_named_harmlessly() {
    let (_directory, root) = workspace();
    let mut workspace = Workspace::open(&root).unwrap();
    let options = RunOptions { label: HARMFUL.into(), ..RunOptions::default() };
    let at_work = workspace.begin(options).unwrap();
    let refused = actum(&root, &["apply", "../change.diff"]);
    assert!(first_line(&refused.stderr).contains(HARMLESS), "{}", refused.stderr);
    at_work.abort();
}
