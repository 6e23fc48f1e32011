//! `actum.written/1`: document that was written to a file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Written>()];

/// Result of a command that writes a document to a file (`--output`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Written {
    /// Kind of the document.
    pub what: WrittenKind,
    /// Path of the file, as given on the command line. Escaped if it is not UTF-8.
    pub file: String,
    /// Size of the file in bytes.
    pub bytes: u64,
}

words! {
    /// Kind of document that was written to a file.
    WrittenKind {
        /// Public keys of an installation.
        Keyring = "keyring",
        /// Single public key.
        PublicKey = "public key",
        /// Receipt of a run.
        Receipt = "receipt",
        /// Signed checkpoint of a ledger.
        Checkpoint = "checkpoint",
    }
}

impl Document for Written {
    const FORMAT: &'static str = "actum.written/1";
}
