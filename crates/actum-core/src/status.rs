//! The five frozen outcomes of a run (D-1, AA-2).

use serde::{Deserialize, Serialize};

/// How a run ended. Every entry point maps its own statuses onto these five.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The change is published and durable.
    Succeeded,
    /// Effects had begun and were taken back: the workspace is as before.
    Reverted,
    /// Waiting for a person.
    Queued,
    /// Refused before any effect.
    Rejected,
    /// A person must look, and the report says at what.
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
