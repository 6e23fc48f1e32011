//! `actum.doctor/1`: health of the workspace and the system.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Doctor>()];

words! {
    /// Result of a health check.
    Health {
        /// The check found no problem.
        Ok = "ok",
        /// A feature is limited or unavailable on this system.
        Limited = "limited",
        /// The check found a problem that needs attention.
        Bad = "bad",
    }
}

/// Result of `actum doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// Version of actum.
    pub version: String,
    /// Results of all checks. Which checks run depends on the system and on whether there is a workspace.
    pub findings: Vec<Finding>,
}

impl Document for Doctor {
    const FORMAT: &'static str = "actum.doctor/1";
}

/// Result of a single check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Subject of the check.
    pub what: String,
    /// Result of the check.
    pub verdict: Health,
    /// Explanation as a sentence for the user.
    pub detail: String,
}
