//! Documents that a decision is made from: read in the one form in which they are written.

use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How much of a version an error repeats, in bytes.
const SHOWN_BYTES_MAX: usize = 120;

/// Bytes that are no such document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {problem}")]
pub struct DocumentError {
    /// Which document.
    pub what: &'static str,
    /// What is wrong with it.
    pub problem: DocumentProblem,
}

/// What is wrong with a document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DocumentProblem {
    /// It is not JSON of which every reader has the same idea.
    #[error("cannot be read: {0}")]
    Json(#[from] CanonicalError),
    /// It is of another format, or for other rules.
    #[error("is a `{}`, and this program knows `{known}`", Cut(found.as_bytes(), SHOWN_BYTES_MAX))]
    OtherVersion {
        /// What it is.
        found: String,
        /// What is known.
        known: String,
    },
    /// Fields are missing, too many, or of another kind.
    #[error("cannot be read: {message}")]
    Schema {
        /// Which, and how.
        message: String,
    },
    /// It says more than this program reads from it, or in another form.
    #[error("is not in its canonical form")]
    NotCanonical,
}

/// Reads a document of the version `known`: what `version` tells of it must be that, and its bytes the
/// canonical ones of what was read.
///
/// # Errors
/// [`DocumentError`], which names the document as `what`.
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

/// The format that a document says it has.
pub fn format_of(value: &Value) -> &str {
    value.get("format").and_then(Value::as_str).unwrap_or_default()
}
