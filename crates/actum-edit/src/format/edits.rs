//! Reads edits in JSON: texts of files that are replaced by others, as agents' edit tools take them.
//!
//! The edits of one input are made one after the other, each in what the one before left.

use actum_core::json::{Fields, Schema, Value};
use actum_core::{Digest, RelPath};

use super::JsonSyntax;
use super::document::{Document, EditedFiles, Refusal};
use crate::Operation;
use crate::edit::{Edit, Occurrences, Replacement};

const PATH_ALIASES: &[(&str, &str)] = &[("file_path", "path")];

const EDIT: Schema = Schema {
    name: "an edit",
    fields: &["path", "old_string", "new_string", "replace_all", "expected_prev_sha256"],
    aliases: PATH_ALIASES,
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
    aliases: &[],
};

/// How this format is recognised and read.
pub(super) const SYNTAX: JsonSyntax = JsonSyntax {
    read: operations,
    fields: &["edits", "old_string", "new_string", "replace_all"],
    fields_in_prose: &["edits", "old_string"],
    sign: "have `edits` or `old_string`",
};

/// The operations of `{"edits": [..]}`, of one edit, of an array of edits, or of
/// `{"path": .., "edits": [..]}`.
pub(super) fn operations(document: &Document<'_>) -> Result<Vec<Operation>, Refusal> {
    let value = &document.value;
    if !value.has("edits") {
        each(document, value.each())
    } else if value.has("path") || value.has("file_path") {
        of_one_file(document, &LIST_OF_ONE_FILE.fields(value)?)
    } else {
        each(document, LIST.fields(value)?.required("edits")?.filled_array()?)
    }
}

fn each(document: &Document<'_>, edits: &[Value<'_>]) -> Result<Vec<Operation>, Refusal> {
    let mut files = EditedFiles::new(document);
    edits
        .iter()
        .map(|edit| {
            let fields = EDIT.fields(edit)?;
            let (path, expected) = files.next(&fields)?;
            operation(path, &fields, expected)
        })
        .collect()
}

fn of_one_file(document: &Document<'_>, list: &Fields<'_>) -> Result<Vec<Operation>, Refusal> {
    let (path, mut expected) = EditedFiles::new(document).next(list)?;
    list.required("edits")?
        .filled_array()?
        .iter()
        .map(|edit| operation(path.clone(), &EDIT_OF_THAT_FILE.fields(edit)?, expected.take()))
        .collect()
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

    /// FO-6
    #[test]
    fn the_first_edit_of_a_file_may_expect_a_digest_and_no_later_one() {
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
            "line 2, column 70: `a` is edited before, so it is not clear which content \
             `expected_prev_sha256` means; give it with the first edit of the file"
        );
        let part = r#"{"old_string":"x","new_string":"y"}"#;
        let list =
            format!(r#"{{"path":"a","edits":[{part},{part}],"expected_prev_sha256":{given}}}"#);
        let found: Vec<_> = read(&list).unwrap().iter().map(expecting).collect();
        assert_eq!(found, [Some(digest), None]);
        assert_eq!(
            error(&one("a", "\"beef\"")),
            "line 1, column 70: `expected_prev_sha256` cannot be used: `beef` is not a SHA-256 \
             digest: expected 64 hexadecimal characters"
        );
    }

    /// D-4
    #[test]
    fn an_edit_that_is_not_exactly_one_is_refused_at_its_place() {
        for (json, message) in [
            (
                r#"{"path":"a","old_string":"x"}"#,
                "line 1, column 1: the field `new_string` is missing; an edit has `path`, \
                 `old_string`, `new_string`, `replace_all`, `expected_prev_sha256`",
            ),
            (
                r#"{"path":"a","old_string":7,"new_string":""}"#,
                "line 1, column 26: `old_string` must be a string, but here is a number",
            ),
            (
                r#"{"path":"a","old_string":"x","new_string":"","replace_all":"yes"}"#,
                "line 1, column 60: `replace_all` must be `true` or `false`, but here is a string",
            ),
            (
                r#"{"path":"a","file_path":"a","old_string":"x","new_string":""}"#,
                "line 1, column 13: `file_path` is another name of `path`, which is there too; give \
                 one of them",
            ),
            (
                r#"{"path":"../a","old_string":"x","new_string":""}"#,
                "line 1, column 9: the path `../a` cannot be used: it contains `..`",
            ),
            (
                r#"{"edits":[]}"#,
                "line 1, column 10: `edits` is empty, so there is nothing to change",
            ),
            (
                r#"{"edits":[7]}"#,
                "line 1, column 11: an edit must be an object, but here is a number",
            ),
            (
                r#"{"path":"a","edits":[{"path":"a","old_string":"x","new_string":""}]}"#,
                "line 1, column 23: unknown field `path`; an edit in the list of one file has \
                 `old_string`, `new_string`, `replace_all`",
            ),
            (
                r#"{"edits":[],"old_string":"x"}"#,
                "line 1, column 13: unknown field `old_string`; a list of edits has `edits`",
            ),
        ] {
            assert_eq!(error(json), message);
        }
    }
}
