//! Access policies: the texts of an operator, and who can tell what they say of a change (AEC-6).
//!
//! They are written in Cedar, which takes minutes to compile. So nothing here reads them: whoever
//! decides hands in an [`AccessJudge`], and is asked only where a policy has such texts. An auditor
//! of other decisions needs none, and passes [`NoAccess`].

use actum_core::RiskTier;
use serde::{Deserialize, Serialize};

use crate::decision::{Bundle, Verdict};

/// One file of access policies, as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessText {
    /// The name of the file.
    pub name: String,
    /// All of it.
    pub text: String,
}

/// What access policies say of a change, and which of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessSaid {
    /// Whether it may be made.
    pub verdict: Verdict,
    /// The policies that decided it, and why they are there.
    pub ground: String,
}

/// Why nobody can tell here what access policies say. It is no answer of theirs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AccessUnknown {
    /// What is not known.
    pub message: String,
}

/// Who can tell what access policies say. The words of the ground are part of a decision, so they depend
/// on the arguments alone.
pub trait AccessJudge {
    /// What these policies say of the change in `bundle`, which is of this tier, where nobody has
    /// agreed to it.
    ///
    /// # Errors
    /// [`AccessUnknown`] where these policies cannot be read here.
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
        Err(AccessUnknown { message: message.to_owned() })
    }
}
