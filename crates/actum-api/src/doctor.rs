//! `actum.doctor/1`: health of the workspace and the system.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Doctor>()];

words! {
    /// Verdict of an examination.
    Health {
        /// Nothing is wrong.
        Ok = "ok",
        /// Something works with less than usual.
        Limited = "limited",
        /// A problem needs attention.
        Bad = "bad",
    }
}

/// Result of `actum doctor`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Doctor {
    /// Version of the program.
    pub version: String,
    /// Findings of the examination. They depend on the system, and on whether there is a workspace.
    pub findings: Vec<Finding>,
}

impl Document for Doctor {
    const FORMAT: &'static str = "actum.doctor/1";
}

/// Examination of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Thing that was examined.
    pub what: String,
    /// Verdict.
    pub verdict: Health,
    /// Finding as a sentence for the user.
    pub detail: String,
}
