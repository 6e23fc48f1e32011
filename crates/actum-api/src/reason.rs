//! `actum.reason/1` and `actum.reasons/1`: explanations of reason codes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Reason>(), DocumentType::new::<Reasons>()];

/// Result of `actum explain REASON`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Permanent reason code.
    pub reason: String,
    /// Page that explains the reason, in Markdown.
    pub page: String,
}

/// Result of `actum explain` without an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reasons {
    /// All reasons, sorted by name.
    pub reasons: Vec<Reason>,
}

impl Document for Reason {
    const FORMAT: &'static str = "actum.reason/1";
}

impl Document for Reasons {
    const FORMAT: &'static str = "actum.reasons/1";
}
