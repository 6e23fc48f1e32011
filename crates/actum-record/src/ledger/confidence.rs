//! Confidence of a planner in the action that it proposes.

use serde::{Deserialize, Serialize};

/// Confidence of a planner in its proposed action, as a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Confidence(f64);

/// Error for a number that is not a valid confidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a confidence must be a number from 0 to 1")]
pub struct NoConfidence;

impl Confidence {
    /// Creates a confidence. Returns `None` if the number is not from 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share + 0.0))
    }

    /// Returns the confidence as a number from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

// A confidence is never NaN, so equality is reflexive.
impl Eq for Confidence {}

impl From<Confidence> for f64 {
    fn from(confidence: Confidence) -> Self {
        confidence.0
    }
}

impl TryFrom<f64> for Confidence {
    type Error = NoConfidence;

    fn try_from(share: f64) -> Result<Self, NoConfidence> {
        Self::new(share).ok_or(NoConfidence)
    }
}
