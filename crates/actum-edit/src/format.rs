//! Turns text that describes a change into operations: JSON in one of several formats, a unified
//! diff, SEARCH/REPLACE blocks, or a Codex patch (FO-10).
//!
//! Strict throughout: what is not understood is refused with its line and column, never skipped,
//! unless it stands where a diff or a Codex patch may hold prose.

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

/// The largest input, in bytes: 100 MiB.
pub const INPUT_BYTES_MAX: usize = 100 * 1024 * 1024;

/// One format: its names and its syntax.
struct Row {
    /// Name on the command line and in the action `apply_changeset`, and of the page in `docs/formats`.
    name: &'static str,
    /// Article of the noun with a blank behind it; empty for a plural.
    article: &'static str,
    /// Noun for an input in this format, for messages.
    noun: &'static str,
    /// One-line description, for help.
    summary: &'static str,
    syntax: Syntax,
}

enum Syntax {
    Json(JsonSyntax),
    Text(TextSyntax),
}

/// A format in JSON, recognised by its fields.
struct JsonSyntax {
    read: fn(&Document<'_>, &mut Steps) -> Result<(), Refusal>,
    /// Fields that no other format has.
    fields: &'static [&'static str],
    /// Fields that show a change on one line among prose.
    fields_in_prose: &'static [&'static str],
    /// Its fields, for "which ...".
    sign: &'static str,
}

/// A format of its own, recognised by a line.
struct TextSyntax {
    read: fn(&[u8], &Reading) -> Result<Vec<Operation>, ParseError>,
    /// Returns true for an input in this format; `None` for diffs, which are tried last.
    is_in: Option<fn(&[u8]) -> bool>,
    /// Lines of such an input, for "which ...".
    sign: &'static str,
    /// Lines that another input lacks, for "since ...".
    absence: &'static str,
}

macro_rules! formats {
    ($($(#[$doc:meta])* $format:ident: $row:expr,)*) => {
        /// Format of an input.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Format {
            $($(#[$doc])* $format,)*
        }

        impl Format {
            /// All formats, in the order in which they are listed.
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
    /// A [`ChangeSet`](crate::ChangeSet) as a JSON object.
    ChangeSet: Row {
        name: "change-set",
        article: "a ",
        noun: "change set",
        summary: "Hunks of several files, as a JSON object with `patches`",
        syntax: Syntax::Json(change_set::SYNTAX),
    },
    /// Texts that are replaced by others, in JSON.
    Edits: Row {
        name: "edits",
        article: "",
        noun: "edits",
        summary: "Texts that are replaced by others, in JSON",
        syntax: Syntax::Json(edits::SYNTAX),
    },
    /// Whole files, in JSON.
    Files: Row {
        name: "files",
        article: "",
        noun: "whole files",
        summary: "Whole files, in JSON",
        syntax: Syntax::Json(files::SYNTAX),
    },
    /// A JSON Patch (RFC 6902), or several.
    JsonPatch: Row {
        name: "json-patch",
        article: "a ",
        noun: "JSON Patch",
        summary: "A JSON Patch (RFC 6902), or several",
        syntax: Syntax::Json(json_patch::SYNTAX),
    },
    /// A unified diff, as git or diff(1) writes it.
    GitDiff: Row {
        name: "git-diff",
        article: "a ",
        noun: "diff",
        summary: "A unified diff, as git or diff writes it",
        syntax: Syntax::Text(git_diff::SYNTAX),
    },
    /// Blocks from `<<<<<<< SEARCH` to `>>>>>>> REPLACE`.
    SearchReplace: Row {
        name: "search-replace",
        article: "",
        noun: "SEARCH/REPLACE blocks",
        summary: "Blocks from `<<<<<<< SEARCH` to `>>>>>>> REPLACE`, as aider has models write them",
        syntax: Syntax::Text(search_replace::SYNTAX),
    },
    /// A patch between `*** Begin Patch` and `*** End Patch`.
    CodexPatch: Row {
        name: "codex-patch",
        article: "a ",
        noun: "Codex patch",
        summary: "A patch from `*** Begin Patch` to `*** End Patch`, as Codex writes it",
        syntax: Syntax::Text(codex_patch::SYNTAX),
    },
}

impl Format {
    /// Its name, as a caller gives it.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The format of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// One-line description, for help.
    pub fn summary(self) -> &'static str {
        self.row().summary
    }

    /// The formats in JSON.
    fn in_json() -> impl Iterator<Item = (Self, &'static JsonSyntax)> {
        Self::ALL.into_iter().filter_map(|format| match &format.row().syntax {
            Syntax::Json(json) => Some((format, json)),
            Syntax::Text(_) => None,
        })
    }

    /// Lists the formats in JSON with their fields: `no edits, which have ...; and no ..., which has ...`.
    fn signs_in_json() -> String {
        let signs = Self::in_json()
            .map(|(format, json)| format!("no {}, which {}", format.row().noun, json.sign));
        joined(&signs.collect::<Vec<_>>(), "; ", "; and ")
    }

    /// Lists the other formats with their lines: `, nor a diff, which has ..., nor ...`.
    fn signs_in_text() -> String {
        Self::in_text()
            .map(|(format, text)| format!(", nor {format}, which {}", text.sign))
            .collect()
    }

    /// Lists all formats, each with what an input that starts with `found` lacks.
    fn absences(found: &Excerpt) -> String {
        let json: Vec<_> = Self::in_json().map(|(format, _)| format.row().noun).collect();
        let json = format!(
            "it is no {}, since it starts with `{found}` and not with `{{` or `[`",
            joined(&json, ", ", " or ")
        );
        let text = Self::in_text()
            .map(|(format, text)| format!("no {}, since {}", format.row().noun, text.absence));
        joined(&[json].into_iter().chain(text).collect::<Vec<_>>(), "; ", "; and ")
    }

    /// The formats that are not in JSON.
    fn in_text() -> impl Iterator<Item = (Self, &'static TextSyntax)> {
        Self::ALL.into_iter().filter_map(|format| match &format.row().syntax {
            Syntax::Json(_) => None,
            Syntax::Text(text) => Some((format, text)),
        })
    }
}

/// Source of the line counts of a hunk in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HunkCounts {
    /// Its header, which its lines must agree with.
    #[default]
    Stated,
    /// Its lines. It ends where a line is that a hunk cannot have, where `--- ` and `+++ ` lines are followed
    /// by a hunk header, and at the signature of a mail.
    Counted,
}

/// Settings for reading an input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reading {
    /// Format of the input; recognised by the content where it is not given.
    pub format: Option<Format>,
    /// The file that a bare JSON Patch changes. Every other input names its files itself, and is
    /// refused where one is given.
    pub target: Option<RelPath>,
    /// Source of the line counts of hunks in a diff; of no account in other formats.
    pub counts: HunkCounts,
    /// Root that absolute paths may lie below.
    pub root: RootPrefix,
}

/// Reads the operations that `input` describes, in the order they must be computed in. The format is the given one,
/// or else it is recognised. The input is JSON when the first byte that is not blank is `{` or `[`, and then its
/// fields decide. It is SEARCH/REPLACE blocks or a Codex patch when a line begins one; else it is a diff. Several
/// JSON documents are one change.
///
/// # Errors
/// [`ParseError`] at the first place that is not sound.
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
            // Each has the limits of one; now they have them together.
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

/// Returns true if a text begins as JSON does, and not as prose in brackets: `[PATCH] a subject`.
fn begins_json(start: &[u8]) -> bool {
    let Some((bracket, rest)) = start.split_first() else { return false };
    match (bracket, rest.trim_ascii_start().first()) {
        (b'{', Some(b'"' | b'}') | None) => true,
        (b'[', Some(next)) => b"{[]\"-0123456789".contains(next),
        (b'[', None) => true,
        (_, _) => false,
    }
}

/// Returns true if a line of prose begins a change in JSON.
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

/// Refuses a named file beside an input that names its files itself.
fn without_target(reading: &Reading, format: Format) -> Result<(), ParseError> {
    match reading.target {
        Some(_) => Err(ParseError::whole(Problem::TargetUnused { format })),
        None => Ok(()),
    }
}

impl fmt::Display for Format {
    /// Noun with its article: `a diff`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { article, noun, .. } = self.row();
        write!(f, "{article}{noun}")
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
    fn both_formats_are_recognised_and_mean_the_same() {
        let operations = recognised(JSON).unwrap();
        assert_eq!(operations.len(), 1);
        assert_eq!(recognised(DIFF).unwrap(), operations);
    }

    #[test]
    fn a_format_that_is_given_is_not_guessed() {
        for (format, _) in Format::in_json() {
            let error = parse(DIFF.as_bytes(), &in_format(format)).unwrap_err();
            assert!(matches!(error.problem, Problem::Document(_)), "{error}");
        }
        let error = parse(JSON.as_bytes(), &in_format(Format::Edits)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 1, column 3: unknown field `patches`; an edit has `path`, `old_string`, \
             `new_string`, `replace_all`, `expected_prev_sha256`"
        );
        let error = parse(JSON.as_bytes(), &in_format(Format::GitDiff)).unwrap_err();
        assert!(matches!(error.problem, Problem::Diff(_)), "{error}");
    }

    #[test]
    fn an_empty_array_is_refused_in_every_format_but_that_of_a_json_patch() {
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
    fn an_input_in_no_format_says_what_it_was_tried_as() {
        let unrecognised = recognised("please fix the bug\n").unwrap_err().to_string();
        let begins = "the input is in no known format: it is no change set, edits, whole files or JSON Patch";
        assert!(unrecognised.starts_with(begins), "{unrecognised}");
        let json = "since it starts with `please fix the bug` and not with `{` or `[`; no diff, since it has neither";
        assert!(unrecognised.contains(json), "{unrecognised}");
        assert!(unrecognised.contains("; and no "), "{unrecognised}");
        let blank = recognised(" \n\t").unwrap_err().to_string();
        let begins = "the input is empty: it is neither JSON, which starts with `{` or `[`, nor a diff, which has a \
                      `diff --git` line or a `--- ` line followed by a `+++ ` line, nor SEARCH/REPLACE blocks, which have \
                      a line `<<<<<<< SEARCH`, nor a Codex patch, which begins with `*** Begin Patch`";
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
    fn prose_that_begins_like_json_does_not_hide_a_diff_or_a_codex_patch() {
        let diff = recognised(DIFF).unwrap();
        assert_eq!(recognised(&format!("[PATCH 1/2] greet\n{DIFF}")).unwrap(), diff);
        let codex = "*** Begin Patch\n*** Add File: a\n+a\n*** End Patch\n";
        let operations = recognised(codex).unwrap();
        assert_eq!(recognised(&format!("{{see below}}\n{codex}")).unwrap(), operations);
        let error = recognised("{see below}\n").unwrap_err();
        assert!(matches!(error.problem, Problem::Unrecognised { .. }), "{error}");
    }

    /// FO-10, D-4: a diff in a text of the JSON is text.
    #[test]
    fn json_that_is_not_sound_is_not_read_as_what_it_holds() {
        let diff = "{\"path\":\"d\",\"content\":\"x:\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n\"}";
        let codex = "{\"path\":\"d\",\"content\":\"\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n\"}";
        for input in [diff, codex] {
            let error = recognised(input).unwrap_err();
            assert!(matches!(error.problem, Problem::Document(_)), "{error}");
        }
    }

    /// D-4
    #[test]
    fn two_changes_in_two_formats_are_refused() {
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
            recognised(&marked).unwrap_err().to_string(),
            "line 1, column 1: the input starts with a byte order mark; save it as UTF-8 without one"
        );
        let utf16: Vec<u8> = marked.encode_utf16().flat_map(u16::to_le_bytes).collect();
        for format in [Format::GitDiff, Format::ChangeSet] {
            assert_eq!(parse(&utf16, &in_format(format)).unwrap_err().problem, Problem::Utf16);
        }
    }
}
