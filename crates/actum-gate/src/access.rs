//! Access policies: texts of an operator, and the judge that evaluates them (AEC-6).
//!
//! They are written in Cedar, which takes minutes to compile. So nothing here reads them: whoever
//! decides hands in an [`AccessJudge`], and is asked only where a policy has such texts. An auditor
//! of other decisions needs none, and passes [`NoAccess`].

use actum_core::RiskTier;
use serde::{Deserialize, Serialize};

use crate::decision::{Bundle, Verdict};
use crate::ground::{AccessGround, AccessUnknownKind};

/// One file of access policies, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessText {
    /// The name of the file.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// Answer of access policies to a change, and which of them gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSaid {
    /// Whether the change may be made.
    pub verdict: Verdict,
    /// Approvals that a permit requires; absent if one is enough.
    pub approvals: Option<u32>,
    /// First grounds: policies that decided, or why they could not.
    pub grounds: Vec<AccessGround>,
    /// Further grounds.
    pub more: usize,
}

/// Why access policies cannot be asked here. It is no answer of theirs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AccessUnknown {
    /// What a decision records.
    pub kind: AccessUnknownKind,
    /// Message for users.
    pub message: String,
}

/// Judge of access policies. The answer is part of a decision, so it depends on the arguments alone.
pub trait AccessJudge {
    /// Judges the change in `bundle`, which is of this tier, by these policies, as if nobody had approved it.
    ///
    /// # Errors
    /// [`AccessUnknown`] where these policies cannot be asked here.
    fn judge(
        &self,
        policies: &[AccessText],
        bundle: &Bundle,
        tier: RiskTier,
    ) -> Result<AccessSaid, AccessUnknown>;
}

/// No access policies can be judged. What asks for them is not allowed, and a decision in which they were asked
/// is not made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAccess;

impl AccessJudge for NoAccess {
    fn judge(
        &self,
        _: &[AccessText],
        _: &Bundle,
        _: RiskTier,
    ) -> Result<AccessSaid, AccessUnknown> {
        let message = "this program does not know Cedar, in which access policies are written";
        Err(AccessUnknown { kind: AccessUnknownKind::NoCedar, message: message.to_owned() })
    }
}
