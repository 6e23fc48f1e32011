//! The published JSON Schemas agree with the parser.

use actum_action::{Manifest, PlanEnvelope, ResultEnvelope, schemas};
use actum_document::{Problem, SchemaFile};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::documents;
use crate::examples::{MANIFEST, PLAN, RESULT};

/// Schemas in the repository, in the order of [`schemas`].
pub(crate) const PUBLISHED: [(&str, &str); 3] = [
    ("action-plan.schema.json", include_str!("../../../../schemas/action-plan.schema.json")),
    ("action-result.schema.json", include_str!("../../../../schemas/action-result.schema.json")),
    ("action-package.schema.json", include_str!("../../../../schemas/action-package.schema.json")),
];

pub(crate) fn published(document: &str) -> Value {
    let name = format!("{document}.schema.json");
    let (_, text) = PUBLISHED.iter().find(|(published, _)| *published == name).unwrap();
    serde_json::from_str(text).unwrap()
}

/// AA-12
#[test]
fn published_action_schemas_match_the_types() {
    for (file, (name, text)) in schemas().into_iter().zip(PUBLISHED) {
        let published = SchemaFile { name, text: text.to_owned() };
        assert_eq!(file, published, "`cargo xtask schemas` writes it");
    }
}

/// AA-12
#[test]
fn published_schemas_are_valid_and_accept_the_seed_examples() {
    for (document, example) in
        [("action-plan", PLAN), ("action-result", RESULT), ("action-package", MANIFEST)]
    {
        let schema = published(document);
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        let example = serde_json::from_str(example).unwrap();
        jsonschema::draft202012::validate(&schema, &example).unwrap();
    }
}

/// A parsed document, and the result of writing it and parsing it again.
struct Read<T> {
    document: T,
    written: Vec<u8>,
    again: T,
}

/// Result of parsing a document and writing it again.
type Answer<T> = Result<Read<T>, Problem>;

fn plan(bytes: &[u8]) -> Answer<PlanEnvelope> {
    let document = PlanEnvelope::read(bytes).map_err(|error| error.0.problem)?;
    let written = document.write().unwrap();
    let again = PlanEnvelope::read(&written).unwrap();
    Ok(Read { document, written, again })
}

fn result(bytes: &[u8]) -> Answer<ResultEnvelope> {
    let document = ResultEnvelope::read(bytes).map_err(|error| error.0.problem)?;
    let written = document.write().unwrap();
    let again = ResultEnvelope::read(&written).unwrap();
    Ok(Read { document, written, again })
}

fn manifest(bytes: &[u8]) -> Answer<Manifest> {
    let document = Manifest::read(bytes).map_err(|error| error.0.problem)?;
    let written = document.write().unwrap();
    let again = Manifest::read(&written).unwrap();
    Ok(Read { document, written, again })
}

/// Checks that parser and schema agree on these bytes, and that an accepted document round-trips.
fn agree<T: PartialEq + std::fmt::Debug>(
    schema: &Validator,
    bytes: &[u8],
    read: fn(&[u8]) -> Answer<T>,
) -> Result<(), TestCaseError> {
    // The schema is not consulted for invalid JSON or duplicate member names.
    let holds = |bytes| serde_json::from_slice::<Value>(bytes).is_ok_and(|it| schema.is_valid(&it));
    match read(bytes) {
        Ok(Read { document, written, again }) => {
            prop_assert_eq!(&document, &again);
            prop_assert!(holds(bytes), "read, but not by the schema");
            prop_assert!(holds(&written), "written, but not by the schema");
        }
        Err(Problem::NotPermitted { .. } | Problem::Doubled) => {}
        Err(problem) => prop_assert!(!holds(bytes), "by the schema, but not read: {problem}"),
    }
    Ok(())
}

fn every_document<T: PartialEq + std::fmt::Debug>(document: &str, read: fn(&[u8]) -> Answer<T>) {
    let schema = published(document);
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let accepted = std::cell::Cell::new(0u32);
    let config =
        ProptestConfig { cases: 10_000, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let each = |bytes: Vec<u8>| {
        accepted.set(accepted.get() + u32::from(read(&bytes).is_ok()));
        agree(&validator, &bytes, read)
    };
    let found = runner.run(&documents::bytes(&schema), each).map_err(|error| error.to_string());
    assert_eq!(found, Ok(()));
    // Make sure that the generator produced both valid and invalid documents.
    let accepted = accepted.get();
    assert!((1_000..9_000).contains(&accepted), "{accepted} of 10000 {document}s are sound");
}

/// AA-1, AA-12
#[test]
fn ten_thousand_plans_match_their_schema_and_round_trip() {
    every_document("action-plan", plan);
}

/// AA-2, AA-12
#[test]
fn ten_thousand_results_match_their_schema_and_round_trip() {
    every_document("action-result", result);
}

/// AA-8, AA-12
#[test]
fn ten_thousand_manifests_match_their_schema_and_round_trip() {
    every_document("action-package", manifest);
}

/// AA-1, AA-2, AA-8
#[test]
fn any_bytes_are_read_without_a_panic() {
    proptest!(|(bytes in prop::collection::vec(any::<u8>(), 0..200))| {
        drop((plan(&bytes), result(&bytes), manifest(&bytes)));
    });
}
