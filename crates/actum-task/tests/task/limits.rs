//! Limits, tested at and beyond their values, and the time for large plans.

use actum_task::limits::{
    ACTION_ID_CHARS_MAX, ACTIONS_MAX, CONDITIONS_MAX, CONFIG_BYTES_MAX, CONTENT_CHARS_MAX,
    DEPENDENCIES_MAX, DESCRIPTION_CHARS_MAX, ENVELOPE_BYTES_MAX, FILES_MAX, HUNKS_MAX,
    ID_CHARS_MAX, KEY_CHARS_MAX, PIPELINE_CHARS_MAX, PLAN_BYTES_MAX, PROBLEMS_MAX,
    PROTECTED_RULES_MAX, SELECTOR_CHARS_MAX, VALIDATION_RULES_MAX,
};
use actum_task::{ErrorCode, Files, Finding, SystemConfig, TaskEnvelope, TaskPlan, lint};
use serde_json::{Value, json};

use crate::envelopes::ENVELOPE;
use crate::examples::everything;

fn code(plan: &Value) -> Option<ErrorCode> {
    let error = TaskPlan::read(plan.to_string().as_bytes()).err()?.0;
    assert_eq!(error.list.len(), 1, "{error}");
    Some(error.code())
}

fn delete() -> Value {
    json!({"action_id": "a", "action_type": "FILE_DELETE", "target": "f"})
}

fn plan(actions: Vec<Value>) -> Value {
    json!({"plan_id": "p", "action_plan": actions})
}

/// Builds a plan with one action in which `name` has this value.
fn with(name: &str, value: Value) -> Value {
    let mut action = delete();
    action[name] = value;
    plan(vec![action])
}

/// Builds a plan of one action that modifies a file with this operation.
fn modify(operation: Value) -> Value {
    let mut plan = with("operation", operation);
    plan["action_plan"][0]["action_type"] = json!("FILE_MODIFY");
    plan
}

fn text(chars: usize) -> Value {
    json!("x".repeat(chars))
}

/// EX-2, EX-21
#[test]
fn plan_text_and_list_limits_are_exact() {
    type Made = fn(usize) -> Value;
    let cases: &[(usize, Made)] = &[
        (ID_CHARS_MAX, |count| {
            let mut plan = plan(vec![delete()]);
            plan["plan_id"] = text(count);
            plan
        }),
        (ACTION_ID_CHARS_MAX, |count| with("action_id", text(count))),
        (DESCRIPTION_CHARS_MAX, |count| with("description", text(count))),
        (DEPENDENCIES_MAX, |count| with("depends_on", json!(vec!["b"; count]))),
        (CONDITIONS_MAX, |count| {
            with("preconditions", json!(vec![json!({"type": "exists"}); count]))
        }),
        (CONDITIONS_MAX, |count| {
            with("postconditions", json!(vec![json!({"type": "absent"}); count]))
        }),
        (VALIDATION_RULES_MAX, |count| {
            let rules = vec![json!({"type": "exists", "path": "f"}); count];
            let mut plan = plan(vec![delete()]);
            plan["execution_instructions"] = json!({"validation_rules": rules});
            plan
        }),
        (ACTIONS_MAX, |count| plan(vec![delete(); count])),
        (HUNKS_MAX, |count| {
            let hunk = json!({"old_start": 1, "old_lines": 1, "new_start": 1, "new_lines": 1,
                "lines": "-a\n+b\n"});
            modify(json!({"type": "hunks", "hunks": vec![hunk; count]}))
        }),
        (SELECTOR_CHARS_MAX, |count| {
            let path = format!("${}", "x".repeat(count - 1));
            modify(json!({"type": "json_remove_property", "path": path, "key": ""}))
        }),
        (KEY_CHARS_MAX, |count| {
            modify(json!({"type": "json_remove_property", "path": "$", "key": text(count)}))
        }),
        (PIPELINE_CHARS_MAX, |count| {
            let mut plan =
                with("operation", json!({"type": "pipeline_run", "pipeline": text(count)}));
            plan["action_plan"][0]["action_type"] = json!("PIPELINE_RUN");
            plan
        }),
        (CONTENT_CHARS_MAX, |count| modify(json!({"type": "content", "content": text(count)}))),
    ];
    for (max, made) in cases {
        assert_eq!(code(&made(*max)), None, "{max}");
        assert_eq!(code(&made(max + 1)), Some(ErrorCode::LimitExceeded), "{max}");
    }
    assert_eq!(code(&plan(Vec::new())), Some(ErrorCode::SchemaViolation));
}

/// EX-21: section 11.1
#[test]
fn timeout_limits_are_exact_for_each_action_type() {
    let all: Value = serde_json::from_str(&everything().replace("1e400", "1")).unwrap();
    for (action_type, max) in [
        ("FILE_CREATE", 120),
        ("FILE_MODIFY", 120),
        ("FILE_DELETE", 120),
        ("FILE_RENAME", 120),
        ("SCHEMA_UPDATE", 60),
        ("SQL_EXECUTE", 300),
        ("PIPELINE_RUN", 3600),
    ] {
        let actions = all["action_plan"].as_array().unwrap();
        let action = actions.iter().find(|it| it["action_type"] == action_type).unwrap();
        let with = |seconds: i64| {
            let mut action = action.clone();
            action["timeout_seconds"] = json!(seconds);
            code(&plan(vec![action]))
        };
        assert_eq!((with(1), with(max)), (None, None), "{action_type}");
        assert_eq!(with(0), Some(ErrorCode::SchemaViolation));
        assert_eq!(with(max + 1), Some(ErrorCode::SchemaViolation));
    }
}

/// EX-21: sections 11.1 and 11.2
#[test]
fn config_number_limits_are_exact() {
    for (group, name, max) in [
        ("timeouts", "file_seconds", 120),
        ("timeouts", "schema_seconds", 60),
        ("timeouts", "sql_seconds", 300),
        ("timeouts", "pipeline_seconds", 3600),
        ("timeouts", "task_seconds", 3600),
        ("limits", "max_files", 100),
        ("limits", "max_file_bytes", 50_000_000),
        ("limits", "max_backup_bytes", 500_000_000),
        ("limits", "max_parallel", 4),
        ("rollback_manifest", "ttl_days", 3650),
    ] {
        let with =
            |number: i64| SystemConfig::read(format!("{group}:\n  {name}: {number}\n").as_bytes());
        assert!(with(1).is_ok() && with(max).is_ok(), "{name}");
        for number in [0, -1, max + 1] {
            let error = with(number).unwrap_err().to_string();
            let expected = format!(
                "the system config cannot be used: line 2, column {}: `{group}.{name}`: expected a \
                 whole number from 1 to {max}, but found `{number}`",
                name.len() + 5
            );
            assert_eq!(error, expected);
        }
    }
    let rules = |count: usize| {
        SystemConfig::read(json!({"protected_files": vec!["a"; count]}).to_string().as_bytes())
    };
    assert!(rules(PROTECTED_RULES_MAX).is_ok());
    assert_eq!(rules(PROTECTED_RULES_MAX + 1).unwrap_err().0.code(), ErrorCode::LimitExceeded);
}

/// EX-2
#[test]
fn document_size_limits_are_exact() {
    let padded = |text: &str, bytes: usize| {
        let mut text = text.as_bytes().to_vec();
        text.resize(bytes, b' ');
        text
    };
    let small = plan(vec![delete()]).to_string();
    assert!(TaskPlan::read(&padded(&small, PLAN_BYTES_MAX)).is_ok());
    let error = TaskPlan::read(&padded(&small, PLAN_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.0.code(), ErrorCode::InputTooLarge);
    assert_eq!(
        error.to_string(),
        "the task plan cannot be used: the document has 104857601 bytes, but at most 104857600 are allowed"
    );
    assert!(TaskEnvelope::read(&padded(ENVELOPE, ENVELOPE_BYTES_MAX)).is_ok());
    let error = TaskEnvelope::read(&padded(ENVELOPE, ENVELOPE_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.mistakes().code(), ErrorCode::InputTooLarge);
    assert!(SystemConfig::read(&padded("{}", CONFIG_BYTES_MAX)).is_ok());
    let error = SystemConfig::read(&padded("{}", CONFIG_BYTES_MAX + 1)).unwrap_err();
    assert_eq!(error.0.code(), ErrorCode::InputTooLarge);
}

/// EX-2
#[test]
fn only_the_first_hundred_problems_are_reported() {
    let wrong = |count: usize| {
        let mut action = delete();
        action["target"] = json!("/");
        TaskPlan::read(plan(vec![action; count]).to_string().as_bytes()).unwrap_err()
    };
    let all = wrong(PROBLEMS_MAX);
    assert_eq!((all.0.list.len(), all.0.is_cut), (PROBLEMS_MAX, false));
    let cut = wrong(PROBLEMS_MAX + 1);
    assert_eq!((&cut.0.list, cut.0.is_cut), (&all.0.list, true));
    assert!(cut.to_string().ends_with(" (and more than 99 other problems)"), "{cut}");
    // Unknown fields count too, and each one is compared with all known names.
    let unknown = |count: usize| {
        let mut action = delete();
        let details: serde_json::Map<_, _> =
            (0..count).map(|index| (format!("x{index}"), Value::Null)).collect();
        action["operation"] = json!({"type": "delete", "details": details});
        TaskPlan::read(plan(vec![action]).to_string().as_bytes()).unwrap_err().0
    };
    assert_eq!((unknown(100).list.len(), unknown(100).is_cut), (PROBLEMS_MAX, false));
    assert_eq!((unknown(100_000).list.len(), unknown(100_000).is_cut), (PROBLEMS_MAX, true));
}

/// Builds a plan of `count` actions, each on its own file and dependent on the previous one.
fn chain(count: usize, order: &str) -> String {
    let actions: Vec<String> = (0..count)
        .map(|index| {
            let after = index.checked_sub(1).map_or(String::new(), |it| format!("\"a{it}\""));
            format!(
                "{{\n\"action_id\": \"a{index}\",\n\"action_type\": \"FILE_MODIFY\",\n\"target\": \
                 \"src/f{}.rs\",\n\"operation\": {{\n\"type\": \"text_replace\",\n\"pattern\": \
                 \"a\",\n\"replacement\": \"b\"}},\n\"depends_on\": [{after}]\n}}",
                index % 100
            )
        })
        .collect();
    format!(
        "{{\"plan_id\": \"p\", \"action_plan\": [{}],\n\"execution_instructions\": \
         {{\"execution_order\": \"{order}\"}}}}",
        actions.join(",\n")
    )
}

fn linted(text: &str, config: &SystemConfig) -> Vec<Finding> {
    let plan = TaskPlan::read(text.as_bytes()).unwrap();
    let files = Files { exists: &|_| true, may_change: &|_, _| false };
    lint(&plan, &plan.graph().unwrap(), config, files)
}

/// EX-21: section 11.2 limits the number of files and not the number of actions.
#[test]
fn plan_file_count_and_size_limits_are_exact() {
    let config = SystemConfig::default();
    let files = usize::try_from(FILES_MAX).unwrap();
    assert_eq!(linted(&chain(3 * files, "sequential"), &config), []);
    let text = chain(files + 1, "sequential").replacen("f0.rs", "other", 1);
    assert_eq!(
        linted(&text, &config).iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["the plan touches 101 files, but a task may touch at most 100; split the plan"]
    );
    let fewer = SystemConfig::read(b"limits: {max_files: 99, max_file_bytes: 3}").unwrap();
    assert_eq!(linted(&chain(99, "sequential"), &fewer), []);
    let findings = linted(&chain(100, "sequential"), &fewer);
    assert_eq!(findings, [Finding::TooManyFiles { files: 100, files_max: 99 }]);
    assert_eq!(findings[0].code(), ErrorCode::LimitExceeded);
    let content =
        |content: &str| modify(json!({"type": "content", "content": content})).to_string();
    assert_eq!(linted(&content("aé"), &fewer), []);
    let findings = linted(&content("éé"), &fewer);
    assert_eq!(findings[0].code(), ErrorCode::FileTooLarge);
    assert_eq!(
        findings[0].to_string(),
        "the action `a` would write a file of 4 bytes, but a file may have at most 3 bytes"
    );
}

/// A plan of 10,000 lines must be linted within a second. This one has 110,000, and runs in both orders.
#[test]
fn plan_with_the_most_actions_is_linted_in_both_orders() {
    for order in ["sequential", "parallel"] {
        let text = chain(ACTIONS_MAX, order);
        assert_eq!(linted(&text, &SystemConfig::default()), []);
    }
}

/// The plan size that the requirement names: 10,000 lines.
#[test]
fn a_plan_of_ten_thousand_lines_is_linted() {
    let text = chain(1_000, "parallel");
    assert!((10_000..=10_010).contains(&text.lines().count()), "{}", text.lines().count());
    assert_eq!(linted(&text, &SystemConfig::default()), []);
}
