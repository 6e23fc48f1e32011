//! Recognises the format of an input in JSON by its fields.

use std::collections::BTreeSet;

use actum_core::json::{Kind, Value};
use actum_core::place::Excerpt;
use actum_core::suggestion;

use super::{DocumentProblem, Format, JsonSyntax};

/// Format and syntax of which `value` has fields: those of an object, or of the objects in an array. Edits and whole
/// files in one array are edits.
pub(super) fn format(value: &Value<'_>) -> Result<(Format, &'static JsonSyntax), DocumentProblem> {
    let names = names(value);
    let found = marks(&names);
    match found.as_slice() {
        [(format, syntax, _)] => Ok((*format, *syntax)),
        [] => {
            let found = names.iter().map(|name| Excerpt::new(name.as_bytes())).collect();
            Err(DocumentProblem::NoFormat { found, meant: meant(&names) })
        }
        [(Format::Edits, syntax, _), (Format::Files, _, _)] if value.kind() == Kind::Array => {
            Ok((Format::Edits, *syntax))
        }
        [_, _, ..] => Err(mixed(found)),
    }
}

/// Format of one element of a list of edits and whole files; none where it has fields of no format.
///
/// # Errors
/// It has the fields of several formats.
pub(in crate::format) fn element(value: &Value<'_>) -> Result<Option<Format>, DocumentProblem> {
    let names = value.members().iter().map(|member| &*member.name).collect();
    let found = marks(&names);
    match found.as_slice() {
        [] => Ok(None),
        [(format, _, _)] => Ok(Some(*format)),
        [_, _, ..] => Err(mixed(found)),
    }
}

/// A field of a format, with that format.
type Mark = (Format, &'static JsonSyntax, &'static str);

/// Formats of which there are fields, each with the first one.
fn marks(names: &BTreeSet<&str>) -> Vec<Mark> {
    let found = Format::in_json().filter_map(|(format, syntax)| {
        let field = syntax.fields.iter().find(|field| names.contains(**field))?;
        Some((format, syntax, *field))
    });
    found.collect()
}

fn mixed(found: Vec<Mark>) -> DocumentProblem {
    let marks = found.into_iter().map(|(format, _, field)| (format, field)).collect();
    DocumentProblem::Mixed { marks }
}

/// Suggestions of an error at most.
const MEANT_MAX: usize = 3;

/// Fields of formats that are almost the same as one of `names`.
fn meant(names: &BTreeSet<&str>) -> Vec<&'static str> {
    let known: Vec<_> =
        Format::in_json().flat_map(|(_, syntax)| syntax.fields.iter().copied()).collect();
    let meant: BTreeSet<_> =
        names.iter().filter_map(|name| suggestion::suggest(name, &known)).collect();
    meant.into_iter().take(MEANT_MAX).collect()
}

fn names<'v>(value: &'v Value<'_>) -> BTreeSet<&'v str> {
    value.each().iter().flat_map(Value::members).map(|member| &*member.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recognised(json: &str) -> Result<Format, String> {
        let value = Value::read(json.as_bytes()).unwrap();
        format(&value).map(|(format, _)| format).map_err(|problem| problem.to_string())
    }

    /// FO-10
    #[test]
    fn the_fields_tell_the_format() {
        for (json, expected) in [
            (r#"{"patches":[]}"#, Format::ChangeSet),
            (r#"{"edits":[]}"#, Format::Edits),
            (r#"{"path":"a","edits":[]}"#, Format::Edits),
            (r#"{"file_path":"a","old_string":"","new_string":""}"#, Format::Edits),
            (r#"[{"path":"a","new_string":""}]"#, Format::Edits),
            (r#"{"path":"a","old_str":"","new_str":""}"#, Format::Edits),
            (r#"[{"path":"a","content":""},{"path":"b","old_string":""}]"#, Format::Edits),
            (r#"{"files":[]}"#, Format::Files),
            (r#"[{"path":"a","content":null}]"#, Format::Files),
            (r#"{"path":"a","content_base64":""}"#, Format::Files),
            (r#"{"path":"a","json_patch":[]}"#, Format::JsonPatch),
            (r#"{"json_patches":[]}"#, Format::JsonPatch),
            (r#"[{"op":"remove","path":"/a"}]"#, Format::JsonPatch),
        ] {
            assert_eq!(recognised(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn the_formats_are_listed_with_their_fields() {
        let signs = Format::signs_in_json();
        let first =
            "no change set, which has `patches`; no edits, which have `edits` or `old_string`; ";
        assert!(signs.starts_with(first), "{signs}");
        for (format, json) in Format::in_json() {
            assert!(signs.contains(&format!(", which {}", json.sign)), "{format}: {signs}");
        }
    }

    /// D-4
    #[test]
    fn an_input_with_the_fields_of_no_format_or_of_two_is_refused() {
        let no_format = |found: &str| {
            let signs = Format::signs_in_json();
            Err(format!("the JSON is in no known format: it has {found}; so it is {signs}"))
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
                 give one list of edits and whole files, and make other formats inputs of their own"
                .to_owned())
        );
        assert_eq!(
            recognised(r#"[{"old_string":""},{"op":""}]"#),
            Err("the JSON mixes formats: `old_string` belongs to edits, `op` belongs to a JSON Patch; \
                 give one list of edits and whole files, and make other formats inputs of their own"
                .to_owned())
        );
    }

    /// Issue 27
    #[test]
    fn a_field_that_is_almost_one_of_a_format_is_suggested() {
        for (json, meant) in [
            (r#"{"path":"a","oldString":"x"}"#, "; did you mean `old_string`?"),
            (r#"{"path":"a","Contents":"x"}"#, "; did you mean `content`?"),
            (r#"[{"patch":[]}]"#, "; did you mean `patches`?"),
            (r#"{"path":"a"}"#, "`op`"),
        ] {
            let message = recognised(json).unwrap_err();
            assert!(message.ends_with(meant), "{message}");
        }
    }
}
