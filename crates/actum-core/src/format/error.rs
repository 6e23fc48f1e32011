//! Why a text could not be read as a change, and where.

use std::fmt;

use super::codex_patch::CodexProblem;
use super::document::DocumentProblem;
use super::git_diff::DiffProblem;
use super::{Format, INPUT_BYTES_MAX};
use crate::change_set::ChangeSetError;
use crate::path::Cut;
use crate::{PathError, count};

/// A text that is not a sound change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", Prefix(*place))]
pub struct ParseError {
    /// Where the problem is; `None` when it is the input as a whole.
    pub place: Option<Place>,
    /// What is wrong.
    #[source]
    pub problem: Problem,
}

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte in that line, counted from 1.
    pub column: u64,
}

/// What is wrong with a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is larger than [`INPUT_BYTES_MAX`].
    #[error("the input has {bytes} bytes, but at most {INPUT_BYTES_MAX} are read; split it")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It starts with the UTF-8 byte order mark.
    #[error("the input starts with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// It starts with a UTF-16 byte order mark.
    #[error("the input is in UTF-16; save it as UTF-8 without a byte order mark")]
    Utf16,
    /// There is nothing in it.
    #[error(
        "the input is empty: it is neither JSON, which starts with `{{` or `[`, nor a diff, which \
         has a `diff --git` line or a `--- ` line followed by a `+++ ` line, nor a Codex patch, \
         which begins with `*** Begin Patch`"
    )]
    Blank,
    /// It is in none of the formats.
    #[error(
        "the input is in no known format: it is no change set, edits, whole files or JSON Patch, since \
         it starts with `{found}` and not with `{{` or `[`; no diff, since it has neither a \
         `diff --git` line nor a `--- ` line followed by a `+++ ` line; and no Codex patch, since \
         no line is `*** Begin Patch`"
    )]
    Unrecognised {
        /// Its first line.
        found: Excerpt,
    },
    /// It is not sound JSON, or not of one of the formats in JSON.
    #[error(transparent)]
    Document(#[from] DocumentProblem),
    /// A file is named that only a bare JSON Patch needs.
    #[error("a file is named for a bare JSON Patch, but the input is {format}")]
    TargetUnused {
        /// What the input is.
        format: Format,
    },
    /// The change set contradicts itself.
    #[error("the change set cannot be used: {0}")]
    ChangeSet(#[source] ChangeSetError),
    /// A path is not one of the workspace.
    #[error(transparent)]
    Path(PathError),
    /// The diff is not sound.
    #[error(transparent)]
    Diff(DiffProblem),
    /// The Codex patch is not sound.
    #[error(transparent)]
    Codex(CodexProblem),
}

/// How many bytes of the input an error shows at most.
pub const EXCERPT_BYTES_MAX: usize = 80;

/// A piece of the input as an error shows it: escaped, and cut at [`EXCERPT_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl ParseError {
    pub(super) fn at(place: Place, problem: Problem) -> Self {
        Self { place: Some(place), problem }
    }

    pub(super) fn whole(problem: Problem) -> Self {
        Self { place: None, problem }
    }

    pub(super) fn diff(place: Place, problem: DiffProblem) -> Self {
        Self::at(place, Problem::Diff(problem))
    }
}

impl Place {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// The place of the byte at `offset` of `input`.
    pub fn of(input: &[u8], offset: usize) -> Self {
        let before = input.get(..offset).unwrap_or(input);
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let newlines = memchr::memchr_iter(b'\n', before).count();
        Self { line: count(newlines) + 1, column: count(before.len() - start) + 1 }
    }

    /// The place `bytes` further on in the same line.
    pub(super) fn right(self, bytes: usize) -> Self {
        Self { column: self.column.saturating_add(count(bytes)), ..self }
    }
}

impl Excerpt {
    /// What an error shows of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Cut(bytes, EXCERPT_BYTES_MAX).to_string())
    }

    /// What an error shows of the first line of `bytes`.
    pub(super) fn of_line(bytes: &[u8]) -> Self {
        Self::of(bytes.split(|&b| b == b'\n').next().unwrap_or_default())
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

struct Prefix(Option<Place>);

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Place { line, column }) => write!(f, "line {line}, column {column}: "),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_bytes_from_one() {
        let place = |offset| Place::of(b"ab\n\ncd", offset);
        assert_eq!(place(0), Place { line: 1, column: 1 });
        assert_eq!(place(2), Place { line: 1, column: 3 });
        assert_eq!(place(3), Place { line: 2, column: 1 });
        assert_eq!(place(5), Place { line: 3, column: 2 });
        assert_eq!(place(9), Place { line: 3, column: 3 });
    }

    #[test]
    fn an_excerpt_is_escaped_and_cut() {
        assert_eq!(Excerpt::of(b"a\x1b\xff").to_string(), "a\\033\\377");
        let full = "x".repeat(EXCERPT_BYTES_MAX);
        assert_eq!(Excerpt::of(full.as_bytes()).to_string(), full);
        assert_eq!(Excerpt::of(format!("{full}y").as_bytes()).to_string(), format!("{full}…"));
        assert_eq!(Excerpt::of_line(b"one\ntwo").to_string(), "one");
    }
}
