//! Linting a plan against a tree of files.

use actum_core::RelPath;
use actum_task::{
    ActionType, ErrorCode, Files, Finding, Pipeline, SystemConfig, TaskPlan, is_rejected, lint,
    unavailable,
};
use serde_json::{Value, json};

use crate::examples::everything;

/// Builds an action with an id, a type, a target and further members.
fn action(id: &str, action_type: &str, target: &str, more: Value) -> Value {
    let operation = match action_type {
        "FILE_CREATE" => json!({"type": "create", "content": ""}),
        "FILE_RENAME" => json!({"type": "rename", "new_path": more["new_path"]}),
        "FILE_DELETE" => json!({"type": "delete"}),
        "PIPELINE_RUN" => json!({"type": "pipeline_run", "pipeline": "x"}),
        _ => json!({"type": "content", "content": ""}),
    };
    let mut action = json!({"action_id": id, "action_type": action_type, "target": target,
        "operation": operation});
    for name in ["depends_on", "preconditions", "operation", "reversible"] {
        if !more[name].is_null() {
            action[name] = more[name].clone();
        }
    }
    action
}

fn none() -> Value {
    Value::Null
}

fn after(ids: &[&str]) -> Value {
    json!({"depends_on": ids})
}

fn found(order: &str, actions: &[Value], files: &[&str]) -> Vec<Finding> {
    let plan = json!({"plan_id": "p", "action_plan": actions,
        "execution_instructions": {"execution_order": order}});
    let plan = TaskPlan::read(plan.to_string().as_bytes()).unwrap();
    let exists = |path: &RelPath| files.iter().any(|file| file.as_bytes() == path.as_bytes());
    let may_change = |_: &Pipeline, path: &RelPath| path.as_bytes().starts_with(b"out/");
    let files = Files { exists: &exists, may_change: &may_change };
    lint(&plan, &plan.graph().unwrap(), &SystemConfig::default(), files)
}

fn reported(order: &str, actions: &[Value], files: &[&str]) -> Vec<(ErrorCode, String, String)> {
    let each = found(order, actions, files).into_iter();
    each.map(|it| (it.code(), it.path().to_string(), it.to_string())).collect()
}

/// EX-3
#[test]
fn lint_accounts_for_files_changed_by_earlier_actions() {
    let actions = [
        action("change", "FILE_MODIFY", "new", after(&["make"])),
        action("make", "FILE_CREATE", "new", none()),
        action(
            "move",
            "FILE_RENAME",
            "new",
            json!({"new_path": "newer", "depends_on": ["change"]}),
        ),
        action("again", "FILE_CREATE", "new", after(&["move"])),
        action("update", "SCHEMA_UPDATE", "newer", after(&["move"])),
        action("remove", "FILE_DELETE", "newer", after(&["update"])),
        action("below", "FILE_CREATE", "newer/file", after(&["remove"])),
    ];
    assert_eq!(found("sequential", &actions, &[]), []);
    assert_eq!(found("parallel", &actions, &[]), []);
}

/// EX-3, EX-8
#[test]
fn missing_or_existing_target_fails_and_dependents_are_skipped() {
    let actions = [
        action("gone", "FILE_DELETE", "a", none()),
        action("change", "FILE_MODIFY", "a", none()),
        action("follow", "FILE_CREATE", "b", after(&["change"])),
        action("farther", "FILE_CREATE", "c", after(&["follow"])),
        action("make", "FILE_CREATE", "here", none()),
        action("move", "FILE_RENAME", "here", json!({"new_path": "there"})),
        action("itself", "FILE_RENAME", "here", json!({"new_path": "here"})),
        action("below", "FILE_CREATE", "here/x/y", none()),
        action("still", "FILE_MODIFY", "here", none()),
    ];
    let findings = found("sequential", &actions, &["a", "here", "there"]);
    assert!(!is_rejected(&findings));
    assert_eq!(reported("sequential", &actions, &["a", "here", "there"]), [
        (
            ErrorCode::FileNotFound,
            "action_plan[1].target".to_owned(),
            "the action `change` would fail because its target `a` would not exist; create the file in \
             an earlier action, or correct the path"
                .to_owned()
        ),
        (
            ErrorCode::DependencyFailed,
            "action_plan[2].depends_on".to_owned(),
            "the action `follow` would be skipped because it depends on `change`, which would not be \
             completed"
                .to_owned()
        ),
        (
            ErrorCode::DependencyFailed,
            "action_plan[3].depends_on".to_owned(),
            "the action `farther` would be skipped because it depends on `follow`, which would not be \
             completed"
                .to_owned()
        ),
        (
            ErrorCode::FileExists,
            "action_plan[4].target".to_owned(),
            "the action `make` would fail because `here` would already exist; modify that file instead, or \
             choose a different path"
                .to_owned()
        ),
        (
            ErrorCode::FileExists,
            "action_plan[5].operation".to_owned(),
            "the action `move` would fail because `there` would already exist; modify that file instead, or \
             choose a different path"
                .to_owned()
        ),
        (
            ErrorCode::FileExists,
            "action_plan[6].operation".to_owned(),
            "the action `itself` would fail because `here` would already exist; modify that file instead, or \
             choose a different path"
                .to_owned()
        ),
        (
            ErrorCode::NotAFile,
            "action_plan[7].target".to_owned(),
            "the action `below` would fail because `here/x/y` is below `here`, which would be a file; \
             choose a different path"
                .to_owned()
        ),
    ]);
}

/// EX-8
#[test]
fn parallel_actions_on_the_same_file_need_an_order() {
    let looks = json!({"preconditions": [{"type": "exists", "path": "a"}]});
    let actions = [
        action("one", "FILE_MODIFY", "a", none()),
        action("look", "FILE_MODIFY", "b", looks.clone()),
        action("look too", "FILE_MODIFY", "c", looks),
        action("two", "FILE_RENAME", "a", json!({"new_path": "d", "depends_on": ["one", "look"]})),
        action("make", "FILE_CREATE", "d", none()),
    ];
    let touch = |first: &str, second: &str, path: &str| {
        format!(
            "the actions `{first}` and `{second}` both touch `{path}` and could run at the same time; \
             make one depend on the other, or set `execution_order` to `sequential`"
        )
    };
    let reported: Vec<_> = found("parallel", &actions, &["a", "b", "c"]).into_iter().collect();
    let unordered: Vec<String> = reported
        .iter()
        .filter(|it| it.code() == ErrorCode::UnorderedActions)
        .map(ToString::to_string)
        .collect();
    assert_eq!(
        unordered,
        [
            touch("one", "look", "a"),
            touch("one", "look too", "a"),
            touch("look too", "two", "a"),
            touch("two", "make", "d"),
        ]
    );
    assert!(is_rejected(&reported));
    assert!(
        found("sequential", &actions, &["a", "b", "c"])
            .iter()
            .all(|finding| finding.code() != ErrorCode::UnorderedActions)
    );
}

/// EX-12: an action declared irreversible is accepted, because its effect is captured and can be undone.
#[test]
fn action_declared_irreversible_is_accepted() {
    let one = [action("run", "FILE_DELETE", "p", json!({ "reversible": false }))];
    assert_eq!(reported("sequential", &one, &["p"]), []);
}

/// EX-3, EX-9: a lint accepts pipeline outputs as present or absent, because they are known only after the pipeline runs.
#[test]
fn lint_accepts_pipeline_outputs_as_present_or_absent() {
    let actions = |change: &str| {
        [
            action("run", "PIPELINE_RUN", "out", none()),
            action("change", "FILE_MODIFY", change, after(&["run"])),
            action("make", "FILE_CREATE", "out/there", after(&["run"])),
        ]
    };
    assert_eq!(reported("sequential", &actions("out/new"), &["out/there"]), []);
    let reported = reported("sequential", &actions("other"), &["out/there"]);
    assert_eq!(reported.first().map(|(code, ..)| *code), Some(ErrorCode::FileNotFound));
    assert_eq!(reported.len(), 1);
}

/// EX-9
#[test]
fn lint_finds_actions_that_cannot_run_here() {
    let plan = TaskPlan::read(everything().as_bytes()).unwrap();
    let exists = |path: &RelPath| ![&b"bin/run"[..], b"n"].contains(&path.as_bytes());
    let files = Files { exists: &exists, may_change: &|_, _| false };
    let findings = lint(&plan, &plan.graph().unwrap(), &SystemConfig::default(), files);
    let codes: Vec<ErrorCode> = findings.iter().map(Finding::code).collect();
    // This closure makes `bin` a file, so nothing can be created below it.
    assert_eq!(codes, [ErrorCode::NotAFile, ErrorCode::DependencyFailed]);
    let no_sql = unavailable(&plan, ActionType::SqlExecute, "there is no library");
    let no_sql = no_sql.iter().map(|finding| (finding.code(), finding.to_string()));
    let message = "the action `sql` has the type SQL_EXECUTE, which is not available on this host: there is no library";
    assert_eq!(no_sql.collect::<Vec<_>>(), [(ErrorCode::NotAvailable, message.to_owned())]);
}
