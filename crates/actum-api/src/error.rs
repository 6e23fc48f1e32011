//! `actum.error/1`: error of a failed command.

use actum_core::{RiskTier, RunId, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::document::{Document, DocumentType};
use crate::gate::Gate;
use crate::path::WorkspacePath;
use crate::value;
use crate::word::words;

pub(crate) const DOCUMENTS: &[DocumentType] = &[DocumentType::new::<Error>()];

words! {
    /// State of the workspace after an error.
    WorkspaceState {
        /// No file was changed.
        Unchanged = "unchanged",
        /// All changes were rolled back.
        Restored = "restored",
        /// The change is published.
        Published = "published",
        /// The workspace is in an unclear state, so a user has to check it.
        NeedsAttention = "needs_attention",
    }
}

/// Error of any command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// Status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Permanent reason code. `actum explain REASON` explains it.
    pub reason: String,
    /// Error message for the user. Its wording may change in any version.
    pub message: String,
    /// State of the workspace after the error.
    pub workspace: WorkspaceState,
    /// Hints for the user.
    pub hints: Vec<String>,
    /// Line of the invalid input, counted from 1. Absent if the position is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub line: Option<u64>,
    /// Column of the invalid input, counted from 1. Absent if the position is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub column: Option<u64>,
    /// Paths that have changed since the run that was to be undone. Absent for other errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Conflict>")]
    pub conflicts: Option<Vec<Conflict>>,
    /// Size of the change and its limits. Present only if the change exceeds its budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BudgetUse")]
    pub budget: Option<BudgetUse>,
    /// Plan that is waiting for approval. Absent for other errors.
    #[serde(flatten)]
    pub queued: Option<Queued>,
    /// Decisions of the gates that block the change. Absent for other errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Further reasons why the change was rejected, at most 100. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Refusal>,
}

impl Document for Error {
    const FORMAT: &'static str = "actum.error/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Reason why a change was rejected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Permanent reason code.
    pub reason: String,
    /// Error message for the user. Its wording may change in any version.
    pub message: String,
    /// Hints for the user.
    pub hints: Vec<String>,
}

/// Path that has changed since the run that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// Path with the conflict.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Description of the difference as a sentence for the user.
    pub difference: String,
    /// Newest later run that changed the path, or `null` if the change was not made by a run.
    #[schemars(with = "Option<value::RunId>")]
    pub by: Option<RunId>,
}

/// Size of a change and the limits of its budget.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUse {
    /// Maximum number of changed files, or `null` if unlimited.
    pub max_files: Option<u64>,
    /// Maximum number of changed lines, or `null` if unlimited.
    pub max_loc: Option<u64>,
    /// Number of changed files.
    pub files: u64,
    /// Number of changed lines, which is the sum of added and removed lines.
    pub loc: u64,
    /// Size of the change in each file.
    pub per_file: Vec<FileCost>,
}

/// Size of the change in a single file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCost {
    /// Path of the changed file.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Plan that is waiting for approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Queued {
    /// Id of the plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Risk tier of the change.
    #[schemars(with = "value::Tier")]
    pub tier: RiskTier,
    /// Time until which the plan can be approved.
    #[schemars(with = "value::Time")]
    pub expires: String,
    /// Earlier version of the plan that an approver denied. Absent if no earlier version was denied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "DeniedPlan")]
    pub denied_before: Option<DeniedPlan>,
}

/// Plan that an approver denied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeniedPlan {
    /// Id of the plan.
    #[schemars(with = "value::RunId")]
    pub plan: RunId,
    /// Reason given by the approver, or `null` if none was given.
    pub reason: Option<String>,
}
