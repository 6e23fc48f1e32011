//! Verdicts of the gates, and their combination.

use actum_record::receipt::GateRecord;
use serde::{Deserialize, Serialize};

use crate::gate_name::GateName;

/// Verdict of a gate, or the strictest of all gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Allowed.
    Allow,
    /// Allowed with an approval.
    NeedsApproval,
    /// Denied, even with an approval.
    Deny,
}

impl Verdict {
    /// All verdicts, the strictest last.
    pub const ALL: [Self; 3] = [Self::Allow, Self::NeedsApproval, Self::Deny];

    /// Combines the strictest verdict with that of the approval gate, which can lift `NeedsApproval` but not `Deny`.
    #[must_use]
    pub fn answered(self, answer: Self) -> Self {
        match self {
            Self::NeedsApproval => answer,
            Self::Allow | Self::Deny => self.max(answer),
        }
    }

    /// Combines recorded verdicts of gates. An unknown word allows nothing.
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

    /// Returns the word used in documents.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::NeedsApproval => "needs_approval",
            Self::Deny => "deny",
        }
    }
}
