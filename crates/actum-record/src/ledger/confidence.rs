//! Confidence of the planner of an action.

use serde::{Deserialize, Serialize};

/// Confidence of a planner: a number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(into = "f64", try_from = "f64")]
pub struct Confidence(f64);

/// Error for a number outside of that range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a confidence is a number from 0 to 1")]
pub struct NoConfidence;

impl Confidence {
    /// The confidence of this much; none where it is not from 0 to 1.
    pub fn new(share: f64) -> Option<Self> {
        (0.0..=1.0).contains(&share).then_some(Self(share + 0.0))
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

// It is never NaN.
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
