//! `actum.protect/1`: changes that `actum protect` made in the settings of a client, and the results of a trial of
//! the client.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Protection>()];

/// Result of `actum protect`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protection {
    /// The client.
    pub client: String,
    /// File of its settings.
    pub settings: String,
    /// True if the file was changed now.
    pub changed: bool,
    /// True if the settings call the hook of actum.
    pub configured: bool,
    /// True if they call a strict hook, which refuses commands of the client's shell.
    pub strict: bool,
    /// True if all checks of the trial passed: each edit of the client goes through actum.
    pub armed: bool,
    /// Checks of the trial, in order; empty without a trial.
    pub checks: Vec<ProtectionCheck>,
}

impl Document for Protection {
    const FORMAT: &'static str = "actum.protect/1";
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectionCheck {
    /// Requirement that is checked.
    pub what: String,
    /// True if it held.
    pub passed: bool,
    /// Observation as a sentence for the user.
    pub detail: String,
}
