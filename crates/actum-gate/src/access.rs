//! Access policies of an operator, and the interface to the judge that evaluates them (AEC-6).
//!
//! Access policies are written in Cedar. This crate does not parse them, because compiling Cedar takes minutes. Instead,
//! the caller of a decision passes an [`AccessJudge`], which is used only if a policy contains access policies. A caller
//! that replays only other decisions can pass [`NoAccess`].

use actum_core::RiskTier;
use serde::{Deserialize, Serialize};

use crate::decision::{Bundle, Verdict};
use crate::ground::{AccessGround, AccessUnknownKind};

/// Access policy file, with its name and text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessText {
    /// Name of the file.
    pub name: String,
    /// Complete text of the file.
    pub text: String,
}

/// Decision of the access policies on a change, with its grounds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessDecision {
    /// Verdict on the change.
    pub verdict: Verdict,
    /// Number of approvals that a permit requires, or `None` if one is enough.
    pub approvals: Option<u32>,
    /// First few grounds: the policies that determined the verdict, or the reason why none could.
    pub grounds: Vec<AccessGround>,
    /// Number of grounds that are left out.
    pub more: usize,
}

/// Reason why this program cannot evaluate access policies. It is not a decision of the policies themselves.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct AccessUnknown {
    /// Kind of problem, as recorded in a decision.
    pub kind: AccessUnknownKind,
    /// Message that is shown to the user.
    pub message: String,
}

/// Evaluates access policies. The result is part of a decision, so it must depend only on the arguments.
pub trait AccessJudge {
    /// Evaluates the policies for the change in `bundle`, which has the risk tier `tier`. Any approval of the change is
    /// ignored.
    ///
    /// # Errors
    /// Returns [`AccessUnknown`] if this program cannot evaluate the policies.
    fn judge(
        &self,
        policies: &[AccessText],
        bundle: &Bundle,
        tier: RiskTier,
    ) -> Result<AccessDecision, AccessUnknown>;
}

/// Judge for programs without Cedar, which cannot evaluate access policies. A change that is subject to them is denied,
/// and a decision that used them cannot be replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoAccess;

impl AccessJudge for NoAccess {
    fn judge(
        &self,
        _: &[AccessText],
        _: &Bundle,
        _: RiskTier,
    ) -> Result<AccessDecision, AccessUnknown> {
        let message = "this program does not support Cedar, the language of access policies";
        Err(AccessUnknown { kind: AccessUnknownKind::NoCedar, message: message.to_owned() })
    }
}
