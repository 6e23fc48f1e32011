//! Verdicts of the gates, and rules to combine them.

use actum_record::receipt::GateRecord;
use serde::{Deserialize, Serialize};

use crate::gate_name::GateName;

/// Verdict of one gate, or the combined verdict of all gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The change is allowed.
    Allow,
    /// The change is allowed only with an approval.
    NeedsApproval,
    /// The change is denied, even with an approval.
    Deny,
}

impl Verdict {
    /// All verdicts, ordered from the least to the most strict.
    pub const ALL: [Self; 3] = [Self::Allow, Self::NeedsApproval, Self::Deny];

    /// Combines the strictest verdict of the other gates with the verdict of the approval gate. An approval can
    /// lift `NeedsApproval`, but not `Deny`.
    #[must_use]
    pub fn answered(self, answer: Self) -> Self {
        match self {
            Self::NeedsApproval => answer,
            Self::Allow | Self::Deny => self.max(answer),
        }
    }

    /// Combines the recorded verdicts of all gates. An unknown verdict counts as `Deny`.
    pub fn together(gates: &[GateRecord]) -> Self {
        let verdict = |gate: &GateRecord| {
            Self::ALL.into_iter().find(|it| it.as_str() == gate.verdict).unwrap_or(Self::Deny)
        };
        let is_approval =
            |last: &GateRecord| GateName::parse(&last.gate) == Some(GateName::Approval);
        let (last, others) = match gates.split_last() {
            Some((last, others)) if is_approval(last) => (Some(last), others),
            Some(_) | None => (None, gates),
        };
        let strictest = others.iter().map(verdict).max().unwrap_or(Self::Deny);
        last.map_or(strictest, |approval| strictest.answered(verdict(approval)))
    }

    /// Returns the word for the verdict in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::NeedsApproval => "needs_approval",
            Self::Deny => "deny",
        }
    }
}
