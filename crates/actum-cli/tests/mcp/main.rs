//! Tests `actum mcp`: its tools as a client calls them, and failures of client and server.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "a test may fail loudly, and looks at the disk and the clock"
)]

mod client;
#[path = "../program/mod.rs"]
mod program;

use std::fs;
use std::time::{Duration, Instant};

use client::{Answer, Client, Place, parameters};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use program::text;
use serde_json::{Value, json};

fn edit(old: &str, new: &str) -> Value {
    json!({"change": {"path": "a.txt", "old_string": old, "new_string": new}})
}

#[track_caller]
fn succeeded(answer: &Answer) {
    assert!(!answer.is_error && answer.structured["status"] == "succeeded", "{answer:?}");
}

/// Asserts that the answer is a rejection whose reason, hint and message appear in both the text and the structured content.
#[track_caller]
fn refused(answer: &Answer, reason: &str) {
    assert!(answer.is_error, "{answer:?}");
    assert_eq!(answer.structured["reason"], reason, "{answer:?}");
    assert!(answer.text.contains(reason), "{answer:?}");
    let hint = answer.structured["hints"][0].as_str().unwrap_or_else(|| panic!("{answer:?}"));
    assert!(answer.text.contains(hint), "{answer:?}");
    let message = answer.structured["message"].as_str().unwrap();
    assert!(answer.text.contains(message), "{answer:?}");
}

/// Asserts that the ledger is valid and that the decision about the newest run can be replayed.
#[track_caller]
fn sound(place: &Place) {
    for arguments in [&["ledger", "verify"][..], &["replay"]] {
        let ended = place.actum(arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
}

/// Waits a few seconds for `is_so` to return true.
#[track_caller]
fn wait_until(mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < Duration::from_secs(60), "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Issue 27: clients of every protocol version get the same short list of tools.
#[test]
fn both_lifecycles_list_the_same_tools() {
    let place = Place::new();
    let listed = Client::new(&place.root).request("tools/list", &json!({}));
    let tools = &listed["result"]["tools"];
    assert_eq!(tools.as_array().unwrap().len(), 7, "{listed}");
    let bytes = tools.to_string().len();
    assert!((1400..=2800).contains(&bytes), "{bytes}");
    for tool in tools.as_array().unwrap() {
        let hints = tool["annotations"].as_object().unwrap();
        assert_eq!((hints.len(), &hints["destructiveHint"]), (4, &json!(false)), "{tool}");
    }
    let mut modern = Client::start(&place.root);
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "modern", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let discovered = modern.request("server/discover", &meta);
    let versions = discovered["result"]["supportedVersions"].to_string();
    assert!(versions.contains("2026-07-28") && versions.contains("2025-11-25"), "{discovered}");
    let again = modern.request("tools/list", &meta);
    assert_eq!(&again["result"]["tools"], tools);
    let (rest, status) = modern.close();
    assert_eq!((&*rest, status.code()), ("", Some(0)));
}

/// Issue 27: a change by the client is recorded as a run with a receipt, and `undo` reverts it exactly.
#[test]
fn change_is_recorded_as_a_run_and_can_be_undone() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let diff = "--- a/sub/b.txt\n+++ b/sub/b.txt\n@@ -1 +1 @@\n-2\n+two\n";
    let patch = "*** Begin Patch\n*** Add File: c.txt\n+new\n*** End Patch\n";
    succeeded(&client.call("apply", &edit("1", "one")));
    succeeded(&client.call("apply", &json!({"change": diff, "message": "in words"})));
    succeeded(&client.call("apply", &json!({"change": patch})));
    assert_eq!(text(&place.root, "a.txt"), "one\n");
    assert_eq!(text(&place.root, "sub/b.txt"), "two\n");
    assert_eq!(text(&place.root, "c.txt"), "new\n");
    let runs = place.runs();
    assert_eq!(runs.len(), 3, "{runs:?}");
    assert_eq!(runs[1]["label"], "in words");
    assert_eq!(runs[0]["record"]["actor"]["agent"], "test-client");
    assert_eq!(runs[0]["record"]["door"], "mcp");
    sound(&place);
    let listed = client.call("log", &json!({"limit": 1}));
    assert_eq!(listed.structured["runs"][0]["run"], runs[0]["run"], "{listed:?}");
    assert_eq!(listed.structured["total"], 3);
    let shown = client.call("show", &json!({"run": runs[1]["run"], "diff": true}));
    assert!(shown.text.contains("+two"), "{shown:?}");
    assert!(shown.structured["diff"].as_str().unwrap().contains("+two"), "{shown:?}");
    for _ in 0..3 {
        succeeded(&client.call("undo", &json!({})));
    }
    assert_eq!(text(&place.root, "a.txt"), "1\n");
    assert_eq!(text(&place.root, "sub/b.txt"), "2\n");
    assert!(!place.root.join("c.txt").exists());
    let status = client.call("status", &json!({}));
    assert_eq!(status.structured["runs"], 6, "{status:?}");
    sound(&place);
}

/// Issue 27: a dry run reports the change without applying it.
#[test]
fn a_dry_run_changes_nothing() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let mut change = edit("1", "one");
    change["dry_run"] = json!(true);
    let answer = client.call("apply", &change);
    succeeded(&answer);
    assert_eq!(answer.structured["changes"][0]["path"], "a.txt", "{answer:?}");
    assert!(answer.text.contains("nothing was changed"), "{answer:?}");
    assert!(place.runs().is_empty());
}

/// Issue 27: a rejection includes its reason and hint in both forms, and a queued plan includes the command for the user.
#[test]
fn rejections_and_queued_plans_include_a_hint() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let create = |path: &str| json!({"change": {"path": path, "content": "x\n"}});
    let protected = client.call("apply", &create(".env"));
    refused(&protected, "CHANGE_DENIED");
    assert!(protected.text.contains("`.env` is protected"), "{protected:?}");
    let queued = client.call("apply", &create(".github/workflows/ci.yml"));
    refused(&queued, "NEEDS_APPROVAL");
    let queue: Value = serde_json::from_str(&place.actum(&["queue", "--json"]).stdout).unwrap();
    let plan = queue["plans"][0]["plan"].as_str().unwrap();
    assert_eq!(queued.structured["plan"], plan);
    assert!(queued.text.contains(&format!("`actum approve {plan}`")), "{queued:?}");
    let state = client.call("status", &json!({"plan": plan}));
    assert_eq!(state.structured, json!({"plan": plan, "state": "waiting"}));
    refused(&client.call("apply", &create("a.txt")), "PATH_EXISTS");
    assert!(place.runs().is_empty());
    let approve =
        client.request("tools/call", &parameters(None, "approve", &json!({"plan": plan})));
    assert_eq!(approve["error"]["code"], -32602, "{approve}");
}

/// Issue 27: editing a file that changed since it was read is a conflict that returns the current lines. An edit based on those
/// lines is applied.
#[test]
fn stale_edit_is_rejected_with_the_current_lines() {
    let diff = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-1\n+one\n";
    let whole = json!({"change": {"path": "a.txt", "content": "one\n"}, "overwrite": true});
    // The first edit matches the current content, and even without a digest it would overwrite only lines that the client has seen.
    for (stale, reason) in [
        (edit("1", "one"), "HASH_MISMATCH"),
        (whole, "HASH_MISMATCH"),
        (json!({"change": diff}), "HUNK_DOES_NOT_APPLY"),
    ] {
        let place = Place::new();
        let mut client = Client::new(&place.root);
        let read = client.call("read", &json!({"path": "a.txt"}));
        assert_eq!(read.structured["text"], "1\n", "{read:?}");
        place.write("a.txt", "0\n1\n");
        let answer = client.call("apply", &stale);
        refused(&answer, reason);
        assert_eq!(answer.structured["current"][0]["text"], "0\n1\n", "{answer:?}");
        assert!(answer.text.contains("0\n1\n"), "{answer:?}");
        assert_eq!(text(&place.root, "a.txt"), "0\n1\n");
        assert!(place.runs().is_empty());
        succeeded(&client.call("apply", &edit("0\n1", "zero\none")));
        // The client's own change does not make the file stale.
        succeeded(&client.call("apply", &edit("zero", "0")));
    }
}

/// Issue 27: `read` returns lines and the digest of the whole file, but rejects credentials and files outside the workspace.
#[test]
fn read_returns_only_files_inside_the_workspace() {
    let place = Place::new();
    place.write("long.txt", "a\nb\nc\n");
    place.write(".env", "KEY=1\n");
    std::os::unix::fs::symlink("a.txt", place.root.join("link")).unwrap();
    let mut client = Client::new(&place.root);
    let read = client.call("read", &json!({"path": "long.txt", "offset": 2, "limit": 1}));
    assert_eq!(read.structured["text"], "b\n", "{read:?}");
    assert_eq!(read.structured["lines"], 3);
    let absolute = place.root.join("long.txt");
    let again = client.call("read", &json!({"path": absolute}));
    assert_eq!(again.structured["sha256"], read.structured["sha256"]);
    for path in
        ["../workspace/a.txt", "/etc/hostname", ".env", "link", "sub", "none", ".actum/journal"]
    {
        let answer = client.call("read", &json!({"path": path}));
        assert_eq!(answer.structured["reason"], "INPUT_UNREADABLE", "{path}: {answer:?}");
        assert!(answer.is_error && answer.text.contains("INPUT_UNREADABLE"), "{path}: {answer:?}");
    }
}

/// Issue 27: a command is recorded as one run or not at all, and a call repeated under its id runs only once.
#[test]
fn command_is_recorded_as_one_run_or_not_at_all() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let append = json!({"command": "echo out; echo line >> a.txt"});
    let made = client.call_as(Some("toolu_1"), "exec", &append);
    succeeded(&made);
    assert_eq!(made.structured["stdout"], "out\n", "{made:?}");
    assert_eq!(text(&place.root, "a.txt"), "1\nline\n");
    let again = client.call_as(Some("toolu_1"), "exec", &append);
    assert_eq!(again.structured["done_before"], true, "{again:?}");
    assert_eq!(again.structured["run"], made.structured["change"]["run"]);
    assert_eq!(text(&place.root, "a.txt"), "1\nline\n");
    let failed = client.call("exec", &json!({"command": ["sh", "-c", "echo x > b.txt; exit 3"]}));
    assert!(failed.is_error, "{failed:?}");
    assert_eq!(failed.structured["ended"], "exit code 3");
    assert_eq!(failed.structured["dropped_changes"], 1);
    assert!(!place.root.join("b.txt").exists());
    let dry = client.call("exec", &json!({"command": "rm a.txt", "dry_run": true}));
    assert_eq!(dry.structured["change"]["changes"][0]["kind"], "deleted", "{dry:?}");
    let denied = client.call("exec", &json!({"command": "echo x > .env"}));
    assert_eq!(denied.structured["error"]["reason"], "CHANGE_DENIED", "{denied:?}");
    assert!(denied.text.contains("CHANGE_DENIED"), "{denied:?}");
    let unusable = client.call("exec", &json!({"command": ["no-such-program"]}));
    refused(&unusable, "COMMAND_NOT_RUN");
    assert_eq!(place.runs().len(), 1);
    sound(&place);
}

/// Issue 27: a call repeated under its id has no second effect, even with other arguments. Once its run is undone, it runs again.
#[test]
fn a_repeated_call_has_one_effect() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let first = client.call_as(Some("toolu_1"), "apply", &edit("1", "one"));
    succeeded(&first);
    let again = client.call_as(Some("toolu_1"), "apply", &edit("1", "one"));
    succeeded(&again);
    assert_eq!(again.structured["run"], first.structured["run"]);
    assert_eq!(again.structured["done_before"], true, "{again:?}");
    assert_eq!(again.structured["changes"], first.structured["changes"]);
    refused(&client.call_as(Some("toolu_1"), "apply", &edit("one", "two")), "REQUEST_KEY_TAKEN");
    // A second server for the same client belongs to the same session.
    let mut other = Client::new(&place.root);
    let again = other.call_as(Some("toolu_1"), "apply", &edit("1", "one"));
    assert_eq!(again.structured["run"], first.structured["run"], "{again:?}");
    assert_eq!(place.runs().len(), 1);
    succeeded(&client.call("undo", &json!({"run": first.structured["run"]})));
    succeeded(&client.call_as(Some("toolu_1"), "apply", &edit("1", "one")));
    assert_eq!(place.runs().len(), 3);
    sound(&place);
}

/// Issue 27: an error names the wrong argument, and nothing is changed.
#[test]
fn wrong_arguments_are_named() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    for (tool, arguments, words) in [
        ("apply", json!({}), "missing field `change`"),
        ("apply", json!({"change": 1}), "did not match"),
        ("apply", json!({"change": "x", "force": true}), "unknown field `force`"),
        ("exec", json!({"command": {}}), "did not match"),
        ("undo", json!({"run": true}), "expected a string"),
        ("undo", json!({"run": "!"}), "is not a run id"),
        ("log", json!({"limit": -1}), "invalid value"),
        ("read", json!({}), "missing field `path`"),
        ("status", json!({"plan": ""}), "is not a run id"),
    ] {
        let answer = client.call(tool, &arguments);
        refused(&answer, "USAGE");
        assert!(answer.text.contains(words), "{tool}: {answer:?}");
    }
    let malformed = client.call("apply", &json!({"change": "no change at all"}));
    refused(&malformed, "INPUT_UNRECOGNISED");
    let list = client.request("tools/call", &json!({"name": "apply", "arguments": []}));
    assert_eq!(list["error"]["code"], -32602, "{list}");
    let method = client.request("tools/approve", &json!({}));
    assert_eq!(method["error"]["code"], -32601, "{method}");
    assert!(place.runs().is_empty());
}

/// Issue 27: a malformed frame gets an error both before and within a session, and the next frame is handled normally.
#[test]
fn malformed_frame_gets_an_error_and_the_session_continues() {
    let place = Place::new();
    let mut client = Client::start(&place.root);
    for _ in 0..2 {
        for (frame, code, id) in [
            ("{", -32700, Value::Null),
            ("\u{0}\u{1}", -32700, Value::Null),
            ("[]", -32600, Value::Null),
            ("null", -32600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":"x"}"#, -32600, json!("x")),
            (r#"{"id":5,"method":"ping"}"#, -32600, json!(5)),
        ] {
            client.send(frame);
            let answer = client.receive();
            assert_eq!(answer["error"]["code"], code, "{frame}: {answer}");
            assert_eq!(answer["id"], id, "{frame}: {answer}");
        }
        // These frames get no answer, with or without a session.
        client.send("");
        client.send(
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#,
        );
        let answer = client.initialize();
        assert_eq!(answer["result"]["serverInfo"]["name"], "actum", "{answer}");
    }
    let long = "x".repeat(17 * 1024 * 1024);
    client.send(&long);
    assert_eq!(client.receive()["error"]["code"], -32600);
    succeeded(&client.call("apply", &edit("1", "one")));
    let (rest, status) = client.close();
    assert_eq!((&*rest, status.code()), ("", Some(0)));
}

/// Issue 27: a server exits when its client closes the connection, even after half a frame, but first answers pending requests.
#[test]
fn the_server_ends_with_its_client() {
    let place = Place::new();
    let (rest, status) = Client::start(&place.root).close();
    assert_eq!((&*rest, status.code()), ("", Some(0)));
    let mut client = Client::new(&place.root);
    client.begin("tools/call", &parameters(None, "apply", &edit("1", "one")));
    let (rest, status) = client.close();
    assert_eq!(status.code(), Some(0));
    assert!(rest.contains("succeeded"), "{rest}");
    assert_eq!(text(&place.root, "a.txt"), "one\n");
    // A signal also stops the server.
    let mut client = Client::new(&place.root);
    kill(Pid::from_raw(i32::try_from(client.child.id()).unwrap()), Signal::SIGTERM).unwrap();
    assert_eq!(client.child.wait().unwrap().code(), Some(0));
}

/// Issue 27: a long command reports progress. Cancelling it leaves no changes, and the session continues.
#[test]
fn a_command_reports_progress_and_can_be_cancelled() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let sleep = json!({"command": "echo x > b.txt; exec sleep 4711.27"});
    let mut call = parameters(None, "exec", &sleep);
    call["_meta"] = json!({"progressToken": "p1"});
    let id = client.begin("tools/call", &call);
    for step in 1..=2 {
        let progress = client.receive();
        assert_eq!(progress["method"], "notifications/progress", "{progress}");
        assert_eq!(progress["params"]["progressToken"], "p1");
        assert_eq!(progress["params"]["progress"].as_f64(), Some(f64::from(step)), "{progress}");
    }
    wait_until(|| is_running("4711.27"));
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
    client.send(&cancelled.to_string());
    wait_until(|| !is_running("4711.27"));
    succeeded(&client.call("apply", &edit("1", "one")));
    assert!(!place.root.join("b.txt").exists());
    assert_eq!(place.runs().len(), 1);
    sound(&place);
}

/// Issue 27: a command is stopped when the client that requested it disconnects.
#[test]
fn a_command_ends_with_its_client() {
    let place = Place::new();
    let mut client = Client::new(&place.root);
    let sleep = json!({"command": "exec sleep 4712.27"});
    client.begin("tools/call", &parameters(None, "exec", &sleep));
    wait_until(|| is_running("4712.27"));
    assert_eq!(client.close().1.code(), Some(0));
    assert!(!is_running("4712.27"));
    assert!(place.runs().is_empty());
}

/// Returns whether a `sleep` process with this argument is running.
fn is_running(words: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    let has_words = |line: Vec<u8>| {
        let mut arguments = line.split(|byte| *byte == 0);
        arguments.next() == Some(b"sleep") && arguments.next() == Some(words.as_bytes())
    };
    lines.into_iter().any(has_words)
}

/// Issue 27: a server killed during `apply` leaves the files in the old or new state. Repeating the call on the next server has one
/// effect.
#[test]
fn killed_apply_and_its_repeated_call_have_one_effect() {
    let files = 200;
    let change: Vec<Value> = (0..files)
        .map(
            |number| json!({"path": format!("new/{number}.txt"), "content": format!("{number}\n")}),
        )
        .collect();
    let change = json!({"change": {"files": change}});
    let present = |place: &Place| fs::read_dir(place.root.join("new")).map_or(0, Iterator::count);
    let mut seen = [false; 2];
    // The last kill happens while the answer is being sent, so the answer is lost.
    for delay in [0, 5, 10, 20, 40, 60, 80, 120, 160, 200].map(Some).into_iter().chain([None]) {
        let place = Place::new();
        let mut client = Client::new(&place.root);
        client.begin("tools/call", &parameters(Some("toolu_1"), "apply", &change));
        match delay {
            Some(delay) => std::thread::sleep(Duration::from_millis(delay)),
            None => drop(client.receive()),
        }
        client.child.kill().unwrap();
        client.child.wait().unwrap();
        let mut client = Client::new(&place.root);
        let answer = client.call_as(Some("toolu_1"), "apply", &change);
        succeeded(&answer);
        assert_eq!(present(&place), files, "after {delay:?} ms");
        seen[usize::from(answer.structured["done_before"] == true)] = true;
        let runs = place.runs();
        let in_effect = runs.iter().filter(|run| run["status"] == "succeeded").count();
        assert_eq!(in_effect, 1, "after {delay:?} ms: {runs:?}");
        sound(&place);
        succeeded(&client.call("undo", &json!({})));
        assert_eq!(present(&place), 0, "after {delay:?} ms");
    }
    assert_eq!(seen, [true; 2], "kills came before the run was recorded, and behind that");
}
