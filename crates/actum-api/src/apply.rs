//! `actum.apply/1`, `actum.undo/1` and `actum.redo/1`: a run that was made, or would be.

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
    /// Status of the request, and its run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Effect on the workspace.
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
    /// Status of the request, and its run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Run that this one undoes.
    #[schemars(with = "value::RunId")]
    pub undoes: RunId,
    /// Effect on the workspace.
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
    /// Status of the request, and its run.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Undo that this run reverts.
    #[schemars(with = "value::RunId")]
    pub undoes: RunId,
    /// Effect on the workspace.
    #[serde(flatten)]
    pub effect: Effect,
}

impl Document for Redo {
    const FORMAT: &'static str = "actum.redo/1";

    fn brief(&self) -> BriefParts {
        self.into()
    }
}

/// Status of a request, and its run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Outcome {
    /// Status of the request.
    #[schemars(with = "value::Status")]
    pub status: Status,
    /// True if this is a forecast and nothing was changed.
    pub dry_run: bool,
    /// The run; `null` in a dry run and where nothing had to be changed.
    #[schemars(with = "Option<value::RunId>")]
    pub run: Option<RunId>,
    /// True if the earlier run `run` had carried the request out, so that nothing was changed now.
    pub done_before: bool,
    /// The receipt; `null` where no run was made.
    pub receipt: Option<ReceiptRef>,
}

/// Reference to a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReceiptRef {
    /// Index of the receipt in the ledger, counted from 0.
    pub index: u64,
    /// Hash of the receipt as a leaf of the Merkle tree.
    #[schemars(with = "value::Digest")]
    pub leaf: Digest,
}

/// Effect of a run on the workspace.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Effect {
    /// Changed paths and their totals.
    #[serde(flatten)]
    pub changes: Changes,
    /// The change as diffs. Only with `--diff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Diffs")]
    pub diff: Option<Diffs>,
    /// Files that were parted from their other names (hard links).
    pub broken_links: Vec<WorkspacePath>,
    /// Hunks that apply elsewhere than stated.
    pub moved_hunks: Vec<MovedHunk>,
    /// Files that were edited since the run that is undone. Only the lines of the run were reverted.
    pub kept_edits: Vec<WorkspacePath>,
    /// Paths that needed nothing, because they are already as before the run that is undone.
    pub as_before: Vec<WorkspacePath>,
    /// Risk tier that the gates found. Absent where the gates were not asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "value::Tier")]
    pub tier: Option<RiskTier>,
    /// Reason why the change needs approval. Only in a dry run, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub needs_approval: Option<String>,
    /// Approval of the change. Absent where none was needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Approval")]
    pub approval: Option<Approval>,
    /// Recovery before this run; `null` where there was nothing to recover.
    pub recovery: Option<Recovered>,
}

/// Hunk that applies elsewhere than stated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MovedHunk {
    /// Path of the file.
    #[serde(flatten)]
    pub path: WorkspacePath,
    /// Number of the hunk in the file, counted from 1.
    pub hunk: u64,
    /// Line that the hunk states, counted from 1.
    pub stated_line: u64,
    /// Line where the hunk applies, counted from 1.
    pub found_line: u64,
}
