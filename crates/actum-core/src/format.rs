//! Turns text that describes a change into operations: a change set as JSON, or a unified diff
//! (FO-10).
//!
//! Strict throughout: what is not understood is refused with its line and column, never skipped,
//! unless it stands where a diff may hold prose.

pub mod change_set_json;
pub mod codex_patch;
mod error;
pub mod git_diff;

pub use error::{EXCERPT_BYTES_MAX, Excerpt, ParseError, Place, Problem};

use crate::Operation;

/// The largest input, in bytes: 100 MiB.
pub const INPUT_BYTES_MAX: usize = 100 * 1024 * 1024;

/// What a text is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A [`ChangeSet`](crate::ChangeSet) as a JSON object.
    ChangeSetJson,
    /// A unified diff, as git or diff(1) writes it.
    GitDiff,
    /// A patch between `*** Begin Patch` and `*** End Patch`.
    CodexPatch,
}

impl Format {
    /// The format `input` must be in if it is in any: JSON when the first byte that is not blank
    /// is `{`, a Codex patch when a line begins one, else a diff; `None` when all is blank.
    pub fn recognise(input: &[u8]) -> Option<Self> {
        match input.trim_ascii_start().first() {
            Some(b'{') => Some(Self::ChangeSetJson),
            Some(_) if codex_patch::begins(input) => Some(Self::CodexPatch),
            Some(_) => Some(Self::GitDiff),
            None => None,
        }
    }
}

/// The operations that `input` describes, in the order they must be computed in; in the given
/// format, or else in the one it is recognised as.
///
/// # Errors
/// [`ParseError`] at the first place that is not sound.
pub fn parse(input: &[u8], format: Option<Format>) -> Result<Vec<Operation>, ParseError> {
    match format.or_else(|| Format::recognise(input)) {
        Some(Format::ChangeSetJson) => {
            let operations = change_set_json::parse(input)?.operations();
            operations.map_err(|source| ParseError::whole(Problem::ChangeSet(source)))
        }
        Some(Format::GitDiff) => git_diff::parse(input).map_err(|error| {
            let no_diff = Problem::Diff(git_diff::DiffProblem::NoSection);
            if format.is_some() || error.problem != no_diff {
                return error;
            }
            let found = Excerpt::of_line(input.trim_ascii_start());
            ParseError::whole(Problem::Unrecognised { found })
        }),
        Some(Format::CodexPatch) => codex_patch::parse(input),
        None => Err(ParseError::whole(Problem::Blank)),
    }
}

/// Refuses what no format may be: too large, or not in bare UTF-8 compatible bytes.
fn check_input(input: &[u8]) -> Result<(), ParseError> {
    check_size(input.len())?;
    let problem = match input {
        [0xef, 0xbb, 0xbf, ..] => Problem::ByteOrderMark,
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Problem::Utf16,
        _ => return Ok(()),
    };
    Err(ParseError::at(Place::START, problem))
}

fn check_size(bytes: usize) -> Result<(), ParseError> {
    if bytes > INPUT_BYTES_MAX {
        return Err(ParseError::whole(Problem::TooLarge { bytes }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_set::ChangeSetError;

    const JSON: &str = r#" {"patches":[{"path":"a","hunks":[{"old_start":0,"old_lines":0,
        "new_start":1,"new_lines":1,"lines":"+a\n"}]}]}"#;
    const DIFF: &str = "\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+a\n";

    /// FO-10
    #[test]
    fn both_formats_are_recognised_and_mean_the_same() {
        assert_eq!(Format::recognise(JSON.as_bytes()), Some(Format::ChangeSetJson));
        assert_eq!(Format::recognise(DIFF.as_bytes()), Some(Format::GitDiff));
        let operations = parse(JSON.as_bytes(), None).unwrap();
        assert_eq!(operations.len(), 1);
        assert_eq!(parse(DIFF.as_bytes(), None).unwrap(), operations);
    }

    #[test]
    fn a_format_that_is_given_is_not_guessed() {
        let error = parse(DIFF.as_bytes(), Some(Format::ChangeSetJson)).unwrap_err();
        assert!(matches!(error.problem, Problem::Json { .. }), "{error}");
        let error = parse(JSON.as_bytes(), Some(Format::GitDiff)).unwrap_err();
        assert!(matches!(error.problem, Problem::Diff(_)), "{error}");
    }

    #[test]
    fn an_input_in_no_format_says_what_it_was_tried_as() {
        assert_eq!(
            parse(b"please fix the bug\n", None).unwrap_err().to_string(),
            "the input is in no known format: it is no change set in JSON, since it starts with \
             `please fix the bug` and not with `{`; and no diff, since it has neither a \
             `diff --git` line nor a `--- ` line followed by a `+++ ` line"
        );
        assert_eq!(
            parse(b" \n\t", None).unwrap_err().to_string(),
            "the input is empty: it is neither a change set in JSON, which starts with `{`, nor a \
             diff, which has a `diff --git` line or a `--- ` line followed by a `+++ ` line"
        );
    }

    #[test]
    fn a_change_set_that_contradicts_itself_is_refused() {
        let twice = JSON.replace(
            "]}]}",
            r#"]},{"path":"a","hunks":[{"old_start":0,"old_lines":0,
            "new_start":1,"new_lines":1,"lines":"+a\n"}]}]}"#,
        );
        let error = parse(twice.as_bytes(), None).unwrap_err();
        let Problem::ChangeSet(ChangeSetError::Duplicate { patch: 2, .. }) = error.problem else {
            panic!("{error}");
        };
    }

    #[test]
    fn the_size_is_limited_on_both_sides() {
        assert_eq!(check_size(INPUT_BYTES_MAX), Ok(()));
        assert_eq!(
            check_size(INPUT_BYTES_MAX + 1).unwrap_err().to_string(),
            "the input has 104857601 bytes, but at most 104857600 are read; split it"
        );
    }

    #[test]
    fn an_input_that_is_marked_as_another_encoding_is_refused() {
        let marked = format!("\u{feff}{DIFF}");
        assert_eq!(
            parse(marked.as_bytes(), None).unwrap_err().to_string(),
            "line 1, column 1: the input starts with a byte order mark; save it as UTF-8 without one"
        );
        let utf16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let error = parse(&utf16, Some(Format::GitDiff)).unwrap_err();
        assert_eq!(error.problem, Problem::Utf16);
    }
}
