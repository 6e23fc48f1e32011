//! Reads JSON (RFC 8259) strictly, and keeps for each value where it stands.
//!
//! What is not exactly JSON is refused with the byte it is at: no comment, no comma too many, no
//! byte order mark, nothing after the value. Names that stand twice in an object are kept, since
//! it depends on the reader what they mean; [`Fields`] refuses them.

mod fields;
mod syntax;

pub use fields::{Field, Fields, Schema, ShapeError, ShapeProblem};
pub use syntax::{SyntaxError, SyntaxProblem, documents, judge, string, text, within_limits};

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The deepest nesting: 127 arrays and objects around a value.
pub const DEPTH_MAX: usize = 127;
/// The most values in one text, each element and each member counted. Each takes some 200 bytes of
/// memory.
pub const VALUES_MAX: usize = 2_000_000;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value<'t> {
    /// Range of its bytes in the text.
    pub span: Range<usize>,
    /// Content of the value.
    pub content: Content<'t>,
}

/// Content of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean(bool),
    /// A number, as it is spelled.
    Number(&'t str),
    /// A string, decoded.
    String(Cow<'t, str>),
    /// An array.
    Array(Vec<Value<'t>>),
    /// An object.
    Object(Vec<Member<'t>>),
}

/// A member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'t> {
    /// Range of its name in the text, with the quotes.
    pub name_span: Range<usize>,
    /// Its name, decoded.
    pub name: Cow<'t, str>,
    /// Its value.
    pub value: Value<'t>,
}

/// Kind of a value, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number,
    /// A string.
    String,
    /// An array.
    Array,
    /// An object.
    Object,
}

impl<'t> Value<'t> {
    /// The value that `text` holds and nothing else.
    ///
    /// # Errors
    /// [`SyntaxError`] at the first byte that is not sound.
    pub fn read(text: &'t [u8]) -> Result<Self, SyntaxError> {
        syntax::read(syntax::text(text)?)
    }

    /// Returns the kind of the value.
    pub fn kind(&self) -> Kind {
        match &self.content {
            Content::Null => Kind::Null,
            Content::Boolean(_) => Kind::Boolean,
            Content::Number(_) => Kind::Number,
            Content::String(_) => Kind::String,
            Content::Array(_) => Kind::Array,
            Content::Object(_) => Kind::Object,
        }
    }

    /// Its members; none where it is no object.
    pub fn members(&self) -> &[Member<'t>] {
        if let Content::Object(members) = &self.content { members } else { &[] }
    }

    /// Its elements where it is an array, else itself.
    pub fn each(&self) -> &[Self] {
        if let Content::Array(elements) = &self.content {
            elements
        } else {
            std::slice::from_ref(self)
        }
    }

    /// Returns true for an object with a member of this name.
    pub fn has(&self, name: &str) -> bool {
        self.members().iter().any(|member| member.name == name)
    }

    /// Its bytes in the text it was read from.
    pub fn text<'s>(&self, text: &'s str) -> &'s str {
        text.get(self.span.clone()).unwrap_or_default()
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Null => "`null`",
            Self::Boolean => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        })
    }
}
