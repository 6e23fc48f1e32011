//! `actum.apply/1`, `actum.undo/1` and `actum.redo/1`: results of runs that change files, and of their dry runs.

use actum_core::{Digest, RiskTier, RunId, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::brief_parts::BriefParts;
use crate::change::{Changes, Diffs};
use crate::document::{Document, DocumentType};
use crate::path::WorkspacePath;
use crate::record::Approval;
use crate::recovery::Recovered;
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] =
    &[DocumentType::new::<Apply>(), DocumentType::new::<Undo>(), DocumentType::new::<Redo>()];

/// Result of `actum apply`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Apply {
    /// Status of the request and the resulting run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Changes that the run made to the workspace.
    #[serde(flatten)]
    pub effect: Effect,
}

impl Document for Apply {
    const FORMAT: &'static str = "actum.apply/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Result of `actum undo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Undo {
    /// Status of the request and the resulting run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Id of the run that was undone.
    #[schemars(with = "value::RunId")]
    pub undoes: RunId,
    /// Changes that the run made to the workspace.
    #[serde(flatten)]
    pub effect: Effect,
}

impl Document for Undo {
    const FORMAT: &'static str = "actum.undo/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Result of `actum redo`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Redo {
    /// Status of the request and the resulting run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Id of the undo that was reverted.
    #[schemars(with = "value::RunId")]
    pub undoes: RunId,
    /// Changes that the run made to the workspace.
    #[serde(flatten)]
    pub effect: Effect,
}

impl Document for Redo {
    const FORMAT: &'static str = "actum.redo/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Status of a request that changes files, and the resulting run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// Whether this was a dry run, which only predicts the result and changes nothing.
    pub dry_run: bool,
    /// Id of the run, or `null` for a dry run or if nothing had to be changed.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// Whether the earlier run in `run` had already carried out the request, so that nothing was changed this time.
    pub done_before: bool,
    /// Receipt of the run, or `null` if there was no run.
    pub receipt: Option<ReceiptRef>,
}

/// Reference to a receipt in the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptRef {
    /// Index of the receipt in the ledger, counted from 0.
    pub index: u64,
    /// Hash of the receipt as a leaf of the ledger's Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
}

/// Changes that a run made to the workspace, or would make in a dry run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Changed paths and their totals.
    #[serde(flatten)]
    pub changes: Changes,
    /// Diffs of all changed files. Present only with `--diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Diffs")]
    pub diff: Option<Diffs>,
    /// Files that had other names (hard links) and were separated from them, so that the other names keep the old content.
    pub broken_links: Vec<WorkspacePath>,
    /// Hunks that were applied at a different line than stated in the patch.
    pub moved_hunks: Vec<MovedHunk>,
    /// Files that were edited after the undone run. Those edits were kept, because only the lines of the run were reverted.
    pub kept_edits: Vec<WorkspacePath>,
    /// Paths that needed no change, because they already match their state before the undone run.
    pub as_before: Vec<WorkspacePath>,
    /// Risk tier of the change according to the gates. Absent if the gates were not evaluated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Tier")]
    pub tier: Option<RiskTier>,
    /// Reason why the change needs approval. Present only in a dry run of such a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub needs_approval: Option<String>,
    /// Approval of the change. Absent if the change needed none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Approval")]
    pub approval: Option<Approval>,
    /// Recovery that took place before this run, or `null` if there was nothing to recover.
    pub recovery: Option<Recovered>,
}

/// Hunk that was applied at a different line than stated in the patch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedHunk {
    /// Path of the patched file.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Number of the hunk within the file, counted from 1.
    pub hunk: u64,
    /// Line number stated in the patch, counted from 1.
    pub stated_line: u64,
    /// Line number at which the hunk was applied, counted from 1.
    pub found_line: u64,
}
