//! The five frozen outcomes of a run (D-1, AA-2).

use serde::{Deserialize, Serialize};

/// Outcome of a run. Every entry point maps its own statuses onto these five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The change is published and durable.
    Succeeded,
    /// Effects had begun and were rolled back: the workspace is as before.
    Reverted,
    /// Waiting for an approver.
    Queued,
    /// Refused before any effect.
    Rejected,
    /// An operator must look; the report names the places.
    Failed,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Succeeded, Self::Reverted, Self::Queued, Self::Rejected, Self::Failed];

    /// The word used in reports and JSON.
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
