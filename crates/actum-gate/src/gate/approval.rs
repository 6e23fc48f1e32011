//! The gate of approval: where another gate asks for a person, one must have agreed to exactly this (AA-5).

use super::Said;
use crate::decision::{Approved, Bundle, Verdict};

/// What it says where the strictest of the gates before it said `strictest`. An approval that is bound to
/// something else is none, and a sign that somebody tries: it denies.
pub(crate) fn judge(bundle: &Bundle, strictest: Verdict) -> Said {
    let Some(approved) = bundle.approved() else {
        return match strictest {
            Verdict::NeedsApproval => Said {
                verdict: Verdict::NeedsApproval,
                ground: "a person has to agree, and nobody has yet".to_owned(),
            },
            Verdict::Allow | Verdict::Deny => {
                Said { verdict: Verdict::Allow, ground: "no gate asks for a person".to_owned() }
            }
        };
    };
    let Approved { approval, .. } = approved;
    match wrong(bundle, approved) {
        None => Said {
            verdict: Verdict::Allow,
            ground: format!(
                "`{}` agreed to plan {}, signed by the key {}",
                approval.by.user, approval.plan, approval.key
            ),
        },
        Some(what) => Said {
            verdict: Verdict::Deny,
            ground: format!("the approval of plan {} {what}", approval.plan),
        },
    }
}

/// Why an approval does not count.
fn wrong(bundle: &Bundle, Approved { bound, expires, .. }: &Approved) -> Option<&'static str> {
    // What has no digest was approved by nobody.
    let Ok(now) = bundle.bound() else { return Some("is for another change") };
    [
        (bound.plan != now.plan, "is for another plan"),
        (bound.limits != now.limits, "is for other limits"),
        (bound.policy != now.policy, "was given under another policy"),
        (bound.change != now.change, "is for another change"),
        (*expires < bundle.time(), "has expired"),
    ]
    .into_iter()
    .find_map(|(is_wrong, what)| is_wrong.then_some(what))
}
