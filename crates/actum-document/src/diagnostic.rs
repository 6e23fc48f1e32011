//! Diagnostics for invalid documents, with the location of the problem.

use std::fmt;

use actum_core::json::{Kind, SyntaxProblem};
use actum_core::path::Cut;
use actum_core::place::{Excerpt, Place};
use actum_core::{PathError, PathRuleError};

use super::DEPTH_MAX;
use super::object_schema::{Form, Text};

/// Problem in a document, with its location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Line and column of the problem. `None` if it concerns the entire document.
    pub place: Option<Place>,
    /// Path of the invalid value.
    pub path: JsonPath,
    /// Description of the problem.
    pub problem: Problem,
}

/// Path from the root of a document to a value, such as `scope.allowedDirs[2]`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct JsonPath(pub Vec<Step>);

/// Step of a path from an object or array to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Member of an object, by its name.
    Member(String),
    /// Element of an array, by its index.
    Element(usize),
}

/// Reason why a document is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The document exceeds the size limit.
    #[error("the document has {bytes} bytes, but at most {bytes_max} are allowed")]
    TooLarge {
        /// Size of the document in bytes.
        bytes: usize,
        /// Maximum size in bytes.
        bytes_max: usize,
    },
    /// The text is not valid JSON.
    #[error("invalid JSON: {0}")]
    Syntax(#[source] SyntaxProblem),
    /// A Rust value cannot be represented as JSON.
    #[error("it cannot be written as JSON")]
    Unwritable,
    /// Arrays and objects are nested too deeply.
    #[error("arrays and objects are nested more than {DEPTH_MAX} levels deep")]
    TooDeep,
    /// A name occurs twice in an object. Parsers differ in which of the two values they use.
    #[error("duplicate field")]
    Doubled,
    /// A number is too large to be represented exactly, so different parsers may round it differently.
    #[error(
        "the number `{number}` is outside ±(2^53 − 1), so parsers may round it; write it as a string"
    )]
    Inexact {
        /// Number as spelled in the document.
        number: Excerpt,
    },
    /// An object has an unknown member.
    #[error("unknown field{}; fields of {name}: {}", Perhaps(*.nearest), Names(known))]
    Unknown {
        /// Name of the object type.
        name: &'static str,
        /// Known member with a similar name, if there is one.
        nearest: Option<&'static str>,
        /// Members that objects of this type have.
        known: Vec<&'static str>,
    },
    /// A required member is missing.
    #[error("missing field; expected {expected}")]
    Missing {
        /// Required form of the missing value.
        expected: Form,
    },
    /// A value has the wrong type.
    #[error("expected {expected}, but found {found}")]
    Kind {
        /// Required form of the value.
        expected: Form,
        /// Kind of the value that was found.
        found: Kind,
    },
    /// A string is not one of the allowed words.
    #[error("expected {expected}, but found `{found}`{}", Perhaps(*.nearest))]
    Word {
        /// Words that are allowed.
        expected: Form,
        /// String that was found.
        found: Excerpt,
        /// Allowed word that is similar, if there is one.
        nearest: Option<&'static str>,
    },
    /// A number is too small, too large or not an integer.
    #[error("expected {expected}, but found `{found}`")]
    Number {
        /// Required form of the number.
        expected: Form,
        /// Number as spelled in the document.
        found: Excerpt,
    },
    /// A string is too short or too long.
    #[error("expected a string {expected}, but found {chars} characters")]
    Length {
        /// Required form of the string.
        expected: Text,
        /// Length of the string in characters.
        chars: usize,
    },
    /// A string contains characters that are not allowed.
    #[error("expected a string {expected}, but found `{found}`")]
    Characters {
        /// Required form of the string.
        expected: Text,
        /// String that was found.
        found: Excerpt,
    },
    /// A list has too many elements.
    #[error("expected {expected}, but found {count}")]
    TooMany {
        /// Required form of the list.
        expected: Form,
        /// Number of elements that were found.
        count: usize,
    },
    /// The name of a package is the name of a core action (AA-9).
    #[error("`{name}` is a core action, which a package cannot replace; choose a different name")]
    CoreName {
        /// Name of the package.
        name: Excerpt,
    },
    /// Two values contradict each other, or a value violates a rule that its form does not express.
    #[error("the document contradicts itself: {what}")]
    Contradiction {
        /// Description of the contradiction.
        what: String,
    },
    /// A package would run a command that its permissions do not list (AA-7).
    #[error("the command `{command}` is not listed verbatim in `permissions.commands`")]
    NotPermitted {
        /// Command that is not listed.
        command: Excerpt,
    },
    /// A path cannot be used in a workspace.
    #[error(transparent)]
    Path(PathError),
    /// A text is not a valid path rule.
    #[error(transparent)]
    Rule(PathRuleError),
    /// A field is set in an object and also in a nested object that can have the same fields.
    #[error("the field is also set in `{nested}`; set it only once")]
    AlsoNested {
        /// Name of the nested object.
        nested: &'static str,
    },
    /// A range ends before it starts.
    #[error(
        "the range ends at `{last}`, before its start `{first}`; both ends are inclusive and start at 1"
    )]
    Backwards {
        /// First number of the range.
        first: u32,
        /// Last number of the range.
        last: u32,
    },
    /// The text is not valid YAML, or it is YAML that parsers interpret differently.
    #[error("invalid YAML: {message}")]
    Yaml {
        /// Error message of the parser, limited in length.
        message: String,
    },
}

/// Maximum number of steps that a message shows at each end of a path.
const STEPS_SHOWN_MAX: usize = 5;
/// Maximum number of bytes of a member name that a message shows.
const NAME_BYTES_SHOWN_MAX: usize = 40;

/// Problem whose path is built while it propagates from the value to the root of the document.
#[derive(Debug)]
pub struct Fault {
    offset: usize,
    /// Steps of the path, starting with the innermost one.
    steps: Vec<Step>,
    problem: Problem,
}

impl Fault {
    /// Creates a fault at a byte offset of the document.
    pub fn at(offset: usize, problem: Problem) -> Self {
        Self { offset, steps: Vec::new(), problem }
    }

    /// Returns the byte offset of the fault in the document.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Adds the name of the member that contains the value to the path.
    pub fn in_member(self, name: &str) -> Self {
        self.below(Step::Member(name.to_owned()))
    }

    /// Adds the index of the element that contains the value to the path.
    pub fn in_element(self, index: usize) -> Self {
        self.below(Step::Element(index))
    }

    fn below(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Converts the fault to a diagnostic with its line and column in `document`.
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

/// Returns whether a member name can be written in a path without quotes.
fn is_plain(name: &str) -> bool {
    (1..=NAME_BYTES_SHOWN_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Suffix of an error message that suggests a similar word.
struct Perhaps(Option<&'static str>);

impl fmt::Display for Perhaps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |word| write!(f, " (did you mean `{word}`?)"))
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
