//! `actum protect` configures clients and proves that their hooks work. The client here is scripted.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::program::{Ended, actum, command, home_of, workspace};

/// A client that behaves like Claude Code: it queries the model, calls its hooks around each tool, and runs the tool if they allow
/// it.
const CLIENT: &str = r#"#!/usr/bin/env python3
import json, os, subprocess, sys, urllib.request
if sys.argv[1:] == ["--version"]:
    print(os.environ.get("VERSION", "2.1.330 (Claude Code)"))
    sys.exit()
root = os.getcwd()
path = os.path.join(root, ".claude/settings.local.json")
settings = json.load(open(path)) if os.path.exists(path) else {}
hooks = {} if settings.get("disableAllHooks") else settings.get("hooks", {})
override = json.loads(sys.argv[sys.argv.index("--settings") + 1])
url = override["env"]["ANTHROPIC_BASE_URL"]

def hook(event, call):
    for entry in hooks.get(event, []):
        if call["name"] not in entry.get("matcher", call["name"]).split("|"):
            continue
        for handler in entry["hooks"]:
            given = {"hook_event_name": event, "session_id": "trial", "cwd": root, "tool_name": call["name"],
                     "tool_input": call["input"], "tool_use_id": call["id"]}
            done = subprocess.run([handler["command"], *handler["args"]], input=json.dumps(given), text=True,
                                  capture_output=True)
            if done.returncode == 2:
                return done.stderr
    return None

def tool(call):
    words = hook("PreToolUse", call)
    if words:
        return True, words
    given = call["input"]
    if call["name"] == "Write":
        text = given["content"]
    else:
        text = open(given["file_path"]).read().replace(given["old_string"], given["new_string"])
    open(given["file_path"], "w").write(text)
    words = hook("PostToolUse", call)
    return (True, words) if words else (False, "done")

def turn(event):
    for handler in [handler for entry in hooks.get(event, []) for handler in entry["hooks"]]:
        given = {"hook_event_name": event, "session_id": "trial", "cwd": root, "prompt_id": "p"}
        subprocess.run([handler["command"], *handler["args"]], input=json.dumps(given), text=True, capture_output=True)

turn("UserPromptSubmit")
messages = [{"role": "user", "content": "go"}]
while True:
    body = {"model": "m", "tools": [{"name": "Write"}, {"name": "Edit"}], "messages": messages, "stream": False}
    request = urllib.request.Request(url + "/v1/messages", json.dumps(body).encode())
    answer = json.load(urllib.request.urlopen(request))
    messages.append({"role": "assistant", "content": answer["content"]})
    calls = [block for block in answer["content"] if block["type"] == "tool_use"]
    if not calls:
        break
    results = []
    for call in calls:
        error, text = tool(call)
        results.append({"type": "tool_result", "tool_use_id": call["id"], "is_error": error, "content": text})
    messages.append({"role": "user", "content": results})
turn("Stop")
"#;

/// A workspace, the home of a user, and a client in `PATH`.
struct UserFixture {
    directory: tempfile::TempDir,
    root: PathBuf,
}

impl UserFixture {
    fn new() -> Self {
        let (directory, root) = workspace();
        let fixture = Self { root: root.canonicalize().unwrap(), directory };
        fs::create_dir_all(fixture.home()).unwrap();
        fs::create_dir_all(fixture.programs()).unwrap();
        let client = fixture.programs().join("claude");
        fs::write(&client, CLIENT).unwrap();
        fs::set_permissions(&client, fs::Permissions::from_mode(0o755)).unwrap();
        fixture
    }

    fn home(&self) -> PathBuf {
        self.directory.path().join("person")
    }

    fn programs(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    fn settings(&self) -> PathBuf {
        self.root.join(".claude/settings.local.json")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = command(&self.root, &[&["protect", "claude"], arguments].concat());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs().display());
        command.env("HOME", self.home()).env("PATH", path).stdin(Stdio::null());
        command
    }

    fn protect(&self, arguments: &[&str]) -> Ended {
        self.command(arguments).output().unwrap().into()
    }

    fn write_settings(&self, text: &str) {
        fs::create_dir_all(self.settings().parent().unwrap()).unwrap();
        fs::write(self.settings(), text).unwrap();
    }

    fn runs(&self) -> usize {
        let log: Value =
            serde_json::from_str(&actum(&self.root, &["log", "--json"]).stdout).unwrap();
        log["runs"].as_array().unwrap().len()
    }
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Issue 27: `protect` adds the hook to the settings, the client proves that it works, and the trial leaves nothing behind.
#[test]
fn a_client_that_calls_the_hook_is_armed() {
    let fixture = UserFixture::new();
    let done = fixture.protect(&["--yes"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stdout.contains("\narmed"), "{done:?}");
    assert!(done.stderr.contains("+++"), "the change is shown first: {done:?}");
    let hooks = &read(&fixture.settings())["hooks"];
    assert_eq!(hooks["PreToolUse"][0]["hooks"][0]["args"], json!(["hook", "claude"]));
    let probes = fs::read_dir(&fixture.root)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("probe"));
    assert_eq!(probes.count(), 0);
    assert_eq!(fixture.runs(), 4, "two edits and their undos");
    let again = fixture.protect(&["--check", "--json"]);
    let document: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&document["armed"], &document["changed"]), (&json!(true), &json!(false)));
}

/// Issue 27: a client that is missing, too old or does not call the hook is never reported as armed.
#[test]
fn client_that_does_not_prove_its_hook_is_not_armed() {
    let fixture = UserFixture::new();
    assert_eq!(fixture.protect(&["--yes", "--no-proof"]).code, 0);
    let mut settings = read(&fixture.settings());
    settings["disableAllHooks"] = json!(true);
    fixture.write_settings(&settings.to_string());
    let disarmed = fixture.protect(&["--check"]);
    assert_eq!(disarmed.code, 4, "{disarmed:?}");
    assert!(disarmed.stdout.contains("not armed"), "{disarmed:?}");
    assert!(disarmed.stdout.contains("`disableAllHooks`"), "{disarmed:?}");
    settings["disableAllHooks"] = json!(false);
    fixture.write_settings(&settings.to_string());
    // This client has the settings but calls no hook.
    let client = fixture.programs().join("claude");
    let def = "def hook(event, call):";
    fs::write(&client, CLIENT.replace(def, &format!("{def}\n    return None"))).unwrap();
    let deaf = fixture.protect(&["--check"]);
    assert_eq!(deaf.code, 4, "{deaf:?}");
    assert!(
        deaf.stdout.contains("not armed") && deaf.stdout.contains("0 runs for 2 edits"),
        "{deaf:?}"
    );
    fs::write(&client, CLIENT).unwrap();
    let left = fs::read_dir(&fixture.root)
        .unwrap()
        .filter(|entry| entry.as_ref().unwrap().file_name().to_string_lossy().contains("probe"));
    assert_eq!(left.count(), 0, "the trial takes its files away");
    let mut old = fixture.command(&["--check"]);
    old.env("VERSION", "2.1.94 (Claude Code)");
    let old: Ended = old.output().unwrap().into();
    assert_eq!(old.code, 4);
    assert!(old.stdout.contains("2.1.94") && !old.stdout.contains("\narmed"), "{old:?}");
    fs::remove_file(fixture.programs().join("claude")).unwrap();
    let missing = fixture.protect(&["--check"]);
    assert_eq!(missing.code, 4, "{missing:?}");
    assert!(missing.stdout.contains("PATH") && !missing.stdout.contains("\narmed"), "{missing:?}");
    assert_eq!(fixture.protect(&["--off", "--yes"]).code, 0);
    let none = fixture.protect(&["--check"]);
    assert_eq!(none.code, 4);
    assert!(none.stdout.contains("no settings call the hook"), "{none:?}");
}

/// Issue 27: `--off` restores the earlier settings exactly, and leaves an alert.
#[test]
fn protect_off_restores_the_settings_and_records_the_removal() {
    let fixture = UserFixture::new();
    let texts = [
        "{\n  \"model\": \"x\",\n  \"hooks\": {\n    \"Stop\": [{}]\n  }\n}\n",
        "{\"permissions\": {\"allow\": []}}",
    ];
    for before in texts {
        fixture.write_settings(before);
        assert_eq!(fixture.protect(&["--yes", "--no-proof"]).code, 0);
        assert_ne!(fs::read_to_string(fixture.settings()).unwrap(), before);
        assert_eq!(fixture.protect(&["--off", "--yes"]).code, 0);
        let after = fs::read_to_string(fixture.settings()).unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(&after).unwrap(),
            serde_json::from_str::<Value>(before).unwrap()
        );
    }
    fs::remove_file(fixture.settings()).unwrap();
    assert_eq!(fixture.protect(&["--yes", "--no-proof"]).code, 0);
    assert_eq!(fixture.protect(&["--off", "--yes"]).code, 0);
    assert!(!fixture.settings().exists());
    let queue = actum(&fixture.root, &["queue", "--json"]);
    assert!(queue.stdout.contains("CLIENT_HOOK_REMOVED"), "{queue:?}");
}

/// Issue 27: settings that cannot be changed safely are rejected by name and left unchanged. Without a terminal, `protect` asks no
/// question.
#[test]
fn settings_that_cannot_be_changed_safely_are_rejected() {
    let fixture = UserFixture::new();
    let unasked = fixture.protect(&[]);
    assert_eq!(unasked.code, 1, "{unasked:?}");
    assert!(unasked.stderr.contains("--yes") && !fixture.settings().exists(), "{unasked:?}");
    for broken in ["{", "// mine\n{}", "[]", "{\"hooks\": 7}", "{\"hooks\": {\"PreToolUse\": {}}}"]
    {
        fixture.write_settings(broken);
        let refused = fixture.protect(&["--yes"]);
        assert_eq!(refused.code, 1, "{broken}: {refused:?}");
        assert!(refused.stderr.contains("--print"), "{refused:?}");
        assert_eq!(fs::read_to_string(fixture.settings()).unwrap(), broken);
    }
    fs::remove_file(fixture.settings()).unwrap();
    let elsewhere = fixture.root.join("mine.json");
    fs::write(&elsewhere, "{}").unwrap();
    symlink(&elsewhere, fixture.settings()).unwrap();
    let link = fixture.protect(&["--yes"]);
    assert_eq!((link.code, &*fs::read_to_string(&elsewhere).unwrap()), (1, "{}"), "{link:?}");
    fs::remove_file(fixture.settings()).unwrap();
    fs::hard_link(&elsewhere, fixture.settings()).unwrap();
    assert_eq!(fixture.protect(&["--yes"]).code, 1);
    let printed = fixture.protect(&["--print"]);
    assert_eq!(printed.code, 0, "what cannot be changed is done by hand: {printed:?}");
    fs::remove_file(fixture.settings()).unwrap();
    let printed = fixture.protect(&["--print"]);
    assert_eq!(printed.code, 0, "{printed:?}");
    assert!(serde_json::from_str::<Value>(&printed.stdout).is_ok());
    assert!(!fixture.settings().exists() && home_of(&fixture.root).exists());
}

/// Issue 27: shared team settings name only the program, and a client that was not tested is never reported as armed.
#[test]
fn other_levels_and_clients_are_configured_but_not_reported_as_armed() {
    let fixture = UserFixture::new();
    let team = fixture.protect(&["--team", "--yes", "--no-proof"]);
    assert_eq!(team.code, 0, "{team:?}");
    let settings = read(&fixture.root.join(".claude/settings.json"));
    assert_eq!(settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"], "actum");
    assert!(team.stderr.contains("in PATH"), "{team:?}");
    for (client, file) in [
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("qwen", ".qwen/settings.json"),
    ] {
        let protect = |arguments: &[&str]| -> Ended {
            let arguments = [&["protect", client, "--user"], arguments].concat();
            let mut command = command(&fixture.root, &arguments);
            command.env("HOME", fixture.home()).env("PATH", fixture.programs());
            command.stdin(Stdio::null()).output().unwrap().into()
        };
        let missing = protect(&["--yes"]);
        assert!(missing.code == 1 && missing.stderr.contains("in PATH"), "{missing:?}");
        assert!(!fixture.home().join(file).exists());
        let untried = protect(&["--yes", "--no-proof"]);
        assert!(untried.code == 0 && untried.stdout.contains("not proven"), "{untried:?}");
        assert!(fixture.home().join(file).exists());
        let missing = protect(&["--check"]);
        assert!(missing.code == 4 && missing.stdout.contains("not armed"), "{missing:?}");
    }
    let plugin = fixture.root.join(".opencode/plugin/actum.js");
    let opencode = actum(&fixture.root, &["protect", "opencode", "--yes", "--no-proof"]);
    assert!(opencode.code == 0 && opencode.stdout.contains("not proven"), "{opencode:?}");
    assert!(fs::read_to_string(&plugin).unwrap().contains("/actum\", [\"hook\", \"opencode\"]"));
    assert_eq!(actum(&fixture.root, &["protect", "opencode", "--off", "--yes"]).code, 0);
    assert!(!plugin.exists());
    fs::write(&plugin, "export const Mine = 1").unwrap();
    let other = actum(&fixture.root, &["protect", "opencode", "--yes"]);
    assert!(other.code == 1 && other.stderr.contains("a different plugin"), "{other:?}");
}
