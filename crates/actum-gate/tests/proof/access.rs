//! Access gate with arbitrary access-policy judges: when the gate asks the judge, how the answer affects the decision, and how the
//! gate decides without a judge.

use std::cell::Cell;

use actum_core::{Budget, Digest, RiskTier, Scope};
use actum_gate::decision::Undone;
use actum_gate::ground::{AccessGround, AccessPolicyName};
use actum_gate::{
    AccessDecision, AccessJudge, AccessText, AccessUnknown, Bundle, Case, Decision, GateName,
    NoAccess, Policy, ReplayProblem, Verdict, WorkKind, decide, replay,
};
use actum_record::ledger::Actor;

use crate::material::{approved, case, change};

/// Judge that always returns this verdict and counts its calls.
struct FixedJudge(Verdict, Cell<usize>);

impl FixedJudge {
    fn new(verdict: Verdict) -> Self {
        Self(verdict, Cell::new(0))
    }
}

impl AccessJudge for FixedJudge {
    fn judge(
        &self,
        policies: &[AccessText],
        bundle: &Bundle,
        tier: RiskTier,
    ) -> Result<AccessDecision, AccessUnknown> {
        self.1.set(self.1.get() + 1);
        let (user, files) = (&bundle.actor().user, bundle.files().count());
        let policy = AccessPolicyName {
            id: Some(format!("{user}, {tier}, {files} files")),
            position: None,
            file: Some(policies[0].name.clone()),
        };
        let grounds = vec![AccessGround::Forbidden { policy, reason: None }];
        Ok(AccessDecision { verdict: self.0, approvals: None, grounds, more: 0 })
    }
}

fn text(name: &str) -> AccessText {
    AccessText { name: name.to_owned(), text: "permit (principal, action, resource);".to_owned() }
}

fn with_texts() -> Policy {
    Policy::default().with_access(vec![text("team.cedar"), text("all.cedar")])
}

fn asked() -> Case {
    let actor = Actor { user: "ada".to_owned(), uid: 1000, agent: None };
    Case { actor, ..case(Scope::everything(), Budget::unlimited(), change()) }
}

fn restoring() -> Case {
    let undoes = Some("r0000000000n".parse().unwrap());
    let undone = Some(Undone { actor: asked().actor, approved: false });
    Case { undoes, undone, restores: true, work: WorkKind::Undo, ..asked() }
}

fn bundle(case: Case, policy: &Policy) -> Bundle {
    Bundle::new(Digest::of(&policy.to_vec().unwrap()), case)
}

fn access_gate(decision: &Decision) -> (&'static str, String) {
    let gate = decision.gates.iter().find(|gate| gate.gate == GateName::Access).unwrap();
    (gate.verdict.as_str(), gate.ground.to_string())
}

/// AEC-6, AEC-10: the answer of the access policies is one gate, evaluated before the approval gate.
#[test]
fn access_policies_decide_as_one_gate() {
    let policy = with_texts();
    for verdict in [Verdict::Allow, Verdict::NeedsApproval, Verdict::Deny] {
        let decision = decide(&bundle(asked(), &policy), &policy, &FixedJudge::new(verdict));
        assert_eq!(decision.verdict, verdict);
        assert_eq!(
            access_gate(&decision),
            (verdict.as_str(), "forbidden by `ada, R2, 4 files` in `all.cedar`".to_owned())
        );
        let gates: Vec<_> = decision.gates.iter().map(|gate| gate.gate.as_str()).collect();
        let all: Vec<_> = GateName::ALL.iter().map(|gate| gate.as_str()).collect();
        assert_eq!(gates, all);
    }
    // Access policies cannot allow a change that another gate denies.
    let nowhere = Scope { allow: Some(Vec::new()), deny: Vec::new() };
    let outside = bundle(Case { scope: nowhere, ..asked() }, &policy);
    let decision = decide(&outside, &policy, &FixedJudge::new(Verdict::Allow));
    assert_eq!(decision.verdict, Verdict::Deny);
}

/// AA-5, AEC-6: an approval satisfies access policies that ask, but not access policies that deny.
#[test]
fn approval_satisfies_access_policies_that_ask_but_not_that_deny() {
    let policy = with_texts();
    let agreed = approved(&bundle(asked(), &policy));
    let agreed = bundle(Case { approved: Some(agreed), ..asked() }, &policy);
    let asks = decide(&agreed, &policy, &FixedJudge::new(Verdict::NeedsApproval));
    assert_eq!((asks.verdict, access_gate(&asks).0), (Verdict::Allow, "needs_approval"));
    assert_eq!(decide(&agreed, &policy, &FixedJudge::new(Verdict::Deny)).verdict, Verdict::Deny);
}

/// AEC-6: the judge is not asked if there are no access policies, and an undo that restores files needs no approval.
#[test]
fn access_policies_are_skipped_if_absent_or_for_a_restoring_undo() {
    let judge = FixedJudge::new(Verdict::Deny);
    for policy in [Policy::default(), Policy::default().with_access(Vec::new())] {
        let decision = decide(&bundle(asked(), &policy), &policy, &judge);
        assert_eq!(access_gate(&decision), ("allow", "no access policies are in force".to_owned()));
        assert_eq!(policy, Policy::default());
    }
    let policy = with_texts();
    let decision = decide(&bundle(restoring(), &policy), &policy, &judge);
    assert_eq!(
        access_gate(&decision),
        ("allow", "the change restores the previous content".to_owned())
    );
    assert_eq!(judge.1.get(), 0);
    // A redo, and an undo that keeps later edits, are judged like any other change.
    let redo = Case { restores: false, work: WorkKind::Redo, ..restoring() };
    assert_eq!(decide(&bundle(redo, &policy), &policy, &judge).verdict, Verdict::Deny);
    assert_eq!(judge.1.get(), 1);
}

/// AEC-6, AEC-10, AEC-11: without Cedar, a program allows nothing and can neither confirm nor refute a decision.
#[test]
fn without_cedar_nothing_is_allowed_and_no_decision_is_verified() {
    let policy = with_texts();
    let (asked, policy_bytes) = (bundle(asked(), &policy), policy.to_vec().unwrap());
    let denied = decide(&asked, &policy, &NoAccess);
    assert_eq!(denied.verdict, Verdict::Deny);
    assert_eq!(denied.first_refusal().unwrap().gate, GateName::Access);
    let bytes = asked.to_vec().unwrap();
    let allowed = decide(&asked, &policy, &FixedJudge::new(Verdict::Allow));
    for decision in [allowed, denied] {
        let record = decision.record(&bytes).unwrap();
        let problem = replay(&bytes, &policy_bytes, &record, &NoAccess).unwrap_err();
        let message = "this program does not support Cedar, the language of access policies";
        assert_eq!(problem, ReplayProblem::EngineUnsupported { message: message.to_owned() });
        assert_eq!(problem.reason(), "REPLAY_ENGINE_UNSUPPORTED");
    }
    // A decision that does not depend on access policies can be replayed without Cedar.
    let restoring = bundle(restoring(), &policy);
    let bytes = restoring.to_vec().unwrap();
    let record =
        decide(&restoring, &policy, &FixedJudge::new(Verdict::Deny)).record(&bytes).unwrap();
    assert_eq!(replay(&bytes, &policy_bytes, &record, &NoAccess), Ok(()));
}

/// AEC-11: the policy contains the exact texts of its access policies, sorted by name.
#[test]
fn policy_stores_access_texts_and_its_digest_covers_them() {
    let turned = Policy::default().with_access(vec![text("all.cedar"), text("team.cedar")]);
    assert_eq!(turned, with_texts());
    let bytes = turned.to_vec().unwrap();
    assert_eq!(Policy::read(&bytes), Ok(turned.clone()));
    let names: Vec<_> = turned.access().unwrap().iter().map(|it| it.name.as_str()).collect();
    assert_eq!(names, ["all.cedar", "team.cedar"]);
    let alone = Policy::default().with_access(vec![text("all.cedar")]);
    assert_ne!(Digest::of(&alone.to_vec().unwrap()), Digest::of(&bytes));
}
