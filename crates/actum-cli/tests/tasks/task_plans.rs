//! Task plans before they are carried out: `lint`, `preview` and `approve`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::program::{Ended, actum, command, text, workspace};
use serde_json::{Value, json};

/// Writes a plan beside the workspace.
fn put(root: &Path, plan: &Value) {
    fs::write(root.join("../plan.json"), serde_json::to_string_pretty(plan).unwrap()).unwrap();
}

fn plan(actions: Value) -> Value {
    json!({ "plan_id": "plan-001", "action_plan": actions })
}

fn action(id: &str, kind: &str, target: &str, operation: Value) -> Value {
    json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation })
}

fn with(mut action: Value, member: &str, value: Value) -> Value {
    action[member] = value;
    action
}

fn run(root: &Path, verb: &str, options: &[&str]) -> Ended {
    actum(root, &[&["plan", verb, "../plan.json"], options].concat())
}

fn json_of(root: &Path, verb: &str) -> (i32, Value) {
    let ended = run(root, verb, &["--json"]);
    let shown = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    (ended.code, shown)
}

/// Returns the error codes that a lint reports, in order.
fn codes(linted: &Value) -> Vec<u64> {
    let problems = linted["problems"].as_array().unwrap();
    problems.iter().map(|problem| problem["error_code"].as_u64().unwrap()).collect()
}

/// EX-2, EX-10: uses the first example of the contract.
#[test]
fn lint_and_preview_of_a_valid_plan_change_nothing() {
    let (_directory, root) = workspace();
    fs::create_dir(root.join("esquemas")).unwrap();
    let schema = "{\n  // kept\n  \"type\": \"object\",\n  \"properties\": {\n    \"id\": { \"type\": \"integer\" }\n  }\n}\n";
    fs::write(root.join("esquemas/esquema_bd.json"), schema).unwrap();
    put(
        &root,
        &plan(json!([action(
            "a001",
            "FILE_MODIFY",
            "esquemas/esquema_bd.json",
            json!({
                "type": "json_add_property",
                "path": "$.properties",
                "key": "new_field",
                "value": { "type": "string" }
            })
        )])),
    );
    let linted = run(&root, "lint", &[]);
    let sound = "the plan `plan-001` is valid: 1 action on 1 file\n";
    assert!(linted.code == 0 && linted.stdout.starts_with(sound), "{linted:?}");
    let (code, previewed) = json_of(&root, "preview");
    assert_eq!((code, &previewed["sound"]), (0, &json!(true)), "{previewed}");
    assert_eq!(previewed["format"], "actum.plan-preview/1");
    let acted = &previewed["actions"][0];
    assert_eq!((&acted["action_id"], &acted["status"]), (&json!("a001"), &json!("SUCCESS")));
    assert_eq!(acted["output"], "Property 'new_field' added successfully");
    let diff = previewed["diff"]["changes"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("+    \"new_field\":"), "{diff}");
    assert!(!diff.contains("-  // kept"), "{diff}");
    let shown = run(&root, "preview", &[]).stdout;
    assert!(shown.contains("ok       a001  Property 'new_field' added successfully\n"), "{shown}");
    assert!(shown.ends_with("all changes would be applied (R2); nothing was changed\n"), "{shown}");
    assert_eq!(text(&root, "esquemas/esquema_bd.json"), schema);
    assert!(actum(&root, &["log"]).stdout.contains("no run"));
}

/// EX-2, EX-8, EX-18: all problems are reported together, each with its code and position.
#[test]
fn plan_errors_report_their_code_and_position() {
    let (_directory, root) = workspace();
    let edit = json!({ "type": "text_replace", "pattern": "1", "replacement": "2" });
    let replace = |id: &str| action(id, "FILE_MODIFY", "a.txt", edit.clone());
    let linted = |plan: &Value| {
        put(&root, plan);
        let (code, linted) = json_of(&root, "lint");
        assert_eq!((code, &linted["sound"]), (1, &json!(false)), "{linted}");
        linted
    };
    let misspelt = with(replace("a"), "operation", json!({ "type": "text_replce" }));
    let unknown = with(replace("b"), "reversable", json!(true));
    let kind = with(replace("c"), "action_type", json!("FILE_MOVE"));
    let both = linted(&plan(json!([misspelt, unknown, kind])));
    let problem = &both["problems"][0];
    assert_eq!(problem["path"], "action_plan[0].operation.type");
    assert!(problem["message"].as_str().unwrap().contains("`text_replace`"), "{problem}");
    assert_eq!(problem["error_category"], "VALIDATION_ERROR");
    assert_eq!((problem["line"].is_u64(), &problem["recovery_action"]), (true, &json!("REJECTED")));
    assert_eq!(codes(&both).len(), 3, "{both}");

    // Ordering problems are reported together with schema problems.
    let lost = with(replace("b"), "depends_on", json!(["a", "z"]));
    let form_and_order =
        linted(&plan(json!([with(replace("a"), "reversable", json!(true)), replace("a"), lost])));
    assert_eq!(codes(&form_and_order).len(), 3, "{form_and_order}");
    for shown in ["two actions have the id `a`", "depends on `z`"] {
        assert!(form_and_order.to_string().contains(shown), "{form_and_order}");
    }

    let cycle = linted(&plan(json!([
        with(replace("a"), "depends_on", json!(["b"])),
        with(replace("b"), "depends_on", json!(["a"])),
    ])));
    assert!(cycle["problems"][0]["message"].as_str().unwrap().contains("wait for each other"));

    let missing = linted(&plan(json!([
        action("gone", "FILE_DELETE", "none.txt", json!({ "type": "delete" })),
        with(replace("after"), "depends_on", json!(["gone"])),
    ])));
    assert_eq!(codes(&missing), [2001, 4001], "{missing}");
    assert_eq!(missing["problems"][0]["error_type"], "FILE_NOT_FOUND");

    let shown = run(&root, "lint", &[]).stdout;
    assert!(shown.ends_with("2 problems; nothing was changed\n"), "{shown}");
    fs::write(root.join("../plan.json"), "{ \"plan_id\": ").unwrap();
    assert_eq!(json_of(&root, "preview").0, 1);
}

/// EX-4: a single protected target causes the entire plan to be rejected, however the path is spelled.
#[test]
fn protected_target_refuses_the_plan_however_it_is_spelled() {
    let (_directory, root) = workspace();
    let create = |target: &str| {
        let action =
            action("a", "FILE_CREATE", target, json!({ "type": "create", "content": "x" }));
        put(&root, &plan(json!([action])));
        let (code, linted) = json_of(&root, "lint");
        (code, codes(&linted))
    };
    for target in ["README.md", ".env", "sub/.ENV.local", "agent/agent_rules.md", "setup.py"] {
        assert_eq!(create(target), (1, vec![3100]), "{target}");
        assert_eq!(json_of(&root, "preview").0, 1, "{target}");
        // A path that is protected only from plans is rejected with the name of its profile.
        let names_profile =
            run(&root, "lint", &[]).stdout.contains("only the profile `agent-executor`");
        assert_eq!(
            names_profile,
            !target.ends_with(".env") && !target.contains(".ENV"),
            "{target}"
        );
    }
    let backup = "agent/agent_outputs/reports/20260203_150322_t/backups/a.bak";
    let (code, found) = create(backup);
    assert_eq!(code, 1);
    assert!(found.iter().all(|code| (3100..3200).contains(code)), "{found:?}");
    assert_eq!(create("docs/README.md"), (0, vec![]));
    assert_eq!(create("agent/temp/notes.txt"), (0, vec![]));
    assert_eq!(fs::read_dir(&root).unwrap().flatten().count(), 3, "nothing was made");
}

/// EX-3, EX-8, EX-12, EX-18: a failed action leaves no effect, and the actions that depend on it are skipped.
#[test]
fn failed_action_leaves_no_effect_and_its_dependents_are_skipped() {
    let (_directory, root) = workspace();
    let replace = |id: &str, pattern: &str| {
        let operation = json!({ "type": "text_replace", "pattern": pattern, "replacement": "new" });
        action(id, "FILE_MODIFY", "a.txt", operation)
    };
    let broken = json!([{ "type": "contains", "text": "no such text" }]);
    let actions = json!([
        action("make", "FILE_CREATE", "made.txt", json!({ "type": "create", "content": "one\n" })),
        with(replace("lost", "1"), "postconditions", broken),
        with(
            action("next", "FILE_DELETE", "made.txt", json!({ "type": "delete" })),
            "depends_on",
            json!(["lost"])
        ),
        replace("nowhere", "absent"),
        action(
            "line",
            "FILE_MODIFY",
            "sub/b.txt",
            json!({ "type": "line_delete", "start_line": 9, "end_line": 9 })
        ),
        with(replace("late", "1"), "depends_on", json!(["make"])),
    ]);
    let mut whole = plan(actions);
    whole["execution_instructions"] = json!({ "stop_on_error": false });
    put(&root, &whole);
    let (code, previewed) = json_of(&root, "preview");
    assert_eq!(code, 1);
    let ends: Vec<(&str, &str, u64)> = previewed["actions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|acted| {
            let word = |name: &str| acted[name].as_str().unwrap();
            (word("action_id"), word("status"), acted["error_code"].as_u64().unwrap_or(0))
        })
        .collect();
    assert_eq!(ends.len(), 6);
    assert_eq!(ends[0], ("make", "SUCCESS", 0));
    assert_eq!((ends[1].0, ends[1].1), ("lost", "FAILED"));
    assert_eq!(ends[2], ("next", "SKIPPED", 0));
    assert_eq!((ends[3].1, ends[4].1), ("FAILED", "FAILED"));
    assert_eq!(ends[5], ("late", "SUCCESS", 0), "what failed before it left the text as it was");
    let all_fail =
        ends.iter().filter(|end| end.1 == "FAILED").all(|end| (1000..2000).contains(&end.2));
    assert!(all_fail, "{ends:?}");
    // If the plan stops at the first failure, the remaining actions are not tried.
    put(&root, &plan(whole["action_plan"].clone()));
    let (_, previewed) = json_of(&root, "preview");
    let skipped = previewed["actions"].as_array().unwrap().iter();
    assert_eq!(skipped.filter(|acted| acted["status"] == "SKIPPED").count(), 4);
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// Returns the pending plans.
fn waiting(root: &Path) -> Value {
    let queue = actum(root, &["queue", "--json"]).stdout;
    serde_json::from_str::<Value>(&queue).unwrap()["plans"].clone()
}

/// EX-4: another link of a file may be protected, so `preview` and `approve` report the same decision as `run`.
#[test]
fn hard_linked_target_fails_preview_and_approval() {
    let (_directory, root) = workspace();
    fs::hard_link(root.join("a.txt"), root.join("other.txt")).unwrap();
    let operation = json!({ "type": "text_replace", "pattern": "1", "replacement": "2" });
    put(&root, &plan(json!([action("a", "FILE_MODIFY", "a.txt", operation)])));
    let (code, previewed) = json_of(&root, "preview");
    assert_eq!((code, &previewed["sound"]), (1, &json!(false)), "{previewed}");
    assert_eq!(previewed["broken_rules"][0]["error_code"], 3100);
    let approved = actum(&root, &["plan", "approve", "../plan.json"]);
    assert_eq!(approved.code, 1, "{approved:?}");
    assert!(approved.stdout.contains("has other names (hard links)"), "{approved:?}");
    assert!(approved.stdout.contains("no changes would be applied"), "{approved:?}");
    assert_eq!(waiting(&root), json!([]));
}

/// EX-2, AEC-11: an approval evaluates the gates for the agent that will request the task.
#[test]
fn approval_evaluates_the_gates_for_the_named_agent() {
    let (directory, root) = workspace();
    let access = directory.path().join("config/actum/access");
    fs::create_dir_all(&access).unwrap();
    let team = access.join("team.cedar");
    let policies = "permit (principal, action, resource);\n\
        @id(\"no-robots\") forbid (principal, action, resource) \
        when { principal has agent && principal.agent == \"robot\" };\n";
    fs::write(&team, policies).unwrap();
    fs::set_permissions(&access, fs::Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&team, fs::Permissions::from_mode(0o644)).unwrap();
    let operation = json!({ "type": "text_replace", "pattern": "1", "replacement": "2" });
    put(&root, &plan(json!([action("a", "FILE_MODIFY", "a.txt", operation)])));
    let approve = |agent: &str| -> Ended {
        let mut command = command(&root, &["plan", "approve", "../plan.json", "--agent", agent]);
        command.env("XDG_CONFIG_HOME", directory.path().join("config")).output().unwrap().into()
    };
    let robot = approve("robot");
    assert_eq!(robot.code, 1, "{robot:?}");
    assert!(robot.stdout.contains("no-robots"), "{robot:?}");
    assert!(!root.join("../task_envelope.json").exists());
    let builder = approve("builder");
    assert_eq!(builder.code, 0, "{builder:?}");
}

/// EX-1: a file that cannot be written is reported before the operator is asked for approval.
#[test]
fn envelope_path_conflict_is_reported_before_the_approval() {
    let (_directory, root) = workspace();
    let operation = json!({ "type": "text_replace", "pattern": "1", "replacement": "2" });
    let asks = with(action("a", "FILE_MODIFY", "a.txt", operation), "risk_level", json!("HIGH"));
    put(&root, &plan(json!([asks])));
    fs::write(root.join("../mine.txt"), "of a person\n").unwrap();
    // There is neither a key nor a terminal to ask for its passphrase, but the earlier obstacle is the one that is
    // reported.
    for (name, shown) in [
        ("task_approval.json", "the name of another task document"),
        ("plan.json", "the name of another task document"),
        ("mine.txt", "a different kind of file already exists there"),
    ] {
        let ended = actum(&root, &["plan", "approve", "../plan.json", "--output", name]);
        assert_ne!(ended.code, 0, "{ended:?}");
        assert!(ended.stderr.contains(shown), "{ended:?}");
    }
    assert_eq!(fs::read_to_string(root.join("../mine.txt")).unwrap(), "of a person\n");
    assert_eq!(waiting(&root), json!([]));
}

/// EX-1, EX-2: a plan that is not approved is reported without colours, and leaves neither an envelope nor a pending
/// plan.
#[test]
fn unapproved_plan_leaves_no_envelope_and_no_pending_plan() {
    let (_directory, root) = workspace();
    let replace = |pattern: &str| {
        let operation = json!({ "type": "text_replace", "pattern": pattern, "replacement": "2" });
        with(action("a", "FILE_MODIFY", "a.txt", operation), "risk_level", json!("HIGH"))
    };
    put(&root, &plan(json!([replace("absent")])));
    let failed = actum(&root, &["plan", "approve", "../plan.json", "--color", "never"]);
    assert_eq!(failed.code, 1, "{failed:?}");
    assert!(failed.stderr.contains("was not approved, and no envelope was written"), "{failed:?}");
    assert!(
        failed.stdout.contains("run `actum explain 1100` to find out what to do"),
        "{failed:?}"
    );
    // A plan that cannot be parsed is not approved, either.
    put(&root, &plan(json!([with(replace("1"), "no_such_field", json!(1))])));
    assert_eq!(actum(&root, &["plan", "approve", "../plan.json"]).code, 1);
    // This plan needs a signed approval, but no key exists.
    put(&root, &plan(json!([replace("1")])));
    let unsigned = actum(&root, &["plan", "approve", "../plan.json"]);
    assert_eq!(unsigned.code, 1, "{unsigned:?}");
    assert!(unsigned.stderr.contains("nothing was changed"), "{unsigned:?}");
    for shown in [failed.stdout, failed.stderr, unsigned.stdout, unsigned.stderr] {
        assert!(!shown.contains('\u{1b}'), "{shown}");
    }
    for made in ["task_envelope.json", "system_config.yaml", "task_approval.json"] {
        assert!(!root.join("..").join(made).exists(), "{made}");
    }
    assert_eq!(waiting(&root), json!([]));
}

/// EX-1: an existing envelope of another plan is reported instead of being kept or replaced silently.
#[test]
fn plan_approve_reports_an_earlier_envelope() {
    let (directory, root) = workspace();
    let create = |id: &str, target: &str| {
        let operation = json!({ "type": "create", "content": "x\n" });
        let actions = json!([action("a", "FILE_CREATE", target, operation)]);
        let text = json!({ "plan_id": id, "action_plan": actions }).to_string();
        fs::write(directory.path().join(format!("{id}.json")), text).unwrap();
    };
    create("first", "one.txt");
    create("second", "two.txt");
    create("bad", "README.md");
    let approve = |plan: &str| actum(&root, &["plan", "approve", plan]);
    let first = approve("../first.json");
    assert!(first.code == 0 && !first.stderr.contains("earlier"), "{first:?}");
    let bad = approve("../bad.json");
    let kept =
        "`task_envelope.json` still contains the earlier envelope of task first (`first.json`)";
    assert!(bad.code == 1 && bad.stderr.contains(kept), "{bad:?}");
    let second = approve("../second.json");
    let replaced = "no longer approves the earlier task first (`first.json`)";
    assert!(second.code == 0 && second.stderr.contains(replaced), "{second:?}");
}

/// EX-2: each new plan is a separate task with its own id.
#[test]
fn plan_new_writes_a_valid_plan_with_a_time_based_id() {
    let (directory, root) = workspace();
    let made = actum(&root, &["plan", "new", "../new.json"]);
    assert_eq!(made.code, 0, "{made:?}");
    let text = fs::read_to_string(directory.path().join("new.json")).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    let id = written["plan_id"].as_str().unwrap();
    assert!(id.starts_with("plan-2") && id.len() == "plan-20261125-040000".len(), "{id}");
    assert_eq!(actum(&root, &["plan", "lint", "../new.json"]).code, 0);
}
