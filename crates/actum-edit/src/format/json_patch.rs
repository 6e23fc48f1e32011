//! Parses JSON Patches (RFC 6902), which either name the file to change or are applied to a given target file.
//!
//! RFC 6902 says that unknown members of an operation are ignored. This parser rejects them instead, as for every other
//! input format (D-4).

use actum_core::json::{Content, Field, Fields, Schema, Value};
use actum_core::place::Excerpt;

use super::JsonSyntax;
use super::document::{Document, DocumentProblem, EXPECTED, PATH_ALIASES, Refusal};
use super::steps::Steps;
use crate::Operation;
use crate::edit::json_patch::{JsonText, PatchOperation, Pointer};
use crate::edit::{Edit, JsonPatch};

const LIST: Schema =
    Schema { name: "a list of JSON Patches", fields: &["json_patches"], aliases: &[] };
const PATCH: Schema = Schema {
    name: "a JSON Patch with its file",
    fields: &["path", "json_patch", EXPECTED],
    aliases: PATH_ALIASES,
};
const ANY_OPERATION: Schema =
    Schema { name: "an operation", fields: &["op", "path", "from", "value"], aliases: &[] };
const WITH_VALUE: Schema =
    Schema { name: "an operation of this kind", fields: &["op", "path", "value"], aliases: &[] };
const WITH_SOURCE: Schema =
    Schema { name: "an operation of this kind", fields: &["op", "path", "from"], aliases: &[] };
const REMOVE: Schema =
    Schema { name: "a `remove` operation", fields: &["op", "path"], aliases: &[] };

/// Syntax of the format `json-patch`.
pub(super) const SYNTAX: JsonSyntax = JsonSyntax {
    read,
    fields: &["json_patch", "json_patches", "op"],
    fields_in_prose: &["json_patch"],
    sign: "has `json_patch`, `json_patches` or, in an array, `op`",
};

/// Parses `{"path": .., "json_patch": [..]}`, a list of such objects in `{"json_patches": [..]}`, or a bare JSON Patch for
/// the target file of the document.
pub(super) fn read(document: &Document<'_>, steps: &mut Steps) -> Result<(), Refusal> {
    let value = &document.value;
    let refused = |problem: DocumentProblem| Err(Refusal::at(value.span.start, problem));
    match (&value.content, document.target) {
        (Content::Array(_), None) => return refused(DocumentProblem::NoTarget),
        (Content::Array(operations), Some(path)) => {
            let edit = patch(operations, document.text)?;
            steps.push(Operation::Edit { path: path.clone(), edit, expected: None });
        }
        (_, Some(_)) => return refused(DocumentProblem::TargetBesidePath),
        (_, None) => {
            let patches = if value.has("json_patches") {
                LIST.fields(value)?.required("json_patches")?.filled_array()?
            } else {
                std::slice::from_ref(value)
            };
            for value in patches {
                let fields = PATCH.fields(value)?;
                let (path, expected) = steps.edited(&fields, document.root)?;
                let edit = patch(fields.required("json_patch")?.array()?, document.text)?;
                steps.push(Operation::Edit { path, edit, expected });
            }
        }
    }
    Ok(())
}

fn patch(operations: &[Value<'_>], text: &str) -> Result<Edit, Refusal> {
    let operations = operations.iter().map(|value| operation(value, text));
    Ok(Edit::Json(JsonPatch { operations: operations.collect::<Result<_, _>>()? }))
}

fn operation(value: &Value<'_>, text: &str) -> Result<PatchOperation, Refusal> {
    let name = ANY_OPERATION.fields(value)?.required("op")?;
    let fields = |schema: Schema| schema.fields(value);
    match name.string()? {
        "add" => {
            let (path, value) = with_value(&fields(WITH_VALUE)?, text)?;
            Ok(PatchOperation::Add { path, value })
        }
        "replace" => {
            let (path, value) = with_value(&fields(WITH_VALUE)?, text)?;
            Ok(PatchOperation::Replace { path, value })
        }
        "test" => {
            let (path, value) = with_value(&fields(WITH_VALUE)?, text)?;
            Ok(PatchOperation::Test { path, value })
        }
        "remove" => {
            Ok(PatchOperation::Remove { path: pointer(fields(REMOVE)?.required("path")?)? })
        }
        "move" => {
            let (from, path) = with_source(&fields(WITH_SOURCE)?)?;
            Ok(PatchOperation::Move { from, path })
        }
        "copy" => {
            let (from, path) = with_source(&fields(WITH_SOURCE)?)?;
            Ok(PatchOperation::Copy { from, path })
        }
        other => {
            let found = Excerpt::new(other.as_bytes());
            Err(Refusal::at(name.value.span.start, DocumentProblem::UnknownOperation { found }))
        }
    }
}

fn with_value(fields: &Fields<'_>, text: &str) -> Result<(Pointer, JsonText), Refusal> {
    let path = pointer(fields.required("path")?)?;
    Ok((path, JsonText::from_value(fields.required("value")?.value, text)?))
}

fn with_source(fields: &Fields<'_>) -> Result<(Pointer, Pointer), Refusal> {
    Ok((pointer(fields.required("from")?)?, pointer(fields.required("path")?)?))
}

fn pointer(field: Field<'_>) -> Result<Pointer, Refusal> {
    let refused = |error| Refusal::at(field.value.span.start, DocumentProblem::Pointer(error));
    Pointer::new(field.string()?).map_err(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{Format, ParseError, Reading, parse};
    use actum_core::{Digest, RelPath};

    fn read(json: &str, target: Option<&str>) -> Result<Vec<Operation>, ParseError> {
        let target = target.map(|path| RelPath::new(path).unwrap());
        parse(json.as_bytes(), &Reading { target, ..Reading::default() })
    }

    fn error(json: &str) -> String {
        read(json, None).unwrap_err().to_string()
    }

    const ALL: &str = r#"[
        {"op":"add","path":"/a~1b/-","value": {"n" : 1e400} },
        {"op":"remove","path":"/a"},
        {"op":"replace","path":"","value":null},
        {"op":"move","from":"/a","path":"/b"},
        {"op":"copy","from":"/b","path":"/c/0"},
        {"op":"test","path":"/c","value":"\u00e9"}
    ]"#;

    fn all() -> JsonPatch {
        let path = |text| Pointer::new(text).unwrap();
        let value = |text| JsonText::new(text).unwrap();
        JsonPatch {
            operations: vec![
                PatchOperation::Add { path: path("/a~1b/-"), value: value("{\"n\" : 1e400}") },
                PatchOperation::Remove { path: path("/a") },
                PatchOperation::Replace { path: path(""), value: value("null") },
                PatchOperation::Move { from: path("/a"), path: path("/b") },
                PatchOperation::Copy { from: path("/b"), path: path("/c/0") },
                PatchOperation::Test { path: path("/c"), value: value("\"\\u00e9\"") },
            ],
        }
    }

    /// FO-10
    #[test]
    fn json_patches_are_parsed_bare_with_a_path_and_in_a_list() {
        let edit = |path, expected| Operation::Edit {
            path: RelPath::new(path).unwrap(),
            edit: Edit::Json(all()),
            expected,
        };
        assert_eq!(read(ALL, Some("a.json")).unwrap(), [edit("a.json", None)]);
        let digest = Digest::of(b"");
        let one = |path: &str| {
            format!("{{\"path\":\"{path}\",\"json_patch\":{ALL},\"{EXPECTED}\":\"{digest}\"}}")
        };
        assert_eq!(read(&one("a"), None).unwrap(), [edit("a", Some(digest))]);
        let both = [edit("a", Some(digest)), edit("b", Some(digest))];
        let list = format!("{{\"json_patches\":[{},{}]}}", one("a"), one("b"));
        assert_eq!(read(&list, None).unwrap(), both);
        let again = format!("{{\"json_patches\":[{},{}]}}", one("a"), one("a"));
        assert!(error(&again).contains("`a` is changed earlier in the input"), "{}", error(&again));
    }

    /// D-4
    #[test]
    fn target_file_is_required_by_and_limited_to_a_bare_json_patch() {
        assert_eq!(
            error(ALL),
            "line 1, column 1: a bare JSON Patch does not say which file it changes: name the \
             file, or write `{\"path\": …, \"json_patch\": […]}`"
        );
        let refused = |json: &str| read(json, Some("a")).unwrap_err().to_string();
        assert_eq!(
            refused(&format!("{{\"path\":\"a\",\"json_patch\":{ALL}}}")),
            "line 1, column 1: the JSON Patch already names its file, so no other target file can be \
             given"
        );
        for (json, format) in [
            (r#"{"patches":[]}"#, "a change set"),
            (r#"{"path":"a","content":""}"#, "whole files"),
            (r#"{"path":"a","old_string":"a","new_string":"b"}"#, "edits"),
            ("--- a/a\n+++ b/a\n@@ -1 +1 @@\n-a\n+b\n", "a diff"),
        ] {
            assert_eq!(
                refused(json),
                format!(
                    "a target file can be given only for a bare JSON Patch, but the input is {format}"
                )
            );
        }
    }

    /// D-4
    #[test]
    fn invalid_json_patch_operations_are_rejected_with_their_position() {
        for (operation, message) in [
            (
                r#"{"op":"add","path":"/a"}"#,
                "column 27: missing field `value`; fields of an operation of this kind: `op`, \
                 `path`, `value`",
            ),
            (
                r#"{"path":"/a"}"#,
                "column 27: missing field `op`; fields of an operation: `op`, `path`, `from`, \
                 `value`",
            ),
            (
                r#"{"op":"merge","path":"/a"}"#,
                "column 33: `merge` is not a JSON Patch operation; expected `add`, `remove`, \
                 `replace`, `move`, `copy` or `test`",
            ),
            (
                r#"{"op":"remove","path":"a"}"#,
                "column 49: `a` is not a valid JSON Pointer: it must start with `/`, or be empty \
                 for the whole document",
            ),
            (
                r#"{"op":"remove","path":"/a","value":1}"#,
                "column 54: unknown field `value`; fields of a `remove` operation: `op`, `path`",
            ),
            (
                r#"{"op":"add","path":"/a","value":1,"comment":""}"#,
                "column 61: unknown field `comment`; fields of an operation: `op`, `path`, `from`, `value`",
            ),
            (
                r#"{"op":"add","path":"/a","value":[{"x":1,"x":2}]}"#,
                "column 67: duplicate field `x`",
            ),
            (
                r#"{"op":"move","path":"/a","from":7}"#,
                "column 59: `from` must be a string, found a number",
            ),
            ("7", "column 27: an operation must be an object, found a number"),
        ] {
            let json = format!("{{\"path\":\"a\",\"json_patch\":[{operation}]}}");
            assert_eq!(error(&json), format!("line 1, {message}"));
        }
    }

    /// FO-10: an empty JSON Patch is valid and changes nothing, like one with only `test` operations (RFC 6902).
    #[test]
    fn empty_json_patch_is_valid() {
        let edit = Edit::Json(JsonPatch { operations: Vec::new() });
        let path = RelPath::new("a").unwrap();
        let expected = [Operation::Edit { path, edit, expected: None }];
        assert_eq!(read(r#"{"path":"a","json_patch":[]}"#, None).unwrap(), expected);
        assert_eq!(read("[]", Some("a")).unwrap(), expected);
        let json_patch = Reading { format: Some(Format::JsonPatch), ..Reading::default() };
        let error = parse(b"[]", &json_patch).unwrap_err().to_string();
        assert!(error.contains("a bare JSON Patch does not say which file it changes"), "{error}");
        assert!(read(r#"{"json_patches":[]}"#, None).is_err());
    }
}
