//! Errors of a value of a JSON file that cannot be changed.

use actum_core::json::{DEPTH_MAX, SyntaxProblem};
use actum_core::place::{Excerpt, Place};

use super::outline::Missed;
use crate::edit::json_patch::{JSON_BYTES_MAX, PointerProblem};
use crate::edit::json_path::{JsonPath, NodePath, PathProblem};

/// Reason why a value of a JSON file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonValueError {
    /// The file is no JSON.
    #[error("the file is not JSON, with or without comments: line {}, column {}: {problem}", place.line, place.column)]
    NotJson {
        /// Place of the problem.
        place: Place,
        /// Problem of the text.
        #[source]
        problem: SyntaxProblem,
    },
    /// A comment has no end.
    #[error("the comment at line {}, column {} has no end", place.line, place.column)]
    OpenComment {
        /// Start of the comment.
        place: Place,
    },
    /// The end of a comment is unclear.
    #[error(
        "in the comment at line {}, column {} is a carriage return without a line feed, which ends it \
         for some readers and not for others",
        place.line,
        place.column
    )]
    UnclearComment {
        /// Place of the carriage return.
        place: Place,
    },
    /// The file is too large.
    #[error("the file has {bytes} bytes, but JSON is edited up to {JSON_BYTES_MAX} only")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The path does not lead to one place.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// The container of a member must be an object.
    #[error(
        "`{path}` leads to line {}, column {}, where {found} is: only an object has properties",
        place.line,
        place.column
    )]
    NoObject {
        /// The path.
        path: Excerpt,
        /// Kind of the value at the place.
        found: &'static str,
        /// Place of the value.
        place: Place,
    },
    /// The member to add is there.
    #[error(
        "the property `{name}` is there already, at line {}, column {}",
        place.line,
        place.column
    )]
    Exists {
        /// Its name.
        name: Excerpt,
        /// Place of the member.
        place: Place,
    },
    /// The member to remove is missing.
    #[error(
        "the object at line {}, column {} has no property `{name}`",
        place.line,
        place.column
    )]
    Missing {
        /// Its name.
        name: Excerpt,
        /// Place of the object.
        place: Place,
    },
    /// The result would be nested too deeply.
    #[error("the result would be nested more than {DEPTH_MAX} deep")]
    TooDeep,
    /// The value cannot be laid out.
    #[error(transparent)]
    Value(Box<PointerProblem>),
    /// The result is not the requested change.
    #[error("internal problem: the edit was made and taken back, since {problem}")]
    Unproven {
        /// Problem of the result.
        #[source]
        problem: Unproven,
    },
}

/// Problem of an edit that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The result is not JSON.
    #[error("its result is no JSON any more")]
    Syntax,
    /// The result changes more than the place.
    #[error("it reaches beyond the place")]
    Beyond,
    /// Something else has changed.
    #[error("something beside the place has changed")]
    Beside,
    /// At the place is not what was asked for.
    #[error("what is at the place now is not what was asked for")]
    Place,
}

impl From<PointerProblem> for JsonValueError {
    fn from(problem: PointerProblem) -> Self {
        Self::Value(Box::new(problem))
    }
}

impl From<Unproven> for JsonValueError {
    fn from(problem: Unproven) -> Self {
        Self::Unproven { problem }
    }
}

impl JsonValueError {
    /// The error for a way that does not lead to a place.
    pub(super) fn missed(
        missed: Missed,
        path: &JsonPath,
        way: &NodePath,
        place: impl Fn(usize) -> Place,
    ) -> Self {
        match missed {
            Missed::Stop { depth, stop } => Self::Path(PathProblem::Stops {
                path: path.shown(),
                inside: Excerpt::new(way.first(depth).to_string().as_bytes()),
                stop,
            }),
            Missed::Doubled { name, offset } => {
                Self::Path(PathProblem::Doubled { name, place: place(offset) })
            }
            Missed::Name { offset } => {
                Self::NotJson { place: place(offset), problem: SyntaxProblem::Unicode }
            }
            Missed::Odd => Self::Unproven { problem: Unproven::Syntax },
        }
    }
}
