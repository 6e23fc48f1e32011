//! Recognises the format of a JSON input by its fields.

use std::collections::BTreeSet;

use actum_core::json::{Kind, Value};
use actum_core::place::Excerpt;
use actum_core::suggestion;

use super::{DocumentProblem, Format, JsonSyntax};

/// Recognises the format from the fields of an object, or of all objects in an array.
///
/// An array with both edits and whole files is treated as edits.
///
/// # Errors
/// Returns an error if the fields belong to no format or to several formats.
pub(super) fn format(value: &Value<'_>) -> Result<(Format, &'static JsonSyntax), DocumentProblem> {
    let names = names(value);
    let found = marks(&names);
    match found.as_slice() {
        [(format, syntax, _)] => Ok((*format, *syntax)),
        [] => {
            let found = names.iter().map(|name| Excerpt::new(name.as_bytes())).collect();
            Err(DocumentProblem::NoFormat { found, suggestions: suggestions(&names) })
        }
        [(Format::Edits, syntax, _), (Format::Files, _, _)] if value.kind() == Kind::Array => {
            Ok((Format::Edits, *syntax))
        }
        [_, _, ..] => Err(mixed(found)),
    }
}

/// Recognises the format of a single element in a list of edits and whole files. Returns `None` if its fields belong to
/// no format.
///
/// # Errors
/// Returns an error if the fields belong to several formats.
pub(in crate::format) fn element(value: &Value<'_>) -> Result<Option<Format>, DocumentProblem> {
    let names = value.members().iter().map(|member| &*member.name).collect();
    let found = marks(&names);
    match found.as_slice() {
        [] => Ok(None),
        [(format, _, _)] => Ok(Some(*format)),
        [_, _, ..] => Err(mixed(found)),
    }
}

/// Format with its syntax, and the field that identified it.
type Mark = (Format, &'static JsonSyntax, &'static str);

/// Returns each format that at least one of `names` belongs to, with the first such field.
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

/// Maximum number of suggestions in an error message.
const SUGGESTIONS_MAX: usize = 3;

/// Returns known fields that are similar to one of `names`.
fn suggestions(names: &BTreeSet<&str>) -> Vec<&'static str> {
    let known: Vec<_> =
        Format::in_json().flat_map(|(_, syntax)| syntax.fields.iter().copied()).collect();
    let suggestions: BTreeSet<_> =
        names.iter().filter_map(|name| suggestion::suggest(name, &known)).collect();
    suggestions.into_iter().take(SUGGESTIONS_MAX).collect()
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
    fn fields_determine_the_format() {
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
        let first = "a change set has `patches`; edits have `edits` or `old_string`; ";
        assert!(signs.starts_with(first), "{signs}");
        for (format, json) in Format::in_json() {
            assert!(signs.contains(&format!("{format} {}", json.sign)), "{format}: {signs}");
        }
    }

    /// D-4
    #[test]
    fn input_with_fields_of_no_format_or_of_two_is_refused() {
        let no_format = |found: &str| {
            let signs = Format::signs_in_json();
            Err(format!("the JSON is not in a known format: it has {found}, but {signs}"))
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
                 put edits and whole files in one array, and pass other formats as separate inputs"
                .to_owned())
        );
        assert_eq!(
            recognised(r#"[{"old_string":""},{"op":""}]"#),
            Err("the JSON mixes formats: `old_string` belongs to edits, `op` belongs to a JSON Patch; \
                 put edits and whole files in one array, and pass other formats as separate inputs"
                .to_owned())
        );
    }

    /// Issue 27
    #[test]
    fn near_miss_field_names_are_suggested() {
        for (json, suggestions) in [
            (r#"{"path":"a","oldString":"x"}"#, "; did you mean `old_string`?"),
            (r#"{"path":"a","Contents":"x"}"#, "; did you mean `content`?"),
            (r#"[{"patch":[]}]"#, "; did you mean `patches`?"),
            (r#"{"path":"a"}"#, "`op`"),
        ] {
            let message = recognised(json).unwrap_err();
            assert!(message.ends_with(suggestions), "{message}");
        }
    }
}
