//! JSON Patch (RFC 6902) as a text edit that leaves every byte unchanged that no operation addresses.
//!
//! The file is parsed into a tree that contains every byte of the text, including blanks. The operations modify the tree, which
//! tracks the pieces that are still at their original position in the file. Only strict JSON can be edited in this way.
//!
//! Edits of a single JSON value use trees of the same kind to detect the layout of a file. In these trees, comments are part of the
//! blanks.

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

/// Maximum number of operations in a patch.
pub const OPERATIONS_MAX: usize = 1_000;
/// Maximum size of a JSON file before and after an edit: 16 MiB.
pub const JSON_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Maximum number of operations multiplied by the file size in bytes: 256 MiB. Each operation may have to walk the entire file.
pub const WORK_MAX: u64 = 256 * 1024 * 1024;

pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// JSON Patch, whose operations are applied in order. If one fails, none is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JsonPatch {
    /// Operations of the patch, in the order in which they are applied.
    pub operations: Vec<PatchOperation>,
}

/// Operation of a JSON Patch (RFC 6902, section 4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum PatchOperation {
    /// Adds a member or an element, or replaces the value of an existing member.
    Add {
        /// Pointer to the place of the new value.
        path: Pointer,
        /// Value to add.
        value: JsonText,
    },
    /// Removes a member or an element.
    Remove {
        /// Pointer to the value to remove.
        path: Pointer,
    },
    /// Replaces an existing value.
    Replace {
        /// Pointer to the value to replace.
        path: Pointer,
        /// New value.
        value: JsonText,
    },
    /// Removes a value and adds it in a different place.
    Move {
        /// Pointer to the value to move.
        from: Pointer,
        /// Pointer to the new place of the value.
        path: Pointer,
    },
    /// Adds a copy of an existing value.
    Copy {
        /// Pointer to the value to copy.
        from: Pointer,
        /// Pointer to the place of the copy.
        path: Pointer,
    },
    /// Aborts the patch unless a value equals the expected one.
    Test {
        /// Pointer to the value to compare.
        path: Pointer,
        /// Expected value.
        value: JsonText,
    },
}

/// Exact text of a JSON value, without leading or trailing blanks. Objects inside it have no duplicate names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct JsonText(String);

/// Error for a text that is not valid JSON, or that has duplicate names, which parsers interpret differently.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonTextError {
    /// The text is not valid JSON.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// An object has a duplicate name.
    #[error(transparent)]
    Shape(#[from] ShapeError),
}

impl JsonPatch {
    /// Returns the splices that apply all operations to `content`, in ascending order.
    ///
    /// # Errors
    /// Returns a [`JsonPatchError`] if `content` is not strict JSON, if an operation cannot be applied, or if a limit is exceeded.
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
    /// Returns the name of the operation, which is the value of `op` in a patch.
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
    /// Parses a text that must consist of a single JSON value.
    ///
    /// # Errors
    /// Returns a [`JsonTextError`] if the text is not valid JSON, or if an object has a duplicate name.
    pub fn new(text: &str) -> Result<Self, JsonTextError> {
        Ok(Self::from_value(&Value::read(text.as_bytes())?, text)?)
    }

    /// Returns the text of a value that was parsed from `text`.
    ///
    /// # Errors
    /// Returns a [`ShapeError`] if an object has a duplicate name.
    pub fn from_value(value: &Value<'_>, text: &str) -> Result<Self, ShapeError> {
        names_are_there_once(value)?;
        Ok(Self(value.text(text).to_owned()))
    }

    /// Returns the JSON text.
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
