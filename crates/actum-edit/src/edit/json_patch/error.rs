//! Errors of a JSON Patch that cannot be applied.

use std::fmt;

use actum_core::json::{DEPTH_MAX, Kind, SyntaxProblem};
use actum_core::place::{Excerpt, Place};

use super::{JSON_BYTES_MAX, OPERATIONS_MAX, Pointer};

/// Reason why a JSON Patch cannot be applied to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// The file is no JSON.
    #[error(
        "the file is not JSON, of which only the strict form without comments is edited: line {}, \
         column {}: {problem}",
        place.line,
        place.column
    )]
    NotJson {
        /// Place of the problem.
        place: Place,
        /// Problem of the text.
        problem: SyntaxProblem,
    },
    /// The file is too large.
    #[error("the file has {bytes} bytes, but JSON is edited up to {JSON_BYTES_MAX} only")]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
    /// The patch is too long.
    #[error("the patch has {operations} operations, but at most {OPERATIONS_MAX} are made")]
    TooMany {
        /// Number of operations.
        operations: usize,
    },
    /// The patch is too long for a file of this size.
    #[error(
        "{operations} operations on a file of {bytes} bytes are too much at once; split the patch"
    )]
    TooMuch {
        /// Number of operations.
        operations: usize,
        /// The size of the file.
        bytes: u64,
    },
    /// The result is refused as the file would be.
    #[error("the result could not be read again: {problem}")]
    Result {
        /// Problem of the result.
        problem: SyntaxProblem,
    },
    /// An operation cannot be made.
    #[error("operation {number} (`{name}` {}): {problem}", At(pointer))]
    Operation {
        /// Number of the operation, counted from 1.
        number: usize,
        /// Name of the operation.
        name: &'static str,
        /// Place that it changes, or that it takes the value from.
        pointer: Pointer,
        /// Problem of the operation.
        #[source]
        problem: Box<PointerProblem>,
    },
}

/// Reason why an operation cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerProblem {
    /// An object on the way has no such member.
    #[error("there is no member `{name}` {}", In(inside))]
    NoMember {
        /// Its name.
        name: Excerpt,
        /// The object.
        inside: Pointer,
    },
    /// An object on the way has the member twice.
    #[error(
        "the member `{name}` is there more than once {}, so it is not clear which is meant",
        In(inside)
    )]
    Doubled {
        /// Its name.
        name: Excerpt,
        /// The object.
        inside: Pointer,
    },
    /// An array on the way ends before.
    #[error("there is no element {step} {}, which has {length}", In(inside))]
    NoElement {
        /// The index.
        step: Excerpt,
        /// The array.
        inside: Pointer,
        /// Number of elements.
        length: usize,
    },
    /// A step into an array is no index.
    #[error("`{step}` is no index of the array {}: digits without leading zeros", In(inside))]
    NoIndex {
        /// The step.
        step: Excerpt,
        /// The array.
        inside: Pointer,
    },
    /// A value on the way holds nothing.
    #[error("{found} is {}, and has nothing inside", There(inside))]
    NoContainer {
        /// Kind of the value.
        found: Kind,
        /// Place of the value.
        inside: Pointer,
    },
    /// The whole document would be removed.
    #[error("the whole document cannot be removed")]
    Root,
    /// A value would be moved into itself.
    #[error("a value cannot be moved into itself, to `{}`", Excerpt::new(to.to_string().as_bytes()))]
    IntoItself {
        /// New place.
        to: Pointer,
    },
    /// A test failed.
    #[error("the value is `{found}`, not `{expected}`")]
    Differs {
        /// Value in the file.
        found: Excerpt,
        /// Expected value.
        expected: Excerpt,
    },
    /// The value of the operation is no JSON.
    #[error("its value is not JSON: {problem}")]
    Value {
        /// Problem of the value.
        problem: SyntaxProblem,
    },
    /// The result would be nested too deeply.
    #[error("the result would be nested more than {DEPTH_MAX} deep")]
    TooDeep,
    /// The result would be too large.
    #[error("the result would have more than {JSON_BYTES_MAX} bytes")]
    TooLarge,
}

struct At<'a>(&'a Pointer);
struct In<'a>(&'a Pointer);
struct There<'a>(&'a Pointer);

fn shown(pointer: &Pointer) -> Excerpt {
    Excerpt::new(pointer.to_string().as_bytes())
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.steps() {
            [] => f.write_str("of the whole document"),
            [_, ..] => write!(f, "at `{}`", shown(self.0)),
        }
    }
}

impl fmt::Display for In<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.steps() {
            [] => f.write_str("at the top"),
            [_, ..] => write!(f, "in `{}`", shown(self.0)),
        }
    }
}

impl fmt::Display for There<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.steps() {
            [] => f.write_str("the whole document"),
            [_, ..] => write!(f, "at `{}`", shown(self.0)),
        }
    }
}
