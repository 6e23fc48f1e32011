//! Actions that receive a termination signal or are killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{fs, thread};

use crate::envelopes::{RULES, allowing, checked_by, plan, result_of, status};
use crate::program::{Ended, actum, command, workspace};
use crate::stage::Stage;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// AA-6, AA-13: an action that is asked to stop reports its outcome and leaves no changes behind.
#[test]
fn interrupted_action_reports_its_outcome_and_leaves_no_changes() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let run = checked_by(plan("run_command", json!({ "command": "sleep 60" })), &["true"]);
    let check = plan("file_create", json!({ "path": "made", "content": "" }));
    let check = checked_by(check, &["sleep 60"]);
    // An interrupted check has not found a failure, so the repair does not run.
    let mut repaired = check.clone();
    repaired["input"]["repair"] = json!("tee made");
    let look = plan("diagnose_error", json!({ "commands": ["sleep 60", "tee seen", "tee seen"] }));
    for (plan, signal) in [
        (&run, Signal::SIGINT),
        (&run, Signal::SIGTERM),
        (&check, Signal::SIGHUP),
        (&check, Signal::SIGINT),
        (&repaired, Signal::SIGTERM),
        (&look, Signal::SIGTERM),
    ] {
        let child = begun(directory.path(), &root, &configuration, plan);
        kill(child.pid, signal).unwrap();
        let ended = child.process.wait_with_output().unwrap().into();
        let result = result_of(&ended);
        assert_eq!(status(&result), ("reverted", Some("INTERRUPTED")), "{result}");
        assert_eq!(result["rollback"], json!({ "attempted": true, "ok": true }));
        assert_eq!(result["repair"], json!({ "attempted": false, "ok": false }), "{result}");
        assert!(!result.to_string().contains("\"exitCode\":0"), "nothing more was run: {result}");
        assert!(!root.join("made").exists());
        let feedback = actum(&root, &["feedback", "--limit", "1", "--json"]);
        let feedback: Value = serde_json::from_str(&feedback.stdout).unwrap();
        assert_eq!(feedback["actions"][0]["id"], result["feedback"]["id"]);
    }
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-6, AA-10: an interrupt is handled the same way while a package verifies its changes and while it proves its rollback.
#[test]
fn interrupted_package_is_not_reported_as_failed() {
    let stage = Stage::new("[plugins]\nallowPluginCodeExecution = true\n");
    let writes = "module.exports = async ({ context }) => { \
        require('fs').writeFileSync(context.workspace + '/a.txt', 'two\\n'); return {}; };";
    let holds = "module.exports = async () => ({ checks: [{ name: 'holds', ok: true }] });";
    let waits = "module.exports = () => new Promise(() => setInterval(() => {}, 1000));";
    for (name, steps) in [
        ("slow_execute", [waits, holds, waits]),
        ("slow_verify", [writes, waits, waits]),
        ("slow_rollback", [writes, holds, waits]),
    ] {
        stage.package(name, &crate::stage::manifest(name, "R2"), steps);
        assert_eq!(stage.activate(name).code, 0);
        let file = stage.directory.path().join("plan.json");
        fs::write(&file, crate::stage::plan(name, json!({})).to_string()).unwrap();
        let mut command = stage.command(&["action", "run", file.to_str().unwrap()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let step = format!("{}.js", name.strip_prefix("slow_").unwrap());
        let child = begun_by(command, &step);
        kill(child.pid, Signal::SIGTERM).unwrap();
        let result = result_of(&child.process.wait_with_output().unwrap().into());
        assert_eq!(status(&result), ("reverted", Some("INTERRUPTED")), "{name}: {result}");
        assert_eq!(crate::program::text(&stage.root, "a.txt"), "1\n");
    }
}

/// AA-13: the next action in the workspace records the outcome of a killed one, but ignores one that is still running.
#[test]
fn killed_action_is_reported_by_the_next_action() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let run = checked_by(plan("run_command", json!({ "command": "sleep 60" })), &["true"]);
    let mut cut = begun(directory.path(), &root, &configuration, &run);
    kill(cut.pid, Signal::SIGKILL).unwrap();
    cut.process.wait().unwrap();
    let cut_off = || -> Value {
        let status = actum(&root, &["status", "--json"]);
        assert_eq!(status.code, 0, "{status:?}");
        serde_json::from_str::<Value>(&status.stdout).unwrap()["cut_off_actions"].clone()
    };
    assert_eq!(cut_off().as_array().unwrap().len(), 1);
    let shown = actum(&root, &["status"]).stdout;
    assert!(shown.contains("\ncut off     action "), "{shown}");
    let under_way = begun(directory.path(), &root, &configuration, &run);
    let feedback = |count: usize| -> Vec<Value> {
        assert_eq!(actum(&root, &["recover"]).code, 0);
        let feedback: Value =
            serde_json::from_str(&actum(&root, &["feedback", "--json"]).stdout).unwrap();
        let feedback = feedback["actions"].as_array().unwrap().clone();
        assert_eq!(feedback.len(), count, "{feedback:?}");
        feedback
    };
    let first = &feedback(1)[0];
    assert_eq!(cut_off(), Value::Null, "the other is under way");
    assert_eq!((&first["status"], &first["ground"]), (&json!("reverted"), &json!("INTERRUPTED")));
    assert_eq!((&first["action_id"], &first["confidence"]), (&json!("action:test"), &json!(0.9)));
    assert_eq!(first["rollback"], json!({ "attempted": true, "ok": true }));
    kill(under_way.pid, Signal::SIGTERM).unwrap();
    drop(under_way.process.wait_with_output().unwrap());
    assert_eq!(feedback(2)[1], *first);
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-6: a signal that the caller has set to be ignored does not stop the action.
#[test]
fn a_signal_that_is_ignored_does_not_stop_an_action() {
    let (directory, root) = workspace();
    let configuration = allowing(directory.path(), RULES);
    let run = checked_by(plan("run_command", json!({ "command": "sleep 1" })), &["true"]);
    let file = directory.path().join("ignored.json");
    fs::write(&file, run.to_string()).unwrap();
    let mut command = command(&root, &["action", "run", file.to_str().unwrap()]);
    command.env("XDG_CONFIG_HOME", configuration);
    let program = command.get_program().to_owned();
    let words: Vec<_> = command.get_args().map(ToOwned::to_owned).collect();
    let mut ignoring = Command::new("/bin/sh");
    ignoring.args(["-c", "trap '' HUP; exec \"$0\" \"$@\""]).arg(program).args(words);
    ignoring.env_clear().envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ignoring.current_dir(&root).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = begun_by(ignoring, "sleep");
    kill(child.pid, Signal::SIGHUP).unwrap();
    let result = result_of(&child.process.wait_with_output().unwrap().into());
    assert_eq!(status(&result), ("succeeded", None), "{result}");
}

/// An action and the process that carries it out.
struct Begun {
    process: Child,
    /// Process ID of `actum` itself.
    pid: Pid,
}

/// Starts an action and waits until its command is running.
fn begun(directory: &Path, root: &Path, configuration: &Path, plan: &Value) -> Begun {
    let file = directory.join("begun.json");
    fs::write(&file, plan.to_string()).unwrap();
    let mut command = command(root, &["action", "run", file.to_str().unwrap()]);
    command.env("XDG_CONFIG_HOME", configuration).stdout(Stdio::piped()).stderr(Stdio::piped());
    begun_by(command, "sleep")
}

/// Starts an action and waits until one of its descendants has `word` in its command line.
fn begun_by(mut command: Command, word: &str) -> Begun {
    let mut process = command.spawn().unwrap();
    // The shell executes `actum` in its own place, so the process ID is that of `actum`.
    let pid = Pid::from_raw(i32::try_from(process.id()).unwrap());
    while !runs(&pid.to_string(), word) {
        if process.try_wait().unwrap().is_some() {
            panic!("it has ended: {:?}", Ended::from(process.wait_with_output().unwrap()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Begun { process, pid }
}

/// Returns whether a descendant of this process has `word` in its command line.
fn runs(pid: &str, word: &str) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let children = tasks.map(|task| fs::read_to_string(task.path().join("children")));
    let children: String = children.flatten().collect();
    children.split(' ').filter(|child| !child.is_empty()).any(|child| {
        let line = fs::read_to_string(format!("/proc/{child}/cmdline")).unwrap_or_default();
        line.split('\0').any(|part| part.ends_with(word)) || runs(child, word)
    })
}
