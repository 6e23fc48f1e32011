//! Edits that are no hunks of lines: their place is found in the content of a file, or the content
//! as a whole is known.
//!
//! An edit is a pure function of the content: it gives the splices that make it, or an error with
//! the reason. It never chooses between places: what is ambiguous is refused.

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

/// The largest content, in bytes, that is edited so, and the largest a delta makes: 100 MiB. It is
/// held in memory.
pub const EDIT_BYTES_MAX: u64 = 100 * 1024 * 1024;

/// One edit of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Edit {
    /// A text is replaced by another.
    Replace(Replacement),
    /// Lines find their places by being there; ascending.
    Chunks(Vec<Chunk>),
    /// A content that is known by its id becomes another.
    Binary(BinaryEdit),
    /// Values of a JSON file are changed.
    Json(JsonPatch),
    /// Lines are put in before the one with a number.
    LineInsert(LineInsert),
    /// The lines with some numbers are taken out.
    LineDelete(LineDelete),
    /// One value of a JSON file, which may have comments, is changed.
    JsonValue(JsonValueEdit),
    /// One value of a YAML file is replaced, or a member is added to a mapping.
    Yaml(YamlUpdate),
    /// One member of a mapping of a YAML file is removed.
    YamlRemove(YamlRemove),
}

/// Reason why an edit cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The edits of the change so far, this one among them, read more than [`EDIT_WORK_MAX`].
    #[error("{edits} edits that read {bytes} bytes in all are too much at once; split the change")]
    TooMuch {
        /// Number of edits.
        edits: u64,
        /// Number of bytes that they read.
        bytes: u64,
    },
    /// The text to replace.
    #[error(transparent)]
    Replace(#[from] ReplacementError),
    /// The lines of a chunk.
    #[error(transparent)]
    Chunk(#[from] ChunkError),
    /// The content that is known by its id.
    #[error(transparent)]
    Binary(#[from] BinaryError),
    /// The JSON Patch.
    #[error(transparent)]
    Json(#[from] JsonPatchError),
    /// The numbers of lines.
    #[error(transparent)]
    Lines(#[from] LineError),
    /// The value of a JSON file.
    #[error(transparent)]
    JsonValue(#[from] JsonValueError),
    /// The value of a YAML file.
    #[error(transparent)]
    Yaml(#[from] YamlError),
}

impl EditError {
    /// The message without any content of the file or the edit.
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
    /// The splices that make the edit in `content`, ascending.
    ///
    /// # Errors
    /// [`EditError`] when its place is not in `content`, or not clear, or `content` is not the one it
    /// was made for.
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
