//! `actum.recovery/1` and `actum.resolve/1`: recovery after an interrupted run, and blocked paths.

use actum_core::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::path::WorkspacePath;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Recovery>(), DocumentType::new::<Resolve>()];

/// Result of `actum recover`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Recovery {
    /// Path of the old journal that was set aside, relative to the workspace root, or `null` if it was not set aside.
    pub set_aside_journal: Option<String>,
    /// Directory with displaced and kept files that only the old journal refers to, or `null` if there are no such files.
    pub set_aside_images: Option<String>,
    /// Run in the old journal whose end could not be read, so that its paths are blocked, or `null` if there is no such run.
    #[schemars(with = "Option<value::RunId>")]
    pub interrupted: Option<RunId>,
    /// Whether a new journal was created.
    pub new_journal: bool,
    /// Recovered run and files, or `null` if there was nothing to recover.
    pub recovery: Option<Recovered>,
    /// Paths that no run may change until they are resolved.
    pub blocked: Vec<BlockedPath>,
}

impl Document for Recovery {
    const FORMAT: &'static str = "actum.recovery/1";
}

/// Result of `actum resolve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resolve {
    /// Paths that runs may change again.
    pub resolved: Vec<BlockedPath>,
    /// Number of paths that are still blocked.
    pub blocked: u64,
}

impl Document for Resolve {
    const FORMAT: &'static str = "actum.resolve/1";
}

/// Result of a recovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recovered {
    /// Run that was rolled back, or `null` if no run was unfinished.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
    /// Paths that were rewritten because a power failure may have damaged them.
    pub rewritten: Vec<WorkspacePath>,
    /// Paths that another program changed. Those changes were kept.
    pub foreign: Vec<WorkspacePath>,
    /// Paths that the operating system did not allow actum to restore. They are unchanged.
    pub refused: Vec<RefusedPath>,
    /// Names of files in `.actum/lost` whose content was not recorded anywhere else.
    pub saved: Vec<String>,
}

/// Path that could not be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedPath {
    /// Path relative to the workspace root.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Error message of the operating system.
    pub cause: String,
}

/// Path that no run may change until it is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedPath {
    /// Path relative to the workspace root.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Run because of which the path is blocked.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
}
