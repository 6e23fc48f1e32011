//! Approval gate: checks for an approval of exactly this change if another gate requires one (AA-5).

use super::GateVerdict;
use crate::decision::{Approved, Bundle, Verdict};
use crate::ground::{ApprovalMismatch, Ground};

/// Judges after the other gates, whose strictest verdict is `strictest`. An approval of a different change
/// leads to a denial, because it may be an attack.
pub(crate) fn judge(bundle: &Bundle, strictest: Verdict) -> GateVerdict {
    let Some(approved) = bundle.approved() else {
        return match strictest {
            Verdict::NeedsApproval => {
                GateVerdict { verdict: Verdict::NeedsApproval, ground: Ground::NotApproved.into() }
            }
            Verdict::Allow | Verdict::Deny => GateVerdict::allow(Ground::NoApprovalNeeded),
        };
    };
    let Approved { approval, .. } = approved;
    match mismatch(bundle, approved) {
        None => GateVerdict::allow(Ground::Approved {
            user: approval.by.user.clone(),
            plan: approval.plan,
            key: approval.key.clone(),
        }),
        Some(problem) => {
            GateVerdict::deny(Ground::ApprovalRejected { plan: approval.plan, problem })
        }
    }
}

/// Returns the reason why an approval does not apply to the change.
fn mismatch(
    bundle: &Bundle,
    Approved { bound, expires, .. }: &Approved,
) -> Option<ApprovalMismatch> {
    // A change without a digest cannot have been approved.
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
