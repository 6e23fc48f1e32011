//! `actum.gc/1`: history that was removed to save space.

use actum_core::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Gc>()];

/// Result of `actum gc`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gc {
    /// Whether this was a dry run, which only predicts the result and removes nothing.
    pub dry_run: bool,
    /// Runs that were removed from the history, or would be removed in a dry run.
    #[schemars(with = "Vec<value::RunId>")]
    pub removed_runs: Vec<RunId>,
    /// Number of runs that remain in the history.
    pub kept_runs: u64,
    /// Size of the removed history, in bytes.
    pub freed_bytes: u64,
    /// Size of the remaining history, in bytes.
    pub kept_bytes: u64,
    /// Number of internal files of actum that were removed because no run needed them.
    pub removed_files: u64,
    /// Runs that exceed the limits but are kept because of the operator's retention settings.
    #[schemars(with = "Vec<value::RunId>")]
    pub retained_runs: Vec<RunId>,
}

impl Document for Gc {
    const FORMAT: &'static str = "actum.gc/1";
}
