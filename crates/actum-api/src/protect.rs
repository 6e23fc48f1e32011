//! `actum.protect/1`: what `actum protect` did to the settings of a client, and what a trial of the client proved.

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
    /// Whether the file was changed now.
    pub changed: bool,
    /// Whether the settings call the hook of actum.
    pub configured: bool,
    /// Whether they call a strict hook, which refuses commands of the client's shell.
    pub strict: bool,
    /// Whether all that was tried with the client held: each edit goes through actum.
    pub armed: bool,
    /// What was tried, in this order; empty where nothing was.
    pub checks: Vec<ProtectionCheck>,
}

impl Document for Protection {
    const FORMAT: &'static str = "actum.protect/1";
}

/// One thing that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProtectionCheck {
    /// What has to hold.
    pub what: String,
    /// Whether it held.
    pub passed: bool,
    /// What was seen, for people.
    pub detail: String,
}
