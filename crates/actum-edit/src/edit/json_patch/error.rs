//! Errors that occur while a JSON Patch is applied.

use std::fmt;

use actum_core::json::{DEPTH_MAX, Kind, SyntaxProblem};
use actum_core::place::{Excerpt, Place};

use super::{JSON_BYTES_MAX, OPERATIONS_MAX, Pointer};

/// Reason why a JSON Patch cannot be applied to a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPatchError {
    /// The file is not strict JSON.
    #[error(
        "the file is not strict JSON without comments: line {}, column {}: {problem}",
        place.line,
        place.column
    )]
    NotJson {
        /// Position of the syntax error.
        place: Place,
        /// Syntax error at this position.
        problem: SyntaxProblem,
    },
    /// The file is larger than [`JSON_BYTES_MAX`].
    #[error("the file has {bytes} bytes, but a JSON file may have at most {JSON_BYTES_MAX} bytes")]
    TooLarge {
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The patch has more than [`OPERATIONS_MAX`] operations.
    #[error("the patch has {operations} operations, but at most {OPERATIONS_MAX} are allowed")]
    TooMany {
        /// Number of operations in the patch.
        operations: usize,
    },
    /// The patch has too many operations for a file of this size.
    #[error(
        "{operations} operations on a file of {bytes} bytes exceed the work limit; split the patch"
    )]
    TooMuch {
        /// Number of operations in the patch.
        operations: usize,
        /// Size of the file in bytes.
        bytes: u64,
    },
    /// The result could not be parsed, for example because it exceeds a limit of the parser.
    #[error("the result would not be valid JSON: {problem}")]
    Result {
        /// Syntax error in the result.
        problem: SyntaxProblem,
    },
    /// An operation cannot be applied.
    #[error("operation {number} (`{name}` {}): {problem}", At(pointer))]
    Operation {
        /// Number of the operation, counted from 1.
        number: usize,
        /// Name of the operation.
        name: &'static str,
        /// Pointer at which the operation failed, which is either its `path` or its `from`.
        pointer: Pointer,
        /// Reason why the operation failed.
        #[source]
        problem: Box<PointerProblem>,
    },
}

/// Reason why an operation of a JSON Patch cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PointerProblem {
    /// An object on the path does not have the requested member.
    #[error("there is no member `{name}` {}", In(inside))]
    NoMember {
        /// Name of the missing member.
        name: Excerpt,
        /// Pointer to the object.
        inside: Pointer,
    },
    /// An object on the path has more than one member with the requested name.
    #[error(
        "the member `{name}` occurs more than once {}, so the pointer is ambiguous",
        In(inside)
    )]
    Doubled {
        /// Duplicate name.
        name: Excerpt,
        /// Pointer to the object.
        inside: Pointer,
    },
    /// An array on the path has fewer elements than the index requires.
    #[error("there is no element {step} {} (number of elements: {length})", In(inside))]
    NoElement {
        /// Index of the missing element, or `-`.
        step: Excerpt,
        /// Pointer to the array.
        inside: Pointer,
        /// Number of elements in the array.
        length: usize,
    },
    /// A step into an array is not a valid index.
    #[error(
        "`{step}` is not a valid array index {}: expected digits without leading zeros",
        In(inside)
    )]
    NoIndex {
        /// Invalid step.
        step: Excerpt,
        /// Pointer to the array.
        inside: Pointer,
    },
    /// A value on the path is neither an object nor an array.
    #[error("{} is {found}, which cannot contain other values", There(inside))]
    NoContainer {
        /// Kind of the value.
        found: Kind,
        /// Pointer to the value.
        inside: Pointer,
    },
    /// The operation would remove the whole document.
    #[error("the whole document cannot be removed")]
    Root,
    /// The operation would move a value into itself.
    #[error("a value cannot be moved into itself, to `{}`", Excerpt::new(to.to_string().as_bytes()))]
    IntoItself {
        /// Pointer to the new place of the value.
        to: Pointer,
    },
    /// A `test` operation found a different value than expected.
    #[error("the value is `{found}`, not `{expected}`")]
    Differs {
        /// Value in the file.
        found: Excerpt,
        /// Expected value.
        expected: Excerpt,
    },
    /// The value of the operation is not valid JSON.
    #[error("the value is not valid JSON: {problem}")]
    Value {
        /// Syntax error in the value.
        problem: SyntaxProblem,
    },
    /// The result would exceed the maximum nesting depth.
    #[error("the result would be nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// The result would be larger than [`JSON_BYTES_MAX`].
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
            [] => f.write_str("at the top level"),
            [_, ..] => write!(f, "in `{}`", shown(self.0)),
        }
    }
}

impl fmt::Display for There<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.steps() {
            [] => f.write_str("the whole document"),
            [_, ..] => write!(f, "the value at `{}`", shown(self.0)),
        }
    }
}
