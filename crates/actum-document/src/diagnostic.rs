//! Problems of a document of the contract, with their places.

use std::fmt;

use actum_core::json::{Kind, SyntaxProblem};
use actum_core::path::Cut;
use actum_core::place::{Excerpt, Place};
use actum_core::{PathError, PathRuleError};

use super::DEPTH_MAX;
use super::object_schema::{Form, Text};

/// Problem of a document, with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line and column; `None` for the document as a whole.
    pub place: Option<Place>,
    /// Path of the value.
    pub path: JsonPath,
    /// Problem of the value.
    pub problem: Problem,
}

/// The way to a value, from the document down: `scope.allowedDirs[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonPath(pub Vec<Step>);

/// A step on the way to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the member of this name.
    Member(String),
    /// To this element, counted from 0.
    Element(usize),
}

/// Problem of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The document is larger than the limit.
    #[error("it has {bytes} bytes, but at most {bytes_max} are read")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The largest.
        bytes_max: usize,
    },
    /// The text is not JSON.
    #[error("the JSON is not sound: {0}")]
    Syntax(#[source] SyntaxProblem),
    /// A value of the program that JSON cannot hold.
    #[error("it cannot be written as JSON")]
    Unwritable,
    /// The document is nested too deeply.
    #[error("arrays and objects are nested more than {DEPTH_MAX} deep here")]
    TooDeep,
    /// A name stands twice in one object; readers differ in which of the values counts.
    #[error("the name stands in its object a second time")]
    Doubled,
    /// A number that readers would round, each in its own way.
    #[error("the number `{number}` is beyond ±(2^53 − 1), where readers round; write it as a text")]
    Inexact {
        /// The number as it is written.
        number: Excerpt,
    },
    /// Unknown member.
    #[error("unknown field{}; {name} has {}", Perhaps(*.nearest), Names(known))]
    Unknown {
        /// Name of the object.
        name: &'static str,
        /// Known member with a similar name.
        nearest: Option<&'static str>,
        /// The members that it has.
        known: Vec<&'static str>,
    },
    /// A member that must be there is not.
    #[error("the field is missing; expected {expected}")]
    Missing {
        /// Form of the missing value.
        expected: Form,
    },
    /// A value of another kind.
    #[error("expected {expected}, but found {found}")]
    Kind {
        /// Required form.
        expected: Form,
        /// Kind of the value.
        found: Kind,
    },
    /// A word that means nothing there.
    #[error("expected {expected}, but found `{found}`{}", Perhaps(*.nearest))]
    Word {
        /// The words that do.
        expected: Form,
        /// The word.
        found: Excerpt,
        /// Known word that is similar.
        nearest: Option<&'static str>,
    },
    /// A number that is too small, too large or not whole.
    #[error("expected {expected}, but found `{found}`")]
    Number {
        /// Required form.
        expected: Form,
        /// The text as it is written.
        found: Excerpt,
    },
    /// A text that is too short or too long.
    #[error("expected a text {expected}, but found {chars} characters")]
    Length {
        /// Required text.
        expected: Text,
        /// Length of the text.
        chars: usize,
    },
    /// A text with other characters.
    #[error("expected a text {expected}, but found `{found}`")]
    Characters {
        /// Required text.
        expected: Text,
        /// The text.
        found: Excerpt,
    },
    /// A list with too much in it.
    #[error("expected {expected}, but found {count}")]
    TooMany {
        /// Required form.
        expected: Form,
        /// Number of items.
        count: usize,
    },
    /// A name that a package cannot have (AA-9).
    #[error(
        "`{name}` is a core action, which no package can take the place of; choose another name"
    )]
    CoreName {
        /// The name.
        name: Excerpt,
    },
    /// Two values that cannot both be right, or one that no form describes.
    #[error("the document contradicts itself: {what}")]
    Contradiction {
        /// Contradiction in words.
        what: String,
    },
    /// A package would run a command that it does not ask for (AA-7).
    #[error("the command `{command}` does not stand in `permissions.commands` in so many words")]
    NotPermitted {
        /// The command.
        command: Excerpt,
    },
    /// A path that no change may have.
    #[error(transparent)]
    Path(PathError),
    /// A text that is no rule for paths.
    #[error(transparent)]
    Rule(PathRuleError),
    /// A field stands both in an object and in the object in it that can hold the same fields.
    #[error("the field also stands in `{nested}`; give it once")]
    AlsoNested {
        /// The object in the object.
        nested: &'static str,
    },
    /// A range ends before it begins.
    #[error(
        "`{last}` is before `{first}`, where the range begins; both are counted from 1 and belong to it"
    )]
    Backwards {
        /// First one.
        first: u32,
        /// Last one.
        last: u32,
    },
    /// The text is not YAML, or not YAML that all readers understand alike.
    #[error("the YAML is not sound: {message}")]
    Yaml {
        /// Problem in the words of the reader, bounded.
        message: String,
    },
}

/// Steps of a path that a message shows at each end, at most.
const STEPS_SHOWN_MAX: usize = 5;
/// Bytes of a name that a message shows at most.
const NAME_BYTES_SHOWN_MAX: usize = 40;

/// A mistake on its way out of the document: each level puts its step before the others.
#[derive(Debug)]
pub struct Fault {
    offset: usize,
    /// The innermost first.
    steps: Vec<Step>,
    problem: Problem,
}

impl Fault {
    /// At a byte of the document.
    pub fn at(offset: usize, problem: Problem) -> Self {
        Self { offset, steps: Vec::new(), problem }
    }

    /// The byte of the document.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Returns the problem as seen from the object that has the value as this member.
    pub fn in_member(self, name: &str) -> Self {
        self.below(Step::Member(name.to_owned()))
    }

    /// Returns the problem as seen from the array that has the value as this element.
    pub fn in_element(self, index: usize) -> Self {
        self.below(Step::Element(index))
    }

    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Adds the line and column in `document`.
    pub fn placed(mut self, document: &[u8]) -> Diagnostic {
        self.steps.reverse();
        let place = Some(Place::new(document, self.offset));
        Diagnostic { place, path: JsonPath(self.steps), problem: self.problem }
    }
}

impl std::error::Error for Diagnostic {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.problem)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "line {line}, column {column}: ")?;
        }
        if !self.path.0.is_empty() {
            write!(f, "`{}`: ", self.path)?;
        }
        self.problem.fmt(f)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = self.0.len().saturating_sub(STEPS_SHOWN_MAX).max(STEPS_SHOWN_MAX);
        for (index, step) in self.0.iter().enumerate() {
            if index == STEPS_SHOWN_MAX && index < end {
                f.write_str("…")?;
            }
            if (STEPS_SHOWN_MAX..end).contains(&index) {
                continue;
            }
            match step {
                Step::Element(index) => write!(f, "[{index}]")?,
                Step::Member(name) if is_plain(name) => {
                    write!(f, "{}{name}", if index == 0 { "" } else { "." })?;
                }
                Step::Member(name) => {
                    write!(f, "[\"{}\"]", Cut(name.as_bytes(), NAME_BYTES_SHOWN_MAX))?;
                }
            }
        }
        Ok(())
    }
}

/// Returns true if a name needs no quotes in a path.
fn is_plain(name: &str) -> bool {
    (1..=NAME_BYTES_SHOWN_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Similar word, as the end of a message names it.
struct Perhaps(Option<&'static str>);

impl fmt::Display for Perhaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |word| write!(f, ", perhaps `{word}` is meant"))
    }
}

struct Names<'a>(&'a [&'static str]);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if index == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}
