//! Why a value of a JSON file cannot be changed.

use actum_core::json::{DEPTH_MAX, SyntaxProblem};
use actum_core::place::{Excerpt, Place};

use super::outline::Missed;
use crate::edit::json_patch::{JSON_BYTES_MAX, PointerProblem};
use crate::edit::json_path::{JsonPath, PathProblem, Way};

/// Why a value of a JSON file cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonValueError {
    /// The file is no JSON.
    #[error("the file is not JSON, with or without comments: line {}, column {}: {problem}", place.line, place.column)]
    NotJson {
        /// Where.
        place: Place,
        /// What is wrong.
        #[source]
        problem: SyntaxProblem,
    },
    /// A comment has no end.
    #[error("the comment at line {}, column {} has no end", place.line, place.column)]
    OpenComment {
        /// Where it starts.
        place: Place,
    },
    /// It is not clear where a comment ends.
    #[error(
        "in the comment at line {}, column {} is a carriage return without a line feed, which ends it \
         for some readers and not for others",
        place.line,
        place.column
    )]
    UnclearComment {
        /// Where the carriage return is.
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
    /// What has members must be an object.
    #[error(
        "`{path}` leads to line {}, column {}, where {found} is: only an object has properties",
        place.line,
        place.column
    )]
    NoObject {
        /// The path.
        path: Excerpt,
        /// What is there.
        found: &'static str,
        /// Where.
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
        /// Where it stands.
        place: Place,
    },
    /// The member to remove is not there.
    #[error(
        "the object at line {}, column {} has no property `{name}`",
        place.line,
        place.column
    )]
    Missing {
        /// Its name.
        name: Excerpt,
        /// Where the object stands.
        place: Place,
    },
    /// The result would be nested too deeply.
    #[error("the result would be nested more than {DEPTH_MAX} deep")]
    TooDeep,
    /// The value cannot be laid out.
    #[error(transparent)]
    Value(Box<PointerProblem>),
    /// What was made is not what was asked for.
    #[error("internal problem: the edit was made and taken back, since {problem}")]
    Unproven {
        /// What is wrong with it.
        #[source]
        problem: Unproven,
    },
}

/// What is wrong with an edit that was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unproven {
    /// It is no JSON.
    #[error("its result is no JSON any more")]
    Syntax,
    /// It reaches beyond the place.
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
        way: &Way,
        place: impl Fn(usize) -> Place,
    ) -> Self {
        match missed {
            Missed::Stop { depth, stop } => Self::Path(PathProblem::Stops {
                path: path.shown(),
                inside: Excerpt::of(way.first(depth).to_string().as_bytes()),
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
