//! Edits other than line hunks, such as search-and-replace, JSON Patch and binary patches.
//!
//! An edit is a pure function of the file content. It returns the splices that perform the edit, or an error with the reason why
//! it cannot be applied. If an edit would fit in more than one place, it is rejected as ambiguous.

mod binary;
mod chunk;
pub mod json_patch;
pub mod json_path;
mod json_value;
mod lines;
mod replacement;
mod sound;
mod work;
mod yaml;

pub(crate) use binary::Delta;
pub use binary::{BinaryChange, BinaryEdit, BinaryError, BlobId, DeltaError};
pub use chunk::{Chunk, ChunkError, ChunkLine};
pub use json_patch::{JsonPatch, JsonPatchError};
pub use json_path::{JsonPath, JsonPathError, PathProblem};
pub use json_value::{JsonValueEdit, JsonValueError, Unproven};
pub use lines::{LineDelete, LineError, LineInsert};
pub use replacement::{OCCURRENCES_MAX, Occurrences, Replacement, ReplacementError};
pub use sound::{Language, Unsound, UnsoundProblem, json_value, yaml_values};
pub use work::{EDIT_WORK_MAX, EditWork};
pub use yaml::{YAML_BYTES_MAX, YamlError, YamlProblem, YamlRemove, YamlUnproven, YamlUpdate};

use serde::{Deserialize, Serialize};

use crate::Splice;

/// Maximum size of a file that can be edited, and of the result of a binary delta: 100 MiB. Both are held in memory.
pub const EDIT_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// Edit of a single file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// Replaces a text with another text.
    Replace(Replacement),
    /// Replaces lines that are located by their content instead of their numbers. The chunks are in file order.
    Chunks(Vec<Chunk>),
    /// Replaces the entire content, which must have a known git blob id.
    Binary(BinaryEdit),
    /// Applies a JSON Patch (RFC 6902) to a JSON file.
    Json(JsonPatch),
    /// Inserts lines before a given line number.
    LineInsert(LineInsert),
    /// Deletes a range of lines.
    LineDelete(LineDelete),
    /// Changes one value in a JSON file, which may contain comments.
    JsonValue(JsonValueEdit),
    /// Replaces one value in a YAML file, or adds a member to a mapping.
    Yaml(YamlUpdate),
    /// Removes one member from a mapping in a YAML file.
    YamlRemove(YamlRemove),
}

/// Reason why an edit cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edits of a change, up to and including this one, would read more than [`EDIT_WORK_MAX`] bytes.
    #[error(
        "{edits} edits that read {bytes} bytes in total exceed the work limit; split the change"
    )]
    TooMuch {
        /// Number of edits in the change so far.
        edits: u64,
        /// Number of bytes that these edits would read.
        bytes: u64,
    },
    /// A search-and-replace edit does not match the file.
    #[error(transparent)]
    Replace(#[from] ReplacementError),
    /// The lines of a chunk do not match the file.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// A binary patch does not match the file.
    #[error(transparent)]
    Binary(#[from] BinaryError),
    /// A JSON Patch cannot be applied to the file.
    #[error(transparent)]
    Json(#[from] JsonPatchError),
    /// The line numbers of an insertion or deletion do not match the file.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// A value in a JSON file cannot be changed.
    #[error(transparent)]
    JsonValue(#[from] JsonValueError),
    /// A value in a YAML file cannot be changed.
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

impl EditError {
    /// Returns a generic error message that contains no content of the file or the edit, except for sizes.
    pub fn without_content(&self) -> String {
        let what = match self {
            Self::TooMuch { .. } => return self.to_string(),
            Self::Replace(_) => "the text to replace does not match the file",
            Self::Chunk(_) => "the lines of the chunks do not match the file",
            Self::Binary(_) => "the binary patch does not match the file",
            Self::Json(_) => "the JSON Patch does not match the file",
            Self::Lines(_) => "the line numbers do not match the file",
            Self::JsonValue(_) => "the JSON edit does not match the file",
            Self::Yaml(_) => "the YAML edit does not match the file",
        };
        what.to_owned()
    }
}

impl Edit {
    /// Returns the splices that apply the edit to `content`, in ascending order.
    ///
    /// # Errors
    /// Returns an [`EditError`] if the edit does not match `content`, matches in more than one place, or was made for a different
    /// version of the content.
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, EditError> {
        match self {
            Self::Replace(replacement) => Ok(replacement.splices(content)?),
            Self::Chunks(chunks) => Ok(chunk::splices(chunks, content)?),
            Self::Binary(binary) => Ok(binary.splices(content)?),
            Self::Json(patch) => Ok(patch.splices(content)?),
            Self::LineInsert(insert) => Ok(insert.splices(content)?),
            Self::LineDelete(delete) => Ok(delete.splices(content)?),
            Self::JsonValue(edit) => Ok(edit.splices(content)?),
            Self::Yaml(update) => Ok(update.splices(content)?),
            Self::YamlRemove(remove) => Ok(remove.splices(content)?),
        }
    }
}
