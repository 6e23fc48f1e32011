//! A dispatch is killed before its system calls, and then many processes request the same goal: one effect, and a
//! complete chain.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use actum_testkit::{TestDir, effort};
use serde_json::Value;

use crate::agent_goal;
use crate::program::{actum, command};
use crate::traced::{End, kill_before_call};

/// The program is killed before each call of this stride; `ACTUM_KILL_STRIDE` sets another.
const STRIDE: usize = 29;
/// Number of processes that request the goal at once after a kill.
const PROCESSES: usize = 16;
const DISPATCH: [&str; 3] = ["agent", "dispatch", "../goal.json"];

struct Place {
    directory: TestDir,
    root: PathBuf,
}

impl Place {
    /// Makes a workspace with a goal that was not dispatched yet.
    fn new() -> Self {
        let place = Self::empty();
        let root = &place.root;
        fs::create_dir(root).unwrap();
        let passphrase = place.directory.join("passphrase");
        fs::write(&passphrase, "correct horse battery staple\n").unwrap();
        fs::set_permissions(&passphrase, Permissions::from_mode(0o600)).unwrap();
        place.call(&["init"], 0);
        place.call(&["key", "make", "approval", "--passphrase-file", "../passphrase"], 0);
        agent_goal::write(root);
        place
    }

    fn empty() -> Self {
        // A kill loses nothing that was written, on any file system.
        let directory = TestDir::in_memory();
        let root = directory.join("workspace");
        Self { directory, root }
    }

    /// Returns a copy, in which the goal was confirmed and not dispatched.
    fn copy(&self) -> Self {
        let copy = Self::empty();
        let from = self.directory.path().join(".");
        let copied = Command::new("cp")
            .args(["-a", "--sparse=always"])
            .arg(from)
            .arg(copy.directory.path())
            .status();
        assert!(copied.unwrap().success());
        crate::program::forget_configuration(&copy.root);
        // A confirmation is valid in its own workspace, and a copy is another one.
        copy.call(&DISPATCH, 6);
        let confirm = ["agent", "confirm", "goal", "ja", "--thread", "thread", "--language", "de"];
        let file = ["--passphrase-file", "../passphrase"];
        copy.call(&[&confirm[..], &file].concat(), 0);
        copy
    }

    fn call(&self, arguments: &[&str], code: i32) {
        let ended = actum(&self.root, arguments);
        assert_eq!(ended.code, code, "{arguments:?}: {ended:?}");
    }

    /// Returns the events of the goal, with the states after them.
    fn events(&self) -> Vec<(String, Option<String>)> {
        let ended = actum(&self.root, &["agent", "show", "goal", "--json"]);
        let chain: Value = serde_json::from_str(&ended.stdout).unwrap();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let events = chain["events"].as_array().unwrap().iter();
        let executions = events.filter(|event| event["kind"] == "AGENT_EXECUTION");
        executions.map(|it| (text(&it["event"]).unwrap(), text(&it["state"]))).collect()
    }

    /// Returns the number of runs in effect.
    fn runs(&self) -> usize {
        let ended = actum(&self.root, &["log", "--json"]);
        let log: Value = serde_json::from_str(&ended.stdout).unwrap();
        let runs = log["runs"].as_array().unwrap().iter();
        runs.filter(|run| run["status"] == "succeeded").count()
    }
}

/// AEC-7, AEC-8: zero or one effect, never two; the chain is complete, or the step is open and resumed.
#[test]
fn dispatch_killed_at_any_call_has_one_effect_after_concurrent_retries() {
    let template = Place::new();
    let (mut kills, mut started) = (0, 0);
    for call in (0..).step_by(effort("ACTUM_KILL_STRIDE", STRIDE)) {
        let place = template.copy();
        let output = place.directory.join("output");
        let end = kill_before_call(&place.root, &DISPATCH, call, &output);
        let what = format!("{end:?} before call {call}");
        started += usize::from(place.events().iter().any(|(event, _)| event == "DISPATCH_STARTED"));
        let asked: Vec<_> = (0..PROCESSES)
            .map(|_| {
                let mut again = command(&place.root, &DISPATCH);
                again.stdout(Stdio::piped()).stderr(Stdio::null());
                again.spawn().unwrap()
            })
            .collect();
        for process in asked {
            let answer = process.wait_with_output().unwrap().stdout;
            let answer = String::from_utf8(answer).unwrap();
            assert!(!answer.contains("CLOCK_WENT_BACKWARDS"), "{what}: {answer}");
        }
        place.call(&DISPATCH, 0);
        assert_eq!(fs::read(place.root.join("notes.txt")).unwrap(), b"text\n", "{what}");
        assert_eq!(place.runs(), 1, "{what}");
        let events = place.events();
        let claims = events.iter().filter(|(event, _)| event == "DISPATCH_STARTED").count();
        assert_eq!(claims, 1, "{what}: {events:?}");
        assert_eq!(events.last().unwrap().1.as_deref(), Some("SUCCEEDED"), "{what}: {events:?}");
        place.call(&["agent", "replay", "goal"], 0);
        place.call(&["ledger", "verify"], 0);
        if matches!(end, End::Exited { .. }) {
            break;
        }
        kills += 1;
    }
    assert!(kills > 3 && started > 1, "{kills}, {started}");
}
