//! The gate of access: whether the operator's access policies let who asks make this change (AEC-6).

use actum_core::RiskTier;

use super::Said;
use crate::access::{AccessJudge, AccessSaid, AccessUnknown};
use crate::decision::{Bundle, Verdict};
use crate::policy::Policy;

/// They are asked as if nobody had agreed: an approval answers what any gate asks. They do not stand in the
/// way back.
pub(crate) fn judge(
    bundle: &Bundle,
    policy: &Policy,
    tier: RiskTier,
    access: &dyn AccessJudge,
) -> Result<Said, AccessUnknown> {
    let allow = |ground: &str| Ok(Said { verdict: Verdict::Allow, ground: ground.to_owned() });
    let Some(texts) = policy.access() else {
        return allow("no access policies are in force");
    };
    if bundle.restores() {
        return allow("it brings back what was there");
    }
    let AccessSaid { verdict, ground } = access.judge(texts, bundle, tier)?;
    Ok(Said { verdict, ground })
}
