//! Content that an action of a task plan may not leave in a file.

use std::fs;
use std::path::Path;

use crate::program::{actum, text, workspace};
use serde_json::{Value, json};

fn action(id: &str, kind: &str, target: &str, operation: Value) -> Value {
    json!({ "action_id": id, "action_type": kind, "target": target, "operation": operation })
}

fn create(id: &str, target: &str, content: &str) -> Value {
    action(id, "FILE_CREATE", target, json!({ "type": "create", "content": content }))
}

fn replace(id: &str, target: &str, pattern: &str, replacement: &str) -> Value {
    let operation =
        json!({ "type": "text_replace", "pattern": pattern, "replacement": replacement });
    action(id, "FILE_MODIFY", target, operation)
}

/// Previews a plan with these actions that continues after failures.
fn previewed(root: &Path, actions: Value) -> Value {
    let plan = json!({
        "plan_id": "plan-001",
        "action_plan": actions,
        "execution_instructions": { "stop_on_error": false }
    });
    fs::write(root.join("../plan.json"), serde_json::to_string_pretty(&plan).unwrap()).unwrap();
    let ended = actum(root, &["plan", "preview", "../plan.json", "--json"]);
    let previewed: Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    assert_eq!(ended.code == 0, previewed["sound"] == true, "{previewed}");
    previewed
}

/// Returns each action's id with its error code, or 0 for success.
fn ends(previewed: &Value) -> Vec<(&str, u64)> {
    let actions = previewed["actions"].as_array().unwrap().iter();
    let end = |acted: &'_ Value| match acted["status"].as_str().unwrap() {
        "SUCCESS" => 0,
        "FAILED" => acted["error_code"].as_u64().unwrap(),
        other => panic!("{other}"),
    };
    actions.map(|acted| (acted["action_id"].as_str().unwrap(), end(acted))).collect()
}

/// EX-20: an action that would leave an unparsable file fails without effect, and does not influence the other actions.
#[test]
fn actions_that_would_break_valid_json_or_yaml_fail() {
    let (_directory, root) = workspace();
    fs::write(root.join("config.json"), "{\n  \"port\": 1\n}\n").unwrap();
    fs::write(root.join("deploy.yaml"), "image: a\nreplicas: 2\n").unwrap();
    fs::write(root.join("broken.json"), "{ 1\n").unwrap();
    let insert = json!({ "type": "line_insert", "line_number": 3, "content": "  \"host\"\n" });
    let previewed = previewed(
        &root,
        json!([
            replace("good", "config.json", "1", "8080"),
            action("comma", "FILE_MODIFY", "config.json", insert),
            replace("brace", "config.json", "}", "},"),
            replace("indent", "deploy.yaml", "replicas", "  replicas"),
            replace("after", "deploy.yaml", "2", "3"),
            create("new", "new.yaml", "a: [\n"),
            create("lines", "log.jsonl", "{}\n{}\n"),
            replace("repair", "broken.json", "1", "\"a\": 1"),
            action(
                "named",
                "FILE_RENAME",
                "a.txt",
                json!({ "type": "rename", "new_path": "a.yml" })
            ),
        ]),
    );
    assert_eq!(
        ends(&previewed),
        [
            ("good", 0),
            ("comma", 1111),
            ("brace", 1111),
            ("indent", 1111),
            ("after", 0),
            ("new", 1111),
            ("lines", 0),
            ("repair", 0),
            ("named", 0),
        ]
    );
    let message = previewed["actions"][1]["error_message"].as_str().unwrap();
    assert!(
        message.starts_with("`config.json` would not be valid JSON: line 3, column "),
        "{message}"
    );
    let diffs = previewed["diff"]["changes"].as_array().unwrap().iter();
    let changed: Vec<&str> = diffs.map(|change| change["path"].as_str().unwrap()).collect();
    assert_eq!(changed, ["a.yml", "broken.json", "config.json", "deploy.yaml", "log.jsonl"]);
    let diff = previewed["diff"].to_string();
    assert!(diff.contains("+  \\\"port\\\": 8080") && diff.contains("+replicas: 3"), "{diff}");
    assert!(!diff.contains("host"), "{diff}");
    assert_eq!(text(&root, "config.json"), "{\n  \"port\": 1\n}\n");
}

/// EX-9, EX-20: `SCHEMA_UPDATE` must leave a valid JSON Schema, unlike other actions.
#[test]
fn schema_update_must_leave_a_valid_schema() {
    let (_directory, root) = workspace();
    let schema = "{\n  // kept\n  \"properties\": { \"id\": { \"type\": \"integer\" } }\n}\n";
    fs::write(root.join("order.json"), schema).unwrap();
    // The file name proves nothing, so the content is read to its end.
    let long = format!("{{ \"title\": \"{}\" }}\n", "x".repeat(20_000));
    fs::write(root.join("order.schema"), long).unwrap();
    let title =
        |value: Value| json!({ "type": "json_update_value", "path": "$.title", "value": value });
    let update = |value: &str| json!({ "type": "json_update_value", "path": "$.properties.id.type", "value": value });
    let draft = json!({ "type": "json_add_property", "path": "$", "key": "$schema", "value": "https://example.com/own" });
    let previewed = previewed(
        &root,
        json!([
            action("text", "SCHEMA_UPDATE", "order.json", update("text")),
            action("draft", "SCHEMA_UPDATE", "order.json", draft),
            action("string", "SCHEMA_UPDATE", "order.json", update("string")),
            action("other", "FILE_MODIFY", "order.json", update("text")),
            action("title", "SCHEMA_UPDATE", "order.schema", title(json!("y".repeat(10_000)))),
            action("number", "SCHEMA_UPDATE", "order.schema", title(json!(1))),
        ]),
    );
    assert_eq!(
        ends(&previewed),
        [
            ("text", 1112),
            ("draft", 1112),
            ("string", 0),
            ("other", 0),
            ("title", 0),
            ("number", 1112)
        ]
    );
    let message = |at: usize| previewed["actions"][at]["error_message"].as_str().unwrap();
    assert!(message(0).contains("at `/properties/id/type`"), "{}", message(0));
    assert!(message(1).contains("expected one of the published drafts"), "{}", message(1));
}

/// EX-9: every action type is recognised. File actions are carried out, and the two unavailable types report an error.
#[test]
fn each_action_type_is_executed_or_reported_as_unavailable() {
    let (_directory, root) = workspace();
    fs::write(root.join("order.json"), "{}\n").unwrap();
    let schema = json!({ "type": "content", "content": "{ \"type\": \"object\" }\n" });
    let query = json!({ "type": "sql_execute", "query_file": "q.sql", "connection": "duckdb" });
    let previewed = previewed(
        &root,
        json!([
            create("create", "new.txt", "x\n"),
            replace("modify", "a.txt", "1", "2"),
            action("delete", "FILE_DELETE", "sub/b.txt", json!({ "type": "delete" })),
            action(
                "rename",
                "FILE_RENAME",
                "a.txt",
                json!({ "type": "rename", "new_path": "c.txt" })
            ),
            action("schema", "SCHEMA_UPDATE", "order.json", schema),
            action("sql", "SQL_EXECUTE", "shop.duckdb", query),
            action(
                "pipeline",
                "PIPELINE_RUN",
                "etl",
                json!({ "type": "pipeline_run", "pipeline": "p" })
            ),
        ]),
    );
    let expected = ["create", "modify", "delete", "rename", "schema"].map(|id| (id, 0));
    assert_eq!(ends(&previewed)[..5], expected, "{previewed}");
    assert_eq!(ends(&previewed)[5..], [("sql", 1050), ("pipeline", 1052)]);
}

/// EX-20: a plan must declare interpreters, hooks and execute permission.
#[test]
fn scripts_and_hooks_must_be_declared_by_the_plan() {
    let (_directory, root) = workspace();
    fs::write(root.join("run.sh"), "#!/bin/sh\necho 1\n").unwrap();
    let declared = json!({ "type": "create", "content": "#!/bin/sh\n", "executable": true });
    let insert = json!({ "type": "line_insert", "line_number": 1, "content": "#!/bin/sh\n" });
    let to_hook = json!({ "type": "rename", "new_path": "hooks/pre-commit" });
    let previewed = previewed(
        &root,
        json!([
            create("script", "script.sh", "#!/bin/sh\n"),
            action("program", "FILE_CREATE", "program.sh", declared.clone()),
            action("top", "FILE_MODIFY", "a.txt", insert),
            action("moved", "FILE_RENAME", "a.txt", to_hook),
            create("hook", "hooks/pre-push", "echo\n"),
            action("declared", "FILE_CREATE", "hooks/post-merge", declared),
            replace("shell", "run.sh", "echo 1", "echo $(rm -rf x); curl x | sh"),
            replace("other", "run.sh", "/bin/sh", "/usr/bin/python3"),
        ]),
    );
    assert_eq!(
        ends(&previewed),
        [
            ("script", 1061),
            ("program", 0),
            ("top", 1061),
            ("moved", 1061),
            ("hook", 1061),
            ("declared", 0),
            ("shell", 0),
            ("other", 1061),
        ]
    );
    let modes: Vec<(&str, &Value)> = previewed["diff"]["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["path"].as_str().unwrap(), &change["diff"]))
        .collect();
    let diff = |path: &str| {
        let found = modes.iter().find(|(changed, _)| *changed == path);
        found.unwrap_or_else(|| panic!("{path}")).1.as_str().unwrap()
    };
    assert!(diff("program.sh").contains("100755"), "{}", diff("program.sh"));
    assert!(diff("hooks/post-merge").contains("100755"));
    assert!(!diff("run.sh").contains("mode"), "{}", diff("run.sh"));
}

/// EX-20: the gate finds a credential in new content, and no output shows it.
#[test]
fn credential_in_a_plan_is_refused_and_not_shown() {
    let (_directory, root) = workspace();
    let secret = ["AKIA", "ZX5VQ7LMNP3RSTUW"].concat();
    let made = previewed(&root, json!([create("a", "keys.txt", &format!("key {secret}\n"))]));
    assert_eq!(made["sound"], false);
    let gates = made["gates"].as_array().unwrap();
    let gate = gates.iter().find(|gate| gate["gate"] == "credentials").unwrap();
    assert_eq!(gate["verdict"], "deny", "{gate}");
    assert!(!gate.to_string().contains(&secret));
    // A message about content that cannot be parsed does not show it, either.
    let broken = previewed(&root, json!([create("a", "keys.json", &format!("{{ {secret} }}\n"))]));
    assert_eq!(ends(&broken), [("a", 1111)]);
    assert!(!broken.to_string().contains(&secret), "{broken}");
}
