//! The JSON documents and their schemas, from the point of view of a client.
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

use std::collections::BTreeSet;

use actum_api::brief::{Brief, BriefParts};
use actum_api::error::Error;
use actum_api::init::Init;
use actum_api::{Document, Envelope, ReadError, document_types, from_str};
use actum_core::Status;
use serde_json::Value;

/// D-4
#[test]
fn unknown_fields_are_ignored_and_format_is_written_first() {
    let newer = r#"{"created":true,"since":1,"root":"/r","format":"actum.init/1"}"#;
    let init: Init = from_str(newer).unwrap();
    assert_eq!(init, Init { root: "/r".to_owned(), created: true });
    assert_eq!(
        serde_json::to_string(&Envelope::new(&init)).unwrap(),
        r#"{"format":"actum.init/1","root":"/r","created":true}"#
    );
}

/// D-4
#[test]
fn documents_of_another_format_or_version_are_rejected() {
    for format in ["actum.init/2", "actum.gc/1", "actum.init/1 "] {
        let text = format!(r#"{{"format":"{format}","root":"/r","created":true}}"#);
        let error = from_str::<Init>(&text).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("expected a document of format `actum.init/1`, found `{format}`")
        );
        assert!(matches!(error, ReadError::Format { found, .. } if found == format));
    }
    for text in ["", "[]", r#"{"root":"/r","created":true}"#, r#"{"format":"actum.init/1"}"#] {
        assert!(matches!(from_str::<Init>(text), Err(ReadError::Json(_))), "{text}");
    }
}

/// Issue 27
#[test]
fn brief_form_has_only_the_fields_its_document_provides() {
    let error = r#"{"format":"actum.error/1","status":"rejected","reason":"OVER_BUDGET","message":"m",
        "workspace":"unchanged","hints":["first","second"]}"#;
    let error: Error = from_str(error).unwrap();
    let brief = Brief::new(error.brief(), Status::Succeeded);
    assert_eq!(
        serde_json::to_string(&Envelope::new(&brief)).unwrap(),
        r#"{"format":"actum.brief/1","status":"rejected","reason":"OVER_BUDGET","hint":"first"}"#
    );
    let init = Init { root: "/r".to_owned(), created: true };
    assert_eq!(init.brief(), BriefParts::default());
    for status in [Status::Succeeded, Status::Failed] {
        assert_eq!(Brief::new(init.brief(), status).status, status);
    }
    assert_eq!(Brief::new(brief.brief(), Status::Failed), brief);
}

/// D-4
#[test]
fn every_schema_is_valid_requires_its_format_and_describes_its_fields() {
    let mut names = BTreeSet::new();
    for document in document_types() {
        let schema = document.schema();
        jsonschema::draft202012::meta::validate(&schema).unwrap();
        assert_eq!(schema["properties"]["format"]["const"], document.format);
        assert_eq!(schema["required"][0], "format");
        assert!(names.insert(document.schema_file().name), "{} is there twice", document.format);
        check_descriptions(&schema, document.format);
    }
    assert!(!names.is_empty());
}

/// Checks that every property has a description, and that every object allows additional properties.
fn check_descriptions(schema: &Value, place: &str) {
    match schema {
        Value::Object(keywords) => {
            // A tagged value such as `{ "code": 0 }` allows no additional properties.
            if keywords.get("additionalProperties") == Some(&Value::Bool(false)) {
                assert_eq!(keywords["required"].as_array().unwrap().len(), 1, "{place} is closed");
                return;
            }
            for (name, property) in
                keywords.get("properties").and_then(Value::as_object).into_iter().flatten()
            {
                // The description of a tag value belongs to its variant.
                if property.get("const").is_some() {
                    continue;
                }
                let place = format!("{place}.{name}");
                assert!(property.get("description").is_some(), "{place} has no description");
            }
            for (name, inner) in keywords {
                check_descriptions(inner, &format!("{place}.{name}"));
            }
        }
        Value::Array(all) => all.iter().for_each(|inner| check_descriptions(inner, place)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
