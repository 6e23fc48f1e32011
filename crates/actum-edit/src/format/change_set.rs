//! Parses a change set in JSON, and rejects unknown, missing and duplicate fields (FO-1, D-4).

use actum_core::json::{Fields, Schema, Value};

use super::JsonSyntax;
use super::RootPrefix;
use super::document::{Document, DocumentProblem, EXPECTED, PATH_ALIASES, Refusal};
use super::error::Problem;
use super::steps::Steps;
use crate::change_set::ChangeSetError;
use crate::{ChangeSet, Hunk, Patch};

const CHANGE_SET: Schema = Schema { name: "a change set", fields: &["patches"], aliases: &[] };
const PATCH: Schema =
    Schema { name: "a patch", fields: &["path", "hunks", EXPECTED], aliases: PATH_ALIASES };
const HUNK: Schema = Schema {
    name: "a hunk",
    fields: &["old_start", "old_lines", "new_start", "new_lines", "lines"],
    aliases: &[],
};

/// Syntax of the format `change-set`.
pub(super) const SYNTAX: JsonSyntax =
    JsonSyntax { read, fields: &["patches"], fields_in_prose: &["patches"], sign: "has `patches`" };

/// Parses a document of the form `{"patches": [..]}`.
pub(super) fn read(document: &Document<'_>, steps: &mut Steps) -> Result<(), Refusal> {
    let patches = CHANGE_SET.fields(&document.value)?.required("patches")?.array()?;
    let start = document.value.span.start;
    if patches.is_empty() {
        return Err(Refusal::at(start, DocumentProblem::EmptyArray));
    }
    let set = ChangeSet {
        patches: patches.iter().map(|it| patch(it, document.root)).collect::<Result<_, _>>()?,
    };
    let operations = set.operations().map_err(|error| {
        let offset = offset_of(&error, patches).unwrap_or(start);
        Refusal::at(offset, Problem::ChangeSet(error))
    })?;
    // `operations` returns exactly one operation for each patch.
    for (operation, value) in operations.into_iter().zip(patches) {
        for path in operation.paths() {
            steps.patched(path).map_err(|problem| {
                let field = PATCH.fields(value).ok().and_then(|fields| fields.get("path"));
                Refusal::at(field.map_or(start, |field| field.value.span.start), problem)
            })?;
        }
        steps.push(operation);
    }
    Ok(())
}

fn patch(value: &Value<'_>, root: &RootPrefix) -> Result<Patch, Refusal> {
    let fields = PATCH.fields(value)?;
    let expected = fields.optional(EXPECTED).map(|field| field.string()).transpose()?;
    Ok(Patch {
        path: root.relative_text(fields.required("path")?.string()?).to_owned(),
        hunks: fields.required("hunks")?.array()?.iter().map(hunk).collect::<Result<_, _>>()?,
        expected_prev_sha256: expected.map(str::to_owned),
    })
}

fn hunk(value: &Value<'_>) -> Result<Hunk, Refusal> {
    let fields = HUNK.fields(value)?;
    let number = |name| -> Result<u32, Refusal> { Ok(fields.required(name)?.u32()?) };
    Ok(Hunk {
        old_start: number("old_start")?,
        old_lines: number("old_lines")?,
        new_start: number("new_start")?,
        new_lines: number("new_lines")?,
        lines: text(&fields, "lines")?,
    })
}

fn text(fields: &Fields<'_>, name: &'static str) -> Result<String, Refusal> {
    Ok(fields.required(name)?.string()?.to_owned())
}

/// Returns the byte offset of the field that caused an error.
fn offset_of(error: &ChangeSetError, patches: &[Value<'_>]) -> Option<usize> {
    let (number, field) = match error {
        ChangeSetError::Path { patch, .. } | ChangeSetError::Duplicate { patch, .. } => {
            (patch, "path")
        }
        ChangeSetError::Digest { patch, .. } => (patch, EXPECTED),
        ChangeSetError::NoHunks { patch, .. } => (patch, "hunks"),
    };
    let fields = PATCH.fields(patches.get(number.checked_sub(1)?)?).ok()?;
    Some(fields.get(field)?.value.span.start)
}

#[cfg(test)]
mod tests {
    use crate::format::{Format, Reading, parse};
    use crate::{LineHunk, Operation};
    use actum_core::RelPath;

    const HUNK: &str =
        r#"{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,"lines":"-a\n+\"[b\\\n"}"#;

    fn set(patch: &str) -> String {
        format!("{{\"patches\":[\n{patch}\n]}}")
    }

    fn error(json: impl AsRef<[u8]>) -> String {
        let reading = Reading { format: Some(Format::ChangeSet), ..Reading::default() };
        parse(json.as_ref(), &reading).unwrap_err().to_string()
    }

    /// FO-1
    #[test]
    fn a_change_set_is_read_field_by_field() {
        let patch =
            format!(r#"{{"path":"é [a","hunks": [{HUNK},{HUNK}],"expected_prev_sha256":null}}"#);
        let hunk = LineHunk {
            old_start: 1,
            old_lines: 1,
            new_start: 1,
            new_lines: 1,
            body: b"-a\n+\"[b\\\n".to_vec(),
            at_end: false,
        };
        let patch_of_both = Operation::Patch {
            path: RelPath::new("é [a").unwrap(),
            hunks: vec![hunk.clone(), hunk],
            expected: None,
        };
        let operations = parse(set(&patch).as_bytes(), &Reading::default()).unwrap();
        assert_eq!(operations, [patch_of_both]);
        assert_eq!(
            error("{\"patches\":[]}\n "),
            "line 1, column 1: the array is empty, so there is nothing to change"
        );
    }

    /// D-4
    #[test]
    fn unknown_missing_or_duplicate_change_set_field_is_refused() {
        assert_eq!(
            error(set(r#"{"path":"a","hunks":[],"force":true}"#)),
            "line 2, column 24: unknown field `force`; fields of a patch: `path`, `hunks`, \
             `expected_prev_sha256`"
        );
        assert_eq!(
            error(set(r#"{"path":"a"}"#)),
            "line 2, column 1: missing field `hunks`; fields of a patch: `path`, `hunks`, \
             `expected_prev_sha256`"
        );
        assert_eq!(
            error(set(r#"{"path":"a","path":"b","hunks":[]}"#)),
            "line 2, column 13: duplicate field `path`"
        );
        let hunk = HUNK.replace("new_start", "old_start");
        let doubled = error(set(&format!(r#"{{"path":"a","hunks":[{hunk}]}}"#)));
        assert!(doubled.ends_with("duplicate field `old_start`"), "{doubled}");
        let doubled = error(r#"{"patches":[],"patches":[]}"#);
        assert!(doubled.ends_with("duplicate field `patches`"), "{doubled}");
    }

    /// D-4
    #[test]
    fn text_after_the_change_set_is_refused() {
        assert_eq!(
            error("{\"patches\":[]}\n,{}"),
            "line 2, column 1: invalid JSON: unexpected `,` after the end of the JSON value"
        );
    }

    /// D-4
    #[test]
    fn wrong_value_type_is_reported_without_rust_type_names() {
        for wrong in ["-1", "1.5", "4294967296", "1e0"] {
            let hunk = HUNK.replacen(":1", &format!(":{wrong}"), 1);
            let error = error(set(&format!(r#"{{"path":"a","hunks":[{hunk}]}}"#)));
            let expected = format!(
                "line 2, column 35: `old_start` must be a whole number from 0 to 4294967295, found \
                 `{wrong}`"
            );
            assert_eq!(error, expected);
        }
        let hunk = HUNK.replacen(":1", ":\"1\"", 1);
        assert_eq!(
            error(set(&format!(r#"{{"path":"a","hunks":[{hunk}]}}"#))),
            "line 2, column 35: `old_start` must be a whole number, found a string"
        );
        assert_eq!(error("7"), "line 1, column 1: a change set must be an object, found a number");
    }

    /// D-4
    #[test]
    fn an_array_in_place_of_an_object_is_refused() {
        assert_eq!(
            error(r#"{"patches":[["a",[]]]}"#),
            "line 1, column 13: a patch must be an object, found an array"
        );
        let hunks = r#"{"patches":[{"path":"a","hunks":[{"old_start":1,"old_lines":1,
            "new_start":1,"new_lines":1,"lines":"\\\""}, [1,1,1,1,"x"]]}]}"#;
        assert_eq!(error(hunks), "line 2, column 58: a hunk must be an object, found an array");
    }

    #[test]
    fn invalid_change_set_is_refused_with_its_position() {
        let patch = format!(r#"{{"path":"a","hunks":[{HUNK}]}}"#);
        assert_eq!(
            error(set(&format!("{patch},\n{patch}"))),
            "line 3, column 9: the change set cannot be used: patch 2: the path `a` already has a \
             patch in this change set"
        );
        assert_eq!(
            error(set(r#"{"path":"a","hunks":[]}"#)),
            "line 2, column 21: the change set cannot be used: patch 1: the path `a` has no hunks"
        );
        let digest = patch.replace("]}", r#"],"expected_prev_sha256":"beef"}"#);
        assert!(error(set(&digest)).starts_with("line 2, column 128: "), "{}", error(set(&digest)));
        let outside = patch.replace(r#""a""#, r#""../a""#);
        assert!(error(set(&outside)).starts_with("line 2, column 9: "), "{}", error(set(&outside)));
    }

    #[test]
    fn invalid_utf8_is_refused_with_its_position() {
        assert_eq!(
            error(b"{\"patches\":[\n{\"path\":\"a\xff\"}]}"),
            "line 2, column 11: invalid JSON: this byte is not valid UTF-8"
        );
    }
}
