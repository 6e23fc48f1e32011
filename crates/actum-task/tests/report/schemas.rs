//! The published JSON Schemas agree with the parsers (EX-13).

use actum_document::{Problem, SchemaFile};
use actum_task::report::{
    ChangeLog, ErrorReport, ExecutionReport, ReportError, RollbackManifest, RunEnd, TaskStatus,
    schemas,
};
use serde_json::{Map, Value, json};

use crate::documents::{lines, log, manifest};
use crate::examples::{completed, facts, failed, rejection, skipped};

/// Schemas in the repository, in the order of [`schemas`].
const PUBLISHED: [(&str, &str); 5] = [
    (
        "execution-report.schema.json",
        include_str!("../../../../schemas/execution-report.schema.json"),
    ),
    ("change-log.schema.json", include_str!("../../../../schemas/change-log.schema.json")),
    (
        "rollback-manifest.schema.json",
        include_str!("../../../../schemas/rollback-manifest.schema.json"),
    ),
    ("error-report.schema.json", include_str!("../../../../schemas/error-report.schema.json")),
    ("task-status.schema.json", include_str!("../../../../schemas/task-status.schema.json")),
];

/// A document of a task: the name of its schema, its bytes, and its parser.
type Document = (&'static str, Vec<u8>, fn(&[u8]) -> Result<(), ReportError>);

fn documents() -> Vec<Document> {
    let actions = vec![completed("a001", "done"), failed("a002", 2001, "gone"), skipped("a003")];
    let mut facts = facts("report-003", "plan-003");
    facts.more.notes = vec![crate::examples::clean("a note")];
    facts.more.run = Some("0123456789ab".parse().unwrap());
    facts.more.rollback_method = Some(actum_task::report::RollbackMethod::Checkpoint);
    let report = ExecutionReport::new(facts, actions, RunEnd::RolledBack);
    let mut error = rejection();
    error.other_errors.push(error.error.clone());
    error.error.details.line = Some(3);
    let mut all: Vec<Document> = vec![
        ("execution-report.schema.json", report.write().unwrap(), |b| {
            ExecutionReport::read(b).map(drop)
        }),
        ("change-log.schema.json", log().write().unwrap(), |b| ChangeLog::read(b).map(drop)),
        ("rollback-manifest.schema.json", manifest().write().unwrap(), |b| {
            RollbackManifest::read(b).map(drop)
        }),
        ("error-report.schema.json", error.write().unwrap(), |b| ErrorReport::read(b).map(drop)),
    ];
    all.extend(lines().map(|line| -> Document {
        ("task-status.schema.json", line.write().unwrap(), |b| TaskStatus::read(b).map(drop))
    }));
    all
}

fn published(name: &str) -> Value {
    let (_, text) = PUBLISHED.iter().find(|(published, _)| *published == name).unwrap();
    serde_json::from_str(text).unwrap()
}

/// EX-13
#[test]
fn published_report_schemas_match_the_types() {
    for (file, (name, text)) in schemas().into_iter().zip(PUBLISHED) {
        jsonschema::draft202012::meta::validate(&published(name)).unwrap();
        let published = SchemaFile { name, text: text.to_owned() };
        assert_eq!(file, published, "`cargo xtask schemas` writes it");
    }
}

/// EX-13
#[test]
fn each_report_document_matches_its_schema() {
    for (name, bytes, _) in documents() {
        let value = serde_json::from_slice(&bytes).unwrap();
        jsonschema::draft202012::validate(&published(name), &value).unwrap();
    }
}

/// Returns copies of the document, each with one value removed or replaced.
fn damaged(value: &Value) -> Vec<Value> {
    let others = [
        json!(null),
        json!(true),
        json!(-1),
        json!(7),
        json!(1e16),
        json!("A b/é"),
        json!([]),
        json!({}),
    ];
    let mut all: Vec<Value> = others.to_vec();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let without: Map<String, Value> = members
                    .iter()
                    .filter(|(other, _)| *other != name)
                    .map(|(n, v)| (n.clone(), v.clone()))
                    .collect();
                all.push(Value::Object(without));
                for other in damaged(member) {
                    let mut with = members.clone();
                    with.insert(name.clone(), other);
                    all.push(Value::Object(with));
                }
            }
            let mut more = members.clone();
            more.insert("later".to_owned(), json!({"x": [1]}));
            all.push(Value::Object(more));
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                for other in damaged(element) {
                    let mut with = elements.clone();
                    with.splice(index..=index, [other]);
                    all.push(Value::Array(with));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    all
}

/// D-4
#[test]
fn damaged_document_is_rejected_where_its_schema_rejects_it() {
    for (name, bytes, read) in documents() {
        let schema = jsonschema::draft202012::new(&published(name)).unwrap();
        let mut read_of = 0;
        for value in damaged(&serde_json::from_slice(&bytes).unwrap()) {
            let is_valid = schema.is_valid(&value);
            match read(value.to_string().as_bytes()) {
                Ok(()) => {
                    assert!(is_valid, "{name}: read, but not by the schema: {value}");
                    read_of += 1;
                }
                // No schema can express this rule.
                Err(ReportError(mistake))
                    if matches!(mistake.problem, Problem::Contradiction { .. }) =>
                {
                    assert!(is_valid, "{name}: {mistake}: {value}");
                }
                Err(error) => assert!(!is_valid, "{name}: {error}: {value}"),
            }
        }
        assert!(read_of > 3, "{name}: {read_of}");
    }
}

/// EX-14, EX-15
#[test]
fn wrong_totals_in_a_document_are_rejected() {
    let places = [
        ("/actions_summary/completed", 0),
        ("/duration_ms", 0),
        ("/files_affected_count", 1),
        ("/total_lines_changed", 1),
    ];
    for (place, index) in places {
        let (_, bytes, read) = documents().swap_remove(index);
        let mut value: Value = serde_json::from_slice(&bytes).unwrap();
        *value.pointer_mut(place).unwrap() = json!(2000);
        let ReportError(mistake) = read(value.to_string().as_bytes()).unwrap_err();
        assert!(matches!(mistake.problem, Problem::Contradiction { .. }), "{place}: {mistake}");
    }
}
