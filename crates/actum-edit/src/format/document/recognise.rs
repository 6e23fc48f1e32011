//! Tells by its fields which format an input in JSON is in.

use std::collections::BTreeSet;

use actum_core::json::Value;
use actum_core::place::Excerpt;

use super::DocumentProblem;

/// The formats in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonFormat {
    /// A [`ChangeSet`](crate::ChangeSet).
    ChangeSet,
    /// Texts that are replaced by others.
    Edits,
    /// Whole files.
    Files,
    /// JSON Patches.
    JsonPatch,
}

/// Fields that only one format has.
const MARKS: &[(JsonFormat, &[&str])] = &[
    (JsonFormat::ChangeSet, &["patches"]),
    (JsonFormat::Edits, &["edits", "old_string", "new_string", "replace_all"]),
    (JsonFormat::Files, &["files", "content", "content_base64", "executable"]),
    (JsonFormat::JsonPatch, &["json_patch", "json_patches", "op"]),
];

/// The one format whose fields `value` has: those of an object, or of the objects in an array.
pub(super) fn format(value: &Value<'_>) -> Result<JsonFormat, DocumentProblem> {
    let names = names(value);
    let marks: Vec<(JsonFormat, &'static str)> = MARKS
        .iter()
        .filter_map(|(format, fields)| {
            let field = fields.iter().find(|field| names.contains(**field))?;
            Some((*format, *field))
        })
        .collect();
    match marks.as_slice() {
        [(format, _)] => Ok(*format),
        [] => {
            let found = names.iter().map(|name| Excerpt::of(name.as_bytes())).collect();
            Err(DocumentProblem::NoFormat { found })
        }
        [_, _, ..] => Err(DocumentProblem::Mixed { marks }),
    }
}

fn names<'v>(value: &'v Value<'_>) -> BTreeSet<&'v str> {
    value.each().iter().flat_map(Value::members).map(|member| &*member.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(json: &str) -> Result<JsonFormat, String> {
        format(&Value::read(json.as_bytes()).unwrap()).map_err(|problem| problem.to_string())
    }

    /// FO-10
    #[test]
    fn the_fields_tell_the_format() {
        for (json, expected) in [
            (r#"{"patches":[]}"#, JsonFormat::ChangeSet),
            (r#"{"edits":[]}"#, JsonFormat::Edits),
            (r#"{"path":"a","edits":[]}"#, JsonFormat::Edits),
            (r#"{"file_path":"a","old_string":"","new_string":""}"#, JsonFormat::Edits),
            (r#"[{"path":"a","new_string":""}]"#, JsonFormat::Edits),
            (r#"{"files":[]}"#, JsonFormat::Files),
            (r#"[{"path":"a","content":null}]"#, JsonFormat::Files),
            (r#"{"path":"a","content_base64":""}"#, JsonFormat::Files),
            (r#"{"path":"a","json_patch":[]}"#, JsonFormat::JsonPatch),
            (r#"{"json_patches":[]}"#, JsonFormat::JsonPatch),
            (r#"[{"op":"remove","path":"/a"}]"#, JsonFormat::JsonPatch),
        ] {
            assert_eq!(recognised(json), Ok(expected), "{json}");
        }
    }

    /// D-4
    #[test]
    fn an_input_with_the_fields_of_no_format_or_of_two_is_refused() {
        let no_format = |found: &str| {
            Err(format!(
                "the JSON is in no known format: it has {found}; so it is no change set, which has \
                 `patches`; no edits, which have `edits` or `old_string`; no whole files, which have \
                 `files`, `content` or `content_base64`; and no JSON Patch, which has `json_patch`, \
                 `json_patches` or, in an array, `op`"
            ))
        };
        assert_eq!(recognised("{}"), no_format("no fields"));
        assert_eq!(recognised("[]"), no_format("no fields"));
        assert_eq!(recognised("[[{}],7]"), no_format("no fields"));
        assert_eq!(
            recognised(r#"{"path":"a","hunks\n":[]}"#),
            no_format("the fields `hunks\\n`, `path`")
        );
        assert_eq!(recognised(r#"{"a":1}"#), no_format("the field `a`"));
        let many: Vec<_> = (10..19).map(|n| format!("\"{n}\":0")).collect();
        assert_eq!(
            recognised(&format!("{{{}}}", many.join(","))),
            no_format("the fields `10`, `11`, `12`, `13`, `14`, `15`, `16`, `17`, …")
        );
        assert_eq!(
            recognised(r#"{"edits":[],"files":[]}"#),
            Err("the JSON mixes formats: `edits` belongs to edits, `files` belongs to whole files; \
                 make each an input of its own"
                .to_owned())
        );
        assert_eq!(
            recognised(r#"[{"old_string":""},{"content":""}]"#),
            Err("the JSON mixes formats: `old_string` belongs to edits, `content` belongs to whole \
                 files; make each an input of its own"
                .to_owned())
        );
    }
}
