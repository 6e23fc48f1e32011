//! `actum.protect/1`: changes that `actum protect` made to the settings of a client, and the results of testing the client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Protection>()];

/// Result of `actum protect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protection {
    /// Name of the client.
    pub client: String,
    /// Path of the client's settings file.
    pub settings: String,
    /// Whether the command changed the settings file.
    pub changed: bool,
    /// Whether the settings call the actum hook.
    pub configured: bool,
    /// Whether the settings call the strict hook, which rejects commands of the client's shell.
    pub strict: bool,
    /// Whether all checks of the trial passed, so that every edit by the client goes through actum.
    pub armed: bool,
    /// Checks of the trial in order. Empty if there was no trial.
    pub checks: Vec<ProtectionCheck>,
}

impl Document for Protection {
    const FORMAT: &'static str = "actum.protect/1";
}

/// Single check of a client trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectionCheck {
    /// Requirement that was checked.
    pub what: String,
    /// Whether the requirement was met.
    pub passed: bool,
    /// Observed behavior as a sentence for the user.
    pub detail: String,
}
