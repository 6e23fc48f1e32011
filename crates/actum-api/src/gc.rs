//! `actum.gc/1`: history that was forgotten.

use actum_core::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Gc>()];

/// Result of `actum gc`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gc {
    /// True if this is a forecast and nothing was removed.
    pub dry_run: bool,
    /// Runs that were forgotten, or would be.
    #[schemars(with = "Vec<value::RunId>")]
    pub removed_runs: Vec<RunId>,
    /// Number of runs that stay.
    pub kept_runs: u64,
    /// Bytes of history that were freed.
    pub freed_bytes: u64,
    /// Bytes of history that stay.
    pub kept_bytes: u64,
    /// Number of files of actum's own that no run needed.
    pub removed_files: u64,
    /// Runs beyond the limits that the operator's retention keeps.
    #[schemars(with = "Vec<value::RunId>")]
    pub retained_runs: Vec<RunId>,
}

impl Document for Gc {
    const FORMAT: &'static str = "actum.gc/1";
}
