//! Outcomes of a run: the five frozen statuses (D-1, AA-2).

use serde::{Deserialize, Serialize};

/// Outcome of a run. Every entry point maps its own statuses onto these five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The change was published and is durable.
    Succeeded,
    /// The run had begun to take effect and was rolled back, so the workspace is in its previous state.
    Reverted,
    /// The run is waiting for approval.
    Queued,
    /// The run was rejected before it had any effect.
    Rejected,
    /// The run failed and needs the attention of an operator. The report lists the affected files.
    Failed,
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 5] =
        [Self::Succeeded, Self::Reverted, Self::Queued, Self::Rejected, Self::Failed];

    /// Returns the name of the status in reports and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Reverted => "reverted",
            Self::Queued => "queued",
            Self::Rejected => "rejected",
            Self::Failed => "failed",
        }
    }
}
