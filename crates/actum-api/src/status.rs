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
    /// Root of the workspace, as an absolute path. Escaped where its bytes are not UTF-8.
    pub root: String,
    /// Number of runs in the history.
    pub runs: u64,
    /// Run that has begun and not ended; `null` without one.
    #[schemars(with = "Option<value::RunId>")]
    pub unfinished: Option<RunId>,
    /// True if no process works on the unfinished run, so that its files may be new or old until a recovery.
    pub interrupted: bool,
    /// True if a recovery has something to check: after a restart, for example.
    pub recovery_due: bool,
    /// Actions whose process is gone and whose end is not recorded. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<value::RunId>")]
    pub cut_off_actions: Vec<RunId>,
    /// Tasks whose process is gone, or that of their rollback, and whose reports do not say how that ended. Absent if
    /// empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cut_off_tasks: Vec<String>,
    /// Paths that no run touches until they are resolved.
    pub blocked: Vec<BlockedPath>,
    /// Entries of `.actum/lost` that recoveries displaced and attributed to no run. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub saved: Vec<String>,
    /// Paths that are not as the newest run on them left them.
    pub drifted: Vec<DriftedPath>,
    /// Plans of this workspace that wait in the queue.
    #[schemars(with = "Vec<value::RunId>")]
    pub plans: Vec<RunId>,
    /// Alerts about this workspace that wait in the queue, by the index of their entry in the ledger.
    pub alerts: Vec<u64>,
    /// Newest runs that the ledger does not know, the newest first.
    #[schemars(with = "Vec<value::RunId>")]
    pub unrecorded: Vec<RunId>,
    /// Newest recorded runs that the history has lost and no `gc` removed, the newest first.
    #[schemars(with = "Vec<value::RunId>")]
    pub missing: Vec<RunId>,
    /// Reasons why every change is rejected at present. Empty where changes are possible.
    pub unusable: Vec<Refusal>,
    /// Number of the newest runs that were examined for drift.
    pub drift_runs: u64,
}

impl Document for Status {
    const FORMAT: &'static str = "actum.status/1";
}

/// Path that is not as the newest run on it left it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DriftedPath {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Difference as a sentence for the user.
    pub difference: String,
    /// Newest run that changed the path.
    #[schemars(with = "value::RunId")]
    pub run: RunId,
}
