//! `actum protect` with scripts that behave like Codex, Gemini CLI and Qwen Code.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::program::{Ended, actum, command, workspace};

/// Implements three clients, each of which queries its model, calls its hooks around each tool, and runs the tool if they allow it.
/// With `DEAF` set, the client calls no hook. `VERSION` sets the version it reports.
const CLIENT: &str = r#"#!/usr/bin/env python3
import hashlib, json, os, subprocess, sys, tomllib, urllib.request
name, args, root, home = os.path.basename(sys.argv[0]), sys.argv[1:], os.getcwd(), os.environ["HOME"]
versions = {"codex": "codex-cli 0.169.0", "gemini": "0.61.0", "qwen": "0.24.4"}
if args == ["--version"]:
    print(os.environ.get("VERSION", versions[name]))
    sys.exit()
hooks_file = home + "/.codex/hooks.json" if name == "codex" else root + "/." + name + "/settings.json"

def load(path):
    return json.load(open(path)) if os.path.exists(path) else {}

def listed():
    config = home + "/.codex/config.toml"
    config = tomllib.load(open(config, "rb")) if os.path.exists(config) else {}
    states = config.get("hooks", {}).get("state", {})
    for event, entries in load(hooks_file).get("hooks", {}).items():
        snake = "".join("_" + c.lower() if c.isupper() else c for c in event).strip("_")
        for at, entry in enumerate(entries):
            for number, handler in enumerate(entry["hooks"]):
                key = f"{hooks_file}:{snake}:{at}:{number}"
                current = "sha256:" + hashlib.sha256(json.dumps(handler).encode()).hexdigest()
                trusted = states.get(key, {}).get("trusted_hash") == current
                yield event, entry, handler, {
                    "key": key, "command": handler["command"], "sourcePath": hooks_file, "enabled": True,
                    "currentHash": current, "trustStatus": "trusted" if trusted else "untrusted"}

if args == ["app-server"]:
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "hooks/list":
            hooks = [hook for *_, hook in listed()]
            print(json.dumps({"id": message["id"], "result": {"data": [{"cwd": root, "hooks": hooks}]}}), flush=True)
    sys.exit()
if name == "gemini":
    own = os.environ["GEMINI_CLI_HOME"] + "/.gemini/"
    if load(own + "settings.json")["security"]["auth"]["selectedType"] != "gemini-api-key":
        sys.exit("an account is needed")
    if load(own + "trustedFolders.json").get(root) != "TRUST_FOLDER":
        sys.exit("not running in a trusted directory")

def handlers(event):
    if name == "codex":
        return [(entry, handler) for at, entry, handler, hook in listed()
                if at == event and hook["trustStatus"] == "trusted"]
    entries = load(hooks_file).get("hooks", {}).get(event, [])
    return [(entry, handler) for entry in entries for handler in entry["hooks"]]

def hook(event, tool, given, call):
    if "DEAF" in os.environ:
        return None
    event = {"before": "BeforeTool", "after": "AfterTool"}[event] if name == "gemini" else \
        {"before": "PreToolUse", "after": "PostToolUse"}[event]
    if name == "codex":
        tool, given = ("Bash", {"command": given["cmd"]}) if tool == "exec_command" else (tool, {"command": given})
    for entry, handler in handlers(event):
        if tool not in entry.get("matcher", tool).split("|"):
            continue
        sent = {"hook_event_name": event, "session_id": "trial", "cwd": root, "tool_name": tool, "tool_input": given}
        if name != "gemini":
            sent["tool_use_id"] = call if name == "codex" else "own_" + call
        done = subprocess.run(["sh", "-c", handler["command"]], input=json.dumps(sent), text=True, capture_output=True)
        if done.returncode == 2:
            return done.stderr
    return None

def turn(event):
    if "DEAF" in os.environ:
        return
    if name == "gemini":
        event = {"UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent"}[event]
    for _, handler in handlers(event):
        sent = {"hook_event_name": event, "session_id": "trial", "cwd": root}
        subprocess.run(["sh", "-c", handler["command"]], input=json.dumps(sent), text=True, capture_output=True)

def edit(tool, given):
    if tool in ("exec_command", "run_shell_command"):
        subprocess.run(["sh", "-c", given.get("cmd") or given["command"]], cwd=root)
    elif name == "codex":
        head, *body = given.split("\n")[1:-2]
        kind, path = head.removeprefix("*** ").split(" File: ")
        added = "".join(line[1:] + "\n" for line in body if line.startswith("+"))
        open(os.path.join(root, path), "w").write(added)
    elif tool == "write_file":
        open(given["file_path"], "w").write(given["content"])
    else:
        text = open(given["file_path"]).read().replace(given["old_string"], given["new_string"])
        open(given["file_path"], "w").write(text)

def run(tool, given, call):
    """Whether the tool failed, and what the model is told."""
    words = hook("before", tool, given, call)
    if words:
        return True, words
    edit(tool, given)
    words = hook("after", tool, given, call)
    return (True, words) if words else (False, "done")

def post(url, body):
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode())))

def codex():
    settings = [tomllib.loads(args[at + 1]) for at, arg in enumerate(args) if arg == "-c"]
    settings = {key: value for setting in settings for key, value in setting.items()}
    url = settings["model_providers"][settings["model_provider"]]["base_url"]
    items = [{"type": "message", "role": "user", "content": []}]
    while True:
        body = {"model": settings["model"], "tools": [{}], "input": items, "stream": False}
        item = post(url + "/responses", body)["output"][0]
        items.append(item)
        if item["type"] not in ("custom_tool_call", "function_call"):
            return
        given = item["input"] if "input" in item else json.loads(item["arguments"])
        _, text = run(item["name"], given, item["call_id"])
        items.append({"type": item["type"] + "_output", "call_id": item["call_id"], "output": text})

def gemini():
    url = os.environ["GOOGLE_GEMINI_BASE_URL"] + "/v1beta/models/m:generateContent"
    contents = [{"role": "user", "parts": [{"text": "go"}]}]
    while True:
        body = {"contents": contents, "tools": [{"functionDeclarations": [{}]}]}
        content = post(url, body)["candidates"][0]["content"]
        contents.append(content)
        call = content["parts"][0].get("functionCall")
        if not call:
            return
        failed, text = run(call["name"], call["args"], "")
        response = {"name": call["name"], "response": {"error" if failed else "output": text}}
        contents.append({"role": "user", "parts": [{"functionResponse": response}]})

def qwen():
    url = args[args.index("--openai-base-url") + 1]
    messages = [{"role": "user", "content": "go"}]
    while True:
        message = post(url + "/chat/completions", {"messages": messages, "tools": [{}]})["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return
        call = message["tool_calls"][0]
        _, text = run(call["function"]["name"], json.loads(call["function"]["arguments"]), call["id"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": text})

turn("UserPromptSubmit")
{"codex": codex, "gemini": gemini, "qwen": qwen}[name]()
turn("Stop")
"#;

/// A workspace, and a user with one of the clients.
struct User {
    directory: tempfile::TempDir,
    root: PathBuf,
    client: &'static str,
}

impl User {
    fn new(client: &'static str) -> Self {
        let (directory, root) = workspace();
        let user = Self { root: root.canonicalize().unwrap(), directory, client };
        fs::create_dir_all(user.programs()).unwrap();
        fs::create_dir_all(user.home().join(".gemini")).unwrap();
        let program = user.programs().join(client);
        fs::write(&program, CLIENT).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let trusted = json!({ user.root.to_str().unwrap(): "TRUST_FOLDER" }).to_string();
        fs::write(user.home().join(".gemini/trustedFolders.json"), trusted).unwrap();
        let account = r#"{"security": {"auth": {"selectedType": "oauth-personal"}}}"#;
        fs::write(user.home().join(".gemini/settings.json"), account).unwrap();
        user
    }

    fn home(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join("user")
    }

    fn programs(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    fn protect(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Ended {
        let mut command = command(&self.root, &[&["protect", self.client], arguments].concat());
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", self.programs().display());
        command.env("HOME", self.home()).env("PATH", path).stdin(Stdio::null());
        command.envs(environment.iter().copied()).output().unwrap().into()
    }

    fn runs(&self) -> usize {
        let log = actum(&self.root, &["log", "--json"]).stdout;
        serde_json::from_str::<Value>(&log).unwrap()["runs"].as_array().unwrap().len()
    }

    /// Returns the number of trial files that are left in the workspace.
    fn left(&self) -> usize {
        let names = fs::read_dir(&self.root).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("probe")).count()
    }
}

fn is_armed(done: &Ended) -> bool {
    done.stdout.contains("\narmed")
}

/// Issue 27: each client proves that its hook works, and the trial leaves nothing behind.
#[test]
fn codex_gemini_and_qwen_that_call_the_hook_are_armed() {
    for client in ["codex", "gemini", "qwen"] {
        let user = User::new(client);
        let done = user.protect(&["--yes"], &[]);
        assert!(done.code == 0 && is_armed(&done), "{client}: {done:?}");
        assert_eq!((user.left(), user.runs()), (0, 4), "{client}: two edits and their undos");
        let again = user.protect(&["--check", "--json"], &[]);
        let document: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&document["armed"], &document["changed"]), (&json!(true), &json!(false)));
        assert_eq!(user.runs(), 8, "{client}");
    }
}

/// Issue 27: a rejected command proves a strict hook, and `protect` without `--strict` removes the rule.
#[test]
fn strict_hook_is_armed_if_a_command_is_rejected() {
    for client in ["codex", "gemini", "qwen"] {
        let user = User::new(client);
        let strict = user.protect(&["--strict", "--yes"], &[]);
        assert!(strict.code == 0 && is_armed(&strict), "{client}: {strict:?}");
        assert!(strict.stdout.contains("\nok         a shell command is refused: actum"));
        let again = user.protect(&["--check", "--json"], &[]);
        let document: Value = serde_json::from_str(&again.stdout).unwrap();
        assert_eq!((&document["armed"], &document["strict"]), (&json!(true), &json!(true)));
        assert_eq!(user.left(), 0);
        let open = user.protect(&["--yes"], &[]);
        assert!(is_armed(&open) && !open.stdout.contains("shell"), "{client}: {open:?}");
    }
}

/// Issue 27: nothing is written if the client is not installed.
#[test]
fn settings_are_unchanged_if_the_client_is_not_installed() {
    let user = User::new("codex");
    fs::remove_file(user.programs().join("codex")).unwrap();
    let done = user.protect(&["--yes"], &[]);
    assert!(done.stderr.contains("`codex` was not found in PATH"), "{done:?}");
    assert!(done.code != 0 && !user.home().join(".codex/hooks.json").exists());
    assert_eq!(user.protect(&["--yes", "--no-proof"], &[]).code, 0);
    let words = user.protect(&["--print=agents"], &[]).stdout;
    assert!(words.starts_with("## Changes go through actum"), "{words}");
}

/// Issue 27: a client that calls no hook, or has an old or unknown version, is not reported as armed.
#[test]
fn codex_gemini_and_qwen_without_a_proven_hook_are_not_armed() {
    for client in ["codex", "gemini", "qwen"] {
        let user = User::new(client);
        let deaf = user.protect(&["--yes"], &[("DEAF", "1")]);
        assert!(deaf.code == 4 && !is_armed(&deaf), "{client}: {deaf:?}");
        assert!(deaf.stdout.contains("0 runs for 2 edits"), "{client}: {deaf:?}");
        assert_eq!((user.left(), user.runs()), (0, 0), "{client}");
        for version in ["codex-cli 0.20.0", "nightly", ""] {
            let old = user.protect(&["--check"], &[("VERSION", version)]);
            assert!(old.code == 4 && !is_armed(&old), "{client}: {old:?}");
            assert!(old.stdout.contains("failed     the client is version"), "{client}: {old:?}");
        }
        let off = user.protect(&["--off", "--yes"], &[]);
        assert_eq!(off.code, 0, "{client}: {off:?}");
        let none = user.protect(&["--check"], &[]);
        assert!(none.code == 4 && none.stdout.contains("no settings call the hook"), "{none:?}");
    }
}

/// Issue 27: Codex ignores a hook without a trusted hash, so `protect` writes the hashes and `--off` removes them.
#[test]
fn codex_is_armed_only_while_it_trusts_the_hook() {
    let user = User::new("codex");
    let config = user.home().join(".codex/config.toml");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    assert_eq!(user.protect(&["--yes", "--no-proof"], &[]).code, 0);
    assert!(!config.exists());
    let untrusted = user.protect(&["--check"], &[]);
    assert!(untrusted.code == 4 && !is_armed(&untrusted), "{untrusted:?}");
    assert!(untrusted.stdout.contains("start `codex` once"), "{untrusted:?}");
    let unasked = user.protect(&[], &[]);
    assert!(unasked.code == 4 && !config.exists(), "{unasked:?}");
    assert!(unasked.stderr.contains("Codex does not trust the hook yet"), "{unasked:?}");
    let mine = "model = 'x' # mine\n";
    fs::write(&config, mine).unwrap();
    let granted = user.protect(&["--yes"], &[]);
    assert!(granted.code == 0 && is_armed(&granted), "{granted:?}");
    assert!(granted.stderr.contains("+trusted_hash = \"sha256:"), "{granted:?}");
    assert_eq!(read(&config).matches("trusted_hash").count(), 4);
    let hooks = user.home().join(".codex/hooks.json");
    fs::write(&config, read(&config).replacen("sha256:", "sha256:0", 1)).unwrap();
    let changed = user.protect(&["--check"], &[]);
    assert!(changed.code == 4 && !is_armed(&changed), "{changed:?}");
    assert!(changed.stdout.contains("Codex skips 1 of 4"), "{changed:?}");
    assert!(is_armed(&user.protect(&["--yes"], &[])));
    let off = user.protect(&["--off", "--yes"], &[]);
    assert_eq!((off.code, &*read(&config)), (0, mine), "{off:?}");
    assert!(!hooks.exists());
}

/// Issue 27: Gemini CLI runs no hooks in an untrusted workspace, and no trial uses an account.
#[test]
fn gemini_is_not_armed_in_an_untrusted_workspace_or_with_an_account() {
    let user = User::new("gemini");
    let account = fs::read_to_string(user.home().join(".gemini/settings.json")).unwrap();
    fs::remove_file(user.home().join(".gemini/trustedFolders.json")).unwrap();
    let untrusted = user.protect(&["--yes"], &[]);
    assert!(untrusted.code == 4 && !is_armed(&untrusted), "{untrusted:?}");
    assert!(untrusted.stdout.contains("not running in a trusted directory"), "{untrusted:?}");
    assert_eq!(fs::read_to_string(user.home().join(".gemini/settings.json")).unwrap(), account);
    fs::write(user.root.join(".gemini/settings.json"), &account).unwrap();
    let with_account = user.protect(&["--yes"], &[]);
    assert!(with_account.code == 4 && !is_armed(&with_account), "{with_account:?}");
    assert!(with_account.stdout.contains("would use your account"), "{with_account:?}");
    assert_eq!(user.runs(), 0);
}
