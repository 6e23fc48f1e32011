//! Property tests with random documents and bytes: a file stays parseable when a value is edited, and no input makes
//! the check panic.

use actum_edit::{Operation, Splice};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::action;
use super::*;
use crate::task::operation;

fn value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i16>().prop_map(Value::from),
        "[a\\\\\"é\n,:{}/*#\\[\\]& -]{0,5}".prop_map(Value::from),
    ];
    scalar.prop_recursive(4, 20, 4, |inner| {
        let name = prop::sample::select(vec!["a", "b c", "//", "é", "on", "1"]);
        let member = (name.prop_map(str::to_owned), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            prop::collection::vec(member, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Collects the JSONPath of every value nested in `value`, together with the value itself.
fn places<'v>(value: &'v Value, path: String, found: &mut Vec<(String, &'v Value)>) {
    found.push((path.clone(), value));
    match value {
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(index, item)| places(item, format!("{path}[{index}]"), found)),
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| places(value, format!("{path}['{name}']"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a value as pretty-printed JSON with a comment at the end of each line.
fn commented(value: &Value, comment: &str) -> String {
    serde_json::to_string_pretty(value).unwrap().replace('\n', &format!("{comment}\n")) + comment
}

/// Returns a value as YAML that writes non-empty collections in block style.
fn yaml(value: &Value, indent: usize) -> String {
    let mut lines = String::new();
    let mut line = |mark: String, inner: &Value| {
        let blanks = " ".repeat(indent);
        lines.push_str(&format!("\n{blanks}{mark}{}", yaml(inner, indent + 2)));
    };
    if let Value::Array(items) = value {
        items.iter().for_each(|item| line("-".to_owned(), item));
    }
    if let Value::Object(members) = value {
        let mut member = |(name, value): (&String, &Value)| {
            line(format!("{}:", Value::from(&**name)), value);
        };
        members.iter().for_each(&mut member);
    }
    if lines.is_empty() { format!(" {value} # x") } else { lines }
}

/// Applies an operation of a plan and returns the result of the content check. Rejects the test case if the operation
/// cannot be applied.
fn done(target: &str, before: &str, operation: Value) -> Result<Checked, TestCaseError> {
    let action = action("FILE_MODIFY", target, operation);
    let Ok(Operation::Edit { path, edit, .. }) = operation::from_action(&action) else {
        return Err(TestCaseError::fail("it is an edit"));
    };
    // An edit can be impossible, for example if YAML cannot express the value or the member already exists.
    let Ok(splices) = edit.splices(before.as_bytes()) else {
        return Err(TestCaseError::reject("it cannot be done"));
    };
    let after = Splice::apply(&splices, before.as_bytes()).unwrap();
    let (before, after) = (before.as_bytes(), after.as_slice());
    let before = Some(File { path: &path, content: before });
    judge(&action, before, File { path: &path, content: after })
        .map_err(|problem| TestCaseError::fail(problem.message))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_global_rejects: 20_000, ..ProptestConfig::default() })]

    /// EX-10, EX-20
    #[test]
    fn editing_a_value_leaves_parseable_json(
        (document, new) in (value(), value()),
        (at, kind, style) in (any::<prop::sample::Index>(), 0..3, 0..4),
    ) {
        let mut found = Vec::new();
        places(&document, "$".to_owned(), &mut found);
        let (path, there) = at.get(&found).clone();
        let operation = match (kind, there) {
            (0, Value::Object(_)) => {
                json!({ "type": "json_add_property", "path": path, "key": "new", "value": new })
            }
            (1, Value::Object(members)) if !members.is_empty() => {
                let key = members.keys().next();
                json!({ "type": "json_remove_property", "path": path, "key": key })
            }
            _ => json!({ "type": "json_update_value", "path": path, "value": new }),
        };
        let (target, text) = match style {
            0 => ("a.json", document.to_string()),
            1 => ("a.json", serde_json::to_string_pretty(&document).unwrap()),
            2 => ("a.jsonc", commented(&document, " // x")),
            _ => ("a.json", commented(&document, " /* x */")),
        };
        prop_assert_eq!(done(target, &text, operation)?, Checked::Whole);
    }

    /// EX-10, EX-20
    #[test]
    fn editing_a_value_leaves_parseable_yaml(
        (document, new) in (value(), value()),
        (at, is_in_blocks) in (any::<prop::sample::Index>(), any::<bool>()),
    ) {
        let mut found = Vec::new();
        places(&document, "$".to_owned(), &mut found);
        let path = &at.get(&found).0;
        let text = if is_in_blocks { yaml(&document, 0) } else { document.to_string() } + "\n";
        prop_assert_eq!(Language::Yaml.judge(text.as_bytes()), Ok(()), "{}", text);
        let operation = json!({ "type": "yaml_update", "path": path, "value": new });
        prop_assert_eq!(done("a.yaml", &text, operation)?, Checked::Whole);
    }

    /// EX-20
    #[test]
    fn arbitrary_bytes_are_validated_consistently(
        before in prop::collection::vec(byte(), 0..60),
        after in prop::collection::vec(byte(), 0..60),
    ) {
        let content = json!({ "type": "content", "content": "" });
        for target in ["a.json", "a.jsonc", "a.jsonl", "a.yaml", "hooks/update", "a.rs"] {
            let path = RelPath::new(target).unwrap();
            let (old, new) =
                (File { path: &path, content: &before }, File { path: &path, content: &after });
            for kind in ["FILE_MODIFY", "SCHEMA_UPDATE"] {
                let action = action(kind, target, content.clone());
                let as_new = judge(&action, None, new);
                // An edited file is never checked more strictly than a new file with the same content.
                let as_edited = judge(&action, Some(old), new);
                prop_assert!(as_new.is_err() || as_edited.is_ok(), "{target} {as_edited:?}");
                prop_assert_eq!(judge(&action, Some(new), new).is_ok() || kind == "SCHEMA_UPDATE", true);
            }
        }
    }
}

/// Generates mostly bytes that have a special meaning in JSON or YAML.
fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        4 => prop::sample::select(b"{}[]\"':,-#!/*&\\ \n\r\ta1?|>%@`~<.".to_vec()),
        1 => any::<u8>(),
    ]
}
