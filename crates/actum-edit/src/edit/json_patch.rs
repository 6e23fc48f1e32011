//! JSON Patch (RFC 6902) as an edit of a text: what no operation addresses keeps its bytes.
//!
//! The text becomes a tree that holds every byte of it. The operations change the tree, and the tree
//! knows which of its pieces are still at their old places. Only strict JSON is edited so. Blanks are
//! pieces like any other; where the tree shows an edit of one value how a file is laid out, comments are
//! part of them.

mod apply;
pub(super) mod compare;
mod emit;
mod error;
pub(super) mod layout;
pub(super) mod parcel;
mod place;
mod pointer;
pub(super) mod tree;

pub use error::{JsonPatchError, PointerProblem};
pub use pointer::{Pointer, PointerError};

use serde::{Deserialize, Serialize};

use actum_core::count;
use actum_core::json::{self, Content, ShapeError, ShapeProblem, SyntaxError, Value};
use actum_core::place::Place;
use apply::Document;

use crate::Splice;

/// The most operations in one patch.
pub const OPERATIONS_MAX: usize = 1_000;
/// The largest JSON file that is edited, and the largest that an edit makes, in bytes: 16 MiB.
pub const JSON_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The most operations times bytes: each operation may have to walk the file. 256 MiB.
pub const WORK_MAX: u64 = 256 * 1024 * 1024;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Operations that are made one after the other, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonPatch {
    /// The operations.
    pub operations: Vec<PatchOperation>,
}

/// One operation (RFC 6902, section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PatchOperation {
    /// Adds a member or an element, or replaces the value of a member that is there.
    Add {
        /// Place of the new value.
        path: Pointer,
        /// New value.
        value: JsonText,
    },
    /// Removes a member or an element.
    Remove {
        /// Place of the value to remove.
        path: Pointer,
    },
    /// Replaces a value.
    Replace {
        /// Place of the value to replace.
        path: Pointer,
        /// By what.
        value: JsonText,
    },
    /// Removes a value and adds it elsewhere.
    Move {
        /// Place of the value to move.
        from: Pointer,
        /// New place.
        path: Pointer,
    },
    /// Adds a value that is elsewhere.
    Copy {
        /// Place of the value to copy.
        from: Pointer,
        /// Place of the copy.
        path: Pointer,
    },
    /// Stops the patch unless a value is the one given.
    Test {
        /// Place of the value to compare.
        path: Pointer,
        /// Expected value.
        value: JsonText,
    },
}

/// A JSON value as it is spelled, without blanks around it; no object in it has a name twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct JsonText(String);

/// Error for a text that is not a JSON value, or not one that every reader understands alike.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonTextError {
    /// The text is not JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// An object has a name twice.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl JsonPatch {
    /// The splices that make all operations in `content`, ascending.
    ///
    /// # Errors
    /// [`JsonPatchError`] when `content` is no JSON, at the first operation that cannot be made, or
    /// when a limit is passed.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, JsonPatchError> {
        if self.operations.len() > OPERATIONS_MAX {
            return Err(JsonPatchError::TooMany { operations: self.operations.len() });
        }
        if count(content.len()) > JSON_BYTES_MAX {
            return Err(JsonPatchError::TooLarge { bytes: count(content.len()) });
        }
        let work = count(self.operations.len()).saturating_mul(count(content.len()));
        if work > WORK_MAX {
            let operations = self.operations.len();
            return Err(JsonPatchError::TooMuch { operations, bytes: count(content.len()) });
        }
        let (whole, content) = (content, content.strip_prefix(BYTE_ORDER_MARK).unwrap_or(content));
        let mark = whole.len() - content.len();
        let refused = |SyntaxError { offset, problem }| JsonPatchError::NotJson {
            place: Place::new(whole, mark + offset),
            problem,
        };
        let text = json::text(content).map_err(refused)?;
        let value = Value::read(content).map_err(refused)?;
        let mut document = Document::new(&value, text);
        for (index, operation) in self.operations.iter().enumerate() {
            document.make(operation).map_err(|(pointer, problem)| JsonPatchError::Operation {
                number: index + 1,
                name: operation.name(),
                pointer,
                problem: problem.into(),
            })?;
        }
        let splices = document.splices();
        let result = Splice::apply(&splices, content).unwrap_or_default();
        Value::read(&result).map_err(|error| JsonPatchError::Result { problem: error.problem })?;
        Ok(splices
            .into_iter()
            .map(|splice| Splice { offset: splice.offset.saturating_add(count(mark)), ..splice })
            .collect())
    }
}

impl PatchOperation {
    /// Its name in the patch.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Add { .. } => "add",
            Self::Remove { .. } => "remove",
            Self::Replace { .. } => "replace",
            Self::Move { .. } => "move",
            Self::Copy { .. } => "copy",
            Self::Test { .. } => "test",
        }
    }
}

impl JsonText {
    /// The value that `text` holds.
    ///
    /// # Errors
    /// [`JsonTextError`].
    pub fn new(text: &str) -> Result<Self, JsonTextError> {
        Ok(Self::from_value(&Value::read(text.as_bytes())?, text)?)
    }

    /// A value that was read from `text`.
    ///
    /// # Errors
    /// [`ShapeError`] where a name stands twice in an object.
    pub fn from_value(value: &Value<'_>, text: &str) -> Result<Self, ShapeError> {
        names_are_there_once(value)?;
        Ok(Self(value.text(text).to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for JsonText {
    type Error = JsonTextError;

    fn try_from(text: String) -> Result<Self, JsonTextError> {
        Self::new(&text)
    }
}

fn names_are_there_once(value: &Value<'_>) -> Result<(), ShapeError> {
    if let Content::Array(elements) = &value.content {
        return elements.iter().try_for_each(names_are_there_once);
    }
    let mut seen = std::collections::BTreeSet::new();
    for member in value.members() {
        if !seen.insert(&*member.name) {
            let field = actum_core::place::Excerpt::new(member.name.as_bytes());
            let problem = ShapeProblem::Doubled { field };
            return Err(ShapeError { offset: member.name_span.start, problem });
        }
        names_are_there_once(&member.value)?;
    }
    Ok(())
}
