//! The gate of approval: where another gate asks for a person, one must have agreed to exactly this (AA-5).

use super::Said;
use crate::decision::{Approved, Bundle, Verdict};
use crate::ground::{ApprovalMismatch, Ground};

/// Judges after the other gates, whose strictest verdict is `strictest`. An approval that is bound to another change denies,
/// since it may be an attack.
pub(crate) fn judge(bundle: &Bundle, strictest: Verdict) -> Said {
    let Some(approved) = bundle.approved() else {
        return match strictest {
            Verdict::NeedsApproval => {
                Said { verdict: Verdict::NeedsApproval, ground: Ground::NotApproved.into() }
            }
            Verdict::Allow | Verdict::Deny => Said::allow(Ground::NoApprovalNeeded),
        };
    };
    let Approved { approval, .. } = approved;
    match mismatch(bundle, approved) {
        None => Said::allow(Ground::Approved {
            user: approval.by.user.clone(),
            plan: approval.plan,
            key: approval.key.clone(),
        }),
        Some(problem) => Said::deny(Ground::ApprovalRejected { plan: approval.plan, problem }),
    }
}

/// Why an approval does not count.
fn mismatch(
    bundle: &Bundle,
    Approved { bound, expires, .. }: &Approved,
) -> Option<ApprovalMismatch> {
    // What has no digest was approved by nobody.
    let Ok(now) = bundle.bound() else { return Some(ApprovalMismatch::Change) };
    [
        (bound.plan != now.plan, ApprovalMismatch::Plan),
        (bound.limits != now.limits, ApprovalMismatch::Limits),
        (bound.policy != now.policy, ApprovalMismatch::Policy),
        (bound.change != now.change, ApprovalMismatch::Change),
        (*expires < bundle.time(), ApprovalMismatch::Expired),
    ]
    .into_iter()
    .find_map(|(is_mismatch, problem)| is_mismatch.then_some(problem))
}
