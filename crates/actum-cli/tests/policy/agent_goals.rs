//! Goals of agents: with an approval, under a changing policy, from a host, and in a user's own words.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use actum_testkit::TestDir;
use serde_json::{Value, json};

use crate::agent_goal;
use crate::program::{Ended, actum, approval_key, command, operator_of};

const ASK: &str = "permit (principal, action, resource) when { context.approvals >= 1 };";
const DISPATCH: [&str; 3] = ["agent", "dispatch", "../goal.json"];

/// AEC-6, AEC-8: an approval lets the next dispatch start the step, but starts nothing outside the audit chain.
#[test]
fn approved_agent_step_starts_only_on_the_next_dispatch() {
    let directory = TestDir::new();
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    let access = operator_of(&root).join("actum/access");
    fs::create_dir_all(&access).unwrap();
    fs::write(access.join("team.cedar"), ASK).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let passphrase = approval_key(&root);
    agent_goal::write(&root);
    let dispatch = || actum(&root, &DISPATCH);
    let code = |ended: &Ended| {
        let outcome: Value = serde_json::from_str(&ended.stdout).unwrap();
        outcome["reason_code"].as_str().map(str::to_owned)
    };

    let refused = dispatch();
    assert_eq!(code(&refused).as_deref(), Some("ACCESS_AP_REQUIRED"), "{refused:?}");
    let outcome: Value = serde_json::from_str(&refused.stdout).unwrap();
    let (_, plan) =
        outcome["user_visible_text"].as_str().unwrap().split_once("actum approve ").unwrap();
    let plan = plan.trim_end_matches('`');
    let shown = actum(&root, &["queue", plan]);
    assert!(shown.stdout.contains("the same `actum agent dispatch`"), "{shown:?}");
    let approved = actum(&root, &["approve", plan, "--passphrase-file", &passphrase]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(approved.stderr.contains("the same `actum agent dispatch`"), "{approved:?}");
    assert!(!root.join("notes.txt").exists(), "it waits for its dispatch");

    let asked = dispatch();
    assert_eq!(code(&asked).as_deref(), Some("CONFIRMATION_REQUIRED"), "{asked:?}");
    let confirm = ["agent", "confirm", "goal", "ja", "--thread", "thread", "--language", "de"];
    let key = ["--passphrase-file", &passphrase];
    let confirmed = actum(&root, &[&confirm[..], &key].concat());
    assert_eq!(confirmed.code, 0, "{confirmed:?}");
    let done = dispatch();
    assert_eq!((done.code, code(&done)), (0, None), "{done:?}");
    assert_eq!(fs::read(root.join("notes.txt")).unwrap(), b"text\n");
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

fn outcome(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

fn workspace(directory: &TestDir) -> std::path::PathBuf {
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    root
}

fn confirm(root: &Path, passphrase: &str) -> Ended {
    let confirm = ["agent", "confirm", "goal", "ja", "--thread", "thread", "--language", "de"];
    actum(root, &[&confirm[..], &["--passphrase-file", passphrase]].concat())
}

/// Waits until an event is recorded for a goal.
fn wait_for(root: &Path, event: &str) {
    for _ in 0..600 {
        if actum(root, &["agent", "show", "goal"]).stdout.contains(event) {
            return;
        }
        thread::sleep(Duration::from_millis(25));
    }
    panic!("the goal has no {event}");
}

/// AEC-11, AEC-13: a policy that changes while a command runs blocks the effect of that command.
#[test]
fn policy_change_during_a_command_blocks_its_change() {
    let directory = TestDir::new();
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    let policy = operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let rule = |argv: &str| {
        format!("[[command]]\nargv = ['{argv}']\ndecision = 'allow'\nmatch = ['{argv}']\n")
            .replace("decision = 'allow'", "decision = \"allow\"")
    };
    let rules = format!("version = 1\n{}{}", rule("./slow.sh"), rule("true"));
    fs::write(&policy, &rules).unwrap();
    fs::write(root.join("slow.sh"), "#!/bin/sh\nsleep 2\necho text > made.txt\n").unwrap();
    fs::set_permissions(root.join("slow.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let passphrase = approval_key(&root);
    let fields = json!({"command": "./slow.sh"});
    agent_goal::write_for(&root, &agent_goal::user(), ("run_command", "run_command", &fields));
    let checked = [&DISPATCH[..], &["--check", "true"]].concat();
    let asked = outcome(&actum(&root, &checked));
    assert_eq!(asked["reason_code"], "CONFIRMATION_REQUIRED", "{asked}");
    assert_eq!(confirm(&root, &passphrase).code, 0);
    let running = command(&root, &checked).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let running = running.unwrap();
    wait_for(&root, "DISPATCH_STARTED");
    fs::write(&policy, format!("{rules}[scope]\ndeny = ['elsewhere']\n")).unwrap();
    let stopped: Ended = running.wait_with_output().unwrap().into();
    assert_eq!(outcome(&stopped)["reason_code"], "POLICY_SNAPSHOT_CHANGED", "{stopped:?}");
    assert!(!root.join("made.txt").exists());
    let shown = actum(&root, &["agent", "show", "goal"]).stdout;
    assert!(shown.contains("OUTCOME -> REVERTED: POLICY_SNAPSHOT_CHANGED"), "{shown}");
    assert_eq!(actum(&root, &["agent", "replay", "goal"]).code, 0);
}

/// AEC-1, AEC-5, AEC-9, AEC-11, AEC-17: the example in `docs/agent.md` with a goal in German.
#[test]
fn a_goal_in_german_is_found_confirmed_dispatched_and_replayed() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    let passphrase = approval_key(&root);
    let words = "Lege die Datei notes.txt an mit \"hallo\"";
    let found = actum(&root, &["agent", "find", words, "--language", "de"]);
    assert_eq!(found.code, 0, "{found:?}");
    fs::write(root.with_file_name("goal.json"), &found.stdout).unwrap();
    let goal: Value = serde_json::from_str(&found.stdout).unwrap();
    let member = |name: &str| goal[name].as_str().unwrap();
    let (correlation, thread) = (member("correlation_id"), member("thread_id"));
    let asked = actum(&root, &DISPATCH);
    assert_eq!(asked.code, 6, "it waits for an answer: {asked:?}");
    let text = outcome(&asked)["user_visible_text"].as_str().unwrap().to_owned();
    let shows = format!("in `{}`", root.display());
    assert!(text.contains(&shows) && text.contains("notes.txt"), "{text}");
    let plan = text.rsplit_once("Plan ").unwrap().1.split('.').next().unwrap();
    let answer = |plan: &str| {
        let words = ["agent", "confirm", correlation, "Ja", "--thread", thread, "--plan", plan];
        let rest = ["--language", "de", "--passphrase-file", &passphrase];
        actum(&root, &[&words[..], &rest].concat())
    };
    let other = answer("00000000");
    assert!(other.code == 1 && other.stderr.contains("CONFIRMATION_OF_ANOTHER_PLAN"), "{other:?}");
    assert_eq!(answer(plan).code, 0);
    let done = actum(&root, &DISPATCH);
    assert_eq!(done.code, 0, "{done:?}");
    assert_eq!(fs::read(root.join("notes.txt")).unwrap(), b"hallo");
    let again = actum(&root, &DISPATCH);
    assert_eq!(outcome(&again)["simulation_outcome"]["status"], "succeeded");
    let shown = actum(&root, &["agent", "show", correlation]).stdout;
    for event in ["AWAITING_CONFIRM", "CONFIRMED", "STARTED", "SUCCEEDED"] {
        assert!(shown.contains(event), "{event}: {shown}");
    }
    for verb in [&["agent", "replay", correlation][..], &["agent", "slo", "--gate"]] {
        let ended = actum(&root, verb);
        assert_eq!(ended.code, 0, "{ended:?}");
    }
}

/// AEC-5, AEC-6: dispatching another user's goal requires the host key.
#[test]
fn goal_of_another_user_is_dispatched_only_under_the_host_key() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    let passphrase = approval_key(&root);
    let make = ["key", "make", "host", "--passphrase-file", &passphrase];
    let vouch = ["--approval-passphrase-file", &passphrase];
    let made = actum(&root, &[&make[..], &vouch].concat());
    assert_eq!(made.code, 0, "{made:?}");
    let fields = json!({"path": "notes.txt", "content": "text\n"});
    agent_goal::write_for(&root, "somebody-else", ("file_create", "change_files", &fields));
    let refused = outcome(&actum(&root, &DISPATCH));
    assert_eq!(refused["reason_code"], "ACCESS_SCOPE_VIOLATION");
    let text = refused["user_visible_text"].as_str().unwrap();
    assert!(text.contains("`somebody-else`") && text.contains("host key"), "{text}");
    let as_host = [&DISPATCH[..], &["--host-key", "--passphrase-file", &passphrase]].concat();
    let asked = outcome(&actum(&root, &as_host));
    assert_eq!(asked["reason_code"], "CONFIRMATION_REQUIRED", "{asked}");
    let wrong = root.with_file_name("wrong");
    fs::write(&wrong, "not the passphrase\n").unwrap();
    fs::set_permissions(&wrong, fs::Permissions::from_mode(0o600)).unwrap();
    let wrong = wrong.to_str().unwrap();
    let refused = [&DISPATCH[..], &["--host-key", "--passphrase-file", wrong]].concat();
    assert_ne!(actum(&root, &refused).code, 0);
}

/// AEC-12: goals for which no simulation exists can be listed, shown and resolved.
#[test]
fn goal_without_a_simulation_is_listed_shown_and_resolved() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    let found =
        actum(&root, &["agent", "find", "Teleport the office to Mars", "--correlation", "goal"]);
    fs::write(root.with_file_name("goal.json"), &found.stdout).unwrap();
    assert_eq!(outcome(&actum(&root, &DISPATCH))["reason_code"], "SIMULATION_MISSING");
    let again = actum(&root, &DISPATCH);
    assert!(
        again.stderr.contains("run `actum explain SIMULATION_MISSING` to see what to do"),
        "{again:?}"
    );
    let run = |words: &[&str]| actum(&root, &[&["agent", "intake"], words].concat());
    assert_eq!(run(&["list"]).stdout.lines().count(), 1, "each goal once");
    assert!(run(&["list"]).stdout.contains("goal"));
    assert!(run(&["show", "goal"]).stdout.contains("wish:"));
    assert_eq!(run(&["show", "other"]).code, 1);
    let unknown = run(&["resolve", "goal", "--simulation", "teleport", "--reason", "soon"]);
    assert!(unknown.code == 1 && unknown.stderr.contains("is not active"), "{unknown:?}");
    assert_eq!(run(&["resolve", "goal", "--reason", "not ours"]).code, 0);
    assert!(run(&["list"]).stdout.contains("no goals are waiting"));
    assert_eq!(run(&["resolve", "goal", "--reason", "again"]).code, 1);
}

/// AEC-5: once an approval key exists, a new host key needs its passphrase or waits a day, even before anything is
/// recorded.
#[test]
fn host_key_created_without_the_approval_key_is_pending() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    let passphrase = approval_key(&root);
    let made = actum(&root, &["key", "make", "host", "--passphrase-file", &passphrase]);
    assert!(made.stdout.contains("it becomes valid at "), "{made:?}");
    agent_goal::write_for(
        &root,
        "somebody-else",
        ("file_create", "change_files", &json!({"path": "notes.txt", "content": "text\n"})),
    );
    let as_host = [&DISPATCH[..], &["--host-key", "--passphrase-file", &passphrase]].concat();
    assert_ne!(actum(&root, &as_host).code, 0);
    assert!(!root.join("notes.txt").exists());
}

/// AEC-5, AEC-11: a rejection or a policy change that arrives during a check blocks the change.
#[test]
fn rejection_or_policy_change_during_a_check_blocks_the_change() {
    for comes_no in [true, false] {
        let directory = TestDir::new();
        let root = directory.join("workspace");
        fs::create_dir(&root).unwrap();
        let policy = operator_of(&root).join("actum/actum.toml");
        fs::create_dir_all(policy.parent().unwrap()).unwrap();
        let rules = "version = 1\n[[command]]\nargv = ['./slow.sh']\ndecision = \"allow\"\nmatch = ['./slow.sh']\n";
        fs::write(&policy, rules).unwrap();
        fs::write(root.join("slow.sh"), "#!/bin/sh\nsleep 2\n").unwrap();
        fs::set_permissions(root.join("slow.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(actum(&root, &["init"]).code, 0);
        let passphrase = approval_key(&root);
        agent_goal::write(&root);
        let checked = [&DISPATCH[..], &["--check", "./slow.sh"]].concat();
        actum(&root, &checked);
        assert_eq!(confirm(&root, &passphrase).code, 0);
        let running =
            command(&root, &checked).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let running = running.unwrap();
        wait_for(&root, "DISPATCH_STARTED");
        if comes_no {
            let no = ["agent", "confirm", "goal", "nein", "--thread", "thread"];
            let rest = ["--language", "de", "--passphrase-file", &passphrase];
            assert_eq!(actum(&root, &[&no[..], &rest].concat()).code, 1);
        } else {
            fs::write(&policy, format!("{rules}[scope]\ndeny = ['elsewhere']\n")).unwrap();
        }
        let stopped: Ended = running.wait_with_output().unwrap().into();
        let expected = if comes_no { "CONFIRMATION_REJECTED" } else { "POLICY_SNAPSHOT_CHANGED" };
        assert_eq!(outcome(&stopped)["reason_code"], expected, "{stopped:?}");
        assert_eq!(stopped.code, 3, "it is taken back");
        assert!(!root.join("notes.txt").exists());
        assert_eq!(actum(&root, &["agent", "replay", "goal"]).code, 0);
    }
}

/// AEC-7, AEC-20: a step whose check fails is started at most three times and never loops.
#[test]
fn failing_step_is_started_at_most_three_times() {
    let directory = TestDir::new();
    let root = directory.join("workspace");
    fs::create_dir(&root).unwrap();
    let policy = operator_of(&root).join("actum/actum.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    let rules =
        "version = 1\n[[command]]\nargv = ['false']\ndecision = \"allow\"\nmatch = ['false']\n";
    fs::write(&policy, rules).unwrap();
    assert_eq!(actum(&root, &["init"]).code, 0);
    let passphrase = approval_key(&root);
    agent_goal::write(&root);
    let checked = [&DISPATCH[..], &["--check", "false"]].concat();
    actum(&root, &checked);
    assert_eq!(confirm(&root, &passphrase).code, 0);
    for _ in 0..3 {
        let failed = actum(&root, &checked);
        assert_eq!(failed.code, 3, "{failed:?}");
    }
    for _ in 0..2 {
        assert_eq!(outcome(&actum(&root, &checked))["reason_code"], "RETRIES_EXHAUSTED");
    }
    let shown = actum(&root, &["agent", "show", "goal"]).stdout;
    assert_eq!(shown.matches("_STARTED").count(), 3, "{shown}");
    assert!(!root.join("notes.txt").exists());
}

/// AEC-17: a waiver that could not be recorded is rejected before the passphrase is requested.
#[test]
fn invalid_waiver_is_refused_before_asking_for_the_passphrase() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    let waive = |time: &str, reason: &str| {
        let words = ["agent", "waive", "--for", time, "--reason", reason];
        actum(&root, &[&words[..], &["--passphrase-file", "../no-such-file"]].concat())
    };
    for time in ["0s", "31d"] {
        let refused = waive(time, "a slow disk");
        assert!(refused.stderr.contains("SLO_WAIVER_TOO_LONG"), "{refused:?}");
    }
    assert_eq!(waive("1h", "two\nlines").code, 2);
}

/// AEC-3: the schemas are available to users who do not have the source code.
#[test]
fn agent_schema_prints_goal_packet_and_outcome_schemas() {
    let directory = TestDir::new();
    let root = workspace(&directory);
    for document in ["goal", "match", "clarify", "refuse", "missing", "outcome"] {
        let printed = actum(&root, &["agent", "schema", document]);
        let schema: Value = serde_json::from_str(&printed.stdout).unwrap();
        assert_eq!(schema["type"], "object", "{document}");
    }
}
