//! Ledger entry for removed history, which makes the affected runs impossible to undo (FO-9).

use actum_core::{RunId, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Actor, Isolation, TenantId, WorkspaceId};

/// Entry that records the removal of the history of runs by garbage collection. If the operator's retention policy would have
/// kept any of the runs, the envelope is signed by the approval key, otherwise by the key for receipts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HistoryForgotten {
    /// Format of the entry, which is always [`HistoryForgotten::FORMAT`].
    pub format: String,
    /// Time of the removal.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Workspace of the runs.
    pub workspace: WorkspaceId,
    /// Root path of the workspace, escaped if it is not UTF-8.
    pub root: String,
    /// Runs whose history was removed, oldest first.
    pub runs: Vec<RunId>,
    /// Size of the removed history, in bytes.
    pub bytes: u64,
    /// Number of runs whose history was kept.
    pub kept: u64,
    /// Operator's retention policy in force at the time of the removal.
    pub retention: Retention,
    /// User who requested the removal.
    pub by: Actor,
    /// Protection of the approval key that signed the entry, or `None` if no approval was needed.
    pub approved: Option<Isolation>,
}

/// Retention policy for the history that makes undo possible. A run is kept as long as it is among the newest `runs` or
/// younger than `days`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Number of newest runs that are kept regardless of their age.
    pub runs: u64,
    /// Age in days up to which runs are kept regardless of their number.
    pub days: u64,
}

impl Default for Retention {
    /// Keeps 100 runs, and all runs of the last 7 days.
    fn default() -> Self {
        Self { runs: 100, days: 7 }
    }
}

impl Retention {
    const DAY_MICROS: i64 = 86_400_000_000;

    /// Combines two policies. The result keeps every run that at least one of them keeps.
    #[must_use]
    pub fn longer(self, other: Self) -> Self {
        Self { runs: self.runs.max(other.runs), days: self.days.max(other.days) }
    }

    /// Returns the time from which runs are kept because of their age, or `None` if no run is kept because of its age.
    pub fn since(&self, now: Timestamp) -> Option<Timestamp> {
        let days = i64::try_from(self.days).unwrap_or(i64::MAX);
        let before = days.saturating_mul(Self::DAY_MICROS);
        (days > 0).then(|| Timestamp::from_micros(now.micros().saturating_sub(before)))
    }
}

impl HistoryForgotten {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.history-forgotten/1";
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.history-forgotten+json";
}
