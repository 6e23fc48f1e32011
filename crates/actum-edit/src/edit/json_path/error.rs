//! Why a path is none, or does not lead to exactly one place.

use std::fmt;

use actum_core::place::{Excerpt, Place};

use super::{PATH_BYTES_MAX, PATH_NESTING_MAX};

/// What was given is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is no JSONPath: {problem}")]
pub struct JsonPathError {
    /// The text that was given.
    pub given: Excerpt,
    /// What is wrong with it.
    #[source]
    pub problem: JsonPathSyntax,
}

/// What is wrong with the spelling of a path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonPathSyntax {
    /// It is too long.
    #[error("it has {bytes} bytes, but at most {PATH_BYTES_MAX} are read")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It is nested too deeply.
    #[error("its brackets and parentheses are nested more than {PATH_NESTING_MAX} deep")]
    TooDeep,
    /// It calls a function that takes a regular expression.
    #[error(
        "the function `{name}` is not supported, since the cost of its regular expression has no \
         limit here; give a path of names and indices"
    )]
    Pattern {
        /// The function.
        name: &'static str,
    },
    /// It is not spelled as RFC 9535 says.
    #[error(
        "it does not read as RFC 9535 says, from byte {byte} on{}; `$.name`, `$['any name']` and \
         `$.list[0]` are paths",
        Found(found.as_ref())
    )]
    Syntax {
        /// Where that shows, counted from 1.
        byte: u64,
        /// What is there, if it is not the end.
        found: Option<Excerpt>,
    },
}

/// Why a path does not lead to one place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathProblem {
    /// It selects nothing.
    #[error("the path `{path}` selects nothing in the file")]
    Nothing {
        /// The path.
        path: Excerpt,
    },
    /// It ends at a place that is there.
    #[error("the path `{path}` selects nothing in the file: {stop} at `{inside}`")]
    Stops {
        /// The path.
        path: Excerpt,
        /// How far it leads.
        inside: Excerpt,
        /// What is missing there.
        stop: Stop,
    },
    /// It selects more than one place.
    #[error(
        "the path `{path}` selects {count} places ({}), so it is not clear which is meant",
        List(first, *count)
    )]
    Several {
        /// The path.
        path: Excerpt,
        /// How many.
        count: usize,
        /// The first of them.
        first: Vec<Excerpt>,
    },
    /// It selects one place more than once.
    #[error(
        "the path `{path}` selects the place `{place}` {times} times, and it must select exactly one \
         node; leave out what selects it again"
    )]
    Repeated {
        /// The path.
        path: Excerpt,
        /// The place.
        place: Excerpt,
        /// How often.
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
        /// Where it stands the second time.
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
        /// Where it stands.
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

/// What is missing where a path stops.
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
        /// How many there are.
        length: usize,
    },
    /// What is there has no members.
    #[error("what has a member `{name}` must be an object, but {found} is")]
    NoObject {
        /// The name of the member.
        name: Excerpt,
        /// What is there.
        found: &'static str,
    },
    /// What is there has no elements.
    #[error("what has an element {index} must be an array, but {found} is")]
    NoArray {
        /// The index of the element.
        index: usize,
        /// What is there.
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
