//! The messages of the program, and how they are printed on a terminal.

use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Stdio;

use crate::program::{Ended, actum, command, text, workspace};
use actum_workspace::{RunOptions, Workspace};

/// Text with bidirectional controls, a colour escape, zero-width characters, a newline and a bell.
const HARMFUL: &str = "x\u{202e}\u{2066}\x1b[31m\u{200b}\u{feff}\n\x07y";
const HARMLESS: &str =
    "x\\342\\200\\256\\342\\201\\246\\033[31m\\342\\200\\213\\357\\273\\277\\n\\007y";

fn applied(root: &Path, text: &str, options: &[&str]) -> Ended {
    let input = root.parent().unwrap().join("input");
    fs::write(&input, text).unwrap();
    actum(root, &[&["apply", "../input"], options].concat())
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// D-4
#[test]
fn command_line_arguments_are_escaped_in_messages() {
    let (_directory, root) = workspace();
    let option = format!("--{HARMFUL}");
    let beginning = format!("log{HARMFUL}");
    let outside = format!("../{HARMFUL}");
    let cases: [&[&str]; 9] = [
        &[HARMFUL],
        &[&beginning],
        &["log", &option],
        &["log", &outside],
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
            let output = if json {
                let output: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
                output["message"].as_str().unwrap().to_owned()
            } else {
                ended.stderr
            };
            let as_name = output.replace("<\\", "\\").replace('>', "");
            assert!(as_name.contains(HARMLESS), "{arguments:?}: {output}");
            let obeyed = |c: char| HARMFUL.contains(c) && !c.is_ascii_graphic() && c != '\n';
            assert!(!output.contains(obeyed), "{arguments:?}: {output}");
        }
    }
}

/// D-4
#[test]
fn non_utf8_argument_is_rejected_without_being_printed() {
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
fn label_of_the_process_using_the_workspace_is_escaped() {
    let (_directory, root) = workspace();
    let mut workspace = Workspace::open(&root).unwrap();
    // A child process that a concurrent test has just forked may still hold the inherited lock.
    let options = RunOptions { label: HARMFUL.into(), wait: true, ..RunOptions::default() };
    let at_work = workspace.begin(options).unwrap();
    let refused = actum(&root, &["apply", "../change.diff"]);
    assert!(first_line(&refused.stderr).contains(HARMLESS), "{}", refused.stderr);
    at_work.abort();
}

/// D-1: `--json` does not affect help and version output, as `docs/json.md` documents.
#[test]
fn json_option_does_not_change_help_and_version() {
    for question in ["--help", "--version"] {
        let ended = actum(Path::new("/"), &["--json", question]);
        assert_eq!(ended, actum(Path::new("/"), &[question]));
        assert_eq!((ended.code, ended.stderr.as_str()), (0, ""));
        assert!(!ended.stdout.starts_with('{'));
    }
}

/// FO-10: the hint names a command that works.
#[test]
fn hint_for_too_many_matches_can_be_followed() {
    let (_directory, root) = workspace();
    fs::write(root.join("a.txt"), "b".repeat(1_000_001)).unwrap();
    let edit = |all: bool| {
        format!(
            r#"{{"path": "a.txt", "old_string": "b", "new_string": "c", "replace_all": {all}}}"#
        )
    };
    let hint = |ended: Ended| ended.stderr.lines().nth(1).unwrap().to_owned();
    assert_eq!(
        hint(applied(&root, &edit(false), &[])),
        "hint: include more surrounding text, so that only one place matches"
    );
    assert_eq!(
        hint(applied(&root, &edit(true), &[])),
        "hint: provide the change as a diff with line numbers"
    );
    fs::write(root.join("a.txt"), "b".repeat(1_000_000)).unwrap();
    assert!(hint(applied(&root, &edit(false), &[])).contains("replace_all"));
}

/// FO-9
#[test]
fn redo_of_a_manually_restored_change_reports_a_redo_error() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let log: serde_json::Value =
        serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    let run = log["runs"][0]["run"].as_str().unwrap();
    assert_eq!(actum(&root, &["undo"]).code, 0);
    fs::write(root.join("a.txt"), "one\n").unwrap();
    fs::write(root.join("sub/b.txt"), "two\n").unwrap();
    for redo in [&["redo"][..], &["redo", run]] {
        assert_eq!(
            actum(&root, redo).stderr,
            format!(
                "error: cannot redo run {run}: its files are already as they were before the \
                 undo; nothing was changed\n\
                 hint: to redo a different run, find its id with `actum log`, then run `actum redo RUN`\nhelp: `actum explain ALREADY_AS_BEFORE`\n"
            )
        );
    }
}

/// FO-7: absolute paths are accepted in every format, because agents use them, but only below the root.
#[test]
fn absolute_paths_are_accepted_only_below_the_root_in_every_format() {
    let (_directory, root) = workspace();
    let root = root.canonicalize().unwrap();
    symlink(&root, root.with_file_name("link")).unwrap();
    let hunk = r#""hunks": [{"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1,
        "lines": "-2\n+two\n"}]"#;
    let texts = |file: &str| {
        [
            format!("--- {file}\n+++ {file}\n@@ -1 +1 @@\n-2\n+two\n"),
            format!("--- {file}\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n"),
            format!(
                "diff --git a/{file} b/{file}\n--- a/{file}\n+++ b/{file}\n@@ -1 +1 @@\n-2\n+two\n"
            ),
            format!("diff --git a/{file} b/{file}\nold mode 100644\nnew mode 100755\n"),
            format!("*** Begin Patch\n*** Delete File: {file}\n*** End Patch\n"),
            format!(
                "*** Begin Patch\n*** Update File: {file}\n*** Move to: {file}.moved\n@@\n-2\n+3\n*** End Patch\n"
            ),
            format!(r#"{{"path": "{file}", "old_string": "2", "new_string": "3"}}"#),
            format!(r#"{{"path": "{file}", "edits": [{{"old_string": "2", "new_string": "3"}}]}}"#),
            format!(r#"{{"path": "{file}.new", "content": "x"}}"#),
            format!(
                r#"{{"path": "{file}", "json_patch": [{{"op": "replace", "path": "", "value": 3}}]}}"#
            ),
            format!(r#"{{"patches": [{{"path": "{file}", {hunk}}}]}}"#),
        ]
    };
    for text in texts(root.join("sub/b.txt").to_str().unwrap()) {
        let accepted = applied(&root, &text, &["--dry-run"]);
        assert_eq!(accepted.code, 0, "{text}{}", accepted.stderr);
    }
    let through =
        |way: &str| root.with_file_name(way).join("sub/b.txt").to_str().unwrap().to_owned();
    let parent = format!("{}/../{}/sub/b.txt", root.display(), root.file_name().unwrap().display());
    for file in [through("other"), through("link")] {
        for text in texts(&file) {
            let refused = applied(&root, &text, &[]);
            assert_eq!(refused.code, 1, "{text}");
            assert!(refused.stderr.contains("it is absolute"), "{}", refused.stderr);
            let hint = "\nhint: absolute paths must be below the workspace root, ";
            assert!(refused.stderr.contains(hint), "{}", refused.stderr);
            assert!(refused.stderr.contains("PATH_REFUSED"), "{}", refused.stderr);
        }
    }
    for file in [parent, root.join(".git/config").display().to_string()] {
        for text in texts(&file) {
            let refused = applied(&root, &text, &[]);
            assert!(refused.stderr.contains("PATH_REFUSED"), "{}", refused.stderr);
        }
    }
    assert_eq!(self::text(&root, "sub/b.txt"), "2\n");
}

/// FO-7: a path relative to the current directory is rejected, and the message names the path relative to the root.
#[test]
fn cwd_relative_path_is_rejected_with_the_root_relative_one() {
    let (_directory, root) = workspace();
    let below = root.join("sub");
    let edit =
        |path: &str| format!(r#"{{"path": "{path}", "old_string": "2", "new_string": "3"}}"#);
    let asked = |text: &str, directory: &Path| {
        fs::write(root.with_file_name("input"), text).unwrap();
        actum(directory, &["apply", root.with_file_name("input").to_str().unwrap()])
    };
    for text in [
        edit("b.txt"),
        "--- a/b.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-2\n".to_owned(),
        "*** Begin Patch\n*** Delete File: b.txt\n*** End Patch\n".to_owned(),
    ] {
        let refused = asked(&text, &below);
        assert_eq!(refused.code, 1, "{text}");
        assert!(
            refused.stderr.contains("\nhint: did you mean `sub/b.txt`?\n"),
            "{}",
            refused.stderr
        );
    }
    for refused in [asked(&edit("b.txt"), &root), asked(&edit("c.txt"), &below)] {
        assert_eq!(refused.code, 1);
        assert!(!refused.stderr.contains("did you mean"), "{}", refused.stderr);
    }
    assert_eq!(text(&root, "sub/b.txt"), "2\n");
}

/// FO-9
#[test]
fn log_prints_the_label_instead_of_the_file() {
    let (_directory, root) = workspace();
    let label = "say it in words\u{202e}";
    assert_eq!(actum(&root, &["apply", "-m", label, "../change.diff"]).code, 0);
    assert!(actum(&root, &["log"]).stdout.ends_with("  say it in words\\342\\200\\256\n"));
    let log: serde_json::Value =
        serde_json::from_str(&actum(&root, &["log", "--json"]).stdout).unwrap();
    assert_eq!(log["runs"][0]["label"], label);
    let message = ["apply", "--message", "", "../change.diff"];
    assert_eq!(actum(&root, &message).code, 2);
}

/// D-1
#[test]
fn gc_accepts_and_prints_sizes_with_units() {
    let (_directory, root) = workspace();
    let policy = crate::program::operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(policy, "version = 1\n[retention]\nruns = 0\ndays = 0\n").unwrap();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    let output = actum(&root, &["gc", "--max-bytes", "500M"]).stdout;
    assert!(output.starts_with("forgot 0 runs (0 bytes); 1 run remaining (8 KiB)\n"), "{output}");
    let output = actum(&root, &["gc", "--dry-run", "--max-bytes", "1K"]).stdout;
    assert!(
        output.contains("would forget 1 run (8 KiB); 0 runs remaining (0 bytes)\n"),
        "{output}"
    );
    let json = actum(&root, &["gc", "--json", "--max-bytes", "1G"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["kept_bytes"], 8192);
    assert_eq!(actum(&root, &["gc", "--max-bytes", "1KB"]).code, 2);
}

/// Reads terminal output until it contains `expected`, or to its end.
fn sent(terminal: &mut fs::File, expected: Option<&str>) -> String {
    let (mut screen, mut piece) = (Vec::new(), [0; 256]);
    loop {
        let text = String::from_utf8_lossy(&screen).into_owned();
        if expected.is_some_and(|expected| text.contains(expected)) {
            return text;
        }
        match terminal.read(&mut piece) {
            // Reading fails with `EIO` once the program has exited.
            Ok(0) | Err(_) => return text,
            Ok(read) => screen.extend(&piece[..read]),
        }
    }
}

/// Progress is shown only on a terminal, after one second, and the line is erased at the end.
#[test]
fn progress_is_shown_only_on_a_terminal_and_erased_at_the_end() {
    let (directory, root) = workspace();
    // Both commands can succeed, whichever of them gets the lock first.
    let other = r#"{"files":[{"path":"other.txt","content":"1\n"}]}"#;
    fs::write(directory.path().join("other.json"), other).unwrap();
    let mut workspace = Workspace::open(&root).unwrap();
    let at_work = workspace.begin(RunOptions::default()).unwrap();
    let apply = |arguments: &[&str]| command(&root, &[&["apply", "--wait"], arguments].concat());
    let piped = apply(&["--dry-run", "../other.json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let pty = nix::pty::openpty(None, None).unwrap();
    let mut shown =
        apply(&["../change.diff"]).stderr(pty.slave).stdout(Stdio::null()).spawn().unwrap();
    let mut terminal = fs::File::from(pty.master);
    assert_eq!(sent(&mut terminal, Some("\x1b[K")), "\rapplying the change, 1 s\x1b[K");
    at_work.abort();
    assert!(shown.wait().unwrap().success());
    let rest = sent(&mut terminal, None);
    assert!(rest.ends_with("\r\x1b[K"), "{rest:?}");
    let piped = Ended::from(piped.wait_with_output().unwrap());
    assert_eq!((piped.code, &*piped.stderr), (0, ""));
}

/// H-8: `status` and `doctor` report a problem if every change would be rejected.
#[test]
fn status_and_doctor_report_what_rejects_every_change() {
    let (_directory, root) = workspace();
    assert_eq!(actum(&root, &["apply", "../change.diff"]).code, 0);
    assert_eq!(actum(&root, &["status"]).code, 0);
    let operator = crate::program::operator_of(&root);
    fs::create_dir_all(operator.join("actum")).unwrap();
    let home = crate::program::home_of(&root);
    for (place, mode, reason) in
        [(operator.join("actum"), 0o777, "POLICY_UNUSABLE"), (home, 0o755, "LEDGER_HOME_UNUSABLE")]
    {
        let before = fs::metadata(&place).unwrap().permissions();
        fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
        let rejected = actum(&root, &["undo"]);
        assert!(rejected.stderr.contains(reason), "{}", rejected.stderr);
        let status = actum(&root, &["status", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&status.stdout).unwrap();
        let reasons: Vec<_> =
            shown["unusable"].as_array().unwrap().iter().map(|it| &it["reason"]).collect();
        assert!(reasons.contains(&&serde_json::json!(reason)), "{}", status.stdout);
        let status = actum(&root, &["status"]);
        assert_eq!(status.code, 4, "{}", status.stdout);
        let line = format!("unusable    every change is rejected ({reason}): ");
        assert!(status.stdout.contains(&line), "{}", status.stdout);
        assert!(!status.stdout.contains("nothing was changed"), "{}", status.stdout);
        assert!(!status.stderr.contains("nothing was changed"), "{}", status.stderr);
        let doctor = actum(&root, &["doctor"]);
        assert!(doctor.stdout.contains("every change is rejected: "), "{}", doctor.stdout);
        fs::set_permissions(&place, before).unwrap();
    }
}

/// FO-2: files that recovery saved are listed until the user moves or removes them.
#[test]
fn status_lists_files_saved_by_a_recovery() {
    let (_directory, root) = workspace();
    fs::write(root.join("a"), "one\n").unwrap();
    Workspace::open(&root).unwrap();
    let lost = root.join(".actum/lost");
    fs::create_dir(lost.join("c63d68hhs2pf")).unwrap();
    fs::write(lost.join("journal.1"), "").unwrap();
    let plain = actum(&root, &["status"]);
    assert!(!plain.stdout.contains("saved"), "{}", plain.stdout);
    fs::write(lost.join("c63d68hhs2pf.0.gone"), "mine\n").unwrap();
    let output = actum(&root, &["status"]);
    let line = "saved       .actum/lost/c63d68hhs2pf.0.gone was moved there by a recovery";
    assert!(output.stdout.contains(line), "{}", output.stdout);
    let json = actum(&root, &["status", "--json"]).stdout;
    assert!(json.contains("\"saved\":[\"c63d68hhs2pf.0.gone\"]"), "{json}");
}
