//! Runs whose history was removed, so that they can no longer be undone (FO-9).

use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId, WorkspaceId};

/// A collection removed the history of runs. The envelope around it is signed by the approval key where the
/// operator's retention keeps one of them, else by the key of receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryForgotten {
    /// [`HistoryForgotten::FORMAT`].
    pub format: String,
    /// Time of the removal.
    pub time: Timestamp,
    /// The tenant whose ledger records it.
    pub tenant: TenantId,
    /// The workspace of the runs.
    pub workspace: WorkspaceId,
    /// The root of the workspace, escaped where the bytes are no UTF-8.
    pub root: String,
    /// The runs, oldest first.
    pub runs: Vec<RunId>,
    /// Bytes of history that were given back.
    pub bytes: u64,
    /// Runs that stay.
    pub kept: u64,
    /// The operator's retention in force.
    pub retention: Retention,
    /// The user who asked for it.
    pub by: Actor,
    /// Protection of the approval key, where the retention keeps one of the runs; else none.
    pub approved: Option<Isolation>,
}

/// History that is kept for undo: a run stays while it is among the newest `runs`, or younger than `days`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Number of the newest runs.
    pub runs: u64,
    /// Age in days.
    pub days: u64,
}

impl Default for Retention {
    /// 100 runs, 7 days.
    fn default() -> Self {
        Self { runs: 100, days: 7 }
    }
}

impl Retention {
    const DAY_MICROS: i64 = 86_400_000_000;

    /// Returns the part that both keep.
    #[must_use]
    pub fn longer(self, other: Self) -> Self {
        Self { runs: self.runs.max(other.runs), days: self.days.max(other.days) }
    }

    /// The time from which runs are young enough to stay; none where age keeps nothing.
    pub fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let days = i64::try_from(self.days).unwrap_or(i64::MAX);
        let before = days.saturating_mul(Self::DAY_MICROS);
        (days > 0).then(|| Timestamp::from_micros(now.micros().saturating_sub(before)))
    }
}

impl HistoryForgotten {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.history-forgotten/1";
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.history-forgotten+json";
}
