//! Invalid task plans are rejected with all problems, each with its position and described for the intended operation.

use actum_task::{ErrorCode, TaskPlan};
use serde_json::{Value, json};

use crate::examples::{WITH_DETAILS, everything};

fn problems(text: &str) -> Vec<(ErrorCode, String)> {
    let mistakes = TaskPlan::read(text.as_bytes()).unwrap_err().0;
    mistakes
        .list
        .iter()
        .map(|mistake| (ErrorCode::from_diagnostic(mistake), mistake.to_string()))
        .collect()
}

/// Builds a plan of one action, on its second line.
fn with(action: &str) -> String {
    format!("{{\"plan_id\":\"p\",\"action_plan\":[\n{action}]}}")
}

/// Returns the single problem of an action.
fn wrong(action: &str) -> (ErrorCode, String) {
    let mut problems = problems(&with(action));
    assert_eq!(problems.len(), 1, "{problems:?}");
    let (code, message) = problems.remove(0);
    (code, message.strip_prefix("line 2, ").unwrap().to_owned())
}

fn modify(operation: &str) -> String {
    format!(
        r#"{{"action_id":"a","action_type":"FILE_MODIFY","target":"f","operation":{operation}}}"#
    )
}

/// EX-2, D-4
#[test]
fn all_problems_are_reported_together_in_text_order() {
    let text = r#"{"plan_id":"a b",
"action_plan":[
{"action_id":"","action_type":"FILE_CREATE","target":"../x","operation":{"type":"create"}},
{"action_id":"b","action_type":"FILE_MODIFY","target":"x","dependson":[],
 "operation":{"type":"json_update_value","path":"a","value":{"a":1,"a":2}}}],
"execution_instructions":{"execution_order":"both"}}"#;
    assert_eq!(problems(text), [
        (
            ErrorCode::SchemaViolation,
            "line 1, column 12: `plan_id`: expected a string of 1 to 128 characters (letters, \
             digits, `.`, `_` and `-`), but found `a b`"
                .to_owned()
        ),
        (
            ErrorCode::SchemaViolation,
            "line 3, column 14: `action_plan[0].action_id`: expected a string of 1 to 128 \
             characters without control characters, but found 0 characters"
                .to_owned()
        ),
        (
            ErrorCode::PathTraversal,
            "line 3, column 54: `action_plan[0].target`: the path `../x` cannot be used: it contains \
             `..`"
                .to_owned()
        ),
        (
            ErrorCode::SchemaViolation,
            "line 3, column 73: `action_plan[0].operation.content`: missing field; expected a \
             string of at most 50000000 characters"
                .to_owned()
        ),
        (
            ErrorCode::UnknownField,
            "line 4, column 59: `action_plan[1].dependson`: unknown field (did you mean \
             `depends_on`?); fields of a `FILE_MODIFY` action: `action_id`, `action_type`, \
             `description`, `target`, `operation`, `depends_on`, `reversible`, `risk_level`, \
             `preconditions`, `postconditions`, `timeout_seconds`"
                .to_owned()
        ),
        (
            ErrorCode::SchemaViolation,
            "line 5, column 49: `action_plan[1].operation.path`: expected a string of 1 to 4096 \
             characters that is a JSONPath starting with `$`, but found `a`"
                .to_owned()
        ),
        (
            ErrorCode::DuplicateKey,
            "line 5, column 68: `action_plan[1].operation.value.a`: duplicate field"
                .to_owned()
        ),
        (
            ErrorCode::SchemaViolation,
            "line 6, column 45: `execution_instructions.execution_order`: expected `sequential` or \
             `parallel`, but found `both`"
                .to_owned()
        ),
    ]);
    let error = TaskPlan::read(text.as_bytes()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the task plan cannot be used: line 1, column 12: `plan_id`: expected a string of 1 to 128 \
         characters (letters, digits, `.`, `_` and `-`), but found `a b` (and 7 other problems)"
    );
    assert_eq!(error.0.code(), ErrorCode::SchemaViolation);
    let two = TaskPlan::read(b"{\"action_plan\":[]}").unwrap_err().to_string();
    assert!(two.ends_with(" (and 1 other problem)"), "{two}");
}

/// EX-2
#[test]
fn invalid_json_is_rejected_with_its_position() {
    assert_eq!(
        problems("{\n\"plan_id\": 'a'}"),
        [(
            ErrorCode::InvalidJson,
            "line 2, column 12: invalid JSON: expected a value, found `'`".to_owned()
        )]
    );
    assert_eq!(
        problems("[]"),
        [(
            ErrorCode::SchemaViolation,
            "line 1, column 1: expected a task plan, which is an object, but found an array"
                .to_owned()
        )]
    );
}

/// EX-9, EX-10
#[test]
fn wrong_operation_is_reported_for_the_intended_variant() {
    let code = ErrorCode::SchemaViolation;
    let cases = [
        (
            r#"{"type":"text_replac","pattern":1}"#,
            ErrorCode::UnknownOperation,
            "column 79: `action_plan[0].operation.type`: expected `content`, `hunks`, \
             `text_replace`, `line_insert`, `line_delete`, `json_add_property`, \
             `json_remove_property`, `json_update_value`, `yaml_update` or `yaml_remove`, but \
             found `text_replac` (did you mean `text_replace`?)",
        ),
        (
            r#"{"pattern":"a"}"#,
            code,
            "column 71: `action_plan[0].operation.type`: missing field; expected `content`, \
             `hunks`, `text_replace`, `line_insert`, `line_delete`, `json_add_property`, \
             `json_remove_property`, `json_update_value`, `yaml_update` or `yaml_remove`",
        ),
        (
            "[]",
            code,
            "column 71: `action_plan[0].operation`: expected an operation of a `FILE_MODIFY` action, \
             which is an object, but found an array",
        ),
        (
            r#"{"type":"text_replace","pattern":"","replacement":""}"#,
            code,
            "column 104: `action_plan[0].operation.pattern`: expected a string of 1 to 50000000 \
             characters, but found 0 characters",
        ),
        (
            r#"{"type":"text_replace","pattern":"a","replacement":"","count":0}"#,
            code,
            "column 133: `action_plan[0].operation.count`: expected a whole number from 1 to 1000000, \
             but found `0`",
        ),
        (
            r#"{"type":"text_replace","pattern":"a","details":{"pattern":"a","replacement":""}}"#,
            code,
            "column 94: `action_plan[0].operation.pattern`: the field is also set in `details`; \
             set it only once",
        ),
        (
            r#"{"type":"text_replace","pattern":"a","details":{"replacement":"","type":"x"}}"#,
            ErrorCode::UnknownField,
            "column 136: `action_plan[0].operation.details.type`: unknown field; fields of the \
             operation `text_replace`: `pattern`, `replacement`, `count`, `expected_prev_sha256`",
        ),
        (
            r#"{"type":"line_delete","start_line":1,"end_line":1,"details":null}"#,
            code,
            "column 131: `action_plan[0].operation.details`: expected an object, but found `null`",
        ),
        (
            r#"{"type":"line_delete","start_line":3,"details":{"end_line":2}}"#,
            code,
            "column 130: `action_plan[0].operation.details.end_line`: the range ends at `2`, \
             before its start `3`; both ends are inclusive and start at 1",
        ),
        (
            r#"{"type":"line_insert","line_number":0,"content":""}"#,
            code,
            "column 107: `action_plan[0].operation.line_number`: expected a whole number from 1 to \
             4294967295, but found `0`",
        ),
        (
            r#"{"type":"hunks","hunks":[]}"#,
            code,
            "column 95: `action_plan[0].operation.hunks`: expected a list of 1 to 10000 objects, each \
             a hunk, but found 0",
        ),
        (
            r#"{"type":"content","content":"","expected_prev_sha256":"beef"}"#,
            code,
            "column 125: `action_plan[0].operation.expected_prev_sha256`: expected a string of 64 \
             characters (0-9 and a-f), but found 4 characters",
        ),
        (
            r#"{"type":"json_add_property","path":"$","key":"k"}"#,
            code,
            "column 71: `action_plan[0].operation.value`: missing field; expected any value",
        ),
    ];
    for (operation, code, message) in cases {
        assert_eq!(wrong(&modify(operation)), (code, message.to_owned()), "{operation}");
    }
    let create = modify(r#"{"type":"line_insert","line_number":1,"content":""}"#);
    assert_eq!(wrong(&create.replace("MODIFY", "CREATE")), (
        ErrorCode::UnknownOperation,
        "column 79: `action_plan[0].operation.type`: expected `create`, but found `line_insert`"
            .to_owned()
    ));
    assert_eq!(
        wrong(&modify("{}").replace("FILE_MODIFY", "FILE_DELET")),
        (
            ErrorCode::UnknownActionType,
            "column 32: `action_plan[0].action_type`: expected `FILE_CREATE`, `FILE_MODIFY`, \
             `FILE_DELETE`, `FILE_RENAME`, `SCHEMA_UPDATE`, `SQL_EXECUTE` or `PIPELINE_RUN`, but \
             found `FILE_DELET` (did you mean `FILE_DELETE`?)"
                .to_owned()
        )
    );
    assert_eq!(
        wrong(r#"{"action_id":"a","action_type":"FILE_CREATE","target":"f"}"#),
        (
            code,
            "column 1: `action_plan[0].operation`: missing field; expected an operation of a \
             `FILE_CREATE` action, which is an object"
                .to_owned()
        )
    );
}

/// EX-4, EX-5, D-5
#[test]
fn target_outside_the_workspace_or_in_git_has_a_specific_code() {
    let content = modify(r#"{"type":"content","content":""}"#);
    for (path, code) in [
        ("../f", ErrorCode::PathTraversal),
        ("/etc/passwd", ErrorCode::PathTraversal),
        ("a/../../f", ErrorCode::PathTraversal),
        ("./f", ErrorCode::InvalidPath),
        ("a//f", ErrorCode::InvalidPath),
        ("", ErrorCode::InvalidPath),
        ("a\\u0000", ErrorCode::InvalidPath),
        (".git/hooks/pre-commit", ErrorCode::ProtectedFileViolation),
        ("sub/.GIT/config", ErrorCode::ProtectedFileViolation),
        (".Actum/journal", ErrorCode::ProtectedFileViolation),
    ] {
        let text = content.replace("\"f\"", &format!("\"{path}\""));
        assert_eq!(wrong(&text).0, code, "{path}");
        // A protected target determines the code of the whole plan, whatever problems precede it.
        let text = with(&text).replace("\"p\"", "\" \"");
        let whole = TaskPlan::read(text.as_bytes()).unwrap_err().0;
        let is_protected = code == ErrorCode::ProtectedFileViolation;
        let expected = if is_protected { code } else { ErrorCode::SchemaViolation };
        assert_eq!((whole.code(), whole.list.len()), (expected, 2), "{path}");
        assert_eq!(whole.with_code(code).count(), 1);
    }
}

/// Lists every object in a value by its path, together with a copy of the value in which that object has an extra member.
fn with_another_member(value: &Value, path: &str, found: &mut Vec<(String, Value)>) {
    let below = |name: &str| match (path, name.starts_with('[')) {
        ("", _) => name.to_owned(),
        (path, true) => format!("{path}{name}"),
        (path, false) => format!("{path}.{name}"),
    };
    match value {
        Value::Object(members) => {
            let mut another = members.clone();
            another.insert("zzzzzzz".to_owned(), Value::Null);
            found.push((below("zzzzzzz"), Value::Object(another)));
            for (name, member) in members.iter().filter(|(name, _)| !is_any(name)) {
                let mut inner = Vec::new();
                with_another_member(member, &below(name), &mut inner);
                found.extend(inner.into_iter().map(|(path, member)| {
                    let mut outer = members.clone();
                    outer.insert(name.clone(), member);
                    (path, Value::Object(outer))
                }));
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let mut inner = Vec::new();
                with_another_member(element, &below(&format!("[{index}]")), &mut inner);
                found.extend(inner.into_iter().map(|(path, element)| {
                    let mut outer = elements.clone();
                    outer[index] = element;
                    (path, Value::Array(outer))
                }));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_any(name: &str) -> bool {
    ["value", "parameters"].contains(&name)
}

/// D-4
#[test]
fn any_unknown_field_is_rejected_with_its_path() {
    let plan: Value = serde_json::from_str(&everything().replace("1e400", "1")).unwrap();
    let mut all = Vec::new();
    with_another_member(&plan, "", &mut all);
    assert!(all.len() > 45, "{}", all.len());
    for (path, plan) in all {
        let error = TaskPlan::read(plan.to_string().as_bytes()).unwrap_err().0;
        let problems: Vec<_> = error
            .list
            .iter()
            .map(|it| (it.path.to_string(), ErrorCode::from_diagnostic(it)))
            .collect();
        assert_eq!(problems, [(path, ErrorCode::UnknownField)]);
    }
}

/// EX-12, EX-21
#[test]
fn invalid_conditions_timeouts_and_risk_levels_are_rejected() {
    let action = |more: &str| {
        format!(r#"{{"action_id":"a","action_type":"FILE_DELETE","target":"f",{more}}}"#)
    };
    let code = ErrorCode::SchemaViolation;
    for (more, message) in [
        (
            r#""preconditions":[{"type":"exist"}]"#,
            "column 84: `action_plan[0].preconditions[0].type`: expected `exists`, `absent`, \
             `sha256`, `contains` or `lacks`, but found `exist` (did you mean `exists`?)",
        ),
        (
            r#""postconditions":[{"type":"sha256"}]"#,
            "column 77: `action_plan[0].postconditions[0].sha256`: missing field; expected a \
             string of 64 characters (0-9 and a-f)",
        ),
        (
            r#""timeout_seconds":121"#,
            "column 77: `action_plan[0].timeout_seconds`: expected a whole number from 1 to 120, but \
             found `121`",
        ),
        (
            r#""risk_level":"R4""#,
            "column 72: `action_plan[0].risk_level`: expected `LOW`, `MEDIUM`, `HIGH` or `CRITICAL`, \
             but found `R4`",
        ),
        (
            r#""depends_on":"a""#,
            "column 72: `action_plan[0].depends_on`: expected a list of at most 10000 strings, \
             each of 1 to 128 characters without control characters, but found a string",
        ),
    ] {
        assert_eq!(wrong(&action(more)), (code, message.to_owned()), "{more}");
    }
    let rules = json!([{"type": "exists"}]).to_string();
    let text = WITH_DETAILS.replace(
        r#""stop_on_error": true"#,
        &format!(r#""validation_rules": {rules}, "stop_on_error": true"#),
    );
    assert_eq!(
        problems(&text),
        [(
            code,
            "line 19, column 26: `execution_instructions.validation_rules[0].path`: missing field; \
             expected a string of 1 to 4095 characters that is a path below the workspace root, \
             such as `src/main.rs`"
                .to_owned()
        )]
    );
}
