//! `actum.init/1`: workspace that was created or already existed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Init>()];

/// Result of `actum init`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Init {
    /// Absolute path of the workspace root. Escaped if it is not UTF-8.
    pub root: String,
    /// Whether the workspace was created by this command. If `false`, it already existed.
    pub created: bool,
}

impl Document for Init {
    const FORMAT: &'static str = "actum.init/1";
}
