//! Examples in `docs/json.md`, read into their types and held to their schemas.

use std::collections::BTreeSet;
use std::error::Error;

use actum_api::{DocumentType, document_types};
use serde_json::{Deserializer, Value};

const PAGE: &str = include_str!("../../../docs/json.md");

/// Documents of which the page has no example.
const WITHOUT_EXAMPLE: &[&str] = &[
    "actum.queue-event/1",
    "actum.alerts-seen/1",
    "actum.denied/1",
    "actum.plan/1",
    "actum.catalog-lint/1",
    "actum.plan-lint/1",
    "actum.plan-preview/1",
    "actum.plan-new/1",
    "actum.plan-approve/1",
    "actum.task-status/1",
    "actum.task-code/1",
    "actum.rollback/1",
    "actum.plugin-new/1",
    "actum.plugin-lint/1",
    "actum.plugin-test/1",
    "actum.policy-check/1",
    "actum.policy-test/1",
    "actum.command-explanation/1",
    "actum.run-explanation/1",
    "actum.policy-suggestion/1",
    "actum.trust/1",
    "actum.reason/1",
    "actum.reasons/1",
    "actum.completions/1",
    "actum.man/1",
    "actum.demo/1",
];

#[test]
fn examples_of_the_page_are_valid_and_read_into_their_types() {
    let mut shown = BTreeSet::new();
    for example in examples() {
        let Some(format) = example.get("format").and_then(Value::as_str) else { continue };
        let Some(document) = document_types().find(|it| it.format == format) else { continue };
        check(document, &example).unwrap();
        shown.insert(document.format);
    }
    let missing: Vec<_> =
        document_types().map(|it| it.format).filter(|it| !shown.contains(it)).collect();
    let known: Vec<_> = document_types()
        .map(|it| it.format)
        .filter(|format| WITHOUT_EXAMPLE.contains(format))
        .collect();
    assert_eq!(missing, known);
}

#[test]
fn unknown_fields_are_skipped() {
    for mut example in examples() {
        let Some(format) = example.get("format").and_then(Value::as_str) else { continue };
        let Some(document) = document_types().find(|it| it.format == format) else { continue };
        let expected = document.rewrite(&example.to_string()).unwrap();
        example.as_object_mut().unwrap().insert("later_field".into(), 1.into());
        assert_eq!(document.rewrite(&example.to_string()).unwrap(), expected);
    }
}

#[test]
fn formats_are_unique_and_schemas_name_each_field() {
    let formats: BTreeSet<_> = document_types().map(|it| it.format).collect();
    assert_eq!(formats.len(), document_types().count());
    for document in document_types() {
        let schema = document.schema();
        jsonschema::meta::validate(&schema).unwrap();
        check_descriptions(document.format, &schema);
    }
}

fn check(document: &DocumentType, example: &Value) -> Result<(), Box<dyn Error>> {
    let validator = jsonschema::validator_for(&document.schema())?;
    let errors: Vec<_> = validator.iter_errors(example).map(|it| it.to_string()).collect();
    assert_eq!(errors, Vec::<String>::new(), "{example}");
    assert_eq!(&document.rewrite(&example.to_string())?, example);
    Ok(())
}

/// Checks that each property has a description: its own, or that of the variant which it alone makes up.
fn check_descriptions(format: &str, schema: &Value) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        let is_variant = properties.len() == 1 && schema.get("description").is_some();
        for (name, property) in properties {
            let has_description = property.get("description").is_some() || is_variant;
            let is_tag = property.get("const").is_some();
            assert!(has_description || is_tag, "{format}: `{name}` has no description");
        }
    }
    match schema {
        Value::Object(members) => members.values().for_each(|it| check_descriptions(format, it)),
        Value::Array(items) => items.iter().for_each(|it| check_descriptions(format, it)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the JSON documents in the console blocks of the page.
fn examples() -> Vec<Value> {
    let mut examples = Vec::new();
    for block in PAGE.split("\n```console").skip(1) {
        let block = block.split("\n```").next().unwrap_or_default();
        for (at, _) in block.match_indices("\n{") {
            let text = block.split_at(at).1;
            if let Some(Ok(example)) = Deserializer::from_str(text).into_iter().next() {
                examples.push(with_micros(example));
            }
        }
    }
    examples
}

/// Cuts times to microseconds. The page shows all times alike, with nine digits of a second.
fn with_micros(value: Value) -> Value {
    match value {
        Value::String(text) => match text.strip_suffix("942Z") {
            Some(time) if time.len() == 26 => format!("{time}Z").into(),
            Some(_) | None => text.into(),
        },
        Value::Array(items) => items.into_iter().map(with_micros).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (name, with_micros(value))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}
