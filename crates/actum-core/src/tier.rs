//! The risk tiers of actions (AA-1, AA-3, D-2).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Risk of a change. Reversible work needs no approval; from R3 on an approver decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum RiskTier {
    /// Reads, and changes nothing.
    R0,
    /// Writes only where agents keep their own work.
    R1,
    /// Writes what can be undone. Ordinary work stays here.
    R2,
    /// Changes what later runs by itself, or what can be undone only in part.
    R3,
    /// Cannot be undone, or reaches outside.
    R4,
}

/// A word that is no tier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{}` is no risk tier; there are R0, R1, R2, R3 and R4", crate::path::Cut(given.as_bytes(), 40))]
pub struct TierError {
    /// The word as it was given.
    pub given: String,
}

impl RiskTier {
    /// All of them, the least first.
    pub const ALL: [Self; 5] = [Self::R0, Self::R1, Self::R2, Self::R3, Self::R4];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::R0 => "R0",
            Self::R1 => "R1",
            Self::R2 => "R2",
            Self::R3 => "R3",
            Self::R4 => "R4",
        }
    }

    /// Returns true if an approver must agree (AA-5).
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
    fn tiers_are_ordered_and_a_person_decides_from_r3_on() {
        assert!(RiskTier::ALL.is_sorted());
        let asked = RiskTier::ALL.into_iter().filter(|tier| tier.needs_approval());
        assert_eq!(asked.collect::<Vec<_>>(), [RiskTier::R3, RiskTier::R4]);
        for tier in RiskTier::ALL {
            assert_eq!(tier.as_str().parse(), Ok(tier));
            assert_eq!(serde_json::to_string(&tier).unwrap(), format!("\"{tier}\""));
        }
        let error = "r2".parse::<RiskTier>().unwrap_err().to_string();
        assert_eq!(error, "`r2` is no risk tier; there are R0, R1, R2, R3 and R4");
    }
}
