//! Plans that wait for approval, as agents and operators use them.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Ended, actum, command, home_of, under_umask, workspace};
use serde_json::{Value, json};
use tempfile::TempDir;

const CI: &str = ".github/workflows/ci.yml";

/// Creates a workspace with a passphrase-protected approval key, and a change that needs approval.
fn asking() -> (TempDir, PathBuf) {
    let (directory, root) = workspace();
    let file = directory.path().join("passphrase");
    fs::write(&file, "open sesame\n").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    let made = actum(&root, &["key", "make", "approval", "--passphrase-file", "../passphrase"]);
    assert_eq!(made.code, 0, "{made:?}");
    change(directory.path(), "on: push\n");
    (directory, root)
}

fn change(directory: &Path, content: &str) {
    let files = json!({ "files": [{ "path": CI, "content": content }, { "path": "new", "content": "n\n" }] });
    fs::write(directory.join("ci.json"), files.to_string()).unwrap();
}

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

/// Requests the change, and returns the id of its pending plan.
fn asked(root: &Path) -> String {
    let ended = actum(root, &["apply", "../ci.json", "--json", "--agent", "builder"]);
    assert_eq!(ended.code, 6, "{ended:?}");
    value(&ended)["plan"].as_str().unwrap().to_owned()
}

fn answered(root: &Path, arguments: &[&str]) -> Ended {
    actum(root, &[arguments, &["--passphrase-file", "../passphrase"]].concat())
}

/// AA-5, D-1
#[test]
fn risky_change_is_queued_shown_approved_and_recorded_in_a_receipt() {
    let (_directory, root) = asking();
    let ended = actum(&root, &["apply", "../ci.json", "--json", "--agent", "builder"]);
    let error = value(&ended);
    assert_eq!((&error["status"], &error["reason"]), (&json!("queued"), &json!("NEEDS_APPROVAL")));
    assert_eq!((&error["tier"], &error["workspace"]), (&json!("R3"), &json!("unchanged")));
    let plan = error["plan"].as_str().unwrap();
    assert!(!root.join("new").exists());
    assert_eq!(asked(&root), plan, "the same waits once");
    let queue = value(&actum(&root, &["queue", "--json"]));
    assert_eq!(queue["plans"].as_array().unwrap().len(), 1);
    assert_eq!(queue["plans"][0]["actor"]["agent"], "builder");
    let shown = actum(&root, &["queue", &plan.chars().take(4).collect::<String>()]);
    assert!(shown.stdout.contains("+on: push\n"), "{shown:?}");
    assert!(shown.stdout.lines().count() <= 30, "{}", shown.stdout);
    let approved = answered(&root, &["approve", plan]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(fs::read_to_string(root.join(CI)).unwrap(), "on: push\n");
    // The receipt names the approver, the key, and how the key is protected.
    assert_eq!(actum(&root, &["receipt", "--output", "../receipt.json"]).code, 0);
    assert_eq!(actum(&root, &["verify", "../receipt.json"]).code, 0);
    let record = value(&actum(&root, &["show", "--json"]))["record"].clone();
    assert_eq!(record["approval"]["plan"], plan);
    assert_eq!(record["approval"]["isolation"], "passphrase");
    assert_eq!(record["actor"]["agent"], "builder");
    assert_eq!(actum(&root, &["replay"]).code, 0);
    assert_eq!(value(&actum(&root, &["ledger", "verify", "--receipts", "--json"]))["sound"], true);
    let twice = answered(&root, &["approve", plan]);
    assert_eq!(twice.code, 1);
    assert!(twice.stderr.contains("an approval can be used only once"), "{twice:?}");
    assert_eq!(actum(&root, &["queue"]).stdout, "no pending plans\n");
    // A finished plan can also be found by a prefix of its id.
    assert_eq!(actum(&root, &["queue", &plan.chars().take(4).collect::<String>()]).code, 0);
    // Undoing the run is evaluated like any other change.
    assert_eq!(actum(&root, &["undo"]).code, 6);
    assert!(root.join(CI).exists());
}

/// AA-5: an approval under a different umask still carries out the change exactly as shown.
#[test]
fn plan_keeps_the_umask_of_its_request() {
    let (_directory, root) = asking();
    let plan = asked(&root);
    let shown = under_umask("077", &root, &["queue", &plan]);
    assert!(!shown.stdout.contains("moved"), "{shown:?}");
    let approve = ["approve", &*plan, "--passphrase-file", "../passphrase"];
    let approved = under_umask("077", &root, &approve);
    assert_eq!(approved.code, 0, "{approved:?}");
    let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("new"), mode(CI)), (0o644, 0o644));
}

/// AA-5: two requests that differ only in the modes of new files are distinguishable.
#[test]
fn change_that_differs_only_in_mode_shows_both_modes() {
    let (_directory, root) = asking();
    asked(&root);
    let again = under_umask("077", &root, &["apply", "../ci.json", "--json", "--agent", "builder"]);
    let plan = value(&again)["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &plan]).stdout;
    assert!(shown.contains("the resulting mode of `new` changed (0644 -> 0600)"), "{shown}");
}

/// FO-5, AA-5, EX-20: an undo bypasses the gates only for the actor who made the run, and only if the run needed no
/// approval.
#[test]
fn undo_of_approved_or_foreign_work_is_evaluated_as_a_new_change() {
    let (directory, root) = asking();
    let key = format!("key = '{}{}'\n", "AKIA", "Z7QK3MPLD2WX5VNB");
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    fs::write(root.join(CI), "on: push\n").unwrap();
    fs::write(root.join("key.txt"), &key).unwrap();
    let delete = |name: &str, arguments: &[&str]| {
        let diff = format!(
            "diff --git a/{name} b/{name}\ndeleted file mode 100644\n--- a/{name}\n+++ /dev/null\n"
        );
        let text = fs::read_to_string(root.join(name)).unwrap();
        let diff = format!("{diff}@@ -1 +0,0 @@\n-{text}");
        fs::write(directory.path().join("delete.diff"), diff).unwrap();
        actum(&root, &[&["apply", "../delete.diff", "--json"], arguments].concat())
    };
    // A key deleted by one agent can be restored by that agent or the user, but not by another agent.
    for (by, code) in [("other", 1), ("builder", 0), ("", 0)] {
        let deleted = delete("key.txt", &["--agent", "builder"]);
        assert_eq!(deleted.code, 0, "{deleted:?}");
        let run = value(&deleted)["run"].as_str().unwrap().to_owned();
        let by = if by.is_empty() { vec![] } else { vec!["--agent", by] };
        let undone = actum(&root, &[&["undo", &run][..], &by].concat());
        assert_eq!(undone.code, code, "{by:?}: {undone:?}");
        if code == 1 {
            assert!(undone.stderr.contains("suspected credential"), "{undone:?}");
            assert!(!root.join("key.txt").exists());
            assert_eq!(actum(&root, &["undo", &run, "--dry-run", "--agent", "other"]).code, 1);
            assert_eq!(actum(&root, &["undo", &run, "--dry-run"]).code, 0);
            assert_eq!(actum(&root, &["undo", &run]).code, 0);
        }
        assert_eq!(fs::read_to_string(root.join("key.txt")).unwrap(), key);
    }
    // Restoring a workflow whose deletion was approved needs another approval.
    let waits = delete(CI, &["--agent", "builder"]);
    assert_eq!(waits.code, 6, "{waits:?}");
    let plan = value(&waits)["plan"].as_str().unwrap().to_owned();
    let approved = answered(&root, &["approve", &plan, "--json"]);
    let run = value(&approved)["run"].as_str().unwrap().to_owned();
    for by in [&["--agent", "other"][..], &["--agent", "builder"], &[]] {
        let undone = actum(&root, &[&["undo", &run], by].concat());
        assert_eq!(undone.code, 6, "{by:?}: {undone:?}");
        assert!(!root.join(CI).exists());
    }
    let plan = value(&actum(&root, &["undo", "--json"]))["plan"].as_str().unwrap().to_owned();
    let approved = answered(&root, &["approve", &plan]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert_eq!(fs::read_to_string(root.join(CI)).unwrap(), "on: push\n");
}

/// FO-5: an undo without a run id undoes the actor's own newest change, even if other actors made later changes.
#[test]
fn undo_without_a_run_reverts_the_actors_newest_change() {
    let (directory, root) = workspace();
    let make = |agent: &str| {
        let files = json!({ "files": [{ "path": agent, "content": "made\n" }] }).to_string();
        fs::write(directory.path().join("change.json"), files).unwrap();
        let made = actum(&root, &["apply", "../change.json", "--agent", agent, "--json"]);
        value(&made)["run"].as_str().unwrap().to_owned()
    };
    let (_, b) = (make("a"), make("b"));
    let look = actum(&root, &["undo", "--agent", "a", "--dry-run"]);
    assert!(
        look.stdout.contains("deleted     a ") && !look.stdout.contains("deleted     b "),
        "{look:?}"
    );
    let undo = actum(&root, &["undo", "--agent", "a"]);
    assert_eq!(undo.code, 0, "{undo:?}");
    assert!(!root.join("a").exists() && root.join("b").exists());
    let c = make("c");
    for arguments in
        [&["undo", "--agent", "a", "--json"][..], &["undo", "--agent", "a", "--json", "--dry-run"]]
    {
        let none = actum(&root, arguments);
        assert_eq!(none.code, 1, "{none:?}");
        let error = value(&none);
        assert_eq!(
            (&error["reason"], &error["workspace"]),
            (&json!("NO_RUN_TO_UNDO"), &json!("unchanged"))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&c) && message.contains("by the agent `c`"), "{message}");
        assert!(error["hints"].to_string().contains(&format!("actum undo {c}")), "{error}");
    }
    // A user owns the changes of all agents that work for them.
    assert_eq!(actum(&root, &["undo"]).code, 0);
    assert!(!root.join("c").exists() && root.join("b").exists());
    // Another agent's change can be undone if its run is named.
    assert_eq!(actum(&root, &["undo", "--agent", "a", &b]).code, 0);
    assert!(!root.join("b").exists());
}

/// FO-5: a redo without a run id reverts the actor's own newest undo, even if other actors made later undos.
#[test]
fn redo_without_a_run_reverts_the_actors_newest_undo() {
    let (directory, root) = workspace();
    let make = |agent: &str| {
        let files = json!({ "files": [{ "path": agent, "content": "made\n" }] }).to_string();
        fs::write(directory.path().join("change.json"), files).unwrap();
        assert_eq!(actum(&root, &["apply", "../change.json", "--agent", agent]).code, 0);
    };
    let undo = |agent: &str| {
        let undone = actum(&root, &["undo", "--agent", agent, "--json"]);
        assert_eq!(undone.code, 0, "{undone:?}");
        value(&undone)["run"].as_str().unwrap().to_owned()
    };
    make("a");
    make("b");
    let (_, of_b) = (undo("a"), undo("b"));
    let look = actum(&root, &["redo", "--agent", "a", "--dry-run"]);
    assert!(
        look.stdout.contains("created     a ") && !look.stdout.contains("created     b "),
        "{look:?}"
    );
    let redo = actum(&root, &["redo", "--agent", "a"]);
    assert_eq!(redo.code, 0, "{redo:?}");
    assert!(root.join("a").exists() && !root.join("b").exists());
    for arguments in
        [&["redo", "--agent", "a", "--json"][..], &["redo", "--agent", "a", "--json", "--dry-run"]]
    {
        let none = actum(&root, arguments);
        assert_eq!(none.code, 1, "{none:?}");
        let error = value(&none);
        assert_eq!(
            (&error["reason"], &error["workspace"]),
            (&json!("NOTHING_TO_REDO"), &json!("unchanged"))
        );
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(&of_b) && message.contains("by the agent `b`"), "{message}");
        assert!(error["hints"].to_string().contains(&format!("actum redo {of_b}")), "{error}");
    }
    // Another agent's undo can be reverted if its run is named.
    assert_eq!(actum(&root, &["redo", "--agent", "a", &of_b]).code, 0);
    assert!(root.join("b").exists());
    // A user owns the undos of all agents that work for them.
    undo("b");
    assert_eq!(actum(&root, &["redo"]).code, 0);
    assert!(root.join("b").exists());
}

/// AA-5
#[test]
fn request_approved_for_later_runs_once_when_repeated() {
    let (_directory, root) = asking();
    let plan = asked(&root);
    let approved = answered(&root, &["approve", &plan, "--later", "--reason", "fine"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    assert!(!root.join(CI).exists());
    assert!(actum(&root, &["queue"]).stdout.contains("  approved until "));
    let done = actum(&root, &["apply", "../ci.json", "--agent", "builder"]);
    assert_eq!(done.code, 0, "{done:?}");
    assert!(done.stderr.contains(&format!("(plan {plan})")), "{done:?}");
    let undo = value(&actum(&root, &["undo", "--json"]))["plan"].as_str().unwrap().to_owned();
    assert_eq!(answered(&root, &["approve", &undo]).code, 0);
    assert_ne!(asked(&root), plan);
}

/// AA-5
#[test]
fn repeated_request_reports_why_the_plan_was_denied() {
    let (directory, root) = asking();
    let plan = asked(&root);
    let short = plan.chars().take(5).collect::<String>();
    let denied = answered(&root, &["deny", &short, "--reason", "not on a Friday"]);
    assert_eq!(denied.code, 0, "{denied:?}");
    assert!(denied.stdout.contains("denied"), "{denied:?}");
    assert_eq!(answered(&root, &["approve", &plan]).code, 1);
    assert_eq!(answered(&root, &["revoke", &plan]).code, 1);
    change(directory.path(), "on: [push]\n");
    let output = actum(&root, &["apply", "../ci.json", "--json", "--agent", "builder"]);
    assert_eq!(
        value(&output)["denied_before"],
        json!({ "plan": plan, "reason": "not on a Friday" })
    );
    let second = asked(&root);
    assert_ne!(second, plan);
    let shown = actum(&root, &["queue", &second]).stdout;
    assert!(shown.contains(&format!("earlier  {plan} (denied): not on a Friday\n")), "{shown}");
    assert!(shown.contains("since then the result for `.github"), "{shown}");
    let approved = answered(&root, &["approve", &second, "--later"]);
    assert_eq!(approved.code, 0, "{approved:?}");
    let revoked = answered(&root, &["revoke", &second]);
    assert_eq!(revoked.code, 0, "{revoked:?}");
    assert_eq!(actum(&root, &["apply", "../ci.json"]).code, 6);
    assert!(!root.join(CI).exists());
}

/// AA-5: a plan cannot be approved after files in the workspace changed.
#[test]
fn stale_plan_cannot_be_approved_and_names_the_changed_files() {
    let (_directory, root) = asking();
    let plan = asked(&root);
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    let shown = actum(&root, &["queue", &plan]);
    assert!(shown.stdout.contains("stale    the result for `.github` differs"), "{shown:?}");
    let stale = answered(&root, &["approve", &plan, "--json"]);
    assert_eq!(stale.code, 1, "{stale:?}");
    assert_eq!(value(&stale)["reason"], "PLAN_STALE");
    fs::write(root.join(CI), "mine\n").unwrap();
    let stale = answered(&root, &["approve", &plan]);
    assert!(stale.stderr.contains("it already exists"), "{stale:?}");
    assert_eq!(fs::read_to_string(root.join(CI)).unwrap(), "mine\n");
    let denied = answered(&root, &["deny", &plan, "--reason", "too late"]);
    assert_eq!(denied.code, 0, "{denied:?}");
}

/// AA-5: agents cannot approve through any entry point.
#[test]
fn approve_and_deny_require_the_passphrase() {
    let (directory, root) = asking();
    let plan = asked(&root);
    for arguments in [vec!["approve", &plan], vec!["deny", &plan, "--reason", "x"]] {
        let refused = actum(&root, &[&arguments[..], &["--json"]].concat());
        assert_eq!(refused.code, 1, "{refused:?}");
        assert_eq!(value(&refused)["reason"], "PASSPHRASE_NEEDED");
    }
    fs::write(directory.path().join("passphrase"), "open sesamy\n").unwrap();
    let wrong = answered(&root, &["approve", &plan, "--json"]);
    assert_eq!(value(&wrong)["reason"], "PASSPHRASE_WRONG");
    assert!(!root.join(CI).exists());
    let unknown = actum(&root, &["approve", "zzzz", "--json"]);
    assert_eq!(value(&unknown)["reason"], "UNKNOWN_PLAN");
    // Without any approval key, the error reports that none exists.
    let (directory, root) = workspace();
    change(directory.path(), "on: push\n");
    let plan = asked(&root);
    let refused = actum(&root, &["approve", &plan]);
    assert!(refused.stderr.contains("actum key make approval"), "{refused:?}");
}

/// AA-5: no decision is made without a reader for the plan, and `--watch` ends when its reader closes the output.
#[test]
fn status_and_queue_watch_report_pending_plans() {
    let (_directory, root) = asking();
    let plan = asked(&root);
    assert_eq!(value(&actum(&root, &["status", "--json"]))["plans"], json!([plan]));
    let script = "exec \"$0\" approve \"$1\" --json --passphrase-file ../passphrase 2>/dev/full";
    let mut unseen = Command::new("/bin/sh");
    unseen.args(["-c", script, env!("CARGO_BIN_EXE_actum"), &plan]).current_dir(&root);
    let unseen = unseen.env_clear().env("ACTUM_HOME", home_of(&root));
    let unseen =
        unseen.env("XDG_CONFIG_HOME", crate::program::operator_of(&root)).output().unwrap();
    let unseen = Ended::from(unseen);
    assert_eq!((unseen.code, value(&unseen)["reason"].as_str()), (1, Some("CONFIRMATION_NEEDED")));
    assert!(actum(&root, &["queue"]).stdout.contains("  waiting until "));
    let mut watch = command(&root, &["queue", "--watch", "--json"]);
    let mut watch = watch.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(watch.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let event: Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["event"], &event["plan"]), (&json!("waits"), &json!(plan)));
    assert_eq!(answered(&root, &["deny", &plan, "--reason", "no"]).code, 0);
    assert_eq!(watch.wait().unwrap().code(), Some(0));
    assert_eq!(value(&actum(&root, &["status", "--json"]))["plans"], json!([]));
}

/// AA-5: the request stored beside the ledger is compared with the ledger.
#[test]
fn tampered_queue_request_is_not_carried_out() {
    let (_directory, root) = asking();
    let plan = asked(&root);
    let file = home_of(&root).join(format!("tenants/default/queue/{plan}.json"));
    let evil = fs::read_to_string(&file).unwrap().replace("on: push", "on: evil");
    fs::write(&file, evil).unwrap();
    let refused = answered(&root, &["approve", &plan, "--json"]);
    assert_eq!(value(&refused)["reason"], "PLAN_REQUEST_LOST");
    assert!(!root.join(CI).exists());
}

/// AA-5, D-5
#[test]
fn notify_command_runs_once_per_plan_and_only_operators_can_set_it() {
    let (directory, root) = asking();
    let place = directory.path().join("config/actum");
    fs::create_dir_all(&place).unwrap();
    let output = directory.path().join("told");
    let policy = format!(
        "version = 1\n[approvals]\nnotify = ['/bin/sh', '-c', 'cat >> \"$0\"', '{}']\n",
        output.display()
    );
    fs::write(place.join("actum.toml"), policy).unwrap();
    fs::set_permissions(place.join("actum.toml"), Permissions::from_mode(0o644)).unwrap();
    let run = || -> Ended {
        let mut command = command(&root, &["apply", "../ci.json"]);
        command.env("XDG_CONFIG_HOME", directory.path().join("config"));
        command.env("LD_PRELOAD", "").output().unwrap().into()
    };
    assert_eq!(run().code, 6);
    assert_eq!(run().code, 6);
    let lines = fs::read_to_string(&output).unwrap();
    assert_eq!(lines.lines().count(), 1, "{lines}");
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!(line["reason"], "NEEDS_APPROVAL");
    fs::write(root.join("actum.toml"), "version = 1\n[approvals]\nnotify = ['/bin/true']\n")
        .unwrap();
    let refused = run();
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("only the operator's policy can"), "{refused:?}");
    fs::write(root.join("actum.toml"), "version = 1\n[approvals]\nnotify = ['notify-send']\n")
        .unwrap();
    assert!(run().stderr.contains("absolute path"));
}

/// AA-5: an operator can deny all plans of an agent that floods the queue with one command, without affecting the plans
/// of others.
#[test]
fn deny_all_denies_every_plan_of_an_agent_or_workspace() {
    let (directory, root) = asking();
    let ask = |content: &str, agent: &str| {
        change(directory.path(), content);
        let ended = actum(&root, &["apply", "../ci.json", "--json", "--agent", agent]);
        assert_eq!(ended.code, 6, "{ended:?}");
        value(&ended)["plan"].clone()
    };
    let flood: Vec<Value> = ["a\n", "b\n", "c\n"].map(|content| ask(content, "flood")).to_vec();
    let other = ask("d\n", "builder");
    assert_eq!(actum(&root, &["deny", "--agent", "flood", "--reason", "no"]).code, 2);
    assert_eq!(actum(&root, &["deny", "--reason", "no"]).code, 2);
    let all = ["deny", "--all", "--agent", "flood", "--reason", "no"];
    assert_ne!(actum(&root, &all).code, 0, "it needs the key");
    let denied = answered(&root, &[&all[..], &["--json"]].concat());
    assert_eq!(denied.code, 0, "{denied:?}");
    assert_eq!(value(&denied)["plans"], json!(flood));
    let waits = |root: &Path| value(&actum(root, &["queue", "--json"]))["plans"].clone();
    assert_eq!(waits(&root).as_array().unwrap().len(), 1);
    assert_eq!(waits(&root)[0]["plan"], other);
    let rest = answered(&root, &["deny", "--all", "--reason", "enough"]);
    assert_eq!(rest.stdout, format!("denied plan {}\n", other.as_str().unwrap()));
    assert_eq!(waits(&root), json!([]));
    assert_eq!(
        answered(&root, &["deny", "--all", "--reason", "no"]).stdout,
        "no such plan is pending\n"
    );
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// AA-5, issue 22 (claims): the queue holds the plans of all workspaces. `deny --all` denies those of one workspace, or
/// those of one agent in all workspaces.
#[test]
fn queue_spans_workspaces_and_deny_all_covers_one_workspace_or_agent() {
    let (directory, root) = asking();
    let second = directory.path().join("second");
    fs::create_dir(&second).unwrap();
    assert_eq!(actum(&second, &["init"]).code, 0);
    let ask = |root: &Path, agent: &str, content: &str| {
        change(directory.path(), content);
        let ended = actum(root, &["apply", "../ci.json", "--json", "--agent", agent]);
        value(&ended)["plan"].as_str().unwrap_or_else(|| panic!("{ended:?}")).to_owned()
    };
    let first = [ask(&root, "flood", "a\n"), ask(&root, "builder", "b\n")];
    let other = [ask(&second, "flood", "c\n"), ask(&second, "builder", "d\n")];
    let waiting = || {
        let queue = value(&actum(&root, &["queue", "--json"]));
        let plans = queue["plans"].as_array().unwrap().iter();
        plans.map(|plan| plan["plan"].as_str().unwrap().to_owned()).collect::<BTreeSet<_>>()
    };
    assert_eq!(waiting(), first.iter().chain(&other).cloned().collect());
    let flood = ["deny", "--all", "--agent", "flood", "--reason", "no"];
    assert_eq!(answered(&root, &flood).code, 0);
    assert_eq!(waiting(), [&first[1], &other[1]].map(Clone::clone).into());
    assert_eq!(answered(&root, &["deny", "--all", "--reason", "no"]).code, 0);
    assert_eq!(waiting(), [other[1].clone()].into());
}

/// AA-5, issue 22 (claims): a renamed file is shown in full because it may have a different effect at its new path.
#[test]
fn renamed_file_is_shown_in_full() {
    let (directory, root) = asking();
    fs::write(root.join("ci"), "on: push\njobs: none\n").unwrap();
    fs::create_dir_all(root.join(".github/workflows")).unwrap();
    let rename =
        format!("diff --git a/ci b/{CI}\nsimilarity index 100%\nrename from ci\nrename to {CI}\n");
    fs::write(directory.path().join("rename.diff"), rename).unwrap();
    let asked = actum(&root, &["apply", "../rename.diff", "--json"]);
    assert_eq!(asked.code, 6, "{asked:?}");
    let plan = value(&asked)["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &plan]).stdout;
    for line in ["+on: push", "+jobs: none"] {
        assert!(shown.lines().any(|shown| shown.trim() == line), "{shown}");
    }
}

/// AA-5, D-5, issue 22 (claims): the caller controls neither the programs nor the home of the operator's notify
/// command.
#[test]
fn notify_command_gets_its_environment_from_the_system() {
    let (directory, root) = asking();
    let place = directory.path().join("config/actum");
    fs::create_dir_all(&place).unwrap();
    let notified = directory.path().join("notified");
    let policy = |program: &str| {
        let text = format!("version = 1\n[approvals]\nnotify = {program}\n");
        fs::write(place.join("actum.toml"), text).unwrap();
    };
    let ask = |content: &str| -> Ended {
        change(directory.path(), content);
        let mut command = Command::new(env!("CARGO_BIN_EXE_actum"));
        command.env_clear().env("ACTUM_HOME", home_of(&root)).current_dir(&root);
        command.env("XDG_CONFIG_HOME", crate::program::operator_of(&root));
        for (name, value) in [
            ("LD_LIBRARY_PATH", "/evil"),
            ("PATH", "/evil"),
            ("HOME", "/evil"),
            ("USER", "evil"),
            ("XDG_RUNTIME_DIR", "/evil"),
            ("BASH_ENV", "/evil"),
            ("DISPLAY", "; evil"),
            ("LANG", "C.UTF-8"),
        ] {
            command.env(name, value);
        }
        crate::program::at_known_place({
            command.args(["apply", "../ci.json"]);
            command
        })
        .output()
        .unwrap()
        .into()
    };
    policy(&format!("['/bin/sh', '-c', '{{ pwd; /usr/bin/env; }} > {}']", notified.display()));
    assert_eq!(ask("on: push\n").code, 6);
    let notified = fs::read_to_string(&notified).unwrap();
    assert!(!notified.contains("evil"), "{notified}");
    for line in ["/", "LANG=C.UTF-8", "PATH=/usr/local/bin:/usr/bin:/bin"] {
        assert!(notified.lines().any(|found| found == line), "{line}: {notified}");
    }
    assert!(notified.contains("\nHOME=/") && notified.contains("\nXDG_RUNTIME_DIR=/run/user/"));
    policy("['/bin/false']");
    let failed = ask("on: pull_request\n");
    assert_eq!(failed.code, 6, "{failed:?}");
    assert!(
        failed.stderr.contains("the plan is pending, but the notification command"),
        "{failed:?}"
    );
}

/// D-4: a NUL byte cannot hide text from the approver, and the output states if content is not shown.
#[test]
fn text_with_a_nul_byte_is_shown_and_binary_content_is_summarized() {
    let (directory, root) = workspace();
    let script = "mkdir -p .github/actions/x; cd .github/actions/x; \
                  { printf '//\\0\\n'; yes 'let a = 1;' | head -n 200; } > index.js; \
                  head -c 300 /dev/zero > data.bin";
    let queued = actum(&root, &["exec", "--", "sh", "-c", script]);
    assert_eq!(queued.code, 116, "{queued:?}");
    let plans = value(&actum(&root, &["queue", "--json"]));
    let plan = plans["plans"][0]["plan"].as_str().unwrap().to_owned();
    let shown = actum(&root, &["queue", &plan]).stdout;
    assert!(shown.contains("\n+//<\\000>\n"), "{shown}");
    assert_eq!(shown.matches("\n+let a = 1;").count(), 200, "{shown}");
    assert!(shown.contains("binary content is not shown: 300 bytes"), "{shown}");
    drop(directory);
}

/// D-4, AEC-8: the umask of one command does not lock later commands out of the queue or the workspace.
#[test]
fn umask_does_not_make_state_unusable_for_its_owner() {
    let (directory, _) = workspace();
    let root = directory.path().join("other");
    fs::create_dir(&root).unwrap();
    let files = json!({ "files": [{ "path": CI, "content": "on: push\n" }] });
    fs::write(root.join("ci.json"), files.to_string()).unwrap();
    let made = under_umask("777", &root, &["init"]);
    assert_eq!(made.code, 0, "{made:?}");
    let queued = under_umask("777", &root, &["apply", "ci.json"]);
    assert_eq!(queued.code, 6, "{queued:?}");
    let again = actum(&root, &["apply", "ci.json"]);
    assert_eq!(again.code, 6, "{again:?}");
    assert_eq!(actum(&root, &["status"]).code, 0);
    // A permissive umask does not let other users write the files beside runs, either.
    assert_eq!(under_umask("000", &root, &["key", "export", "-o", "keys.json"]).code, 0);
    let mode = fs::metadata(root.join("keys.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o664);
}
