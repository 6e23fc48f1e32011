//! `actum.init/1`: a workspace that was made or found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Init>()];

/// Result of `actum init`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Init {
    /// Root of the workspace, as an absolute path. Escaped where its bytes are not UTF-8.
    pub root: String,
    /// True if the workspace was made now; `false` if it existed.
    pub created: bool,
}

impl Document for Init {
    const FORMAT: &'static str = "actum.init/1";
}
