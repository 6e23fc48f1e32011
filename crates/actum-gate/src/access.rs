//! Access policies: an operator's texts, and the judge that evaluates them (AEC-6).
//!
//! They are written in Cedar, which takes minutes to compile, so this crate does not parse them. The caller
//! of a decision passes an [`AccessJudge`], which is only asked if a policy has such texts. An auditor of
//! other decisions passes [`NoAccess`].

use actum_core::RiskTier;
use serde::{Deserialize, Serialize};

use crate::decision::{Bundle, Verdict};
use crate::ground::{AccessGround, AccessUnknownKind};

/// Text of an access policy file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessText {
    /// Name of the file.
    pub name: String,
    /// Whole text.
    pub text: String,
}

/// Answer of the access policies to a change, with the policies that gave it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSaid {
    /// Verdict on the change.
    pub verdict: Verdict,
    /// Number of approvals that a permit requires; absent if one is enough.
    pub approvals: Option<u32>,
    /// First grounds: the policies that decided, or the reason why they could not.
    pub grounds: Vec<AccessGround>,
    /// Number of further grounds.
    pub more: usize,
}

/// Reason why access policies cannot be evaluated here. It is not an answer of the policies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AccessUnknown {
    /// Kind, as recorded in a decision.
    pub kind: AccessUnknownKind,
    /// Message for users.
    pub message: String,
}

/// Judge of access policies. The answer is part of a decision, so it must depend only on the arguments.
pub trait AccessJudge {
    /// Judges the change in `bundle`, which has this tier, by these policies, as if it had no approval.
    ///
    /// # Errors
    /// [`AccessUnknown`] if these policies cannot be evaluated here.
    fn judge(
        &self,
        policies: &[AccessText],
        bundle: &Bundle,
        tier: RiskTier,
    ) -> Result<AccessSaid, AccessUnknown>;
}

/// Judge that cannot evaluate access policies. A change that needs them is denied, and a decision that used
/// them cannot be replayed.
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
