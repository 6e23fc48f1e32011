//! Reads the documents that decisions are based on. Only their canonical form is accepted.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum number of bytes of a document's version that an error message shows.
const SHOWN_BYTES_MAX: usize = 120;

/// Error for a document that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct DocumentError {
    /// Kind of document, as the subject of the error message.
    pub what: &'static str,
    /// Reason why the document cannot be used.
    pub problem: DocumentProblem,
}

/// Reason why a document cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentProblem {
    /// The document is not JSON, or is JSON that parsers interpret differently.
    #[error("cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// The document has another format or was made with other rules.
    #[error("has the format `{}`, but this program only supports `{known}`", Cut(found.as_bytes(), SHOWN_BYTES_MAX))]
    OtherVersion {
        /// Version of the document.
        found: String,
        /// Version that this program supports.
        known: String,
    },
    /// A field is missing, unknown or of the wrong type.
    #[error("cannot be read: {message}")]
    Schema {
        /// Description of the invalid field.
        message: String,
    },
    /// The document has unknown content or is not in canonical form.
    #[error("is not in canonical form")]
    NotCanonical,
}

/// Reads a document. Its version, which `version` extracts, must equal `known`, and `bytes` must be the
/// canonical form of the result.
///
/// # Errors
/// Returns [`DocumentError`], which refers to the document as `what`.
pub fn read<T: DeserializeOwned + Serialize>(
    what: &'static str,
    bytes: &[u8],
    version: impl FnOnce(&Value) -> String,
    known: String,
) -> Result<T, DocumentError> {
    let failed = |problem| DocumentError { what, problem };
    let value = canonical::read(bytes).map_err(|error| failed(error.into()))?;
    let found = version(&value);
    if found != known {
        return Err(failed(DocumentProblem::OtherVersion { found, known }));
    }
    let document: T = serde_json::from_value(value).map_err(|error| {
        failed(DocumentProblem::Schema { message: canonical::describe(&error) })
    })?;
    let again = canonical::to_vec(&document).map_err(|error| failed(error.into()))?;
    if again == bytes { Ok(document) } else { Err(failed(DocumentProblem::NotCanonical)) }
}

/// Returns the `format` field of a document, or an empty string if it has none.
pub fn format_of(value: &Value) -> &str {
    value.get("format").and_then(Value::as_str).unwrap_or_default()
}
