//! The published JSON Schemas agree with the parser.

use actum_document::{Problem, SchemaFile};
use actum_task::{Mistakes, SystemConfig, TaskEnvelope, TaskPlan, schemas};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::documents;
use crate::envelopes::ENVELOPE;
use crate::examples::{ADDS_A_PROPERTY, TOUCHES_WHAT_IS_PROTECTED, WITH_DETAILS, everything};
use crate::settings::everything_set;
use crate::written_out::written_out;

/// Schemas in the repository, in the order of [`schemas`].
const PUBLISHED: [(&str, &str); 3] = [
    ("task-plan.schema.json", include_str!("../../../../schemas/task-plan.schema.json")),
    ("task-envelope.schema.json", include_str!("../../../../schemas/task-envelope.schema.json")),
    ("system-config.schema.json", include_str!("../../../../schemas/system-config.schema.json")),
];

fn published(index: usize) -> Value {
    serde_json::from_str(PUBLISHED[index].1).unwrap()
}

/// EX-2
#[test]
fn published_action_schemas_match_the_types() {
    for (file, (name, text)) in schemas().into_iter().zip(PUBLISHED) {
        let published = SchemaFile { name, text: text.to_owned() };
        assert_eq!(file, published, "`cargo xtask schemas` writes it");
    }
}

/// EX-2
#[test]
fn published_schemas_are_valid_and_accept_the_seed_examples() {
    let everything = everything().replace("1e400", "1e40");
    for (index, document) in [
        (0, ADDS_A_PROPERTY),
        (0, TOUCHES_WHAT_IS_PROTECTED),
        (0, WITH_DETAILS),
        (0, &*everything),
        (1, ENVELOPE),
        (2, "{}"),
        (2, &*everything_set().to_string()),
    ] {
        let schema = published(index);
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let document = serde_json::from_str(document).unwrap();
        jsonschema::draft202012::validate(&schema, &document).unwrap();
    }
}

/// EX-2: problems of a wrong operation are reported for the intended kind.
#[test]
fn schema_validator_reports_the_intended_operation_variant() {
    let schema = published(0);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let wrong = ADDS_A_PROPERTY.replace(r#""key": "new_field","#, r#""key": 7,"#);
    let wrong = serde_json::from_str(&wrong).unwrap();
    let errors: Vec<String> = validator.iter_errors(&wrong).map(|it| it.to_string()).collect();
    assert_eq!(errors, [r#"7 is not of type "string""#]);
}

/// Returns whether only the parser can detect the problems: duplicate names, reversed ranges, and invalid path rules or YAML bytes.
fn is_beyond_schemas(mistakes: &Mistakes) -> bool {
    mistakes.list.iter().all(|mistake| {
        matches!(
            mistake.problem,
            Problem::Doubled | Problem::Backwards { .. } | Problem::Rule(_) | Problem::Yaml { .. }
        )
    })
}

/// Checks that reader and schema agree on these bytes.
fn agree(
    schema: &Validator,
    bytes: &[u8],
    read: Result<(), Mistakes>,
) -> Result<(), TestCaseError> {
    // A schema is not applied to invalid JSON, or to numbers that other readers reject.
    let value = serde_json::from_slice::<Value>(bytes);
    let holds = value.as_ref().is_ok_and(|value| schema.is_valid(value));
    match read {
        Ok(()) => prop_assert!(value.is_err() || holds, "read, but not by the schema"),
        Err(mistakes) if is_beyond_schemas(&mistakes) => {}
        Err(mistakes) => prop_assert!(!holds, "by the schema, but not read: {mistakes}"),
    }
    Ok(())
}

fn every_document(
    index: usize,
    documents: fn(&Value) -> BoxedStrategy<Vec<u8>>,
    read: impl Fn(&[u8]) -> Result<(), Mistakes>,
) {
    let schema = published(index);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let accepted = std::cell::Cell::new(0u32);
    let config =
        ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let each = |bytes: Vec<u8>| {
        let read = read(&bytes);
        accepted.set(accepted.get() + u32::from(read.is_ok()));
        agree(&validator, &bytes, read)
    };
    let documents = documents(&written_out(&schema));
    let found = runner.run(&documents, each).map_err(|error| error.to_string());
    assert_eq!(found, Ok(()));
    // Ensures that the documents are not all accepted or all rejected.
    let accepted = accepted.get();
    assert!((300..2_700).contains(&accepted), "{accepted} of 3000 are sound");
}

/// EX-2
#[test]
fn plan_reader_matches_its_schema_and_plans_round_trip() {
    every_document(0, documents::bytes, |bytes| {
        let plan = TaskPlan::read(bytes).map_err(|error| error.0)?;
        assert_eq!(TaskPlan::read(plan.to_json().as_bytes()).unwrap(), plan);
        Ok(())
    });
}

/// EX-1
#[test]
fn envelope_reader_matches_its_schema() {
    every_document(1, documents::bytes, |bytes| {
        TaskEnvelope::read(bytes).map(drop).map_err(|error| error.mistakes().clone())
    });
}

/// EX-2: JSON is valid YAML, except for some control characters.
#[test]
fn config_reader_matches_its_schema() {
    let documents = |schema: &Value| {
        documents::document(schema).prop_map(|value| value.to_string().into_bytes()).boxed()
    };
    every_document(2, documents, |bytes| {
        SystemConfig::read(bytes).map(drop).map_err(|error| error.0)
    });
}

/// EX-1, EX-2
#[test]
fn any_bytes_are_read_without_a_panic() {
    proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..200))| {
        drop((TaskPlan::read(&bytes), TaskEnvelope::read(&bytes), SystemConfig::read(&bytes)));
    });
    proptest!(|(text in "[a-c:&*!<>|?\\[\\]{}\"', \n\t#-]{0,40}")| {
        drop(SystemConfig::read(text.as_bytes()));
    });
}
