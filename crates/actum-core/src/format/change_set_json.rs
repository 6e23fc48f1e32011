//! Reads a change set in JSON (RFC 8259), strictly (FO-1, D-4).

use super::error::{ParseError, Place, Problem};
use crate::path::Cut;
use crate::{ChangeSet, count};

/// How much of what the JSON parser says an error shows.
const MESSAGE_BYTES_MAX: usize = 400;
/// How `serde` names the types of a change set, and what a reader calls them.
const TYPE_NAMES: [(&str, &str); 4] = [
    ("expected struct ChangeSet", "expected a change set object"),
    ("expected struct Patch", "expected a patch object"),
    ("expected struct Hunk", "expected a hunk object"),
    ("expected u32", "expected a whole number from 0 to 4294967295"),
];

/// The change set that `input` holds and nothing else: no unknown, missing or doubled field, no
/// text after it, no byte order mark.
///
/// # Errors
/// [`ParseError`] at the first place that is not sound.
pub fn parse(input: &[u8]) -> Result<ChangeSet, ParseError> {
    super::check_input(input)?;
    let text = std::str::from_utf8(input)
        .map_err(|error| ParseError::at(Place::of(input, error.valid_up_to()), Problem::NotUtf8))?;
    let set = serde_json::from_str(text).map_err(|error| json_error(&error))?;
    match array_as_object(input) {
        Some(offset) => Err(ParseError::at(Place::of(input, offset), Problem::JsonArray)),
        None => Ok(set),
    }
}

fn json_error(error: &serde_json::Error) -> ParseError {
    let (line, column) = (error.line(), error.column());
    let mut message = error.to_string();
    let suffix = format!(" at line {line} column {column}");
    message.truncate(message.strip_suffix(&suffix).map_or(message.len(), str::len));
    for (theirs, ours) in TYPE_NAMES {
        message = message.replace(theirs, ours);
    }
    // Names of unknown fields stand in it as they are.
    let message = Cut(message.as_bytes(), MESSAGE_BYTES_MAX).to_string();
    let place = Place { line: count(line).max(1), column: count(column).max(1) };
    ParseError::at(place, Problem::Json { message })
}

/// Where an array stands in place of an object in a change set that `serde` accepted, since it
/// reads `["a", []]` as a patch: every array of a change set is the value of a field.
fn array_as_object(json: &[u8]) -> Option<usize> {
    let (mut after_colon, mut in_string, mut escaped) = (false, false, false);
    json.iter().position(|&byte| {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
            return false;
        }
        if byte == b'[' && !after_colon {
            return true;
        }
        in_string = byte == b'"';
        after_colon = byte == b':' || (after_colon && byte.is_ascii_whitespace());
        false
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HUNK: &str =
        r#"{"old_start":1,"old_lines":1,"new_start":1,"new_lines":1,"lines":"-a\n+\"[b\\\n"}"#;

    fn set(patch: &str) -> String {
        format!("{{\"patches\":[\n{patch}\n]}}")
    }

    #[test]
    fn what_an_error_shows_of_the_input_is_escaped_and_short() {
        let field = format!("\\u001b[31m{}", "x".repeat(500));
        let error = error(set(&format!("{{\"{field}\": 1}}")));
        assert!(error.contains("unknown field `\\033[31mxxx"), "{error}");
        assert!(error.len() < 600 && !error.contains('\u{1b}'), "{error}");
    }

    fn error(json: impl AsRef<[u8]>) -> String {
        parse(json.as_ref()).unwrap_err().to_string()
    }

    /// FO-1
    #[test]
    fn a_change_set_is_read_field_by_field() {
        let patch = format!(r#"{{"path":"é [a","hunks": [{HUNK},{HUNK}]}}"#);
        let parsed = parse(set(&patch).as_bytes()).unwrap();
        assert_eq!(parsed.patches[0].path, "é [a");
        assert_eq!(parsed.patches[0].hunks.len(), 2);
        assert_eq!(parsed.patches[0].hunks[1].lines, "-a\n+\"[b\\\n");
        assert_eq!(parsed.patches[0].expected_prev_sha256, None);
    }

    /// D-4
    #[test]
    fn a_field_that_is_unknown_missing_or_doubled_is_refused() {
        assert_eq!(
            error(set(r#"{"path":"a","hunks":[],"force":true}"#)),
            "line 2, column 30: the change set cannot be read: unknown field `force`, expected \
             one of `path`, `hunks`, `expected_prev_sha256`"
        );
        assert_eq!(
            error(set(r#"{"path":"a"}"#)),
            "line 2, column 12: the change set cannot be read: missing field `hunks`"
        );
        assert_eq!(
            error(set(r#"{"path":"a","path":"b","hunks":[]}"#)),
            "line 2, column 18: the change set cannot be read: duplicate field `path`"
        );
        let hunk = HUNK.replace("new_start", "old_start");
        let doubled = error(set(&format!(r#"{{"path":"a","hunks":[{hunk}]}}"#)));
        assert!(doubled.ends_with("duplicate field `old_start`"), "{doubled}");
        assert!(error(r#"{"patches":[],"patches":[]}"#).ends_with("duplicate field `patches`"));
    }

    /// D-4
    #[test]
    fn text_after_the_change_set_is_refused() {
        assert_eq!(
            error("{\"patches\":[]}\n{}"),
            "line 2, column 1: the change set cannot be read: trailing characters"
        );
        assert!(parse(b" {\"patches\":[]}\n ").is_ok());
    }

    /// D-4
    #[test]
    fn a_value_of_the_wrong_type_is_refused_without_names_of_rust_types() {
        for wrong in ["-1", "1.5", "4294967296", "\"1\"", "null", "1e0"] {
            let hunk = HUNK.replacen(":1", &format!(":{wrong}"), 1);
            let error = error(set(&format!(r#"{{"path":"a","hunks":[{hunk}]}}"#)));
            assert!(error.contains("expected a whole number from 0 to 4294967295"), "{error}");
        }
        assert!(error(set("1")).ends_with("invalid type: integer `1`, expected a patch object"));
        assert!(error("7").ends_with("invalid type: integer `7`, expected a change set object"));
    }

    /// D-4
    #[test]
    fn an_array_in_place_of_an_object_is_refused() {
        assert_eq!(
            error(r#"{"patches":[["a",[]]]}"#),
            "line 1, column 13: the change set cannot be read: an array stands where an object \
             belongs"
        );
        let hunks = r#"{"patches":[{"path":"a","hunks":[{"old_start":1,"old_lines":1,
            "new_start":1,"new_lines":1,"lines":"\\\""}, [1,1,1,1,"x"]]}]}"#;
        assert!(error(hunks).starts_with("line 2, column 58: "), "{}", error(hunks));
        assert!(error("[[]]").starts_with("line 1, column 1: "));
    }

    #[test]
    fn bytes_that_are_not_utf8_are_refused_where_they_stand() {
        assert_eq!(
            error(b"{\"patches\":[\n{\"path\":\"a\xff\"}]}"),
            "line 2, column 11: the change set cannot be read: JSON must be UTF-8, and the byte \
             here is not"
        );
    }

    #[test]
    fn a_byte_order_mark_and_an_empty_input_are_refused() {
        assert!(error("\u{feff}{}").contains("byte order mark"));
        assert_eq!(
            error(""),
            "line 1, column 1: the change set cannot be read: EOF while parsing a value"
        );
    }
}
