//! Effects of a task beyond its actions: the active plan, the prompt, and errors that are found after the actions.

use std::fs;

use crate::program::{actum, text, workspace};
use crate::task::{
    action, create, document, is_part_of, plan, put, replace, report, run, run_as, tree,
};
use serde_json::{Value, json};

const ACTIVE: &str = "agent/agent_outputs/plans/plan_active";

/// EX-6: a plan that a gate refuses is not archived and does not replace the active plan.
#[test]
fn plan_refused_by_a_gate_does_not_replace_the_active_plan() {
    let (_directory, root) = workspace();
    let active = |file: &str| fs::read(root.join(ACTIVE).join(file)).unwrap();
    let archive = root.join("agent/agent_outputs/archive");
    assert_eq!(run(&root, &plan(json!([create("a1", "made.txt")]))).code, 0);
    let in_force = active("task_plan.json");
    let content = format!("AKIA{}\n", "Q3EGRIYOPQ5XM2ZT");
    let operation = json!({ "type": "create", "content": content });
    let secret = plan(json!([action("a1", "FILE_CREATE", "secret.txt", operation)]));
    let refused = run_as(&root, "task-8", &secret);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert_eq!(document(&root, "error_report.json")["recovery_action"], "REJECTED");
    assert!(!archive.exists());
    assert_eq!(active("task_plan.json"), in_force);
    // A plan that was carried out replaces it, even if it failed.
    let fails = plan(json!([replace("a1", "a.txt", "not there")]));
    assert_eq!(run_as(&root, "task-9", &fails).code, 3);
    assert_eq!(active("task_plan.json"), fs::read(root.join("../plan.json")).unwrap());
    assert_eq!(fs::read_dir(&archive).unwrap().count(), 1);
    let to = document(&root, "execution_report.json")["archived_to"].as_str().unwrap().to_owned();
    assert_eq!(fs::read(root.join(to).join("task_plan.json")).unwrap(), in_force);
}

/// EX-23: approval also generates the prompt, and the documents that it names are stored beside it.
#[test]
fn approval_writes_the_prompt_next_to_the_plan() {
    let (_directory, root) = workspace();
    let beside = |file: &str| root.join("..").join(file);
    fs::write(beside("mine.json"), plan(json!([create("a1", "made.txt")])).to_string()).unwrap();
    let approve = |file: &str| actum(&root, &["plan", "approve", &format!("../{file}")]);
    let ended = approve("mine.json");
    assert_eq!(ended.code, 0, "{ended:?}");
    let prompt = text(&root, "../executor_prompt.txt");
    for line in ["1. IMPLEMENTATION_SUMMARY.md", "2. system_config.yaml", "3. mine.json"] {
        assert!(prompt.lines().any(|it| it == line), "{line}: {prompt}");
    }
    assert!(beside("system_config.yaml").exists());
    assert!(text(&root, "../IMPLEMENTATION_SUMMARY.md").contains("`a1` (`FILE_CREATE`)"));
    // A prompt that actum wrote is replaced for the next plan, but a file with another author is not.
    fs::write(beside("other.json"), plan(json!([create("a2", "b.txt")])).to_string()).unwrap();
    assert_eq!(approve("other.json").code, 0);
    assert!(text(&root, "../executor_prompt.txt").contains("3. other.json"));
    assert!(text(&root, "../IMPLEMENTATION_SUMMARY.md").contains("`a2` (`FILE_CREATE`)"));
    fs::write(beside("IMPLEMENTATION_SUMMARY.md"), "# Mine\n").unwrap();
    let noted = approve("mine.json");
    assert_eq!(noted.code, 0, "{noted:?}");
    assert!(noted.stderr.contains("was not written by actum"), "{noted:?}");
    assert_eq!(text(&root, "../IMPLEMENTATION_SUMMARY.md"), "# Mine\n");
    fs::write(beside("executor_prompt.txt"), "mine\n").unwrap();
    let refused = approve("mine.json");
    assert!(refused.code != 0 && refused.stderr.contains("executor_prompt.txt"), "{refused:?}");
    assert_eq!(text(&root, "../executor_prompt.txt"), "mine\n");
}

/// EX-12, EX-14, EX-18: a violated validation rule fails the last action that touched its path.
#[test]
fn violated_validation_rule_fails_the_last_action_on_its_path() {
    for (path, failed) in [("a.txt", "a2"), ("sub/b.txt", "a3"), ("untouched.txt", "a3")] {
        let (_directory, root) = workspace();
        let before = tree(&root);
        let insert = |id: &str, target: &str| {
            let operation = json!({ "type": "line_insert", "line_number": 1, "content": "0\n" });
            action(id, "FILE_MODIFY", target, operation)
        };
        let mut plan =
            plan(json!([insert("a1", "a.txt"), insert("a2", "a.txt"), insert("a3", "sub/b.txt"),]));
        let rule = json!({ "type": "contains", "path": path, "text": "never there" });
        plan["execution_instructions"] = json!({ "validation_rules": [rule] });
        let ended = run(&root, &plan);
        assert_eq!(ended.code, 3, "{ended:?}");
        assert_eq!(tree(&root), before);
        assert!(ended.stdout.contains(&format!("failed   {failed}  ")), "{ended:?}");
        let shown = json!({
            "status": "ROLLED_BACK",
            "actions_summary": { "total": 3, "completed": 2, "failed": 1, "skipped": 0 },
            "actions_failed": [{ "action_id": failed, "error_code": 1115 }],
        });
        let found = document(&root, "execution_report.json");
        assert!(is_part_of(&shown, &found), "{found:#}");
        let error = document(&root, "error_report.json");
        assert_eq!(
            (&error["details"]["action_id"], &error["details"]["target"]),
            (&json!(failed), &json!(path))
        );
        // The change log contains the executed actions.
        assert_eq!(document(&root, "change_log.json")["changes"].as_array().unwrap().len(), 3);
    }
}

/// EX-12: a failed postcondition restores its target only if the action is reversible and the plan rolls back after
/// failures.
#[test]
fn failed_postcondition_restores_its_target_only_on_rollback() {
    let cases = [
        // reversible, rollback_on_failure, stop_on_error: status, content
        (true, true, false, "PARTIAL", "2\n"),
        (false, true, false, "PARTIAL", "0\n2\n"),
        (true, false, false, "PARTIAL", "0\n2\n"),
        (false, true, true, "ROLLED_BACK", "2\n"),
    ];
    for (reversible, rolls_back, stops, status, content) in cases {
        let (_directory, root) = workspace();
        let operation = json!({ "type": "line_insert", "line_number": 1, "content": "0\n" });
        let mut second = action("a2", "FILE_MODIFY", "sub/b.txt", operation);
        second["reversible"] = json!(reversible);
        second["postconditions"] = json!([{ "type": "contains", "text": "never there" }]);
        let mut plan = plan(json!([create("a1", "made.txt"), second]));
        plan["execution_instructions"] =
            json!({ "stop_on_error": stops, "rollback_on_failure": rolls_back });
        put(&root, &plan, "");
        let ended = actum(&root, &["run", "../task.json"]);
        let found = document(&root, "execution_report.json");
        assert_eq!(found["status"], status, "{ended:?}");
        assert_eq!(found["actions_failed"][0]["error_code"], 1114, "{found:#}");
        assert_eq!(text(&root, "sub/b.txt"), content);
        let is_left = !(reversible && rolls_back);
        let log = document(&root, "change_log.json");
        let logged = log["changes"].as_array().unwrap().len();
        assert_eq!(logged, if is_left { 2 } else { 1 }, "{log:#}");
        let manifest = document(&root, "rollback_manifest.json");
        let kept: Vec<&Value> =
            manifest["checkpoints"].as_array().unwrap().iter().map(|it| &it["file_path"]).collect();
        assert_eq!(kept.contains(&&json!("sub/b.txt")), is_left);
        if status == "PARTIAL" && is_left {
            assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
            assert_eq!(text(&root, "sub/b.txt"), "2\n");
        }
    }
}

/// EX-12, D-8: a run whose only action failed and kept its change is final. Recovery leaves its report unchanged, and
/// repeating the task returns the stored result.
#[test]
fn failed_task_that_kept_its_change_is_not_treated_as_interrupted() {
    let (_directory, root) = workspace();
    let mut only = replace("a1", "a.txt", "1");
    only["postconditions"] = json!([{ "type": "contains", "text": "never there" }]);
    let mut plan = plan(json!([only]));
    plan["execution_instructions"] = json!({ "rollback_on_failure": false });
    assert_eq!(run(&root, &plan).code, 4);
    assert_eq!(text(&root, "a.txt"), "new\n");
    let before = fs::read(report(&root).join("execution_report.json")).unwrap();
    assert_eq!(document(&root, "execution_report.json")["status"], "FAILED");
    let recovered = actum(&root, &["recover"]);
    assert_eq!(recovered.code, 0, "{recovered:?}");
    assert_eq!(fs::read(report(&root).join("execution_report.json")).unwrap(), before);
    let again = actum(&root, &["run", "../task.json"]);
    assert_eq!(again.code, 4, "{again:?}");
    assert!(again.stderr.contains("task already done by run"), "{again:?}");
    assert_eq!(actum(&root, &["rollback", "task-7"]).code, 0);
    assert_eq!(text(&root, "a.txt"), "1\n");
}

/// EX-12: file actions are captured, so they are carried out even if they are declared irreversible.
#[test]
fn file_action_declared_irreversible_is_still_carried_out() {
    let (_directory, root) = workspace();
    let mut file = create("a1", "made.txt");
    file["reversible"] = json!(false);
    assert_eq!(run(&root, &plan(json!([file]))).code, 0);
}

/// EX-10: a plan can add a key to a YAML mapping and remove one, but a misspelt parent key is still an error.
#[test]
fn a_plan_adds_and_removes_members_of_a_yaml_mapping() {
    let (_directory, root) = workspace();
    fs::write(root.join("deploy.yaml"), "# kept\nspec:\n  replicas: 2 # kept\nold: 1\n").unwrap();
    let yaml = |id: &str, operation: Value| action(id, "FILE_MODIFY", "deploy.yaml", operation);
    let labels = json!({ "app": "web" });
    let add = json!({ "type": "yaml_update", "path": "$.spec.labels", "value": labels });
    let wrong = json!({ "type": "yaml_update", "path": "$.spce.labels", "value": 1 });
    let remove = json!({ "type": "yaml_remove", "path": "$.old" });
    assert_eq!(run(&root, &plan(json!([yaml("a1", wrong)]))).code, 3);
    assert_eq!(document(&root, "error_report.json")["error_code"], 1105);
    let both = plan(json!([yaml("a1", add), crate::task::after(yaml("a2", remove), "a1")]));
    let ended = run_as(&root, "task-8", &both);
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stdout.contains("Value at '$.old' removed successfully"), "{ended:?}");
    assert_eq!(
        text(&root, "deploy.yaml"),
        "# kept\nspec:\n  replicas: 2 # kept\n  labels:\n    app: web\n"
    );
}
