//! Errors for JSONPaths that are invalid, or do not select exactly one place.

use std::fmt;

use actum_core::place::{Excerpt, Place};

use super::{PATH_BYTES_MAX, PATH_NESTING_MAX};

/// Error for a text that is not a valid JSONPath.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a valid JSONPath: {problem}")]
pub struct JsonPathError {
    /// Rejected text.
    pub given: Excerpt,
    /// Reason why the text is invalid.
    #[source]
    pub problem: JsonPathSyntax,
}

/// Reason why a text is not a valid JSONPath, or is not supported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathSyntax {
    /// The path is longer than [`PATH_BYTES_MAX`].
    #[error("it has {bytes} bytes, but at most {PATH_BYTES_MAX} are allowed")]
    TooLong {
        /// Length of the path in bytes.
        bytes: usize,
    },
    /// Brackets and parentheses are nested more than [`PATH_NESTING_MAX`] levels deep.
    #[error("its brackets and parentheses are nested more than {PATH_NESTING_MAX} levels deep")]
    TooDeep,
    /// The path calls a function that evaluates a regular expression.
    #[error(
        "the function `{name}` is not supported because the cost of its regular expression is \
         unbounded; use a path of names and indices"
    )]
    Pattern {
        /// Name of the function.
        name: &'static str,
    },
    /// The path does not follow the syntax of RFC 9535.
    #[error(
        "it violates the syntax of RFC 9535 at byte {byte}{}; `$.name`, `$['any name']` and \
         `$.list[0]` are valid paths",
        Found(found.as_ref())
    )]
    Syntax {
        /// Position of the syntax error in bytes, counted from 1.
        byte: u64,
        /// Character at this position, or `None` at the end of the path.
        found: Option<Excerpt>,
    },
}

/// Reason why a JSONPath does not select exactly one place in a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// The path selects nothing.
    #[error("the path `{path}` selects nothing in the file")]
    Nothing {
        /// Path of the edit.
        path: Excerpt,
    },
    /// A step of the path does not match the value that the previous steps select.
    #[error("the path `{path}` selects nothing in the file: {stop} at `{inside}`")]
    Stops {
        /// Path of the edit.
        path: Excerpt,
        /// Path to the last value that exists.
        inside: Excerpt,
        /// Reason why the next step does not match.
        stop: Stop,
    },
    /// The path selects more than one place.
    #[error(
        "the path `{path}` selects {count} places ({}), but must select exactly one",
        List(first, *count)
    )]
    Several {
        /// Path of the edit.
        path: Excerpt,
        /// Number of places that the path selects.
        count: usize,
        /// Paths to the first few of these places.
        first: Vec<Excerpt>,
    },
    /// The path selects a single place more than once.
    #[error(
        "the path `{path}` selects `{place}` {times} times, but must select exactly one node; \
         remove the repeated selectors"
    )]
    Repeated {
        /// Path of the edit.
        path: Excerpt,
        /// Path to the selected place.
        place: Excerpt,
        /// Number of times that the place is selected.
        times: usize,
    },
    /// An object has a duplicate name, which parsers interpret differently.
    #[error(
        "the name `{name}` occurs again in its object at line {}, column {}, so the path is \
         ambiguous",
        place.line,
        place.column
    )]
    Doubled {
        /// Duplicate name.
        name: Excerpt,
        /// Position of the second occurrence.
        place: Place,
    },
    /// The file contains a number that a filter cannot compare exactly.
    #[error(
        "the number `{number}` at line {}, column {} cannot be compared exactly, so the filter in \
         the path is ambiguous; use a path of names and indices",
        place.line,
        place.column
    )]
    Number {
        /// Number as written in the file.
        number: Excerpt,
        /// Position of the number.
        place: Place,
    },
    /// The evaluation of the path could take too long.
    #[error(
        "evaluating the path `{path}` in a file of this size could take too long; use a path of \
         names and indices"
    )]
    TooMuch {
        /// Path of the edit.
        path: Excerpt,
    },
}

/// Reason why a step of a path does not match a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// The object does not have the requested member.
    #[error("there is no `{name}`")]
    NoMember {
        /// Name of the missing member.
        name: Excerpt,
    },
    /// The array has fewer elements than the index requires.
    #[error("there is no element {index} (number of elements: {length})")]
    NoElement {
        /// Index of the missing element, counted from 0.
        index: usize,
        /// Number of elements in the array.
        length: usize,
    },
    /// The step selects a member, but the value is not an object.
    #[error("the member `{name}` requires an object, but there is {found}")]
    NoObject {
        /// Name of the requested member.
        name: Excerpt,
        /// Kind of the value, including the article.
        found: &'static str,
    },
    /// The step selects an element, but the value is not an array.
    #[error("element {index} requires an array, but there is {found}")]
    NoArray {
        /// Index of the requested element.
        index: usize,
        /// Kind of the value, including the article.
        found: &'static str,
    },
}

struct Found<'a>(Option<&'a Excerpt>);
struct List<'a>(&'a [Excerpt], usize);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |found| write!(f, " (`{found}`)"))
    }
}

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, place) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}`{place}`")?;
        }
        if self.0.len() < self.1 { f.write_str(", …") } else { Ok(()) }
    }
}
