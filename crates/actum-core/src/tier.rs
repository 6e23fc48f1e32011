//! Risk tiers of actions (AA-1, AA-3, D-2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Risk tier of an action, from the lowest to the highest risk. Actions from R3 on require an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RiskTier {
    /// The action only reads.
    R0,
    /// The action writes only to the agent's own working area.
    R1,
    /// The action makes changes that can be undone, which is the tier of ordinary work.
    R2,
    /// The action changes files that are later executed automatically, or its changes can only partially be undone.
    R3,
    /// The action cannot be undone, or it has effects outside the workspace.
    R4,
}

/// Error for a text that is not the name of a risk tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is not a risk tier; expected R0, R1, R2, R3 or R4", crate::path::Cut(given.as_bytes(), 40))]
pub struct TierError {
    /// Text that was rejected.
    pub given: String,
}

impl RiskTier {
    /// All risk tiers, from the lowest to the highest.
    pub const ALL: [Self; 5] = [Self::R0, Self::R1, Self::R2, Self::R3, Self::R4];

    /// Returns the name of the risk tier.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::R0 => "R0",
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::R3 => "R3",
            Self::R4 => "R4",
        }
    }

    /// Returns whether an approver must approve actions of this tier (AA-5).
    pub fn needs_approval(self) -> bool {
        self >= Self::R3
    }
}

impl fmt::Display for RiskTier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RiskTier {
    type Err = TierError;

    fn from_str(text: &str) -> Result<Self, TierError> {
        let tier = Self::ALL.into_iter().find(|tier| tier.as_str() == text);
        tier.ok_or_else(|| TierError { given: text.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AA-1, AA-5, D-2
    #[test]
    fn tiers_are_ordered_and_need_approval_from_r3() {
        assert!(RiskTier::ALL.is_sorted());
        let asked = RiskTier::ALL.into_iter().filter(|tier| tier.needs_approval());
        assert_eq!(asked.collect::<Vec<_>>(), [RiskTier::R3, RiskTier::R4]);
        for tier in RiskTier::ALL {
            assert_eq!(tier.as_str().parse(), Ok(tier));
            assert_eq!(serde_json::to_string(&tier).unwrap(), format!("\"{tier}\""));
        }
        let error = "r2".parse::<RiskTier>().unwrap_err().to_string();
        assert_eq!(error, "`r2` is not a risk tier; expected R0, R1, R2, R3 or R4");
    }
}
