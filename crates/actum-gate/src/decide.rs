//! Evaluates all gates for a bundle under a policy, both for the original decision and for its replay.

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

/// Decides whether a change may be published (AEC-11). A valid approval satisfies a gate that requires one, but
/// it cannot override a gate that denies the change. If the policy has access policies that `access` cannot
/// evaluate, the change is denied.
pub fn decide(bundle: &Bundle, policy: &Policy, access: &dyn AccessJudge) -> Decision {
    decided(bundle, policy, access).0
}

/// Decides like [`decide`], and also returns the reason if the access policies could not be evaluated. A replay
/// does not confirm such a decision.
fn decided(
    bundle: &Bundle,
    policy: &Policy,
    access: &dyn AccessJudge,
) -> (Decision, Option<AccessUnknown>) {
    let (tier, of_tier) = gate::tier::judge(bundle, policy);
    let (of_access, unknown) = match gate::access::judge(bundle, policy, tier, access) {
        Ok(verdict) => (verdict, None),
        Err(unknown) => {
            let ground = Ground::AccessUnknown { problem: unknown.kind }.into();
            (GateVerdict { verdict: Verdict::Deny, ground }, Some(unknown))
        }
    };
    let verdicts = GateName::ALL.iter();
    let verdicts = verdicts.filter_map(|&name| Some((name, gate::judge(name, bundle, policy)?)));
    let verdicts = verdicts.chain([(GateName::Tier, of_tier), (GateName::Access, of_access)]);
    let mut gates: Vec<GateDecision> = verdicts.map(GateDecision::new).collect();
    let strictest = gates.iter().map(|gate| gate.verdict).max().unwrap_or(Verdict::Deny);
    let of_approval = gate::approval::judge(bundle, strictest);
    let verdict = strictest.answered(of_approval.verdict);
    gates.push(GateDecision::new((GateName::Approval, of_approval)));
    (Decision { semantics: DECISION_SEMANTICS, verdict, tier, gates }, unknown)
}

/// Evaluates only the lease gate, to check whether a request satisfies the terms of its lease before its change
/// is known.
pub fn judge_lease(bundle: &Bundle, policy: &Policy) -> GateDecision {
    GateDecision::new((GateName::Lease, gate::lease::judge(bundle, policy)))
}

/// Evaluates only the access gate, to check whether the access policies allow an action of the declared tier
/// before its change is known.
pub fn judge_access(bundle: &Bundle, policy: &Policy, access: &dyn AccessJudge) -> GateDecision {
    let (tier, _) = gate::tier::judge(bundle, policy);
    let verdict = gate::access::judge(bundle, policy, tier, access).unwrap_or_else(|unknown| {
        let ground = Ground::AccessUnknown { problem: unknown.kind }.into();
        GateVerdict { verdict: Verdict::Deny, ground }
    });
    GateDecision::new((GateName::Access, verdict))
}

impl ExpectedCase {
    /// Decides the test case under `policy`, whose digest is `digest`. `asked` provides everything except the
    /// change, and also the agent unless the case names one.
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
