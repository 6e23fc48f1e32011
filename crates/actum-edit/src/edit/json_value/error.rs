//! Errors for changes of a single value in a JSON file.

use actum_core::json::{DEPTH_MAX, SyntaxProblem};
use actum_core::place::{Excerpt, Place};

use super::outline::Missed;
use crate::edit::json_patch::{JSON_BYTES_MAX, PointerProblem};
use crate::edit::json_path::{JsonPath, NodePath, PathProblem};

/// Reason why a value in a JSON file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonValueError {
    /// The file is neither JSON nor JSON with comments.
    #[error("the file is neither JSON nor JSON with comments: line {}, column {}: {problem}", place.line, place.column)]
    NotJson {
        /// Position of the syntax error.
        place: Place,
        /// Syntax error at this position.
        #[source]
        problem: SyntaxProblem,
    },
    /// A `/*` comment is not closed.
    #[error("the comment at line {}, column {} is not closed", place.line, place.column)]
    OpenComment {
        /// Position at which the comment starts.
        place: Place,
    },
    /// A line comment contains a carriage return without a line feed, so parsers disagree about where it ends.
    #[error(
        "the carriage return without a line feed at line {}, column {} ends the comment in some \
         parsers only",
        place.line,
        place.column
    )]
    UnclearComment {
        /// Position of the carriage return.
        place: Place,
    },
    /// The file is larger than [`JSON_BYTES_MAX`].
    #[error("the file has {bytes} bytes, but a JSON file may have at most {JSON_BYTES_MAX} bytes")]
    TooLarge {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The path does not select exactly one place.
    #[error(transparent)]
    Path(#[from] PathProblem),
    /// The path selects a value that is not an object, so it cannot have members.
    #[error(
        "`{path}` leads to {found} at line {}, column {}, but only objects have properties",
        place.line,
        place.column
    )]
    NoObject {
        /// Path of the edit.
        path: Excerpt,
        /// Kind of the value, including the article.
        found: &'static str,
        /// Position of the value.
        place: Place,
    },
    /// The member to add already exists.
    #[error(
        "the property `{name}` already exists at line {}, column {}",
        place.line,
        place.column
    )]
    Exists {
        /// Name of the member.
        name: Excerpt,
        /// Position of the existing member.
        place: Place,
    },
    /// The member to remove does not exist.
    #[error(
        "the object at line {}, column {} has no property `{name}`",
        place.line,
        place.column
    )]
    Missing {
        /// Name of the member.
        name: Excerpt,
        /// Position of the object.
        place: Place,
    },
    /// The result would exceed the maximum nesting depth.
    #[error("the result would be nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// The new value is not valid JSON, or does not fit in the file.
    #[error(transparent)]
    Value(Box<PointerProblem>),
    /// The final check of the computed result failed, so the edit was discarded.
    #[error("internal error: the computed edit was discarded because {problem}")]
    Unproven {
        /// Problem that the check found.
        #[source]
        problem: Unproven,
    },
}

/// Problem that the final check of a computed JSON edit found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// The result is neither JSON nor JSON with comments.
    #[error("the result is not valid JSON")]
    Syntax,
    /// The edit affects text outside its target.
    #[error("it affects text outside the target")]
    Beyond,
    /// A value or comment other than the target would change.
    #[error("a value or comment outside the target would change as well")]
    Beside,
    /// The target would not have the requested value.
    #[error("the target does not match the request")]
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
    /// Converts the error of a search that did not reach the end of the path.
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
