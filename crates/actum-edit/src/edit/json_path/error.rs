//! Errors of a path that is invalid, or does not lead to exactly one place.

use std::fmt;

use actum_core::place::{Excerpt, Place};

use super::{PATH_BYTES_MAX, PATH_NESTING_MAX};

/// Error for a text that is not a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no JSONPath: {problem}")]
pub struct JsonPathError {
    /// The text that was given.
    pub given: Excerpt,
    /// Problem of the text.
    #[source]
    pub problem: JsonPathSyntax,
}

/// Problem of the spelling of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathSyntax {
    /// The path is too long.
    #[error("it has {bytes} bytes, but at most {PATH_BYTES_MAX} are read")]
    TooLong {
        /// Length of the path.
        bytes: usize,
    },
    /// The path is nested too deeply.
    #[error("its brackets and parentheses are nested more than {PATH_NESTING_MAX} deep")]
    TooDeep,
    /// The path calls a function that takes a regular expression.
    #[error(
        "the function `{name}` is not supported, since the cost of its regular expression has no \
         limit here; give a path of names and indices"
    )]
    Pattern {
        /// The function.
        name: &'static str,
    },
    /// The path does not follow RFC 9535.
    #[error(
        "it does not read as RFC 9535 says, from byte {byte} on{}; `$.name`, `$['any name']` and \
         `$.list[0]` are paths",
        Found(found.as_ref())
    )]
    Syntax {
        /// Position of the problem, counted from 1.
        byte: u64,
        /// Text at the position, if it is not the end.
        found: Option<Excerpt>,
    },
}

/// Reason why a path does not lead to one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// The path selects nothing.
    #[error("the path `{path}` selects nothing in the file")]
    Nothing {
        /// The path.
        path: Excerpt,
    },
    /// The path ends at a place that exists.
    #[error("the path `{path}` selects nothing in the file: {stop} at `{inside}`")]
    Stops {
        /// The path.
        path: Excerpt,
        /// Place at which it ends.
        inside: Excerpt,
        /// Missing part there.
        stop: Stop,
    },
    /// The path selects more than one place.
    #[error(
        "the path `{path}` selects {count} places ({}), so it is not clear which is meant",
        List(first, *count)
    )]
    Several {
        /// The path.
        path: Excerpt,
        /// Number of places.
        count: usize,
        /// The first of them.
        first: Vec<Excerpt>,
    },
    /// The path selects one place more than once.
    #[error(
        "the path `{path}` selects the place `{place}` {times} times, and it must select exactly one \
         node; leave out what selects it again"
    )]
    Repeated {
        /// The path.
        path: Excerpt,
        /// The place.
        place: Excerpt,
        /// Number of times.
        times: usize,
    },
    /// A name stands twice in an object, which readers take differently.
    #[error(
        "the name `{name}` stands a second time in its object at line {}, column {}, so it is not \
         clear what the path means",
        place.line,
        place.column
    )]
    Doubled {
        /// The name.
        name: Excerpt,
        /// Place of the second one.
        place: Place,
    },
    /// A number that a filter may have to compare, and cannot exactly.
    #[error(
        "the number `{number}` at line {}, column {} cannot be compared exactly, so it is not clear \
         what the filter in the path means; give a path of names and indices",
        place.line,
        place.column
    )]
    Number {
        /// The number.
        number: Excerpt,
        /// Place of it.
        place: Place,
    },
    /// Evaluating it could take too long.
    #[error(
        "evaluating the path `{path}` in a file of this size could take too long; give a path of \
         names and indices"
    )]
    TooMuch {
        /// The path.
        path: Excerpt,
    },
}

/// Missing part where a path stops.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stop {
    /// An object has no such member.
    #[error("there is no `{name}`")]
    NoMember {
        /// Its name.
        name: Excerpt,
    },
    /// An array ends before.
    #[error("there is no element {index}, of {length},")]
    NoElement {
        /// Its index, counted from 0.
        index: usize,
        /// Number of elements.
        length: usize,
    },
    /// The value at the place has no members.
    #[error("what has a member `{name}` must be an object, but {found} is")]
    NoObject {
        /// The name of the member.
        name: Excerpt,
        /// Kind of the value at the place.
        found: &'static str,
    },
    /// The value at the place has no elements.
    #[error("what has an element {index} must be an array, but {found} is")]
    NoArray {
        /// The index of the element.
        index: usize,
        /// Kind of the value at the place.
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
