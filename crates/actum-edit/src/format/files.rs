//! Parses whole files in JSON, each of which has a new content or is deleted.

use actum_core::RelPath;
use actum_core::json::{Fields, Kind, Schema, Value};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::document::{Document, DocumentProblem, PATH_ALIASES, Refusal, expected_in};
use super::steps::Steps;
use super::{Format, JsonSyntax, RootPrefix, list};
use crate::{EmptyParents, ModeChange, Operation};

const FILE: Schema = Schema {
    name: "a file",
    fields: &["path", "content", "content_base64", "executable", "expected_prev_sha256"],
    aliases: PATH_ALIASES,
};
const LIST: Schema = Schema { name: "a list of files", fields: &["files"], aliases: &[] };

/// Requested state of a file after the change.
enum Target {
    Content(Vec<u8>),
    Gone,
}

/// Syntax of the format `files`.
pub(super) const SYNTAX: JsonSyntax = JsonSyntax {
    read,
    fields: &["files", "content", "content_base64", "executable"],
    fields_in_prose: &["content"],
    sign: "have `files`, `content` or `content_base64`",
};

/// Parses `{"files": [..]}`, a single file, or an array of files.
pub(super) fn read(document: &Document<'_>, steps: &mut Steps) -> Result<(), Refusal> {
    let value = &document.value;
    let files = if value.has("files") {
        LIST.fields(value)?.required("files")?.filled_array()?
    } else {
        value.each()
    };
    list::read(files, Format::Files, document, steps)
}

/// Parses a single file.
pub(super) fn file(file: &Value<'_>, root: &RootPrefix, steps: &mut Steps) -> Result<(), Refusal> {
    let fields = FILE.fields(file)?;
    let path = steps.whole(&fields, root)?;
    let expected = expected_in(&fields)?;
    let executable = fields.get("executable").map(|field| field.boolean()).transpose()?;
    let mode = executable.map(ModeChange::Executable);
    match (target(&fields, &path, file)?, expected, fields.get("executable")) {
        (Target::Gone, _, Some(field)) => {
            let problem = DocumentProblem::DeletedExecutable { path };
            return Err(Refusal::at(field.value.span.start, problem));
        }
        (Target::Gone, expected, None) => {
            steps.push(Operation::Delete { path, expected, parents: EmptyParents::Remove });
        }
        // Without an expected digest, the file is created. With one, the existing file is overwritten.
        (Target::Content(content), None, _) => {
            steps.push(Operation::Create { path, content, mode });
        }
        (Target::Content(content), expected @ Some(_), _) => {
            steps.push(Operation::Write { path: path.clone(), content, expected });
            if let Some(mode) = mode {
                steps.push(Operation::Chmod { path, mode });
            }
        }
    }
    Ok(())
}

fn target(fields: &Fields<'_>, path: &RelPath, file: &Value<'_>) -> Result<Target, Refusal> {
    let path = || path.clone();
    match (fields.get("content"), fields.get("content_base64")) {
        (Some(field), None) if field.value.kind() == Kind::Null => Ok(Target::Gone),
        (Some(field), None) => Ok(Target::Content(field.string()?.as_bytes().to_vec())),
        (None, Some(field)) => {
            let refused = |_| Refusal::at(field.value.span.start, DocumentProblem::Base64);
            STANDARD.decode(field.string()?).map(Target::Content).map_err(refused)
        }
        (None, None) => {
            Err(Refusal::at(file.span.start, DocumentProblem::NoContent { path: path() }))
        }
        (Some(_), Some(second)) => {
            let problem = DocumentProblem::TwoContents { path: path() };
            Err(Refusal::at(second.value.span.start, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::{ParseError, Reading, parse};
    use actum_core::Digest;

    fn read(json: &str) -> Result<Vec<Operation>, ParseError> {
        parse(json.as_bytes(), &Reading::default())
    }

    fn error(json: &str) -> String {
        read(json).unwrap_err().to_string()
    }

    fn path(path: &str) -> RelPath {
        RelPath::new(path).unwrap()
    }

    /// FO-10
    #[test]
    fn files_are_read_alone_as_an_array_and_in_an_object() {
        let one = r#"{"path":"a","content":"x\r\n"}"#;
        let create = Operation::Create { path: path("a"), content: "x\r\n".into(), mode: None };
        let (file_path, filename) =
            (one.replace("path", "file_path"), one.replace("path", "filename"));
        for json in
            [one, &file_path, &filename, &format!("[{one}]"), &format!("{{\"files\":[{one}]}}")]
        {
            assert_eq!(read(json).unwrap(), std::slice::from_ref(&create));
        }
    }

    /// FO-6
    #[test]
    fn file_elements_create_write_or_delete_a_file() {
        let expected = Some(Digest::of(b"a"));
        let digest = format!("\"expected_prev_sha256\":\"{}\"", Digest::of(b"a"));
        let executable = ModeChange::Executable(true);
        let parents = EmptyParents::Remove;
        let input = format!(
            r#"[
                {{"path":"new","content":"é","executable":true,"expected_prev_sha256":null}},
                {{"path":"old","content_base64":"/wA=",{digest}}},
                {{"path":"run","content":"","executable":true,{digest}}},
                {{"path":"plain","content":"","executable":false}},
                {{"path":"gone","content":null}},
                {{"path":"gone too","content":null,{digest}}}
            ]"#
        );
        assert_eq!(
            read(&input).unwrap(),
            [
                Operation::Create {
                    path: path("new"),
                    content: "é".into(),
                    mode: Some(executable)
                },
                Operation::Write { path: path("old"), content: vec![0xff, 0], expected },
                Operation::Write { path: path("run"), content: Vec::new(), expected },
                Operation::Chmod { path: path("run"), mode: executable },
                Operation::Create {
                    path: path("plain"),
                    content: Vec::new(),
                    mode: Some(ModeChange::Executable(false))
                },
                Operation::Delete { path: path("gone"), expected: None, parents },
                Operation::Delete { path: path("gone too"), expected, parents },
            ]
        );
    }

    /// D-4
    #[test]
    fn invalid_file_elements_are_rejected_with_their_position() {
        for (json, message) in [
            (
                r#"{"files":[{"path":"a"}]}"#,
                "line 1, column 11: the content of `a` is missing; give `content` (`null` to delete the \
                 file) or `content_base64`",
            ),
            (
                r#"{"path":"a","content":null,"content_base64":""}"#,
                "line 1, column 45: `a` has both `content` and `content_base64`; give one of them",
            ),
            (
                r#"{"path":"a","content":7}"#,
                "line 1, column 23: `content` must be a string, found a number",
            ),
            (
                r#"{"path":"a","content":null,"executable":false}"#,
                "line 1, column 41: `a` is deleted, so `executable` cannot be set",
            ),
            (
                r#"[{"path":"a","content":""},{"path":"a","content":null}]"#,
                "line 1, column 36: the file `a` appears more than once",
            ),
            (
                r#"{"path":"a","content":"","mode":7}"#,
                "line 1, column 26: unknown field `mode`; fields of a file: `path`, `content`, \
                 `content_base64`, `executable`, `expected_prev_sha256`",
            ),
            (
                r#"{"files":[]}"#,
                "line 1, column 10: `files` is empty, so there is nothing to change",
            ),
        ] {
            assert_eq!(error(json), message);
        }
    }

    /// D-4
    #[test]
    fn base64_is_decoded_strictly() {
        for wrong in ["YQ", "YQ=", "YR==", "YQ==\\n", "Y Q==", "_w==", "é"] {
            assert_eq!(
                error(&format!(r#"{{"path":"a","content_base64":"{wrong}"}}"#)),
                "line 1, column 30: `content_base64` is not valid base64 (RFC 4648, section 4, \
                 with padding and without line breaks)",
                "{wrong}"
            );
        }
    }
}
