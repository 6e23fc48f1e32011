//! Access gate: checks that the operator's access policies allow the requester to make a change (AEC-6).

use actum_core::RiskTier;

use super::GateVerdict;
use crate::access::{AccessDecision, AccessJudge, AccessUnknown};
use crate::decision::Bundle;
use crate::ground::{Ground, Grounds};
use crate::policy::Policy;

/// Judges as if no approval existed, because an approval is evaluated after all gates. An undo that only
/// restores an earlier state is allowed.
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
    let AccessDecision { verdict, approvals, grounds, more } = access.judge(texts, bundle, tier)?;
    let first = Ground::Access { approvals, grounds };
    Ok(GateVerdict { verdict, ground: Grounds { first, more } })
}
