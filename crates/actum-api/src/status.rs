//! `actum.status/1`: state of a workspace.

use actum_core::RunId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::error::Refusal;
use crate::path::WorkspacePath;
use crate::recovery::BlockedPath;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Status>()];

/// Result of `actum status`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// Absolute path of the workspace root. Escaped if it is not UTF-8.
    pub root: String,
    /// Number of runs in the history.
    pub runs: u64,
    /// Run that has begun but not ended, or `null` if all runs have ended.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
    /// Whether the process of the unfinished run has ended. Until a recovery, each of its files may be old or new.
    pub interrupted: bool,
    /// Whether a recovery has something to check, for example after a restart of the machine.
    pub recovery_due: bool,
    /// Actions whose process has ended without recording a result. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<value::RunId>")]
    pub cut_off_actions: Vec<RunId>,
    /// Tasks whose process, or that of their rollback, has ended without writing its reports. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off_tasks: Vec<String>,
    /// Paths that no run may change until they are resolved.
    pub blocked: Vec<BlockedPath>,
    /// Entries in `.actum/lost` that recoveries displaced and that belong to no run. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<String>,
    /// Paths that no longer match the state in which their newest run left them.
    pub drifted: Vec<DriftedPath>,
    /// Plans of this workspace that are waiting in the queue.
    #[schemars(with = "Vec<value::RunId>")]
    pub plans: Vec<RunId>,
    /// Alerts about this workspace that are waiting in the queue, as indexes of their ledger entries.
    pub alerts: Vec<u64>,
    /// Most recent runs that are missing from the ledger, newest first.
    #[schemars(with = "Vec<value::RunId>")]
    pub unrecorded: Vec<RunId>,
    /// Most recent recorded runs that the history has lost, newest first. Runs that `gc` removed are not included.
    #[schemars(with = "Vec<value::RunId>")]
    pub missing: Vec<RunId>,
    /// Reasons why every change is currently rejected. Empty if changes are possible.
    pub unusable: Vec<Refusal>,
    /// Number of recent runs that were checked for drift.
    pub drift_runs: u64,
}

impl Document for Status {
    const FORMAT: &'static str = "actum.status/1";
}

/// Path that no longer matches the state in which its newest run left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriftedPath {
    /// Path relative to the workspace root.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Description of the difference as a sentence for the user.
    pub difference: String,
    /// Newest run that changed the path.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
}
