//! `actum hook` records edits of clients as runs, and any failure blocks the edit.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may fail loudly"
)]

mod links;
#[path = "../program/mod.rs"]
mod program;
mod protect;
mod spellings;
mod trials;
mod turns;
mod undeclared;

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// A client that works in a workspace.
struct Session {
    _directory: tempfile::TempDir,
    root: PathBuf,
    client: &'static str,
}

/// Event and field names that a client uses.
struct Names {
    before: &'static str,
    after: &'static str,
    call: Option<&'static str>,
}

fn names(client: &str) -> Names {
    match client {
        "claude" | "codex" | "qwen" => {
            Names { before: "PreToolUse", after: "PostToolUse", call: Some("tool_use_id") }
        }
        "opencode" => Names { before: "before", after: "after", call: Some("call_id") },
        "gemini" => Names { before: "BeforeTool", after: "AfterTool", call: None },
        other => panic!("{other}"),
    }
}

impl Session {
    fn new(client: &'static str) -> Self {
        let (directory, root) = workspace();
        Self { _directory: directory, root: root.canonicalize().unwrap(), client }
    }

    fn event(&self, name: &str, call: &str, tool: &str, input: &Value) -> Value {
        let mut event = json!({
            "hook_event_name": name, "session_id": "s1", "cwd": self.root,
            "tool_name": tool, "tool_input": input,
        });
        if let Some(field) = names(self.client).call {
            event[field] = json!(call);
        }
        event
    }

    fn hook(&self, event: &Value) -> Ended {
        self.hook_bytes(event.to_string().as_bytes())
    }

    fn hook_bytes(&self, event: &[u8]) -> Ended {
        ended(command(&self.root, &["hook", self.client]), event)
    }

    fn hook_with(&self, options: &[&str], event: &Value) -> Ended {
        let arguments = [&["hook", self.client], options].concat();
        ended(command(&self.root, &arguments), event.to_string().as_bytes())
    }

    fn before(&self, call: &str, tool: &str, input: &Value) -> Ended {
        self.hook(&self.event(names(self.client).before, call, tool, input))
    }

    fn after(&self, call: &str, tool: &str, input: &Value) -> Ended {
        self.hook(&self.event(names(self.client).after, call, tool, input))
    }

    /// Simulates a write by the tool of Claude Code, with all hook events from first to last.
    fn write(&self, call: &str, path: &str, content: &str) -> Ended {
        let input = json!({ "file_path": self.root.join(path), "content": content });
        let before = self.before(call, "Write", &input);
        assert_eq!((before.code, &*before.stdout), (0, ""), "{before:?}");
        let file = self.root.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, content).unwrap();
        self.after(call, "Write", &input)
    }

    fn actum(&self, arguments: &[&str]) -> Ended {
        actum(&self.root, arguments)
    }

    /// Returns the runs, newest first.
    fn runs(&self) -> Vec<Value> {
        let log = self.actum(&["log", "--json"]);
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        log["runs"].as_array().unwrap().clone()
    }

    fn files(&self) -> Vec<(PathBuf, Vec<u8>, u32)> {
        let mut files = Vec::new();
        collect(&self.root, &mut files);
        files.sort();
        files
    }
}

fn collect(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>, u32)>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let kind = fs::symlink_metadata(&path).unwrap();
        if path.ends_with(".actum") || kind.is_symlink() {
            continue;
        }
        match kind.is_dir() {
            true => {
                files.push((path.clone(), Vec::new(), kind.permissions().mode()));
                collect(&path, files);
            }
            false => {
                files.push((path.clone(), fs::read(&path).unwrap(), kind.permissions().mode()))
            }
        }
    }
}

fn start(mut command: Command, input: &[u8]) -> Child {
    let streams = || Stdio::piped();
    let mut child =
        command.stdin(streams()).stdout(streams()).stderr(streams()).spawn().expect("it starts");
    // A hook that rejects the event early does not read its input.
    drop(child.stdin.take().unwrap().write_all(input));
    child
}

fn ended(command: Command, input: &[u8]) -> Ended {
    start(command, input).wait_with_output().unwrap().into()
}

#[track_caller]
fn allowed(ended: &Ended) {
    assert_eq!((ended.code, &*ended.stdout, &*ended.stderr), (0, "", ""));
}

#[track_caller]
fn refused(ended: &Ended, words: &str) {
    assert_eq!(ended.code, 2, "{ended:?}");
    assert!(ended.stderr.starts_with("actum: "), "{ended:?}");
    assert!(ended.stderr.contains(words), "{ended:?}");
}

/// Asserts that the ledger is valid and that the decision about the newest run can be replayed.
#[track_caller]
fn sound(session: &Session) {
    for arguments in [&["ledger", "verify"][..], &["replay"]] {
        let ended = session.actum(arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
}

/// Issue 27: each client's edit is recorded as a run with a receipt, and undo restores the file byte for byte.
#[test]
fn edit_of_each_client_is_recorded_as_a_run_and_can_be_undone() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n-1\n+one\n*** Add File: n/new.txt\n+new\n*** End Patch\n";
    let clients = [
        ("claude", "Edit", json!({ "file_path": "a.txt", "old_string": "1", "new_string": "one" })),
        ("claude", "Write", json!({ "file_path": "a.txt", "content": "one\n" })),
        ("codex", "apply_patch", json!({ "command": patch })),
        ("opencode", "edit", json!({ "filePath": "a.txt", "oldString": "1", "newString": "one" })),
        (
            "gemini",
            "replace",
            json!({ "file_path": "a.txt", "old_string": "1", "new_string": "one" }),
        ),
        ("qwen", "edit", json!({ "file_path": "a.txt", "old_string": "1", "new_string": "one" })),
    ];
    for (client, tool, input) in clients {
        let session = Session::new(client);
        let before = session.files();
        allowed(&session.before("c1", tool, &input));
        assert_eq!(session.files(), before, "{client}: the hook changes no file");
        fs::write(session.root.join("a.txt"), "one\n").unwrap();
        if tool == "apply_patch" {
            fs::create_dir(session.root.join("n")).unwrap();
            fs::write(session.root.join("n/new.txt"), "new\n").unwrap();
        }
        let after = session.files();
        allowed(&session.after("c1", tool, &input));
        assert_eq!(session.files(), after, "{client}: adoption touches no file");
        let runs = session.runs();
        assert_eq!(runs.len(), 1, "{client}: {runs:?}");
        let run = runs[0]["run"].as_str().unwrap();
        let shown: Value =
            serde_json::from_str(&session.actum(&["show", run, "--json"]).stdout).unwrap();
        let record = &shown["record"];
        assert_eq!(record["published_by"], "client", "{client}: {shown}");
        assert_eq!(record["actor"]["agent"], client);
        assert_eq!(record["door"], "client hook");
        sound(&session);
        assert_eq!(session.actum(&["undo"]).code, 0, "{client}");
        assert_eq!(session.files(), before, "{client}");
        assert_eq!(session.actum(&["redo"]).code, 0, "{client}");
        assert_eq!(session.files(), after, "{client}");
        sound(&session);
    }
}

/// Issue 27: a rejected edit is blocked with a reason and a next step, and an edit that needs approval is queued.
#[test]
fn edit_rejected_by_the_gates_is_blocked_before_it_happens() {
    let session = Session::new("claude");
    let write = |path: &str| json!({ "file_path": session.root.join(path), "content": "x\n" });
    let protected = session.before("c1", "Write", &write(".env"));
    refused(&protected, "`.env` is protected");
    refused(&protected, "ask the user");
    assert!(protected.stdout.contains("\"permissionDecision\":\"deny\""), "{protected:?}");
    let queued = session.before("c2", "Write", &write(".github/workflows/ci.yml"));
    refused(&queued, "queued as plan");
    let queue: Value = serde_json::from_str(&session.actum(&["queue", "--json"]).stdout).unwrap();
    let plan = queue["plans"][0]["plan"].as_str().unwrap();
    assert!(queued.stderr.contains(plan), "{queued:?}");
    refused(&session.before("c3", "Write", &write(".actum/journal")), ".actum");
    let policy = program::operator_of(&session.root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let policy = json!({ "file_path": policy, "content": "x" });
    refused(&session.before("c4", "Write", &policy), "policy");
    let home = session.root.with_file_name("person");
    fs::create_dir_all(&home).unwrap();
    for file in [
        ".ssh/authorized_keys",
        ".aws/credentials",
        ".claude/settings.json",
        ".codex/hooks.json",
        ".codex/config.toml",
    ] {
        let input = json!({ "file_path": format!("~/{file}"), "content": "x" });
        let mut hook = command(&session.root, &["hook", "claude"]);
        hook.env("HOME", &home);
        let event = session.event("PreToolUse", "c5", "Write", &input).to_string();
        refused(&ended(hook, event.as_bytes()), "agents may not edit");
    }
    assert!(session.runs().is_empty());
}

/// Issue 27: a change that is rejected only after the client made it is rolled back, and the answer reports this.
#[test]
fn rejected_change_that_was_already_made_is_rolled_back() {
    let session = Session::new("claude");
    let before = session.files();
    // The tool makes a different change than it announced: the announced content has no credentials.
    let input = json!({ "file_path": session.root.join("a.txt"), "content": "harmless\n" });
    allowed(&session.before("c1", "Write", &input));
    let key = format!("key = \"{}{}\"\n", "AKIA", "Z7QWERTYUIOPASDF");
    fs::write(session.root.join("a.txt"), key).unwrap();
    let after = session.after("c1", "Write", &input);
    refused(&after, "credentials");
    refused(&after, "undid it");
    assert_eq!(session.files(), before);
    let runs = session.runs();
    assert_eq!(runs.len(), 1, "{runs:?}");
    sound(&session);
}

/// Issue 27: an after-edit event without a preceding before-edit event is reported and not recorded.
#[test]
fn edit_without_a_snapshot_is_reported() {
    let session = Session::new("claude");
    let input = json!({ "file_path": session.root.join("a.txt"), "content": "x\n" });
    fs::write(session.root.join("a.txt"), "x\n").unwrap();
    let after = session.after("c1", "Write", &input);
    assert_eq!(after.code, 0);
    assert!(after.stdout.contains("cannot undo it"), "{after:?}");
    assert!(session.runs().is_empty());
}

/// Issue 27: a failed edit leaves neither a run nor a snapshot, and a call reported twice is one run.
#[test]
fn failed_edit_creates_no_run_and_a_repeated_event_creates_one() {
    let session = Session::new("claude");
    let input = json!({ "file_path": session.root.join("a.txt"), "content": "x\n" });
    allowed(&session.before("c1", "Write", &input));
    allowed(&session.hook(&session.event("PostToolUseFailure", "c1", "Write", &input)));
    assert!(session.runs().is_empty());
    assert_eq!(fs::read_dir(session.root.join(".actum/snapshots")).unwrap().count(), 0);
    allowed(&session.before("c2", "Write", &input));
    allowed(&session.before("c2", "Write", &input));
    fs::write(session.root.join("a.txt"), "x\n").unwrap();
    allowed(&session.after("c2", "Write", &input));
    let again = session.after("c2", "Write", &input);
    assert_eq!((again.code, again.stdout.contains("no snapshot")), (0, true), "{again:?}");
    assert_eq!(session.runs().len(), 1);
}

/// Issue 27: clients reject an edit that does not match; if one applies it anyway, the change is judged and recorded.
#[test]
fn edit_that_cannot_be_predicted_is_judged_afterwards() {
    let session = Session::new("claude");
    let before = session.files();
    let edit = json!({ "file_path": session.root.join("a.txt"), "old_string": "no such text", "new_string": "y" });
    allowed(&session.before("c1", "Edit", &edit));
    fs::write(session.root.join("a.txt"), "y\n").unwrap();
    allowed(&session.after("c1", "Edit", &edit));
    assert_eq!(session.runs().len(), 1);
    assert_eq!(session.actum(&["undo"]).code, 0);
    assert_eq!(session.files(), before);
    // The new content is unknown, so the decision depends on the path.
    let notebook =
        |path: &str| json!({ "notebook_path": session.root.join(path), "new_source": "x" });
    refused(&session.before("c2", "NotebookEdit", &notebook(".env")), "`.env` is protected");
    refused(
        &session.before("c3", "NotebookEdit", &notebook(".github/workflows/ci.yml")),
        "approval required",
    );
    allowed(&session.before("c4", "NotebookEdit", &notebook("sheet.ipynb")));
    let key = format!("key = \"{}{}\"\n", "AKIA", "Z7QWERTYUIOPASDF");
    fs::write(session.root.join("sheet.ipynb"), key).unwrap();
    refused(&session.after("c4", "NotebookEdit", &notebook("sheet.ipynb")), "undid it");
    assert_eq!(session.files(), before);
}

/// Issue 27: the hook prints nothing outside of workspaces, or for unrelated tools and events.
#[test]
fn hook_prints_nothing_for_unrelated_events_and_paths() {
    let session = Session::new("claude");
    let bash = json!({ "command": "ls" });
    allowed(&session.before("c1", "Bash", &bash));
    allowed(&session.after("c1", "Bash", &bash));
    for event in ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"] {
        let event = json!({ "hook_event_name": event, "session_id": "s1", "cwd": session.root });
        allowed(&session.hook(&event));
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let input = json!({ "file_path": elsewhere.path().join("f"), "content": "x" });
    let mut event = session.event("PreToolUse", "c2", "Write", &input);
    event["cwd"] = json!(elsewhere.path());
    let outside = command(elsewhere.path(), &["hook", "claude"]);
    allowed(&ended(outside, event.to_string().as_bytes()));
    assert!(!elsewhere.path().join(".actum").exists());
    // This path is outside the workspace, although the client names it from within.
    allowed(&session.before("c3", "Write", &input));
}

/// Issue 27: every failure of a hook exits with code 2 and a message, so the tool does not run.
#[test]
fn every_hook_failure_blocks_the_tool() {
    let session = Session::new("claude");
    let input = json!({ "file_path": session.root.join("a.txt"), "content": "x\n" });
    let event = session.event("PreToolUse", "c1", "Write", &input);
    let bytes = event.to_string().into_bytes();
    refused(&session.hook_bytes(b""), "standard input, which is empty");
    refused(&session.hook_bytes(&bytes[..bytes.len() / 2]), "is not valid JSON");
    refused(&session.hook_bytes(b"\xff\xfe\x00"), "is not valid JSON");
    refused(&session.hook_bytes(&vec![b'['; 200_000]), "is not valid JSON");
    let mut unknown = event.clone();
    unknown["hook_event_name"] = json!("ToolIsAboutToRun\u{1b}[31m");
    let unknown = session.hook(&unknown);
    refused(&unknown, "is unknown");
    assert!(!unknown.stderr.contains('\u{1b}'), "{unknown:?}");
    let mut typed = event.clone();
    typed["tool_input"]["content"] = json!(7);
    refused(&session.hook(&typed), "`content`");
    let nobody = ended(command(&session.root, &["hook", "nobody"]), &bytes);
    assert_eq!(nobody.code, 2, "{nobody:?}");
    let nowhere =
        ended(command(&session.root, &["-C", "/no/such/place", "hook", "claude"]), &bytes);
    assert_eq!(nowhere.code, 2, "{nowhere:?}");
    // The hook cannot write its answer.
    let mut closed = command(&session.root, &["hook", "claude"]);
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    closed.stdin(Stdio::piped()).stdout(full).stderr(Stdio::piped());
    let mut unseen = session.event("PostToolUse", "c9", "Write", &input);
    unseen["tool_use_id"] = json!("never seen");
    let mut child = closed.spawn().unwrap();
    child.stdin.take().unwrap().write_all(unseen.to_string().as_bytes()).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(2));
    // The workspace state or the ledger is unusable.
    let journal = session.root.join(".actum/journal");
    let sound = fs::read(&journal).unwrap();
    fs::write(&journal, vec![7; sound.len()]).unwrap();
    refused(&session.hook_bytes(&bytes), "journal");
    fs::write(&journal, &sound).unwrap();
    let policy = program::operator_of(&session.root).join("actum");
    fs::create_dir_all(&policy).unwrap();
    fs::write(policy.join("actum.toml"), "version = ").unwrap();
    refused(&session.hook_bytes(&bytes), "policy");
    fs::remove_file(policy.join("actum.toml")).unwrap();
    let home = program::home_of(&session.root);
    let moved = home.with_file_name("elsewhere");
    fs::rename(&home, &moved).unwrap();
    fs::write(&home, "a file").unwrap();
    refused(&session.hook_bytes(&bytes), "nothing was changed");
    fs::remove_file(&home).unwrap();
    fs::rename(&moved, &home).unwrap();
    allowed(&session.hook_bytes(&bytes));
    assert!(session.runs().is_empty());
}

/// Issue 27: concurrent calls of one client are recorded as separate runs.
#[test]
fn concurrent_calls_become_separate_runs() {
    let session = Session::new("claude");
    let names: Vec<String> = (0..4).map(|number| format!("n{number}.txt")).collect();
    let event = |moment: &str, name: &String| {
        let input = json!({ "file_path": session.root.join(name), "content": "x\n" });
        session.event(moment, name, "Write", &input).to_string()
    };
    let all = |moment: &str| {
        let started: Vec<_> = names
            .iter()
            .map(|name| {
                start(command(&session.root, &["hook", "claude"]), event(moment, name).as_bytes())
            })
            .collect();
        for child in started {
            allowed(&child.wait_with_output().unwrap().into());
        }
    };
    all("PreToolUse");
    names.iter().for_each(|name| fs::write(session.root.join(name), "x\n").unwrap());
    all("PostToolUse");
    assert_eq!(session.runs().len(), names.len());
    for run in session.runs() {
        assert_eq!(session.actum(&["undo", run["run"].as_str().unwrap()]).code, 0);
    }
    assert!(names.iter().all(|name| !session.root.join(name).exists()));
}

/// Issue 27: approving the change applies it, and the client receives a message to continue from there.
#[test]
fn an_approved_change_is_made_by_the_approval() {
    let session = Session::new("claude");
    let passphrase = session.root.with_file_name("passphrase");
    fs::write(&passphrase, "correct horse battery\n").unwrap();
    fs::set_permissions(&passphrase, fs::Permissions::from_mode(0o600)).unwrap();
    let passphrase = passphrase.to_str().unwrap();
    assert_eq!(
        session.actum(&["key", "make", "approval", "--passphrase-file", passphrase]).code,
        0
    );
    let path = ".github/workflows/ci.yml";
    let input = json!({ "file_path": session.root.join(path), "content": "on: push\n" });
    refused(&session.before("c1", "Write", &input), "queued as plan");
    let queue: Value = serde_json::from_str(&session.actum(&["queue", "--json"]).stdout).unwrap();
    let plan = queue["plans"][0]["plan"].as_str().unwrap();
    let approved = session.actum(&["approve", plan, "--passphrase-file", passphrase]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(text(&session.root, path), "on: push\n");
    // The client repeats the edit, and nothing is left to change.
    allowed(&session.before("c2", "Write", &input));
}

/// Issue 27: changes to the client settings that disable the hook are rejected, and others are accepted.
#[test]
fn settings_without_the_hook_are_rejected() {
    let session = Session::new("claude");
    let home = session.root.with_file_name("person");
    fs::create_dir_all(&home).unwrap();
    let hook = || {
        let event =
            json!({ "hook_event_name": "ConfigChange", "session_id": "s1", "cwd": session.root });
        let mut hook = command(&session.root, &["hook", "claude"]);
        hook.env("HOME", &home);
        ended(hook, event.to_string().as_bytes())
    };
    refused(&hook(), "disable the actum hook");
    let mut protect = command(&session.root, &["protect", "claude", "--yes", "--no-proof"]);
    let done: Ended = protect.env("HOME", &home).stdin(Stdio::null()).output().unwrap().into();
    assert_eq!(done.code, 0, "{done:?}");
    allowed(&hook());
    let settings = session.root.join(".claude/settings.local.json");
    let mut value: Value = serde_json::from_slice(&fs::read(&settings).unwrap()).unwrap();
    value["disableAllHooks"] = json!(true);
    fs::write(&settings, value.to_string()).unwrap();
    refused(&hook(), "disable the actum hook");
    fs::write(&settings, "{").unwrap();
    refused(&hook(), "JSON");
    fs::remove_file(&settings).unwrap();
    // A strict hook rejects settings that replace it with a non-strict one, and such a change raises an alert.
    let protect = |options: &[&str]| {
        let arguments = [&["protect", "claude", "--yes", "--no-proof"], options].concat();
        let mut protect = command(&session.root, &arguments);
        let done: Ended = protect.env("HOME", &home).stdin(Stdio::null()).output().unwrap().into();
        assert_eq!(done.code, 0, "{done:?}");
    };
    let strict = || {
        let event =
            json!({ "hook_event_name": "ConfigChange", "session_id": "s1", "cwd": session.root });
        let mut hook = command(&session.root, &["hook", "claude", "--strict"]);
        hook.env("HOME", &home);
        ended(hook, event.to_string().as_bytes())
    };
    protect(&["--strict"]);
    allowed(&strict());
    protect(&[]);
    refused(&strict(), "allow shell commands that it refuses");
    assert!(session.actum(&["queue"]).stdout.contains("is no longer strict"));
}

/// Issue 27: undoing all runs of a session one by one restores the original tree.
#[test]
fn session_of_edits_is_undone_to_the_original_tree() {
    let session = Session::new("claude");
    let before = session.files();
    for (number, (path, content)) in
        [("a.txt", "two\n"), ("x/y/z.txt", "new\n"), ("a.txt", "three\n"), ("sub/b.txt", "")]
            .into_iter()
            .enumerate()
    {
        allowed(&session.write(&format!("c{number}"), path, content));
    }
    assert_eq!(session.runs().len(), 4);
    for _ in 0..4 {
        assert_eq!(session.actum(&["undo"]).code, 0);
    }
    assert_eq!(session.files(), before);
}

/// Issue 27: a session is listed and undone as a unit, without affecting other runs.
#[test]
fn a_session_is_undone_by_its_id() {
    let session = Session::new("claude");
    assert_eq!(session.actum(&["apply", "../change.diff"]).code, 0);
    let before = session.files();
    for (number, path) in ["n1.txt", "n2.txt", "n1.txt"].into_iter().enumerate() {
        allowed(&session.write(&format!("c{number}"), path, &format!("{number}\n")));
    }
    let other = json!({ "file_path": session.root.join("other.txt"), "content": "x\n" });
    for name in ["PreToolUse", "PostToolUse"] {
        let mut event = session.event(name, "c0", "Write", &other);
        event["session_id"] = json!("s2");
        allowed(&session.hook(&event));
        fs::write(session.root.join("other.txt"), "x\n").unwrap();
    }
    let listed = |arguments: &[&str]| {
        let log = session.actum(&[&["log", "--json"], arguments].concat());
        let log: Value = serde_json::from_str(&log.stdout).unwrap();
        log["runs"].as_array().unwrap().len()
    };
    assert_eq!((listed(&["--session", "s1"]), listed(&["--session", "s2"])), (3, 1));
    assert_eq!((listed(&["--agent", "claude"]), listed(&["--agent", "nobody"])), (4, 0));
    let undone = session.actum(&["undo", "--session", "s1"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert!(undone.stderr.contains("3 runs undone"), "{undone:?}");
    fs::remove_file(session.root.join("other.txt")).unwrap();
    assert_eq!(session.files(), before);
    let again = session.actum(&["undo", "--session", "s1"]);
    assert_eq!(again.code, 1);
    assert!(again.stderr.contains("no run of the session `s1`"), "{again:?}");
}

/// Issue 27: if a run of the session cannot be undone, the undo stops and reports its progress.
#[test]
fn session_undo_stops_at_a_later_edit() {
    let session = Session::new("claude");
    for (number, path) in ["n1.txt", "n2.txt"].into_iter().enumerate() {
        allowed(&session.write(&format!("c{number}"), path, "x\n"));
    }
    fs::write(session.root.join("n1.txt"), "by a person\n").unwrap();
    let undone = session.actum(&["undo", "--session", "s1"]);
    assert_eq!(undone.code, 1, "{undone:?}");
    assert!(undone.stderr.contains("1 of 2 runs"), "{undone:?}");
    assert_eq!(text(&session.root, "n1.txt"), "by a person\n");
    assert!(!session.root.join("n2.txt").exists());
}
