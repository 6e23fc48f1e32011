//! The gate of access: whether the operator's access policies let who asks make this change (AEC-6).

use actum_core::RiskTier;

use super::GateVerdict;
use crate::access::{AccessJudge, AccessSaid, AccessUnknown};
use crate::decision::Bundle;
use crate::ground::{Ground, Grounds};
use crate::policy::Policy;

/// They are asked as if nobody had agreed: an approval answers what any gate asks. They do not stand in the
/// way back.
pub(crate) fn judge(
    bundle: &Bundle,
    policy: &Policy,
    tier: RiskTier,
    access: &dyn AccessJudge,
) -> Result<GateVerdict, AccessUnknown> {
    let Some(texts) = policy.access() else {
        return Ok(GateVerdict::allow(Ground::NoAccessPolicies));
    };
    if bundle.restores() {
        return Ok(GateVerdict::allow(Ground::Restores));
    }
    let AccessSaid { verdict, approvals, grounds, more } = access.judge(texts, bundle, tier)?;
    let first = Ground::Access { approvals, grounds };
    Ok(GateVerdict { verdict, ground: Grounds { first, more } })
}
