//! Kills or terminates a task before its system calls. The workspace must be in its old or new state, and the reports must agree
//! with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::program::actum;
use crate::traced::{End, ask_before_call, kill_before_call, kill_when};
use crate::trees::{Tree, tree};
use actum_core::Digest;
use actum_task::report::{ChangeLog, ErrorReport, ExecutionReport, RollbackManifest};
use actum_testkit::TestDir;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

const REPORTS: &str = "agent/agent_outputs/reports";

struct Place {
    directory: TestDir,
    root: PathBuf,
}

impl Place {
    /// Creates a repository with files, and a task of ten actions next to it.
    fn new(config: &str) -> Self {
        let place = Self::empty();
        let root = &place.root;
        fs::create_dir(root).unwrap();
        for (path, text) in [
            ("server.json", "{\n  // kept\n  \"port\": 80,\n  \"on\": true\n}\n"),
            ("deploy.yaml", "replicas: 2 # kept\nimage: a\n"),
            ("schema.json", "{ \"type\": \"object\", \"properties\": {} }\n"),
            ("old.txt", "one\ntwo\nthree\n"),
            ("gone.txt", "gone\n"),
            ("a.txt", "1\n"),
        ] {
            fs::write(root.join(path), text).unwrap();
        }
        let act = |id: &str, kind: &str, target: &str, operation: Value| json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation });
        let modify = |id: &str, target: &str, operation| act(id, "FILE_MODIFY", target, operation);
        let plan = json!({ "plan_id": "plan-001", "action_plan": [
            modify("a01", "server.json", json!({ "type": "json_update_value", "path": "$.port", "value": 8080 })),
            modify("a02", "server.json", json!({ "type": "json_remove_property", "path": "$", "key": "on" })),
            modify("a03", "deploy.yaml", json!({ "type": "yaml_update", "path": "$.replicas", "value": 3 })),
            act("a04", "SCHEMA_UPDATE", "schema.json", json!({ "type": "json_add_property", "path": "$.properties", "key": "a", "value": {} })),
            act("a05", "FILE_CREATE", "made/new.txt", json!({ "type": "create", "content": "new\n" })),
            act("a06", "FILE_RENAME", "old.txt", json!({ "type": "rename", "new_path": "moved.txt" })),
            modify("a07", "moved.txt", json!({ "type": "line_delete", "start_line": 2, "end_line": 2 })),
            act("a08", "FILE_DELETE", "gone.txt", json!({ "type": "delete" })),
            modify("a09", "a.txt", json!({ "type": "line_insert", "line_number": 1, "content": "0\n" })),
            act("a10", "FILE_CREATE", "last.txt", json!({ "type": "create", "content": "last\n" })),
        ] })
        .to_string();
        let sha256 = |text: &str| Digest::of(text.as_bytes()).to_string();
        let envelope = json!({
            "format": "actum.task-envelope/1",
            "task_id": "task-7",
            "status": "APPROVED",
            "protocol_validation": true,
            "plan": { "file": "plan.json", "sha256": sha256(&plan) },
            "config": { "file": "config.yaml", "sha256": sha256(config) },
        });
        let top = place.directory.path();
        fs::write(top.join("plan.json"), plan).unwrap();
        fs::write(top.join("config.yaml"), config).unwrap();
        fs::write(top.join("task.json"), envelope.to_string()).unwrap();
        let git = |arguments: &[&str]| {
            let mut git = Command::new("git");
            git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
            git.args(["-c", "user.name=A", "-c", "user.email=a@example.org"]).args(arguments);
            assert!(git.current_dir(root).status().unwrap().success());
        };
        git(&["init", "-q", "-b", "main"]);
        fs::write(root.join(".git/info/exclude"), ".actum\nagent\n").unwrap();
        git(&["add", "-A"]);
        git(&["commit", "-q", "-m", "first"]);
        assert_eq!(actum(root, &["init"]).code, 0);
        place
    }

    fn empty() -> Self {
        // Unlike a power cut, a kill never loses written data, and in-memory files are cheap to sync.
        let directory = TestDir::in_memory();
        let root = directory.path().join("workspace");
        Self { directory, root }
    }

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
        copy
    }

    /// Returns all files of the project.
    fn tree(&self) -> Tree {
        let mut tree = tree(&self.root);
        tree.retain(|path, _| !path.starts_with("agent") && !path.starts_with(".git"));
        tree
    }

    fn after(&self, arguments: &[&str]) -> Tree {
        let copy = self.copy();
        let ended = actum(&copy.root, arguments);
        assert_eq!(ended.code, 0, "{ended:?}");
        copy.tree()
    }

    /// Returns the output of git.
    fn git(&self, arguments: &[&str]) -> String {
        let output = Command::new("git").args(arguments).current_dir(&self.root).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Asserts that the reported commit is HEAD and that the git index contains its files. If HEAD is the commit of the task, the
    /// report must name it.
    fn assert_commit_is_reported(&self, what: &str) {
        let head = self.git(&["log", "-1", "--format=%H %s"]);
        let report = fs::read_dir(self.root.join(REPORTS)).unwrap().next().unwrap().unwrap().path();
        let report = fs::read(report.join("execution_report.json")).unwrap();
        let report: Value = serde_json::from_slice(&report).unwrap();
        match report["commit"].as_str() {
            Some(commit) => {
                assert!(head.starts_with(commit), "{what}: {head}");
                assert_eq!(self.git(&["status", "--porcelain"]), "", "{what}");
                assert!(!self.root.join(".git/index.lock").exists(), "{what}");
            }
            None => assert!(!head.contains("Task task-7"), "{what}: {head}"),
        }
    }

    /// Returns the status in the manifest and the status in the report of the only task.
    fn manifest_and_report_status(&self) -> (String, String) {
        let report = fs::read_dir(self.root.join(REPORTS)).unwrap().next().unwrap().unwrap();
        let read = |name: &str| fs::read(report.path().join(name)).unwrap();
        let manifest = RollbackManifest::read(&read("rollback_manifest.json")).unwrap();
        let execution = ExecutionReport::read(&read("execution_report.json")).unwrap();
        (format!("{:?}", manifest.status()), execution.status().as_str().to_owned())
    }

    /// Returns the statuses in the reports of all tasks after validating the documents, or `none` for a directory without a report.
    fn report_statuses(&self, what: &str) -> Vec<String> {
        let Ok(reports) = fs::read_dir(self.root.join(REPORTS)) else { return Vec::new() };
        let mut statuses = Vec::new();
        for report in reports {
            let report = report.unwrap().path();
            let read = |name: &str| fs::read(report.join(name)).ok();
            let Some(bytes) = read("execution_report.json") else {
                statuses.push("none".to_owned());
                continue;
            };
            let execution =
                ExecutionReport::read(&bytes).unwrap_or_else(|error| panic!("{what}: {error}"));
            let log = ChangeLog::read(&read("change_log.json").unwrap()).unwrap();
            let status = execution.status().as_str();
            if status == "SUCCESS" {
                assert_eq!(log.changes.len(), 10, "{what}");
            } else {
                ErrorReport::read(&read("error_report.json").unwrap()).unwrap();
            }
            if let Some(manifest) = read("rollback_manifest.json") {
                let manifest = RollbackManifest::read(&manifest).unwrap();
                let expected = if status == "SUCCESS" { "Active" } else { "Executed" };
                assert_eq!(format!("{:?}", manifest.status()), expected, "{what}: {status}");
            }
            statuses.push(status.to_owned());
        }
        statuses
    }
}

fn kill_at(config: &str) {
    let template = Place::new(config);
    let run = ["run", "../task.json"];
    let (before, after) = (template.tree(), template.after(&run));
    let mut seen = BTreeMap::<&str, usize>::new();
    for call in 0.. {
        let copy = template.copy();
        let output = copy.directory.path().join("said");
        let End::Killed { system_call } = kill_before_call(&copy.root, &run, call, &output) else {
            break;
        };
        let what = format!("killed before call {call} (number {system_call})");
        let recovered = actum(&copy.root, &["recover"]);
        assert_eq!(recovered.code, 0, "{what}: {recovered:?}");
        let found = copy.tree();
        assert!(found == before || found == after, "{what}: neither before nor after");
        let statuses = copy.report_statuses(&what);
        let kind = match (found == after, &*statuses) {
            (false, []) => "nothing",
            (false, [status]) if status == "ROLLED_BACK" => "rolled back",
            (true, [status]) if status == "SUCCESS" => "done",
            (is_after, statuses) => panic!("{what}: after is {is_after}, and told is {statuses:?}"),
        };
        *seen.entry(kind).or_default() += 1;
        match kind {
            "done" => copy.assert_commit_is_reported(&what),
            "rolled back" => {
                let alerts = actum(&copy.root, &["queue", "--json"]).stdout;
                let alerts: Value = serde_json::from_str(&alerts).unwrap();
                let codes: Vec<_> = alerts["alerts"].as_array().unwrap().iter().collect();
                assert_eq!(codes.len(), 1, "{what}: {alerts}");
                assert_eq!(codes[0]["code"], 5000, "{what}: {alerts}");
            }
            _ => {}
        }
        // In either case, the task can then be carried out or rolled back.
        if found == after {
            let rolled_back = actum(&copy.root, &["rollback", "task-7"]);
            assert_eq!(rolled_back.code, 0, "{what}: {rolled_back:?}");
            assert_eq!(copy.tree(), before, "{what}");
        } else {
            let again = actum(&copy.root, &run);
            assert_eq!(again.code, 0, "{what}: {again:?}");
            assert_eq!(copy.tree(), after, "{what}");
        }
    }
    eprintln!("{seen:?}");
    assert!(
        ["nothing", "rolled back", "done"].iter().all(|kind| seen.contains_key(kind)),
        "{seen:?}"
    );
}

/// EX-7, EX-13, EX-18, FO-2
#[test]
fn killed_task_leaves_the_old_or_new_state_and_accurate_reports() {
    kill_at("");
}

/// EX-13, EX-17, FO-2: the same guarantees apply to a task that commits.
#[test]
fn killed_committing_task_leaves_old_or_new_state_and_accurate_reports() {
    kill_at("git: { commit: true }\n");
}

/// EX-4, EX-13: a killed rejected task has either a report of the rejection or no directory.
#[test]
fn killed_rejected_task_has_a_report_or_no_directory() {
    let template = Place::new("protected_files: [gone.txt]\n");
    let before = template.tree();
    let mut seen = BTreeMap::<String, usize>::new();
    for call in 0.. {
        let copy = template.copy();
        let output = copy.directory.path().join("said");
        let run = ["run", "../task.json"];
        let End::Killed { system_call } = kill_before_call(&copy.root, &run, call, &output) else {
            break;
        };
        let what = format!("killed before call {call} (number {system_call})");
        assert_eq!(actum(&copy.root, &["recover"]).code, 0, "{what}");
        assert!(copy.tree() == before, "{what}");
        let reports = fs::read_dir(copy.root.join(REPORTS)).into_iter().flatten();
        let statuses: Vec<_> = reports
            .map(|report| fs::read(report.unwrap().path().join("error_report.json")))
            .map(|bytes| ErrorReport::read(&bytes.expect(&what)).expect(&what).status)
            .collect();
        // A task with a report raises exactly one alert.
        let queue = actum(&copy.root, &["queue", "--json"]).stdout;
        let alerts: Value = serde_json::from_str(&queue).unwrap();
        let alerts = alerts["alerts"].as_array().map_or(0, Vec::len);
        assert!(alerts == statuses.len(), "{what}: {alerts} alerts");
        *seen.entry(format!("{statuses:?}")).or_default() += 1;
    }
    eprintln!("{seen:?}");
    assert_eq!(seen.keys().collect::<Vec<_>>(), ["[Rejected]", "[]"]);
}

/// EX-22: a terminated task is either `CANCELLED` with the earlier state restored, or completed.
#[test]
fn terminated_task_is_cancelled_or_completes() {
    let template = Place::new("");
    let run = ["run", "../task.json"];
    let (before, after) = (template.tree(), template.after(&run));
    let mut seen = BTreeMap::<String, usize>::new();
    for call in 0.. {
        let copy = template.copy();
        let output = copy.directory.path().join("said");
        let signal = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP][call % 3];
        let End::Killed { system_call } = ask_before_call(&copy.root, &run, call, &output, signal)
        else {
            break;
        };
        let what = format!("{signal} before call {call} (number {system_call})");
        let found = copy.tree();
        let statuses = copy.report_statuses(&what);
        let word = match (found == before, found == after, &*statuses) {
            (true, false, []) => "nothing".to_owned(),
            // The task ended before its first action, or while it wrote the reports, which the next run then completes.
            (true, false, [status]) if status == "none" => "not begun".to_owned(),
            (false, true, [status]) if status == "none" => "unreported".to_owned(),
            (true, false, [status]) if status == "CANCELLED" => status.clone(),
            (false, true, [status]) if status == "SUCCESS" => status.clone(),
            (is_before, is_after, statuses) => {
                panic!("{what}: {is_before}, {is_after}, {statuses:?}")
            }
        };
        *seen.entry(word).or_default() += 1;
    }
    eprintln!("{seen:?}");
    assert!(seen.contains_key("CANCELLED") && seen.contains_key("SUCCESS"), "{seen:?}");
}

/// EX-12, EX-18: an edit between the run and its verification is reported and raises an alert.
#[test]
fn file_changed_before_verification_raises_an_alert() {
    let place = Place::new("");
    let (file, mut is_edited) = (place.root.join("a.txt"), false);
    let output = place.directory.path().join("said");
    let end = kill_when(&place.root, &["run", "../task.json"], &output, || {
        if !is_edited && fs::read(&file).is_ok_and(|now| now != b"1\n") {
            fs::write(&file, "edited meanwhile\n").unwrap();
            is_edited = true;
        }
        false
    });
    assert!(is_edited && matches!(end, End::Exited { code: 4 }), "{end:?}");
    let queue = actum(&place.root, &["queue", "--json"]).stdout;
    let alerts: Value = serde_json::from_str(&queue).unwrap();
    assert_eq!(alerts["alerts"][0]["code"], 2010, "{alerts:#}");
    assert!(alerts["alerts"][0]["message"].as_str().unwrap().contains("`a.txt`"), "{alerts:#}");
    assert_eq!(fs::read(&file).unwrap(), b"edited meanwhile\n");
}

/// EX-13, EX-16: the next process writes the reports that an interrupted rollback could not write.
#[test]
fn killed_rollback_is_reported_with_its_outcome() {
    kill_rollback_at("");
}

/// EX-13, EX-16, EX-17: a rollback of a commit is reported too, together with the reverting commit if one exists.
#[test]
fn killed_rollback_of_a_commit_is_reported_with_its_outcome() {
    kill_rollback_at("git: { commit: true }\n");
}

/// Kills the program after the branch has moved but before the index is updated, or later if `is_later` is true.
fn kill_in_git(place: &Place, arguments: &[&str], is_later: bool) {
    let branch = place.root.join(".git/refs/heads/main");
    let before = fs::read(&branch).unwrap();
    let lock = place.root.join(".git/index.lock");
    let is_so = || fs::read(&branch).is_ok_and(|now| now != before) && !(is_later && lock.exists());
    let output = place.directory.path().join("said");
    let end = kill_when(&place.root, arguments, &output, is_so);
    assert!(matches!(end, End::Killed { .. }), "{end:?}");
    assert_eq!(lock.exists(), !is_later);
}

/// EX-13, EX-17: the next process repairs a repository that was left between branch and index update, and can roll it back.
#[test]
fn task_killed_between_branch_and_index_is_repaired() {
    let place = Place::new("git: { commit: true }\n");
    let before = place.tree();
    kill_in_git(&place, &["run", "../task.json"], false);
    assert_eq!(actum(&place.root, &["recover"]).code, 0);
    assert_eq!(place.report_statuses("killed"), ["SUCCESS"]);
    place.assert_commit_is_reported("killed");
    kill_in_git(&place, &["rollback", "task-7"], false);
    assert_eq!(actum(&place.root, &["recover"]).code, 0);
    assert_eq!(
        place.manifest_and_report_status(),
        ("Executed".to_owned(), "ROLLED_BACK".to_owned())
    );
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert_eq!(place.tree(), before);
}

/// EX-17: changes that the user stages after the kill remain staged if the index is complete.
#[test]
fn changes_staged_after_a_kill_stay_staged() {
    let place = Place::new("git: { commit: true }\n");
    kill_in_git(&place, &["run", "../task.json"], true);
    place.git(&["restore", "--staged", "--source=HEAD~", "a.txt"]);
    assert_eq!(actum(&place.root, &["recover"]).code, 0);
    assert_eq!(place.report_statuses("killed"), ["SUCCESS"]);
    assert_eq!(place.git(&["status", "--porcelain"]), "MM a.txt\n");
}

/// EX-16, EX-17: a killed rollback that keeps the changes of later commits is reported too.
#[test]
fn killed_rollback_beside_later_commits_is_reported() {
    let place = Place::new("git: { commit: true }\n");
    assert_eq!(actum(&place.root, &["run", "../task.json"]).code, 0);
    let deploy = place.root.join("deploy.yaml");
    let mut text = fs::read_to_string(&deploy).unwrap();
    text.push_str("later: true\n");
    fs::write(&deploy, text.replace("image: a\n", "image: a\n\n\n\n\n")).unwrap();
    let author = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
    place.git(&[&author[..], &["commit", "-qam", "later"]].concat());
    kill_in_git(&place, &["rollback", "task-7"], false);
    assert_eq!(actum(&place.root, &["recover"]).code, 0);
    assert_eq!(place.git(&["status", "--porcelain"]), "");
    assert!(fs::read_to_string(deploy).unwrap().ends_with("later: true\n"));
    assert_eq!(
        place.manifest_and_report_status(),
        ("Executed".to_owned(), "ROLLED_BACK".to_owned())
    );
}

fn kill_rollback_at(config: &str) {
    let template = Place::new(config);
    let before = template.tree();
    assert_eq!(actum(&template.root, &["run", "../task.json"]).code, 0);
    let after = template.tree();
    let mut seen = BTreeMap::<&str, usize>::new();
    for call in 0.. {
        let copy = template.copy();
        let output = copy.directory.path().join("said");
        let rollback = ["rollback", "task-7"];
        let End::Killed { system_call } = kill_before_call(&copy.root, &rollback, call, &output)
        else {
            break;
        };
        let what = format!("killed before call {call} (number {system_call})");
        assert_eq!(actum(&copy.root, &["recover"]).code, 0, "{what}");
        let found = copy.tree();
        assert!(found == before || found == after, "{what}: neither before nor after");
        let report = fs::read_dir(copy.root.join(REPORTS)).unwrap().next().unwrap().unwrap();
        let read = |name: &str| fs::read(report.path().join(name)).unwrap();
        let (kind, expected) = match found == before {
            true => ("taken back", ("Executed", "ROLLED_BACK")),
            false => ("as it was", ("Active", "SUCCESS")),
        };
        assert_eq!(
            copy.manifest_and_report_status(),
            (expected.0.to_owned(), expected.1.to_owned()),
            "{what}"
        );
        let head = copy.git(&["log", "-1", "--format=%H %s"]);
        let reverts = head.strip_suffix(" Revert \"Task task-7: 10 actions\"\n");
        if let Some(head) = reverts {
            let execution = String::from_utf8(read("execution_report.json")).unwrap();
            assert!(execution.contains(head), "{what}");
            assert_eq!(copy.git(&["status", "--porcelain"]), "", "{what}");
        }
        let kind = reverts.map_or(kind, |_| "reverted");
        *seen.entry(kind).or_default() += 1;
    }
    eprintln!("{seen:?}");
    let kinds = if config.is_empty() { 2 } else { 3 };
    assert_eq!(seen.len(), kinds, "{seen:?}");
}
