//! Checks JSON documents against the published types and schemas.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use actum_api::DocumentType;
use jsonschema::Validator;
use serde_json::Value;

/// Documents with a published format of their own, whose field order differs from the types.
const OF_OTHER_ORDER: [&str; 2] = ["actum.keyring/1", "actum.task-status/1"];

/// Returns the type and schema of each document format.
fn known() -> &'static BTreeMap<&'static str, (&'static DocumentType, Validator)> {
    static KNOWN: OnceLock<BTreeMap<&str, (&DocumentType, Validator)>> = OnceLock::new();
    KNOWN.get_or_init(|| {
        let entry = |document: &'static DocumentType| {
            let options = jsonschema::options().should_validate_formats(true);
            let validator = options.build(&document.schema()).expect("a schema");
            (document.format, (document, validator))
        };
        actum_api::document_types().map(entry).collect()
    })
}

/// Checks that a document is valid against its schema, and that its type parses it and writes it unchanged. Returns
/// false if `actum-api` has no type for the document.
pub(crate) fn check_document(text: &str) -> bool {
    let Ok(document) = serde_json::from_str::<Value>(text) else { return false };
    let Some(format) = document.get("format").and_then(Value::as_str) else { return false };
    let Some((document_type, validator)) = known().get(format) else { return false };
    let errors: Vec<_> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{format} is not as its schema says: {errors:#?}\n{document:#}");
    let written = document_type.rewrite(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(written, document, "{format} is not written as it is read");
    if !OF_OTHER_ORDER.contains(&format) {
        assert_eq!(written.to_string(), document.to_string(), "{format} has another order");
    }
    true
}
