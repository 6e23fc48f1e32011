//! Parses search-and-replace edits in JSON, with the fields that the edit tools of agents use.
//!
//! The edits of an input are applied in order, each to the result of the previous one.

use actum_core::json::{Fields, Schema, Value};
use actum_core::{Digest, RelPath};

use super::document::{Document, PATH_ALIASES, Refusal, has_path};
use super::steps::Steps;
use super::{Format, JsonSyntax, RootPrefix, list};
use crate::Operation;
use crate::edit::{Edit, Occurrences, Replacement};

const EDIT: Schema = Schema {
    name: "an edit",
    fields: &["path", "old_string", "new_string", "replace_all", "expected_prev_sha256"],
    aliases: &[
        ("file_path", "path"),
        ("filename", "path"),
        ("old_str", "old_string"),
        ("new_str", "new_string"),
    ],
};
const LIST: Schema = Schema { name: "a list of edits", fields: &["edits"], aliases: &[] };
const LIST_OF_ONE_FILE: Schema = Schema {
    name: "a list of edits of one file",
    fields: &["path", "edits", "expected_prev_sha256"],
    aliases: PATH_ALIASES,
};
const EDIT_OF_THAT_FILE: Schema = Schema {
    name: "an edit in the list of one file",
    fields: &["old_string", "new_string", "replace_all"],
    aliases: &[("old_str", "old_string"), ("new_str", "new_string")],
};

/// Syntax of the format `edits`.
pub(super) const SYNTAX: JsonSyntax = JsonSyntax {
    read,
    fields: &["edits", "old_string", "new_string", "replace_all", "old_str", "new_str"],
    fields_in_prose: &["edits", "old_string", "old_str"],
    sign: "have `edits` or `old_string`",
};

/// Parses `{"edits": [..]}`, a single edit, an array of edits, or `{"path": .., "edits": [..]}`.
pub(super) fn read(document: &Document<'_>, steps: &mut Steps) -> Result<(), Refusal> {
    let value = &document.value;
    if !value.has("edits") {
        list::read(value.each(), Format::Edits, document, steps)
    } else if has_path(value) {
        edits_of_one_file(document, &LIST_OF_ONE_FILE.fields(value)?, steps)
    } else {
        let edits = LIST.fields(value)?.required("edits")?.filled_array()?;
        list::read(edits, Format::Edits, document, steps)
    }
}

/// Parses a single edit.
pub(super) fn edit(value: &Value<'_>, root: &RootPrefix, steps: &mut Steps) -> Result<(), Refusal> {
    let fields = EDIT.fields(value)?;
    let (path, expected) = steps.edited(&fields, root)?;
    steps.push(operation(path, &fields, expected)?);
    Ok(())
}

fn edits_of_one_file(
    document: &Document<'_>,
    list: &Fields<'_>,
    steps: &mut Steps,
) -> Result<(), Refusal> {
    let (path, mut expected) = steps.edited(list, document.root)?;
    for edit in list.required("edits")?.filled_array()? {
        let fields = EDIT_OF_THAT_FILE.fields(edit)?;
        steps.push(operation(path.clone(), &fields, expected.take())?);
    }
    Ok(())
}

fn operation(
    path: RelPath,
    fields: &Fields<'_>,
    expected: Option<Digest>,
) -> Result<Operation, Refusal> {
    let bytes = |name| -> Result<Vec<u8>, Refusal> {
        Ok(fields.required(name)?.string()?.as_bytes().to_vec())
    };
    let all = fields.get("replace_all").map_or(Ok(false), |field| field.boolean())?;
    let occurrences = if all { Occurrences::All } else { Occurrences::One };
    let (old, new) = (bytes("old_string")?, bytes("new_string")?);
    let edit = Edit::Replace(Replacement { old, new, occurrences });
    Ok(Operation::Edit { path, edit, expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ParseError, Reading, parse};

    fn read(json: &str) -> Result<Vec<Operation>, ParseError> {
        parse(json.as_bytes(), &Reading::default())
    }

    fn error(json: &str) -> String {
        read(json).unwrap_err().to_string()
    }

    fn edit(path: &str, old: &str, new: &str, occurrences: Occurrences) -> Operation {
        let edit = Replacement { old: old.into(), new: new.into(), occurrences };
        let path = RelPath::new(path).unwrap();
        Operation::Edit { path, edit: Edit::Replace(edit), expected: None }
    }

    /// FO-10
    #[test]
    fn edits_are_read_alone_as_an_array_in_an_object_and_for_one_file() {
        let one = r#"{"path":"a","old_string":"x\n","new_string":""}"#;
        let all = r#"{"file_path":"a","old_string":"é","new_string":"e","replace_all":true}"#;
        let first = edit("a", "x\n", "", Occurrences::One);
        let both = [first.clone(), edit("a", "é", "e", Occurrences::All)];
        assert_eq!(read(one).unwrap(), [first]);
        assert_eq!(read(&format!("[{one},{all}]")).unwrap(), both);
        assert_eq!(read(&format!("{{\"edits\":[{one},{all}]}}")).unwrap(), both);
        for path in ["path", "file_path"] {
            let parts = format!("[{one},{all}]")
                .replace("\"path\":\"a\",", "")
                .replace("\"file_path\":\"a\",", "");
            assert_eq!(read(&format!("{{\"edits\":{parts},\"{path}\":\"a\"}}")).unwrap(), both);
        }
    }

    /// FO-10, Issue 27
    #[test]
    fn field_aliases_of_other_tools_are_accepted() {
        let expected = [edit("a", "x", "y", Occurrences::One)];
        for path in ["path", "file_path", "filename"] {
            for old in ["old_string", "old_str"] {
                for new in ["new_string", "new_str"] {
                    let texts = format!("\"{old}\":\"x\",\"{new}\":\"y\"");
                    let alone = format!("{{\"{path}\":\"a\",{texts}}}");
                    let in_list = format!("{{\"{path}\":\"a\",\"edits\":[{{{texts}}}]}}");
                    for json in [alone.clone(), format!("[{alone}]"), in_list] {
                        assert_eq!(read(&json).unwrap(), expected, "{json}");
                    }
                }
            }
        }
    }

    /// D-4, Issue 27
    #[test]
    fn duplicate_aliases_and_near_miss_field_names_are_refused() {
        for (json, message) in [
            (
                r#"{"path":"a","old_string":"x","old_str":"x","new_str":"y"}"#,
                "line 1, column 30: `old_str` is an alias of `old_string`, which is also present; use only one of them",
            ),
            (
                r#"{"path":"a","new_str":"x","old_str":"x","new_string":"y"}"#,
                "line 1, column 41: `new_str` is an alias of `new_string`, which is also present; use only one of them",
            ),
            (
                r#"{"file_path":"a","filename":"a","old_str":"x","new_str":"y"}"#,
                "line 1, column 18: `filename` and `file_path` are both aliases of `path`; use only one of them",
            ),
            (
                r#"{"path":"a","old_string":"x","newString":"y"}"#,
                "line 1, column 30: unknown field `newString` (did you mean `new_string`?); fields \
                 of an edit: `path`, `old_string`, `new_string`, `replace_all`, \
                 `expected_prev_sha256`",
            ),
            (
                r#"{"path":"a","old_string":"x","new_string":"y","replaceAll":true}"#,
                "line 1, column 47: unknown field `replaceAll` (did you mean `replace_all`?); \
                 fields of an edit: `path`, `old_string`, `new_string`, `replace_all`, \
                 `expected_prev_sha256`",
            ),
        ] {
            assert_eq!(error(json), message);
        }
        let camel = error(r#"{"filePath":"a","oldString":"x","newString":"y"}"#);
        assert!(
            camel.contains("not in a known format: it has the fields `filePath`, `newString`"),
            "{camel}"
        );
        assert!(camel.ends_with("; did you mean `new_string`, `old_string`?"), "{camel}");
    }

    /// FO-6
    #[test]
    fn only_the_first_edit_of_a_file_may_expect_a_digest() {
        let digest = Digest::of(b"a");
        let one = |path: &str, expected: &str| {
            let expected = format!("\"expected_prev_sha256\":{expected}");
            format!(r#"{{"path":"{path}","old_string":"x","new_string":"y",{expected}}}"#)
        };
        let given = format!("\"{digest}\"");
        let expecting = |operation: &Operation| {
            let Operation::Edit { expected, .. } = operation else { panic!("{operation:?}") };
            *expected
        };
        let input = format!("[{},{},{}]", one("a", &given), one("b", &given), one("a", "null"));
        let found: Vec<_> = read(&input).unwrap().iter().map(expecting).collect();
        assert_eq!(found, [Some(digest), Some(digest), None]);
        assert_eq!(
            error(&format!("[{},\n{}]", one("a", "null"), one("a", &given))),
            "line 2, column 70: `a` is changed earlier in the input, so `expected_prev_sha256` is \
             ambiguous; give it with the first edit of the file"
        );
        let part = r#"{"old_string":"x","new_string":"y"}"#;
        let list =
            format!(r#"{{"path":"a","edits":[{part},{part}],"expected_prev_sha256":{given}}}"#);
        let found: Vec<_> = read(&list).unwrap().iter().map(expecting).collect();
        assert_eq!(found, [Some(digest), None]);
        assert_eq!(
            error(&one("a", "\"beef\"")),
            "line 1, column 70: invalid `expected_prev_sha256`: `beef` is not a SHA-256 \
             digest: expected 64 hexadecimal characters"
        );
    }

    /// D-4
    #[test]
    fn invalid_edit_is_refused_with_its_position() {
        for (json, message) in [
            (
                r#"{"path":"a","old_string":"x"}"#,
                "line 1, column 1: missing field `new_string`; fields of an edit: `path`, \
                 `old_string`, `new_string`, `replace_all`, `expected_prev_sha256`",
            ),
            (
                r#"{"path":"a","old_string":7,"new_string":""}"#,
                "line 1, column 26: `old_string` must be a string, found a number",
            ),
            (
                r#"{"path":"a","old_string":"x","new_string":"","replace_all":"yes"}"#,
                "line 1, column 60: `replace_all` must be `true` or `false`, found a string",
            ),
            (
                r#"{"path":"a","file_path":"a","old_string":"x","new_string":""}"#,
                "line 1, column 13: `file_path` is an alias of `path`, which is also present; use \
                 only one of them",
            ),
            (
                r#"{"path":"../a","old_string":"x","new_string":""}"#,
                "line 1, column 9: the path `../a` cannot be used: it contains `..`",
            ),
            (
                r#"{"edits":[]}"#,
                "line 1, column 10: `edits` is empty, so there is nothing to change",
            ),
            (r#"{"edits":[7]}"#, "line 1, column 11: an edit must be an object, found a number"),
            (
                r#"{"path":"a","edits":[{"path":"a","old_string":"x","new_string":""}]}"#,
                "line 1, column 23: unknown field `path`; fields of an edit in the list of one \
                 file: `old_string`, `new_string`, `replace_all`",
            ),
            (
                r#"{"edits":[],"old_string":"x"}"#,
                "line 1, column 13: unknown field `old_string`; fields of a list of edits: `edits`",
            ),
        ] {
            assert_eq!(error(json), message);
        }
    }
}
