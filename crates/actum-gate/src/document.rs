//! Documents that a decision is made from, read only in their canonical form.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum length of a version in an error, in bytes.
const SHOWN_BYTES_MAX: usize = 120;

/// Error of an invalid document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct DocumentError {
    /// Kind of document.
    pub what: &'static str,
    /// Problem of the document.
    pub problem: DocumentProblem,
}

/// Problem of a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentProblem {
    /// Not JSON, or JSON that readers interpret differently.
    #[error("cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// Another format, or other rules.
    #[error("is a `{}`, and this program knows `{known}`", Cut(found.as_bytes(), SHOWN_BYTES_MAX))]
    OtherVersion {
        /// Version found.
        found: String,
        /// Version known.
        known: String,
    },
    /// Fields that are missing, unknown or of another type.
    #[error("cannot be read: {message}")]
    Schema {
        /// Description of the fields.
        message: String,
    },
    /// Unknown content, or a form that is not canonical.
    #[error("is not in its canonical form")]
    NotCanonical,
}

/// Reads a document of the version `known`. `version` extracts its version, which must match, and the bytes
/// must be the canonical form of the result.
///
/// # Errors
/// [`DocumentError`] that names the document as `what`.
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

/// Returns the format that a document states.
pub fn format_of(value: &Value) -> &str {
    value.get("format").and_then(Value::as_str).unwrap_or_default()
}
