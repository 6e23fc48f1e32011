//! `actum.error/1`: a command that failed.

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
        /// The changes were rolled back.
        Restored = "restored",
        /// The change is published.
        Published = "published",
        /// A user must look at the workspace.
        NeedsAttention = "needs_attention",
    }
}

/// Failure of any command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Error {
    /// Status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Permanent name of the reason. `actum explain REASON` shows its page.
    pub reason: String,
    /// Message for the user. The wording can change.
    pub message: String,
    /// State of the workspace.
    pub workspace: WorkspaceState,
    /// Hints for the user.
    pub hints: Vec<String>,
    /// Line of an unsound input, counted from 1. Absent where the place is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub line: Option<u64>,
    /// Column of an unsound input, counted from 1. Absent where the place is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub column: Option<u64>,
    /// Paths that changed since the run that was to be undone. Absent for other errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<Conflict>")]
    pub conflicts: Option<Vec<Conflict>>,
    /// Size of the change beside its limits. Only where it is over the budget.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BudgetUse")]
    pub budget: Option<BudgetUse>,
    /// Plan that waits for approval. Absent for other errors.
    #[serde(flatten)]
    pub queued: Option<Queued>,
    /// Decisions of the gates that stop the change. Absent for other errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gates: Vec<Gate>,
    /// Further refusals of the same change, at most 100. Absent if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Refusal>,
}

impl Document for Error {
    const FORMAT: &'static str = "actum.error/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// A refusal and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// Permanent name of the reason.
    pub reason: String,
    /// Message for the user. The wording can change.
    pub message: String,
    /// Hints for the user.
    pub hints: Vec<String>,
}

/// Path that changed since the run that was to be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Difference as a sentence for the user.
    pub difference: String,
    /// Newest later run that changed the path; `null` where it was no run.
    #[schemars(with = "Option<value::RunId>")]
    pub by: Option<RunId>,
}

/// Size of a change beside its limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetUse {
    /// Limit of changed files; `null` without one.
    pub max_files: Option<u64>,
    /// Limit of changed lines; `null` without one.
    pub max_loc: Option<u64>,
    /// Number of changed files.
    pub files: u64,
    /// Number of changed lines: added and removed together.
    pub loc: u64,
    /// Size of the change of each file.
    pub per_file: Vec<FileCost>,
}

/// Size of the change of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileCost {
    /// The path.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Number of added lines.
    pub added: u64,
    /// Number of removed lines.
    pub removed: u64,
}

/// Plan that waits for approval.
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
    /// Earlier version of the plan that an approver denied. Absent where none was.
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
    /// Reason that the approver gave; `null` without one.
    pub reason: Option<String>,
}
