//! Turns: undeclared changes are reported when the agent stops, and `actum adopt` turns them into a run.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Ended, text};
use crate::{Session, allowed, refused, sound};

/// Returns the names of the events that begin and end a turn.
fn events(client: &str) -> (&'static str, &'static str) {
    match client {
        "opencode" => ("prompt", "idle"),
        "gemini" => ("BeforeAgent", "AfterAgent"),
        _ => ("UserPromptSubmit", "Stop"),
    }
}

pub(crate) fn turn_event(session: &Session, name: &str) -> Ended {
    session.hook(&json!({ "hook_event_name": name, "session_id": "s1", "cwd": session.root }))
}

pub(crate) fn begin(session: &Session) {
    allowed(&turn_event(session, events(session.client).0));
}

/// Ends a turn and returns the message for the user.
pub(crate) fn end(session: &Session) -> String {
    let ended = turn_event(session, events(session.client).1);
    assert_eq!((ended.code, &*ended.stderr), (0, ""), "{ended:?}");
    if session.client == "opencode" || ended.stdout.is_empty() {
        return ended.stdout;
    }
    let answer: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(answer.as_object().unwrap().len(), 1, "{answer}");
    answer["systemMessage"].as_str().unwrap().to_owned()
}

pub(crate) fn git(root: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

/// Issue 27: the changes of a client's command are reported in one line, and adopting them makes a run that undo reverts exactly.
#[test]
fn command_changes_are_reported_at_turn_end_and_can_be_adopted() {
    for client in ["claude", "codex", "opencode", "gemini", "qwen"] {
        let session = Session::new(client);
        fs::write(session.root.join("old"), "old\n").unwrap();
        begin(&session);
        assert_eq!(end(&session), "");
        let before = session.files();
        begin(&session);
        fs::write(session.root.join("a.txt"), "by a command\n").unwrap();
        fs::create_dir(session.root.join("new")).unwrap();
        fs::write(session.root.join("new/file"), "new\n").unwrap();
        fs::remove_file(session.root.join("old")).unwrap();
        let message = end(&session);
        assert_eq!(
            message,
            "actum: 3 files changed outside of runs, by a command or by you: `a.txt`, `new/file` (new), `old` (deleted). \
             `actum adopt` records this as a run, and `actum adopt --restore` reverts it"
        );
        begin(&session);
        assert_eq!(end(&session), "", "{client}: it is told once");
        let after = session.files();
        let dry = session.actum(&["adopt", "--dry-run"]);
        assert_eq!(dry.code, 0, "{dry:?}");
        assert!(session.runs().is_empty());
        let adopted = session.actum(&["adopt"]);
        assert_eq!(adopted.code, 0, "{adopted:?}");
        assert_eq!(session.files(), after, "{client}: adoption touches no file");
        assert_eq!(session.runs().len(), 1);
        let again = session.actum(&["adopt"]);
        assert!(again.stderr.contains("there are no changes to adopt"), "{again:?}");
        assert_eq!(session.actum(&["undo"]).code, 0);
        assert_eq!(session.files(), before, "{client}");
        sound(&session);
    }
}

/// Issue 27: earlier content is read from git objects instead of copies, and files that git ignores are not compared.
#[test]
fn repository_files_are_not_copied_and_ignored_files_not_reported() {
    let session = Session::new("claude");
    fs::write(session.root.join(".gitignore"), "target/\n").unwrap();
    fs::write(session.root.join("large"), vec![b'x'; 3 << 20]).unwrap();
    git(&session.root, &["init", "-q"]);
    git(&session.root, &["add", "."]);
    git(&session.root, &["commit", "-q", "-m", "x"]);
    // Git considers a file unchanged only if it is older than the index.
    std::thread::sleep(std::time::Duration::from_millis(30));
    git(&session.root, &["update-index", "--refresh", "--really-refresh"]);
    fs::write(session.root.join("other"), "1\n").unwrap();
    git(&session.root, &["add", "other"]);
    let before = session.files();
    begin(&session);
    let copies = fs::read_dir(session.root.join(".actum/contents")).unwrap().count();
    assert!(copies <= 1, "{copies}");
    fs::write(session.root.join("large"), "small\n").unwrap();
    fs::create_dir(session.root.join("target")).unwrap();
    fs::write(session.root.join("target/out"), "built\n").unwrap();
    fs::write(session.root.join(".git/info/exclude"), "private/\n").unwrap();
    fs::create_dir(session.root.join("private")).unwrap();
    fs::write(session.root.join("private/x"), "1\n").unwrap();
    let message = end(&session);
    assert!(message.contains("1 file changed") && message.contains("`large`."), "{message}");
    assert_eq!(session.actum(&["adopt"]).code, 0);
    assert_eq!(session.actum(&["undo"]).code, 0);
    fs::remove_dir_all(session.root.join("target")).unwrap();
    fs::remove_dir_all(session.root.join("private")).unwrap();
    let files = |files: Vec<(std::path::PathBuf, Vec<u8>, u32)>| -> Vec<_> {
        files
            .into_iter()
            .filter(|(path, ..)| !path.components().any(|it| it.as_os_str() == ".git"))
            .collect()
    };
    assert_eq!(files(session.files()), files(before));
}

/// Issue 27: `undo` can revert only the last turn, or all runs since a given time.
#[test]
fn undo_reverts_the_last_turn_or_the_runs_since_a_time() {
    let session = Session::new("claude");
    begin(&session);
    allowed(&session.write("c1", "first.txt", "1\n"));
    assert_eq!(end(&session), "actum: 1 run in this turn; `actum undo --turn` undoes it");
    let before = session.files();
    begin(&session);
    allowed(&session.write("c2", "a.txt", "2\n"));
    allowed(&session.write("c3", "b.txt", "3\n"));
    fs::write(session.root.join("c.txt"), "by a command\n").unwrap();
    let message = end(&session);
    assert!(
        message.starts_with("actum: 2 runs in this turn; `actum undo --turn` undoes them. 1 file"),
        "{message}"
    );
    let other = session.actum(&["undo", "--turn", "--session", "another"]);
    assert_eq!(other.code, 1, "{other:?}");
    assert!(
        other.stderr.contains("no run of the newest turn of the session `another`"),
        "{other:?}"
    );
    let dry = session.actum(&["undo", "--turn", "--dry-run"]);
    assert_eq!((dry.code, dry.stdout.lines().count()), (0, 3), "{dry:?}");
    assert!(dry.stderr.contains("2 runs would be undone"), "{dry:?}");
    assert!(session.root.join("b.txt").exists());
    let undone = session.actum(&["undo", "--turn"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert!(undone.stderr.contains("2 runs undone"), "{undone:?}");
    fs::remove_file(session.root.join("c.txt")).unwrap();
    assert_eq!(session.files(), before);
    assert!(session.actum(&["undo", "--turn"]).stderr.contains("no run of the newest turn"));
    for since in ["1d", "2020-01-01T00:00:00Z"] {
        let path = session.root.join("first.txt");
        assert!(path.exists());
        assert_eq!(session.actum(&["undo", "--since", since]).code, 0, "{since}");
        assert!(!path.exists());
        assert_eq!(session.actum(&["redo"]).code, 0);
    }
    let none = session.actum(&["undo", "--since", "2h", "--agent", "codex"]);
    assert!(none.stderr.contains("no run of the agent `codex` since"), "{none:?}");
    for wrong in ["yesterday", "-1h", "1", ""] {
        let ended = session.actum(&["undo", &format!("--since={wrong}")]);
        assert_eq!(ended.code, 2, "{ended:?}");
        assert!(ended.stderr.contains("is not a time"), "{ended:?}");
    }
    sound(&session);
}

/// Issue 27: the gates judge adopted changes: protected paths are rejected, and CI files need approval.
#[test]
fn changes_rejected_by_the_gates_are_reported_and_not_adopted() {
    let session = Session::new("claude");
    begin(&session);
    fs::write(session.root.join(".env"), "KEY=1\n").unwrap();
    fs::write(session.root.join("a.txt"), "by a command\n").unwrap();
    end(&session);
    let adopted = session.actum(&["adopt"]);
    assert_eq!(adopted.code, 0, "{adopted:?}");
    assert!(adopted.stderr.contains("the gates deny the change: `.env`"), "{adopted:?}");
    let refused = session.actum(&["adopt", ".env"]);
    assert!(refused.stderr.contains("is protected"), "{refused:?}");
    let outside = session.actum(&["adopt", "/etc/passwd"]);
    assert!(outside.stderr.contains("is not in the workspace"), "{outside:?}");
    fs::create_dir_all(session.root.join(".github/workflows")).unwrap();
    fs::write(session.root.join(".github/workflows/ci.yml"), "on: push\n").unwrap();
    let queued = session.actum(&["adopt", ".github"]);
    assert!(queued.stderr.contains("queued as plan"), "{queued:?}");
    sound(&session);
}

/// Issue 27: an undeclared change is reverted on request.
#[test]
fn undeclared_change_is_reverted_on_request() {
    let session = Session::new("claude");
    let before = session.files();
    begin(&session);
    fs::write(session.root.join("a.txt"), "by a command\n").unwrap();
    fs::create_dir(session.root.join("new")).unwrap();
    fs::write(session.root.join("new/file"), "new\n").unwrap();
    end(&session);
    let restored = session.actum(&["adopt", "--restore", "new"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert!(!session.root.join("new").exists());
    assert_eq!(session.actum(&["adopt", "--restore"]).code, 0);
    assert_eq!(session.files(), before);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(text(&session.root, "a.txt"), "by a command\n");
    sound(&session);
}

/// Issue 27: control characters in file names are escaped in the summary.
#[test]
fn turn_summary_escapes_file_names() {
    let session = Session::new("opencode");
    begin(&session);
    fs::write(session.root.join("a\u{1b}[2J`\n\u{202e}b"), "1\n").unwrap();
    let message = end(&session);
    assert!(!message.trim_end().chars().any(char::is_control), "{message:?}");
    assert!(!message.contains('\u{202e}'), "{message:?}");
}

/// Issue 27: the end of a turn is never blocked, because the client would then continue to work.
#[test]
fn turn_is_never_blocked_by_a_failure() {
    let session = Session::new("codex");
    begin(&session);
    let journal = session.root.join(".actum/journal");
    let whole = fs::read(&journal).unwrap();
    fs::write(&journal, vec![b'x'; 8192]).unwrap();
    for event in ["UserPromptSubmit", "Stop"] {
        let ended = turn_event(&session, event);
        assert_eq!(ended.code, 0, "{ended:?}");
        assert!(ended.stdout.contains("cannot check this turn"), "{ended:?}");
    }
    fs::write(&journal, whole).unwrap();
    fs::write(session.root.join(".actum/baseline"), "torn").unwrap();
    assert_eq!(end(&session), "");
    let outside = tempfile::tempdir().unwrap();
    let event = json!({ "hook_event_name": "Stop", "session_id": "s1", "cwd": outside.path() });
    allowed(&session.hook(&event));
}

/// Issue 27: a command with a predictable change is judged before it runs, and an unpredictable one is left to the user.
#[test]
fn command_with_a_rejected_change_is_blocked_before_it_runs() {
    for client in ["claude", "codex", "opencode", "gemini", "qwen"] {
        let session = Session::new(client);
        let tool = match client {
            "opencode" => "bash",
            "gemini" | "qwen" => "run_shell_command",
            _ => "Bash",
        };
        let run = |command: &str| session.before("c1", tool, &json!({ "command": command }));
        for (command, why) in [
            ("echo KEY=1 > .env", "is protected"),
            ("cd sub; cp x ../.env", "is protected"),
            ("sh -c 'rm -f .git/config'", "a path that no run may change"),
            ("rm -rf .actum", "the data that undo needs"),
            ("rm -rf ..", "which contains the workspace"),
            ("rm -r ~/.ssh/id_rsa", "keys, credentials"),
            ("echo x >> .github/workflows/ci.yml", "needs the user's approval"),
        ] {
            fs::create_dir_all(session.root.join("sub")).unwrap();
            refused(&run(command), why);
        }
        for command in [
            "ls",
            "cat .env",
            "rm a.txt",
            "cargo test > out.txt",
            "rm $x",
            "rm -rf sub",
            "rm .git/index.lock",
        ] {
            allowed(&run(command));
        }
        let wrong = session.before("c1", tool, &json!({ "command": 1 }));
        refused(&wrong, "`command`");
        assert!(session.runs().is_empty());
    }
}

/// Issue 27: the operator's command rules also apply in a client's shell.
#[test]
fn command_rules_apply_in_the_shell_of_a_client() {
    let session = Session::new("claude");
    let rules = "[[command]]\nargv = [\"git\", \"push\"]\ndecision = \"deny\"\nreason = \"a person pushes\"\n";
    fs::write(session.root.join("actum.toml"), format!("version = 1\n{rules}")).unwrap();
    let run = |command: &str| session.before("c1", "Bash", &json!({ "command": command }));
    refused(&run("git add . && git push origin main"), "a person pushes");
    allowed(&run("git add . && git commit -m 'git push'"));
}

/// Issue 27: `doctor` reports the hook of each client, and any setting that disables it.
#[test]
fn doctor_reports_the_hook_and_the_setting_that_disables_it() {
    let session = Session::new("claude");
    let doctor = || session.actum(&["doctor"]).stdout;
    assert!(!doctor().contains("set up to call it"));
    let protect = session.actum(&["protect", "claude", "--yes", "--no-proof"]);
    assert_eq!(protect.code, 0, "{protect:?}");
    assert!(doctor().contains("`claude` is set up to call it"), "{}", doctor());
    let path = session.root.join(".claude/settings.local.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let all = settings["hooks"].as_object().unwrap().clone();
    settings["hooks"].as_object_mut().unwrap().remove("Stop");
    fs::write(&path, settings.to_string()).unwrap();
    assert!(doctor().contains("only at some events"), "{}", doctor());
    settings["hooks"] = Value::Object(all);
    settings["disableAllHooks"] = json!(true);
    fs::write(&path, settings.to_string()).unwrap();
    assert!(doctor().contains("disables them"), "{}", doctor());
}
