//! Strict JSON parser (RFC 8259) that keeps the location of every value.
//!
//! Everything that is not valid JSON is rejected with its byte offset, including comments, trailing commas, a byte
//! order mark, and text after the value. Duplicate names in an object are kept, because it depends on the caller how to
//! treat them; [`Fields`] rejects them.

mod fields;
mod syntax;

pub use fields::{Field, Fields, Schema, ShapeError, ShapeProblem};
pub use syntax::{SyntaxError, SyntaxProblem, documents, judge, string, text, within_limits};

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// Maximum nesting depth: 127 arrays and objects around a value.
pub const DEPTH_MAX: usize = 127;
/// Maximum number of values in a document, counting every array element and object member. Each value takes about 200
/// bytes of memory.
pub const VALUES_MAX: usize = 2_000_000;

/// JSON value with its location in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value<'t> {
    /// Byte range of the value in the text.
    pub span: Range<usize>,
    /// Content of the value, without its location.
    pub content: Content<'t>,
}

/// Content of a JSON value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'t> {
    /// The literal `null`.
    Null,
    /// The literal `true` or `false`.
    Boolean(bool),
    /// A number, as spelled in the text.
    Number(&'t str),
    /// A string, with its escapes decoded.
    String(Cow<'t, str>),
    /// An array, with its elements in order.
    Array(Vec<Value<'t>>),
    /// An object, with its members in the order of the text.
    Object(Vec<Member<'t>>),
}

/// Member of a JSON object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'t> {
    /// Byte range of the member's name in the text, including the quotes.
    pub name_span: Range<usize>,
    /// Name of the member, with its escapes decoded.
    pub name: Cow<'t, str>,
    /// Value of the member.
    pub value: Value<'t>,
}

/// Kind of a JSON value, as named in error messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The literal `null`.
    Null,
    /// The literal `true` or `false`.
    Boolean,
    /// Any number.
    Number,
    /// Any string.
    String,
    /// Any array.
    Array,
    /// Any object.
    Object,
}

impl<'t> Value<'t> {
    /// Parses a text that consists of a single JSON value.
    ///
    /// # Errors
    /// [`SyntaxError`] at the first invalid byte.
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

    /// Returns the members of an object, or an empty slice if the value is not an object.
    pub fn members(&self) -> &[Member<'t>] {
        if let Content::Object(members) = &self.content { members } else { &[] }
    }

    /// Returns the elements of an array, or a slice with just this value if it is not an array.
    pub fn each(&self) -> &[Self] {
        if let Content::Array(elements) = &self.content {
            elements
        } else {
            std::slice::from_ref(self)
        }
    }

    /// Returns whether the value is an object that has a member with this name.
    pub fn has(&self, name: &str) -> bool {
        self.members().iter().any(|member| member.name == name)
    }

    /// Returns the bytes of this value in `text`, from which it was parsed.
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
