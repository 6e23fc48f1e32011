//! `actum.sql-library/1`: DuckDB library that SQL steps load.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<SqlLibrary>()];

/// Result of `actum sql install`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SqlLibrary {
    /// Version of DuckDB.
    pub version: String,
    /// Path of the library. Escaped if it is not UTF-8.
    pub path: String,
    /// SHA-256 of the library, in hexadecimal.
    pub sha256: String,
    /// Whether the library was installed by this command. If `false`, it was already installed.
    pub installed: bool,
}

impl Document for SqlLibrary {
    const FORMAT: &'static str = "actum.sql-library/1";
}
