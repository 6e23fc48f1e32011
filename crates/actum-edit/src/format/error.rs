//! Errors for inputs that cannot be parsed as a change, with their positions.

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

/// Error for an input that is not a valid change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", Prefix(*place))]
pub struct ParseError {
    /// Position of the problem, or `None` if it concerns the entire input.
    pub place: Option<Place>,
    /// Reason why the input was rejected.
    #[source]
    pub problem: Problem,
}

/// Reason why an input is not a valid change.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The input is larger than [`INPUT_BYTES_MAX`].
    #[error("the input has {bytes} bytes, but may have at most {INPUT_BYTES_MAX}; split it")]
    TooLarge {
        /// Size of the input in bytes.
        bytes: usize,
    },
    /// The input starts with a UTF-8 byte order mark.
    #[error("the input starts with a byte order mark; save it as UTF-8 without one")]
    ByteOrderMark,
    /// The input starts with a UTF-16 byte order mark.
    #[error("the input is encoded as UTF-16; save it as UTF-8 without a byte order mark")]
    Utf16,
    /// The input is empty or contains only whitespace.
    #[error(
        "the input is empty; expected JSON, which starts with `{{` or `[`{}",
        Format::signs_in_text()
    )]
    Blank,
    /// The input is not in any of the known formats.
    #[error("the input is not in a known format: {}", Format::absences(found))]
    Unrecognised {
        /// First line of the input.
        found: Excerpt,
    },
    /// The input is not valid JSON, or not in one of the JSON formats.
    #[error(transparent)]
    Document(#[from] DocumentProblem),
    /// A target file is given, but the input is not a JSON Patch.
    #[error("a target file can be given only for a bare JSON Patch, but the input is {format}")]
    TargetUnused {
        /// Format of the input.
        format: Format,
    },
    /// The change set contradicts itself.
    #[error("the change set cannot be used: {0}")]
    ChangeSet(#[source] ChangeSetError),
    /// A path cannot refer to a file in the workspace.
    #[error(transparent)]
    Path(PathError),
    /// The diff is invalid.
    #[error(transparent)]
    Diff(DiffProblem),
    /// The Codex patch is invalid.
    #[error(transparent)]
    Codex(CodexProblem),
    /// The SEARCH/REPLACE blocks are invalid.
    #[error(transparent)]
    Block(BlockProblem),
}

/// Category of a problem, which determines the reason code of the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProblemClass {
    /// The input is larger than [`INPUT_BYTES_MAX`].
    TooLarge,
    /// The input is empty or not in a known format.
    Unrecognised,
    /// The input violates the rules of its format.
    Malformed,
    /// A path cannot refer to a file in the workspace.
    Path,
    /// The change set contradicts itself.
    ChangeSet,
}

/// Remedy for a problem, which determines the hint that the user sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// Use relative paths, or absolute paths below the workspace root.
    RelativePaths,
    /// Give the target file of a bare JSON Patch.
    NameTarget,
    /// Create the diff without color codes.
    NoColour,
    /// Pass only the text between the Markdown code fences.
    NoFences,
    /// Write the change in a known format.
    KnownFormat,
    /// Ignore the hunk headers of the diff and count the lines of its hunks.
    Recount,
    /// Write only the path of the file on the line before a block.
    NameFile,
    /// Use a format that can represent text that contains the markers of this format.
    OtherFormat,
    /// Pass the complete input.
    WholeInput,
}

impl Problem {
    /// Returns the category of the problem.
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

    /// Returns a remedy for the problem, unless the message already contains one.
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
