//! Errors of a text that could not be read as a change, with the place.

use std::fmt;

use actum_core::PathError;
use actum_core::path::PathProblem;
use actum_core::place::{Excerpt, Place};

use super::codex_patch::CodexProblem;
use super::document::DocumentProblem;
use super::git_diff::DiffProblem;
use super::search_replace::BlockProblem;
use super::{Format, INPUT_BYTES_MAX};
use crate::change_set::ChangeSetError;

/// A text that is not a sound change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", Prefix(*place))]
pub struct ParseError {
    /// Place of the problem; `None` for the input as a whole.
    pub place: Option<Place>,
    /// Problem of the text.
    #[source]
    pub problem: Problem,
}

/// Problem of a text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The text is larger than [`INPUT_BYTES_MAX`].
    #[error("the input has {bytes} bytes, but at most {INPUT_BYTES_MAX} are read; split it")]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The text starts with the UTF-8 byte order mark.
    #[error("the input starts with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// The text starts with a UTF-16 byte order mark.
    #[error("the input is in UTF-16; save it as UTF-8 without a byte order mark")]
    Utf16,
    /// There is nothing in it.
    #[error(
        "the input is empty: it is neither JSON, which starts with `{{` or `[`{}",
        Format::signs_in_text()
    )]
    Blank,
    /// The text is in none of the formats.
    #[error("the input is in no known format: {}", Format::absences(found))]
    Unrecognised {
        /// Its first line.
        found: Excerpt,
    },
    /// The text is not sound JSON, or not in one of the formats in JSON.
    #[error(transparent)]
    Document(#[from] DocumentProblem),
    /// A file is named that only a bare JSON Patch needs.
    #[error("a file is named for a bare JSON Patch, but the input is {format}")]
    TargetUnused {
        /// Format of the input.
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
    /// The SEARCH/REPLACE blocks are not sound.
    #[error(transparent)]
    Block(BlockProblem),
}

/// Class of a problem, from which its reason follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemClass {
    /// The input is larger than [`INPUT_BYTES_MAX`].
    TooLarge,
    /// The input is in no known format.
    Unrecognised,
    /// The input is not sound in its format.
    Malformed,
    /// A path is not one of the workspace.
    Path,
    /// The change set contradicts itself.
    ChangeSet,
}

/// Remedy for a problem, from which its hint follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Give relative paths, or absolute ones below the root.
    RelativePaths,
    /// Name the file that a bare JSON Patch changes.
    NameTarget,
    /// Make the diff without colour.
    NoColour,
    /// Give the text between the fences of Markdown alone.
    NoFences,
    /// Give the change in a known format.
    KnownFormat,
    /// Count the lines of hunks again.
    Recount,
    /// Name the file of a block by its path alone.
    NameFile,
    /// Give a text with markers in a format that can hold it.
    OtherFormat,
    /// Give all of the input.
    WholeInput,
}

impl Problem {
    /// Class of the problem.
    pub fn class(&self) -> ProblemClass {
        match self {
            Self::TooLarge { .. } => ProblemClass::TooLarge,
            Self::Blank
            | Self::Unrecognised { .. }
            | Self::Document(DocumentProblem::NoFormat { .. }) => ProblemClass::Unrecognised,
            Self::Path(_) | Self::ChangeSet(ChangeSetError::Path { .. }) => ProblemClass::Path,
            Self::ChangeSet(_) => ProblemClass::ChangeSet,
            Self::ByteOrderMark
            | Self::Utf16
            | Self::Document(_)
            | Self::TargetUnused { .. }
            | Self::Diff(_)
            | Self::Codex(_)
            | Self::Block(_) => ProblemClass::Malformed,
        }
    }

    /// Remedy, where there is one beyond what the message says.
    pub fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::Path(error) | Self::ChangeSet(ChangeSetError::Path { source: error, .. }) => {
                (error.problem == PathProblem::Absolute).then_some(Remedy::RelativePaths)
            }
            Self::Document(DocumentProblem::NoTarget) => Some(Remedy::NameTarget),
            Self::Unrecognised { found } => Some(match found.to_string() {
                text if text.starts_with("\\033[") => Remedy::NoColour,
                text if text.starts_with("```") => Remedy::NoFences,
                _ => Remedy::KnownFormat,
            }),
            Self::Blank => Some(Remedy::KnownFormat),
            Self::Diff(DiffProblem::HunkEndsEarly { .. } | DiffProblem::HunkGoesOn { .. }) => {
                Some(Remedy::Recount)
            }
            Self::Block(problem) => problem.remedy(),
            Self::TooLarge { .. }
            | Self::ByteOrderMark
            | Self::Utf16
            | Self::Document(_)
            | Self::TargetUnused { .. }
            | Self::ChangeSet(_)
            | Self::Diff(_)
            | Self::Codex(_) => None,
        }
    }
}

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

struct Prefix(Option<Place>);

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Place { line, column }) => write!(f, "line {line}, column {column}: "),
            None => Ok(()),
        }
    }
}
