//! `actum.written/1`: a document that was written to a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Written>()];

/// Result of a command that writes a document to a file (`--output`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Kind of the document.
    pub what: WrittenKind,
    /// The file, as the command named it. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// Size of the file in bytes.
    pub bytes: usize,
}

/// Kind of a document in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum WrittenKind {
    /// Public keys of an installation.
    #[serde(rename = "keyring")]
    Keyring,
    /// One public key.
    #[serde(rename = "public key")]
    PublicKey,
    /// Receipt of a run.
    #[serde(rename = "receipt")]
    Receipt,
    /// Signed state of a ledger.
    #[serde(rename = "checkpoint")]
    Checkpoint,
}

impl WrittenKind {
    /// Returns the word that stands in the document.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::PublicKey => "public key",
            Self::Receipt => "receipt",
            Self::Checkpoint => "checkpoint",
        }
    }
}

impl Document for Written {
    const FORMAT: &'static str = "actum.written/1";
}
