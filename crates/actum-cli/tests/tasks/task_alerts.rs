//! Alerts about a task, which stay pending until the user marks them as seen.

use std::fs;
use std::path::Path;

use crate::program::{Ended, actum, workspace};
use crate::task::{action, create, document, plan, put, replace, run};
use serde_json::{Value, json};

fn value(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"))
}

fn alerts(root: &Path) -> Vec<Value> {
    value(&actum(root, &["queue", "--json"]))["alerts"].as_array().unwrap().clone()
}

/// Runs a task that tries to change a protected file.
fn refused(root: &Path) -> Ended {
    refused_at(root, ".env", "builder")
}

/// Runs a task of another agent, which tries to change the given file.
fn refused_at(root: &Path, file: &str, agent: &str) -> Ended {
    put(root, &plan(json!([replace("a", file, "x"), replace("b", ".env.local", "x")])), "");
    let ended = actum(root, &["run", "../task.json", "--agent", agent]);
    assert_eq!(ended.code, 1, "{ended:?}");
    ended
}

/// EX-18: the alert appears on stderr, in the ledger, and in the queue.
#[test]
fn alert_about_a_protected_file_stays_in_the_queue_until_seen() {
    let (_directory, root) = workspace();
    let ended = refused(&root);
    assert!(ended.stderr.contains("alert: Plan contains"), "{ended:?}");
    let open = alerts(&root);
    assert_eq!(open.len(), 1, "{open:?}");
    let number = open[0]["alert"].as_u64().unwrap().to_string();
    assert!(
        ended.stderr.contains(&format!("`actum queue` lists it as alert {number}")),
        "{ended:?}"
    );
    assert_eq!(open[0]["code"], 3100);
    assert_eq!(open[0]["actor"]["agent"], "builder");
    assert_eq!(open[0]["root"].as_str(), fs::canonicalize(&root).unwrap().to_str());
    let message = open[0]["message"].as_str().unwrap();
    assert!(message.contains("`.env`") && message.ends_with("and 1 more"), "{message}");
    let reports = root.join(open[0]["reports"].as_str().unwrap());
    assert!(reports.join("error_report.json").exists(), "{reports:?}");
    let entry = value(&actum(&root, &["ledger", "show", "--json", &number]));
    assert_eq!(entry["kind"], "ALERT_RAISED");
    let status = value(&actum(&root, &["status", "--json"]));
    assert_eq!(status["alerts"], json!([open[0]["alert"]]));
    let listed = actum(&root, &["queue"]).stdout;
    assert!(listed.contains(&format!("`actum queue --seen {number}`")), "{listed}");
    let seen = actum(&root, &["queue", "--seen", &number]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert_eq!(alerts(&root), Vec::<Value>::new());
    assert_eq!(actum(&root, &["queue"]).stdout, "no pending plans\n");
    let ended = actum(&root, &["ledger", "verify"]);
    assert_eq!(ended.code, 0, "{ended:?}");
}

/// EX-18: only pending alerts can be marked as seen, and a wrong number changes nothing.
#[test]
fn only_pending_alerts_can_be_marked_as_seen() {
    let (_directory, root) = workspace();
    refused(&root);
    let elsewhere = root.join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    assert_eq!(actum(&elsewhere, &["init"]).code, 0);
    fs::write(elsewhere.join("task.json"), "").unwrap();
    refused_at(&elsewhere, ".env.production", "builder");
    let open = alerts(&root);
    assert_eq!(open.len(), 2, "{open:?}");
    for wrong in ["0", "999"] {
        let ended = actum(&root, &["queue", "--seen", wrong]);
        assert_eq!(ended.code, 1, "{ended:?}");
        assert!(ended.stderr.contains("UNKNOWN_ALERT"), "{ended:?}");
        assert!(ended.stderr.contains(&format!("no unacknowledged alert with the number {wrong}")));
    }
    assert_eq!(actum(&root, &["queue", "--seen", "first"]).code, 2);
    let both = actum(&root, &["queue", "--seen", &open[0]["alert"].to_string(), "999"]);
    assert_eq!(both.code, 1, "all of them or none: {both:?}");
    assert_eq!(alerts(&root), open);
    let first = open[0]["alert"].to_string();
    let seen = value(&actum(&root, &["queue", "--json", "--seen", &first]));
    assert_eq!(seen["alerts"], json!([open[0]]));
    assert_eq!(alerts(&root), open[1..]);
    assert_eq!(actum(&root, &["queue", "--seen", &first]).code, 1, "it was seen");
    refused(&root);
    let seen = value(&actum(&root, &["queue", "--json", "--seen", "all"]));
    assert_eq!(seen["alerts"].as_array().unwrap().len(), 2);
    assert_eq!(alerts(&root), Vec::<Value>::new());
    assert_eq!(actum(&root, &["queue", "--seen", "all"]).stdout, "no pending alerts\n");
}

/// EX-18: alerts with the same kind, user and workspace form one line, whatever names an agent chooses, and displace no
/// other alert.
#[test]
fn alerts_of_one_kind_are_grouped_with_their_count() {
    let (_directory, root) = workspace();
    refused_at(&root, ".env.production", "builder");
    for agent in ["one", "two", "three"] {
        refused_at(&root, ".env", agent);
    }
    let open = alerts(&root);
    assert_eq!(open.len(), 1, "{open:?}");
    assert!(open[0]["message"].as_str().unwrap().contains("`.env.production`"), "{open:?}");
    assert_eq!(open[0]["count"], json!(4));
    assert_ne!(open[0]["last"], open[0]["time"]);
    assert!(actum(&root, &["queue"]).stdout.contains("4 times, most recently at "));
    let number = format!("{}..{}", open[0]["alert"], open[0]["last_alert"]);
    let seen = actum(&root, &["queue", "--seen", &number]);
    assert_eq!(seen.code, 0);
    assert!(
        seen.stderr.contains("there is no approval key that requires a passphrase"),
        "{seen:?}"
    );
    assert_eq!(alerts(&root), Vec::<Value>::new());
    assert_eq!(actum(&root, &["ledger", "verify"]).code, 0);
}

/// EX-18: an event that needs no action by the user is reported only to the caller.
#[test]
fn failed_or_unapproved_tasks_raise_no_alert() {
    let (_directory, root) = workspace();
    put(&root, &plan(json!([replace("a", "missing.txt", "x")])), "");
    assert_ne!(actum(&root, &["run", "../task.json"]).code, 0);
    crate::task::edit_envelope(&root, |envelope| envelope["status"] = json!("PENDING"));
    assert_ne!(actum(&root, &["run", "../task.json"]).code, 0);
    assert_eq!(alerts(&root), Vec::<Value>::new());
}

/// EX-4, D-5: a path that is protected only from plans is refused, with the protecting profile and the reason.
#[test]
fn path_protected_only_for_plans_is_refused_with_its_profile() {
    let (directory, root) = workspace();
    fs::write(root.join("README.md"), "1\n").unwrap();
    let ended = run(&root, &plan(json!([replace("a1", "README.md", "1")])));
    assert_eq!(ended.code, 1, "{ended:?}");
    let reason = &document(&root, "error_report.json")["details"]["violations"][0]["reason"];
    let reason = reason.as_str().unwrap();
    for part in ["documents that instruct agents", "the profile `agent-executor`", "`actum apply`"]
    {
        assert!(reason.contains(part) && ended.stdout.contains(part), "{part}: {ended:?}");
    }
    let diff = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-1\n+2\n";
    fs::write(directory.path().join("readme.diff"), diff).unwrap();
    assert_eq!(actum(&root, &["apply", "../readme.diff"]).code, 0);
}

/// EX-4, D-5: a protected target is reported even if the plan also targets actum's own state or has another error.
#[test]
fn every_protected_target_is_listed_even_in_an_invalid_plan() {
    let (_directory, root) = workspace();
    let rename = json!({ "type": "rename", "details": { "new_path": ".actum/journal" } });
    let mut unsound = replace("a5", "a.txt", "1");
    unsound["no_such_field"] = json!(1);
    let ended = run(
        &root,
        &plan(json!([
            create("a1", ".git/hooks/pre-commit"),
            replace("a2", ".env", "x"),
            action("a3", "FILE_RENAME", "a.txt", rename),
            create("a4", "sub/.GIT/config"),
            unsound,
        ])),
    );
    assert_eq!(ended.code, 1, "{ended:?}");
    let error = document(&root, "error_report.json");
    assert_eq!(error["error_code"], 3100, "{error:#}");
    assert_eq!(error["message"], "Plan contains protected file modifications");
    let violations = error["details"]["violations"].as_array().unwrap();
    let mut listed: Vec<_> = violations
        .iter()
        .map(|it| (it["action_id"].as_str().unwrap(), it["target"].as_str().unwrap()))
        .collect();
    listed.sort_unstable();
    let expected = [
        ("a1", ".git/hooks/pre-commit"),
        ("a2", ".env"),
        ("a3", ".actum/journal"),
        ("a4", "sub/.GIT/config"),
    ];
    assert_eq!(listed, expected, "{error:#}");
    assert_eq!(error["other_errors"][0]["error_code"], 1014, "{error:#}");
    assert!(ended.stdout.contains(".env") && ended.stdout.contains(".actum/journal"), "{ended:?}");
}

/// EX-18, issue 22: every alert in a group is listed with its message, and only alerts that were shown are marked as
/// seen.
#[test]
fn grouped_alert_messages_are_listed_and_only_shown_ones_are_marked() {
    let (_directory, root) = workspace();
    for file in [".env.a", ".git/hooks/post-commit", ".env.c", ".env.a"] {
        refused_at(&root, file, "builder");
    }
    let open = alerts(&root);
    assert_eq!(open.len(), 1, "{open:?}");
    let messages = open[0]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3, "{open:?}");
    assert_eq!(messages[0]["alerts"].as_array().unwrap().len(), 2, "{open:?}");
    let listed = actum(&root, &["queue"]).stdout;
    for file in [".env.a", ".git/hooks/post-commit", ".env.c"] {
        assert!(listed.contains(&format!("`{file}`")), "{listed}");
    }
    let number = format!("{}..{}", open[0]["alert"], open[0]["last_alert"]);
    assert!(listed.contains(&format!("`actum queue --seen {number}`")), "{listed}");
    // This alert is raised after the list was printed.
    refused_at(&root, ".env.later", "builder");
    let seen = actum(&root, &["queue", "--seen", &number]);
    assert_eq!(seen.code, 0, "{seen:?}");
    assert!(seen.stderr.contains("`.git/hooks/post-commit`"), "{seen:?}");
    assert!(!seen.stderr.contains("`.env.later`"), "{seen:?}");
    let left = alerts(&root);
    assert_eq!((left.len(), &left[0]["count"]), (1, &json!(1)), "{left:?}");
    assert!(left[0]["message"].as_str().unwrap().contains("`.env.later`"), "{left:?}");
    assert_eq!(left[0]["messages"], Value::Null);
}

/// EX-18, issue 22: if an agent causes many messages, the list shows some of them and the number of omitted ones.
#[test]
fn alert_list_counts_the_messages_it_omits() {
    let (_directory, root) = workspace();
    for number in 0..23 {
        refused_at(&root, &format!(".env.{number}"), "builder");
    }
    let listed = actum(&root, &["queue"]).stdout;
    assert!(listed.contains("2 more messages; `actum queue --json` lists all"), "{listed}");
    assert!(listed.contains("`.env.0`") && listed.contains("`.env.22`"), "{listed}");
    assert_eq!(alerts(&root)[0]["messages"].as_array().unwrap().len(), 23);
}
