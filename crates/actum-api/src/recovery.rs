//! `actum.recovery/1` and `actum.resolve/1`: what an interrupted run left, and blocked paths.

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
    /// Path of the journal that was set aside, from the root; `null` where none was.
    pub set_aside_journal: Option<String>,
    /// Directory with the displaced and kept files that only the old journal names; `null` without such files.
    pub set_aside_images: Option<String>,
    /// Run in the old journal whose end could not be read, so that its paths are blocked.
    #[schemars(with = "Option<value::RunId>")]
    pub interrupted: Option<RunId>,
    /// True if a new journal was started.
    pub new_journal: bool,
    /// Recovered run and files; `null` where there was nothing to recover.
    pub recovery: Option<Recovered>,
    /// Paths that no run touches until they are resolved.
    pub blocked: Vec<BlockedPath>,
}

impl Document for Recovery {
    const FORMAT: &'static str = "actum.recovery/1";
}

/// Result of `actum resolve`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Resolve {
    /// Paths that runs may touch again.
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
    /// Run that was rolled back; `null` where none was unfinished.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
    /// Paths that were rewritten after a power cut.
    pub rewritten: Vec<WorkspacePath>,
    /// Paths with changes of another program, which stay.
    pub foreign: Vec<WorkspacePath>,
    /// Paths that the operating system refused to change. They are unchanged.
    pub refused: Vec<RefusedPath>,
    /// Names of files below `.actum/lost` with content that was recorded nowhere.
    pub saved: Vec<String>,
}

/// Path that could not be restored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RefusedPath {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Error of the operating system, for the user.
    pub cause: String,
}

/// Path that no run touches until it is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedPath {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Run that left it blocked.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
}
