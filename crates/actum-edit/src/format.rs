//! Parses text that describes a change into operations (FO-10). The text can be JSON in one of several formats, a unified
//! diff, SEARCH/REPLACE blocks or a Codex patch.
//!
//! The parsers are strict. They reject any input that they do not understand, with its line and column, instead of
//! skipping it. Only prose around a diff or a Codex patch is skipped.

mod change_set;
pub mod codex_patch;
mod document;
mod edits;
mod error;
mod files;
pub mod git_diff;
mod json_patch;
mod list;
mod root_prefix;
pub mod search_replace;
mod steps;

pub use document::DocumentProblem;
pub use error::{ParseError, Problem, ProblemClass, Remedy};
pub use root_prefix::RootPrefix;

use std::fmt;

use actum_core::place::{Excerpt, Place};
use actum_core::{RelPath, json};
use document::{Document, Refusal};
use steps::Steps;

use crate::Operation;

/// Maximum size of an input in bytes: 100 MiB.
pub const INPUT_BYTES_MAX: usize = 100 * 1024 * 1024;

/// Names and syntax of a format.
struct Row {
    /// Name of the format on the command line, in the action `apply_changeset` and of its page in `docs/formats`.
    name: &'static str,
    /// Article of the noun, followed by a space, or an empty string if the noun is plural.
    article: &'static str,
    /// Noun for an input in this format, as used in messages.
    noun: &'static str,
    /// One-line description for the command-line help.
    summary: &'static str,
    syntax: Syntax,
}

enum Syntax {
    Json(JsonSyntax),
    Text(TextSyntax),
}

/// Syntax of a JSON format, which is recognised by its fields.
struct JsonSyntax {
    read: fn(&Document<'_>, &mut Steps) -> Result<(), Refusal>,
    /// Fields that identify the format, because no other format has them.
    fields: &'static [&'static str],
    /// Fields that identify a line of prose as a change in this format.
    fields_in_prose: &'static [&'static str],
    /// Description of the fields for messages, as a predicate (`has ...` or `have ...`).
    sign: &'static str,
}

/// Syntax of a text format, which is recognised by a line.
struct TextSyntax {
    read: fn(&[u8], &Reading) -> Result<Vec<Operation>, ParseError>,
    /// Checks whether an input is in this format. `None` for diffs, which are tried last.
    is_in: Option<fn(&[u8]) -> bool>,
    /// Description of the characteristic lines for messages, as a predicate (`has ...` or `begins with ...`).
    sign: &'static str,
    /// Reason why an input is not in this format, to follow the word `because` in messages.
    absence: &'static str,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $row:expr,)*) => {
        /// Input format of a change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All formats, in the order in which the help lists them.
            pub const ALL: [Self; [$(stringify!($format),)*].len()] = [$(Self::$format,)*];

            fn row(self) -> &'static Row {
                match self {
                    $(Self::$format => {
                        const ROW: &Row = &$row;
                        ROW
                    })*
                }
            }
        }
    };
}

formats! {
    /// [`ChangeSet`](crate::ChangeSet) as a JSON object.
    ChangeSet: Row {
        name: "change-set",
        article: "a ",
        noun: "change set",
        summary: "Hunks for several files, as a JSON object with `patches`",
        syntax: Syntax::Json(change_set::SYNTAX),
    },
    /// Search-and-replace edits, as JSON.
    Edits: Row {
        name: "edits",
        article: "",
        noun: "edits",
        summary: "Search-and-replace edits, as JSON",
        syntax: Syntax::Json(edits::SYNTAX),
    },
    /// Whole files, as JSON.
    Files: Row {
        name: "files",
        article: "",
        noun: "whole files",
        summary: "Whole files, as JSON",
        syntax: Syntax::Json(files::SYNTAX),
    },
    /// One or more JSON Patches (RFC 6902).
    JsonPatch: Row {
        name: "json-patch",
        article: "a ",
        noun: "JSON Patch",
        summary: "One or more JSON Patches (RFC 6902)",
        syntax: Syntax::Json(json_patch::SYNTAX),
    },
    /// Unified diff, as written by git or diff(1).
    GitDiff: Row {
        name: "git-diff",
        article: "a ",
        noun: "diff",
        summary: "A unified diff, as written by git or diff",
        syntax: Syntax::Text(git_diff::SYNTAX),
    },
    /// Blocks from `<<<<<<< SEARCH` to `>>>>>>> REPLACE`, as used by aider.
    SearchReplace: Row {
        name: "search-replace",
        article: "",
        noun: "SEARCH/REPLACE blocks",
        summary: "Blocks from `<<<<<<< SEARCH` to `>>>>>>> REPLACE`, as used by aider",
        syntax: Syntax::Text(search_replace::SYNTAX),
    },
    /// Patch from `*** Begin Patch` to `*** End Patch`, as written by Codex.
    CodexPatch: Row {
        name: "codex-patch",
        article: "a ",
        noun: "Codex patch",
        summary: "A patch from `*** Begin Patch` to `*** End Patch`, as written by Codex",
        syntax: Syntax::Text(codex_patch::SYNTAX),
    },
}

impl Format {
    /// Returns the name of the format, as used on the command line.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the format with the given name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// Returns a one-line description of the format for the command-line help.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// Returns the JSON formats.
    fn in_json() -> impl Iterator<Item = (Self, &'static JsonSyntax)> {
        Self::ALL.into_iter().filter_map(|format| match &format.row().syntax {
            Syntax::Json(json) => Some((format, json)),
            Syntax::Text(_) => None,
        })
    }

    /// Lists the JSON formats with their fields: `edits have ...; whole files have ...; and a JSON Patch has ...`.
    fn signs_in_json() -> String {
        let signs = Self::in_json().map(|(format, json)| format!("{format} {}", json.sign));
        joined(&signs.collect::<Vec<_>>(), "; ", "; and ")
    }

    /// Lists the text formats with their characteristic lines: `, or a diff, which has ..., or ...`.
    fn signs_in_text() -> String {
        Self::in_text()
            .map(|(format, text)| format!(", or {format}, which {}", text.sign))
            .collect()
    }

    /// Explains for each format why an input that starts with `found` is not in this format.
    fn absences(found: &Excerpt) -> String {
        let json: Vec<_> = Self::in_json().map(|(format, _)| format.to_string()).collect();
        let json = format!(
            "it is not {} because it starts with `{found}` instead of `{{` or `[`",
            joined(&json, ", ", " or ")
        );
        let text =
            Self::in_text().map(|(format, text)| format!("not {format} because {}", text.absence));
        joined(&[json].into_iter().chain(text).collect::<Vec<_>>(), "; ", "; and ")
    }

    /// Returns the formats that are not JSON.
    fn in_text() -> impl Iterator<Item = (Self, &'static TextSyntax)> {
        Self::ALL.into_iter().filter_map(|format| match &format.row().syntax {
            Syntax::Json(_) => None,
            Syntax::Text(text) => Some((format, text)),
        })
    }
}

/// Source of the line counts of the hunks in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HunkCounts {
    /// Use the counts in the hunk header, and reject hunks whose lines do not match them.
    #[default]
    Stated,
    /// Ignore the hunk header and count the lines.
    ///
    /// A hunk ends before a line that cannot be part of a hunk, before `--- ` and `+++ ` lines that are followed by a hunk
    /// header, and before a mail signature.
    Counted,
}

/// Settings for parsing an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Format of the input. If absent, the format is detected from the content.
    pub format: Option<Format>,
    /// File that a bare JSON Patch changes. Any other input names its files itself, so it is rejected if a target is
    /// given.
    pub target: Option<RelPath>,
    /// Source of the line counts of hunks. Only used for diffs.
    pub counts: HunkCounts,
    /// Root directory of the workspace, for inputs that use absolute paths.
    pub root: RootPrefix,
}

/// Parses the operations that `input` describes, in the order in which they must be applied.
///
/// If `reading` does not set a format, it is detected. An input that starts like JSON is JSON, and its fields determine
/// the exact format. Otherwise, a marker line identifies SEARCH/REPLACE blocks or a Codex patch, and any other input is
/// parsed as a diff. Several JSON documents in one input form a single change.
///
/// # Errors
/// Returns [`ParseError`] for the first problem in the input.
pub fn parse(input: &[u8], reading: &Reading) -> Result<Vec<Operation>, ParseError> {
    let Some(format) = reading.format else { return recognised(input, reading) };
    match &format.row().syntax {
        Syntax::Json(syntax) => read_json(input, reading, Some((format, syntax))),
        Syntax::Text(syntax) => {
            without_target(reading, format)?;
            (syntax.read)(input, reading)
        }
    }
}

fn recognised(input: &[u8], reading: &Reading) -> Result<Vec<Operation>, ParseError> {
    let start = input.trim_ascii_start();
    if start.is_empty() {
        return Err(ParseError::whole(Problem::Blank));
    }
    if begins_json(start) {
        return read_json(input, reading, None);
    }
    let mut formats = Format::in_text();
    if let Some((format, text)) =
        formats.find(|(_, text)| text.is_in.is_some_and(|is_in| is_in(input)))
    {
        without_target(reading, format)?;
        return (text.read)(input, reading);
    }
    let no_diff =
        |error: &ParseError| error.problem == Problem::Diff(git_diff::DiffProblem::NoSection);
    let operations = git_diff::parse_with(input, reading).map_err(|error| {
        if !no_diff(&error) {
            return error;
        }
        ParseError::whole(Problem::Unrecognised { found: Excerpt::of_line(start) })
    })?;
    without_target(reading, Format::GitDiff)?;
    Ok(operations)
}

fn read_json(
    input: &[u8],
    reading: &Reading,
    given: Option<(Format, &'static JsonSyntax)>,
) -> Result<Vec<Operation>, ParseError> {
    check_input(input)?;
    let text = json::text(input).map_err(|error| Refusal::from(error).placed(input))?;
    let mut steps = Steps::default();
    for (index, span) in json::documents(text).enumerate() {
        let start = span.start;
        if index == 1 {
            // The limits apply to all documents together, not only to each of them.
            json::within_limits(input).map_err(|error| Refusal::from(error).placed(input))?;
        }
        let part = text.get(span).unwrap_or_default();
        let placed = |refusal: Refusal| refusal.behind(start).placed(input);
        let document = Document::read(part, reading).map_err(placed)?;
        let (format, syntax) = given.map_or_else(|| document.format(), Ok).map_err(placed)?;
        if format != Format::JsonPatch {
            without_target(reading, format)?;
            document.filled().map_err(placed)?;
        }
        (syntax.read)(&document, &mut steps).map_err(placed)?;
    }
    Ok(steps.into_operations())
}

/// Checks whether a text starts like JSON, in contrast to prose in brackets such as `[PATCH] a subject`.
fn begins_json(start: &[u8]) -> bool {
    let Some((bracket, rest)) = start.split_first() else { return false };
    match (bracket, rest.trim_ascii_start().first()) {
        (b'{', Some(b'"' | b'}') | None) => true,
        (b'[', Some(next)) => b"{[]\"-0123456789".contains(next),
        (b'[', None) => true,
        (_, _) => false,
    }
}

/// Checks whether a line between prose starts a change in a JSON format.
fn is_json_change(line: &[u8]) -> bool {
    let has =
        |field: &&str| memchr::memmem::find(line, format!("\"{field}\"").as_bytes()).is_some();
    begins_json(line)
        && line.contains(&b'"')
        && Format::in_json().any(|(_, json)| json.fields_in_prose.iter().any(has))
}

fn joined<T: AsRef<str>>(parts: &[T], between: &str, before_last: &str) -> String {
    let last = parts.len().saturating_sub(1);
    let mut text = String::new();
    for (index, part) in parts.iter().enumerate() {
        text.push_str(match index {
            0 => "",
            index if index == last => before_last,
            _ => between,
        });
        text.push_str(part.as_ref());
    }
    text
}

/// Returns an error if a target file is given for a format whose inputs name their files themselves.
fn without_target(reading: &Reading, format: Format) -> Result<(), ParseError> {
    match reading.target {
        Some(_) => Err(ParseError::whole(Problem::TargetUnused { format })),
        None => Ok(()),
    }
}

impl fmt::Display for Format {
    /// Writes the noun with its article, such as `a diff`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { article, noun, .. } = self.row();
        write!(f, "{article}{noun}")
    }
}

/// Checks the rules that apply to all formats: the size limit, and no byte order mark or UTF-16.
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

    const JSON: &str = r#" {"patches":[{"path":"a","hunks":[{"old_start":0,"old_lines":0,
        "new_start":1,"new_lines":1,"lines":"+a\n"}]}]}"#;
    const DIFF: &str = "\n--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+a\n";

    fn recognised(input: &str) -> Result<Vec<Operation>, ParseError> {
        parse(input.as_bytes(), &Reading::default())
    }

    fn in_format(format: Format) -> Reading {
        Reading { format: Some(format), ..Reading::default() }
    }

    /// FO-10
    #[test]
    fn json_and_diff_are_recognised_as_the_same_change() {
        let operations = recognised(JSON).unwrap();
        assert_eq!(operations.len(), 1);
        assert_eq!(recognised(DIFF).unwrap(), operations);
    }

    #[test]
    fn explicit_format_disables_detection() {
        for (format, _) in Format::in_json() {
            let error = parse(DIFF.as_bytes(), &in_format(format)).unwrap_err();
            assert!(matches!(error.problem, Problem::Document(_)), "{error}");
        }
        let error = parse(JSON.as_bytes(), &in_format(Format::Edits)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 3: unknown field `patches`; fields of an edit: `path`, `old_string`, \
             `new_string`, `replace_all`, `expected_prev_sha256`"
        );
        let error = parse(JSON.as_bytes(), &in_format(Format::GitDiff)).unwrap_err();
        assert!(matches!(error.problem, Problem::Diff(_)), "{error}");
    }

    #[test]
    fn empty_array_is_refused_in_every_format_except_json_patch() {
        for (format, _) in Format::in_json().filter(|(format, _)| *format != Format::JsonPatch) {
            for reading in [in_format(format), Reading::default()] {
                assert_eq!(
                    parse(b" []", &reading).unwrap_err().to_string(),
                    "line 1, column 2: the array is empty, so there is nothing to change"
                );
            }
        }
    }

    #[test]
    fn unrecognised_input_reports_every_format_tried() {
        let unrecognised = recognised("please fix the bug\n").unwrap_err().to_string();
        let begins = "the input is not in a known format: it is not a change set, edits, whole files or a JSON Patch";
        assert!(unrecognised.starts_with(begins), "{unrecognised}");
        let json = "because it starts with `please fix the bug` instead of `{` or `[`; not a diff because it has neither";
        assert!(unrecognised.contains(json), "{unrecognised}");
        assert!(unrecognised.contains("; and not "), "{unrecognised}");
        let blank = recognised(" \n\t").unwrap_err().to_string();
        let begins = "the input is empty; expected JSON, which starts with `{` or `[`, or a diff, which has a \
                      `diff --git` line or a `--- ` line followed by a `+++ ` line, or SEARCH/REPLACE blocks, which have \
                      a `<<<<<<< SEARCH` line, or a Codex patch, which begins with `*** Begin Patch`";
        assert!(blank.starts_with(begins), "{blank}");
        for format in Format::ALL {
            assert!(unrecognised.contains(format.row().noun), "{format}: {unrecognised}");
        }
        for (format, text) in Format::in_text() {
            assert!(unrecognised.contains(text.absence), "{format}: {unrecognised}");
            assert!(blank.contains(text.sign), "{format}: {blank}");
        }
    }

    /// FO-10
    #[test]
    fn json_like_prose_does_not_hide_a_diff_or_codex_patch() {
        let diff = recognised(DIFF).unwrap();
        assert_eq!(recognised(&format!("[PATCH 1/2] greet\n{DIFF}")).unwrap(), diff);
        let codex = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n";
        let operations = recognised(codex).unwrap();
        assert_eq!(recognised(&format!("{{see below}}\n{codex}")).unwrap(), operations);
        let error = recognised("{see below}\n").unwrap_err();
        assert!(matches!(error.problem, Problem::Unrecognised { .. }), "{error}");
    }

    /// FO-10, D-4: a diff inside a JSON string is only text.
    #[test]
    fn diff_or_patch_inside_invalid_json_is_not_recognised() {
        let diff = "{\"path\":\"d\",\"content\":\"x:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\"}";
        let codex = "{\"path\":\"d\",\"content\":\"\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n\"}";
        for input in [diff, codex] {
            let error = recognised(input).unwrap_err();
            assert!(matches!(error.problem, Problem::Document(_)), "{error}");
        }
    }

    /// D-4
    #[test]
    fn input_with_changes_in_two_formats_is_refused() {
        let codex = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        let json = "{\"path\": \"a\", \"old_string\": \"a\", \"new_string\": \"b\"}\n";
        let diff = DIFF.trim_start();
        for (first, second) in [(codex, diff), (diff, codex), (diff, json), (codex, json)] {
            let error = recognised(&format!("{first}{second}")).unwrap_err();
            assert!(error.to_string().contains("in another format"), "{error}");
        }
        let reading = in_format(Format::GitDiff);
        assert!(parse(format!("{diff}{codex}").as_bytes(), &reading).is_err());
    }

    #[test]
    fn input_size_is_limited_on_both_sides() {
        assert_eq!(check_size(INPUT_BYTES_MAX), Ok(()));
        assert_eq!(
            check_size(INPUT_BYTES_MAX + 1).unwrap_err().to_string(),
            "the input has 104857601 bytes, but may have at most 104857600; split it"
        );
    }

    #[test]
    fn input_with_a_byte_order_mark_is_refused() {
        let marked = format!("\u{feff}{DIFF}");
        assert_eq!(
            recognised(&marked).unwrap_err().to_string(),
            "line 1, column 1: the input starts with a byte order mark; save it as UTF-8 without one"
        );
        let utf16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for format in [Format::GitDiff, Format::ChangeSet] {
            assert_eq!(parse(&utf16, &in_format(format)).unwrap_err().problem, Problem::Utf16);
        }
    }
}
