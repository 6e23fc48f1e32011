//! Compares the documentation page about JSON documents with the types and schemas of `actum-api`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::docs::{DOCS, documents_in};
use crate::program::documents::check_document;

/// Returns the JSON documents that the page shows in JSON blocks and in the output of commands.
fn examples() -> Vec<String> {
    let page = fs::read_to_string(Path::new(DOCS).join("json.md")).unwrap();
    let mut lines = page.lines();
    let mut examples = Vec::new();
    while let Some(line) = lines.next() {
        if !line.starts_with('{') {
            continue;
        }
        let mut text = line.to_owned();
        // The closing brace marks the end of an object.
        while !line.ends_with('}') && !text.ends_with("\n}") {
            let Some(next) = lines.next().filter(|next| !next.starts_with("```")) else { break };
            text = text + "\n" + next;
        }
        // All times on the page have nine fractional digits, but ledger entries use six.
        examples.push(text.replace(".518203942Z", ".518203Z"));
    }
    examples
}

/// D-4: a client can parse every document that the page shows.
#[test]
fn every_documented_example_matches_its_type_and_schema() {
    let examples = examples();
    let is_checked = |text: &&String| check_document(text);
    let checked = examples.iter().filter(is_checked).count();
    let unchecked: Vec<_> = examples
        .iter()
        .filter_map(|text| serde_json::from_str::<Value>(text).ok())
        .filter_map(|document| document.get("format")?.as_str().map(str::to_owned))
        .filter(|format| actum_api::document_types().all(|known| known.format != format))
        .collect();
    assert_eq!(unchecked, [""; 0]);
    assert!(checked > 20, "{checked}");
}

/// D-4
#[test]
fn documented_formats_and_document_types_match() {
    let known = actum_api::document_types().map(|document| document.format.to_owned());
    let known: Vec<String> = known.collect();
    let distinct: BTreeSet<String> = known.iter().cloned().collect();
    assert_eq!(distinct.len(), known.len(), "a format stands twice");
    for page in ["json.md", "stability.md"] {
        let mut named = documents_in(&fs::read_to_string(Path::new(DOCS).join(page)).unwrap());
        // This format is the body of a ledger entry.
        named.remove("actum.log-started/1");
        assert_eq!(distinct, named, "{page}");
    }
}

/// AA-12, D-4
#[test]
fn published_schemas_match_the_types() {
    let schemas = Path::new(DOCS).join("../schemas");
    let mut published: BTreeSet<String> = fs::read_dir(schemas.join("api"))
        .unwrap()
        .map(|entry| format!("api/{}", entry.unwrap().file_name().to_str().unwrap()))
        .collect();
    for file in actum_api::schemas() {
        let text = fs::read_to_string(schemas.join(&file.name)).unwrap_or_default();
        assert!(text == file.text, "{}: `cargo xtask schemas` writes it anew", file.name);
        published.remove(&file.name);
    }
    assert_eq!(published, BTreeSet::new(), "a schema has no type");
}
