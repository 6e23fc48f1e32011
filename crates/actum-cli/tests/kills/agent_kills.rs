//! Kills a dispatch before each of its system calls and then requests the same goal from many processes. There must be one effect
//! and a complete chain.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use actum_testkit::{TestDir, effort};
use serde_json::Value;

use crate::agent_goal;
use crate::program::{actum, command};
use crate::traced::{End, kill_before_call};

/// Kill the program before every call whose number is a multiple of this. `ACTUM_KILL_STRIDE` overrides it.
const STRIDE: usize = 29;
/// Number of processes that request the goal concurrently after a kill.
const PROCESSES: usize = 16;
const DISPATCH: [&str; 3] = ["agent", "dispatch", "../goal.json"];

struct Place {
    directory: TestDir,
    root: PathBuf,
}

impl Place {
    /// Creates a workspace with a goal that has not been dispatched yet.
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
        // Unlike a power cut, a kill never loses written data, so the files can be in memory.
        let directory = TestDir::in_memory();
        let root = directory.join("workspace");
        Self { directory, root }
    }

    /// Returns a copy of the workspace in which the goal is confirmed but not dispatched.
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
        // A confirmation is valid only in its own workspace, so the copy needs a new one.
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

    /// Returns the events of the goal, each with the state after it.
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

/// AEC-7, AEC-8: a killed dispatch has at most one effect, and its chain is complete or its open step is resumed.
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
