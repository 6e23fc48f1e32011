//! Decision procedure: asks all gates about a bundle under a policy, initially or in a replay.

mod replay;

use actum_core::Digest;

use crate::access::{AccessJudge, AccessUnknown};
use crate::decision::{Bundle, Case, DECISION_SEMANTICS, Decision, GateDecision};
use crate::gate::{self, GateVerdict};
use crate::gate_name::GateName;
use crate::ground::Ground;
use crate::policy::{ExpectedCase, Policy};
use crate::verdict::Verdict;

pub use replay::{ReplayProblem, replay};

/// Decides whether a change may be published (AEC-11). If the strictest gate requires an approval, a valid
/// approval grants it. A denial by a gate cannot be approved. A change is denied if access policies exist and
/// `access` cannot evaluate them.
pub fn decide(bundle: &Bundle, policy: &Policy, access: &dyn AccessJudge) -> Decision {
    decided(bundle, policy, access).0
}

/// Decides, and also returns the reason if access policies could not be evaluated. Such a decision is never
/// confirmed.
fn decided(
    bundle: &Bundle,
    policy: &Policy,
    access: &dyn AccessJudge,
) -> (Decision, Option<AccessUnknown>) {
    let (tier, of_tier) = gate::tier::judge(bundle, policy);
    let (of_access, unknown) = match gate::access::judge(bundle, policy, tier, access) {
        Ok(said) => (said, None),
        Err(unknown) => {
            let ground = Ground::AccessUnknown { problem: unknown.kind }.into();
            (GateVerdict { verdict: Verdict::Deny, ground }, Some(unknown))
        }
    };
    let said = GateName::ALL.iter();
    let said = said.filter_map(|&name| Some((name, gate::judge(name, bundle, policy)?)));
    let said = said.chain([(GateName::Tier, of_tier), (GateName::Access, of_access)]);
    let mut gates: Vec<GateDecision> = said.map(GateDecision::new).collect();
    let strictest = gates.iter().map(|gate| gate.verdict).max().unwrap_or(Verdict::Deny);
    let of_approval = gate::approval::judge(bundle, strictest);
    let verdict = strictest.answered(of_approval.verdict);
    gates.push(GateDecision::new((GateName::Approval, of_approval)));
    (Decision { semantics: DECISION_SEMANTICS, verdict, tier, gates }, unknown)
}

/// Asks only the lease gate, before a change exists: whether the other terms of the lease allow a request.
pub fn judge_lease(bundle: &Bundle, policy: &Policy) -> GateDecision {
    GateDecision::new((GateName::Lease, gate::lease::judge(bundle, policy)))
}

/// Asks only the access gate, before a change exists: whether the access policies allow the requester an
/// action of the declared tier.
pub fn judge_access(bundle: &Bundle, policy: &Policy, access: &dyn AccessJudge) -> GateDecision {
    let (tier, _) = gate::tier::judge(bundle, policy);
    let said = gate::access::judge(bundle, policy, tier, access).unwrap_or_else(|unknown| {
        let ground = Ground::AccessUnknown { problem: unknown.kind }.into();
        GateVerdict { verdict: Verdict::Deny, ground }
    });
    GateDecision::new((GateName::Access, said))
}

impl ExpectedCase {
    /// Decides the case under the policy with that digest. `asked` provides everything except the change, and
    /// the agent if the case names none.
    pub fn decide(
        &self,
        asked: &Case,
        policy: &Policy,
        digest: Digest,
        access: &dyn AccessJudge,
    ) -> Decision {
        decide(&Bundle::new(digest, self.case(asked)), policy, access)
    }
}

impl GateDecision {
    fn new((gate, GateVerdict { verdict, ground }): (GateName, GateVerdict)) -> Self {
        Self { gate, verdict, ground }
    }
}
