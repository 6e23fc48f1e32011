//! Approvals that allow a waiting change, and approvals that do not.

use actum_core::{Budget, Digest, RelPath, Scope};
use actum_gate::{
    Approved, Bundle, Case, Decision, GateName, NoAccess, Policy, Verdict, decide, verify_answer,
};
use actum_record::ledger::{Answer, PlanAnswered};
use actum_record::receipt::{EffectKind, GateRecord, PathEffect, RecordedGround};
use actum_record::signer::KeyRole;

use crate::material::{
    TestKey, answer_of, answered, approval_key, approved, at, case, keyring, keyring_with, path,
    policy, policy_bytes, result_key,
};

fn asks(name: &str) -> Case {
    let effect = PathEffect {
        path: path(name),
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: None,
        added: 1,
        removed: 0,
    };
    case(Scope::everything(), Budget::unlimited(), vec![effect])
}

fn bundle(case: Case) -> Bundle {
    Bundle::new(Digest::of(&policy_bytes()), case)
}

/// Creates the case with an approval for it, and then modifies the approval.
fn with_approval(case: &Case, change: impl FnOnce(&mut Approved)) -> Case {
    let mut approved = approved(&bundle(case.clone()));
    change(&mut approved);
    Case { approved: Some(approved), ..case.clone() }
}

fn judged(case: &Case) -> Decision {
    decide(&bundle(case.clone()), &policy(), &NoAccess)
}

fn ground(decision: &Decision) -> String {
    decision.gates.last().unwrap().ground.to_string()
}

const CI: &str = ".github/workflows/ci.yml";

/// AA-5
#[test]
fn change_that_needs_approval_passes_only_with_a_matching_approval() {
    let waiting = judged(&asks(CI));
    assert_eq!(waiting.verdict, Verdict::NeedsApproval);
    assert_eq!(waiting.first_refusal().unwrap().gate, GateName::Tier);
    let agreed = judged(&with_approval(&asks(CI), |_| {}));
    assert_eq!(agreed.verdict, Verdict::Allow, "{agreed:?}");
    assert_eq!(agreed.first_refusal(), None);
    assert!(ground(&agreed).starts_with("`grace` approved plan r0000000000n"), "{agreed:?}");
    // The tier is unchanged. The approval is recorded next to the gate that required it.
    assert_eq!(agreed.tier, waiting.tier);
    assert_eq!(
        agreed.gates.iter().find(|it| it.gate == GateName::Tier).unwrap().verdict,
        Verdict::NeedsApproval
    );
    let ordinary = judged(&asks("src/lib.rs"));
    assert_eq!(
        (ordinary.verdict, ground(&ordinary)),
        (Verdict::Allow, "no gate requires a user's approval".to_owned())
    );
}

/// AA-5: an approval is bound to each of these parts of the content.
#[test]
fn mismatched_approval_denies_and_reports_the_difference() {
    let other = Digest::of(b"other");
    type Change<'c> = &'c dyn Fn(&mut Approved);
    let cases: [(&str, Change<'_>); 5] = [
        ("is for a different plan", &|it| it.bound.plan = other),
        ("is for different limits", &|it| it.bound.limits = other),
        ("is for a different change", &|it| it.bound.change = other),
        ("was given under a different policy", &|it| it.bound.policy = other),
        ("has expired", &|it| it.expires = at(29)),
    ];
    for (what, change) in cases {
        for name in [CI, "src/lib.rs"] {
            let decision = judged(&with_approval(&asks(name), change));
            assert_eq!(decision.verdict, Verdict::Deny, "{what}");
            assert!(ground(&decision).ends_with(what), "{decision:?}");
            assert_eq!(decision.first_refusal().unwrap().gate, GateName::Approval);
        }
    }
    // The approval is valid until it expires.
    let last = judged(&with_approval(&asks(CI), |it| it.expires = at(30)));
    assert_eq!(last.verdict, Verdict::Allow);
}

/// AA-5: an approval also covers the previous content of the files.
#[test]
fn approval_is_invalid_after_a_file_changes() {
    let before = with_approval(&asks(CI), |_| {});
    let mut moved = before.clone();
    moved.change[0].added += 1;
    assert_eq!(judged(&moved).verdict, Verdict::Deny);
    let mut renamed = before;
    renamed.change[0].path.0 = RelPath::new(".github/workflows/other.yml").unwrap();
    assert_eq!(judged(&renamed).verdict, Verdict::Deny);
}

/// AA-5, D-5: an approval cannot allow a change that a gate denies.
#[test]
fn approval_cannot_allow_a_denied_change() {
    let denied = with_approval(&asks(".env"), |_| {});
    let decision = judged(&denied);
    assert_eq!(decision.verdict, Verdict::Deny);
    assert_eq!(decision.first_refusal().unwrap().gate, GateName::Protected);
    let plain = decide(&bundle(asks(".env")), &Policy::default(), &NoAccess);
    assert_eq!(plain.verdict, Verdict::Deny);
    assert_eq!(ground(&plain), "no gate requires a user's approval");
}

/// AA-5: an answer signed by any other key is rejected.
#[test]
fn answer_requires_an_approval_key_valid_at_its_time() {
    let sound = answer_of(&answered(Answer::Approved), &approval_key());
    let verified = verify_answer(&sound.to_vec().unwrap(), &keyring()).unwrap();
    assert_eq!(verified.answered, answered(Answer::Approved));
    let by = |key: &TestKey, answer: &PlanAnswered, keyring: &actum_record::keyring::Keyring| {
        let envelope = answer_of(answer, key).to_vec().unwrap();
        verify_answer(&envelope, keyring).unwrap_err().reason()
    };
    let answer = answered(Answer::Approved);
    assert_eq!(by(&result_key(), &answer, &keyring()), "KEY_OF_ANOTHER_ROLE");
    let stranger = TestKey::new(KeyRole::Approval, 77);
    assert_eq!(by(&stranger, &answer, &keyring()), "SIGNER_UNKNOWN");
    let late = PlanAnswered { time: at(3601), ..answer.clone() };
    assert_eq!(by(&approval_key(), &late, &keyring()), "KEY_EXPIRED");
    let revoked = keyring_with(&stranger, |key| key.revoked = Some(at(0)));
    assert_eq!(by(&stranger, &answer, &revoked), "KEY_REVOKED");
}

#[test]
fn bit_flips_in_an_answer_are_rejected_or_have_no_effect() {
    let answer = answered(Answer::Approved);
    let sound = answer_of(&answer, &approval_key()).to_vec().unwrap();
    for at in 0..sound.len() {
        for bit in 0..8 {
            let mut changed = sound.clone();
            changed[at] ^= 1 << bit;
            if let Ok(verified) = verify_answer(&changed, &keyring()) {
                assert_eq!(verified.answered, answer, "byte {at}, bit {bit}");
            }
        }
    }
}

/// D-4, AA-5: an unknown verdict allows nothing, and an approval satisfies only gates that require one.
#[test]
fn combined_verdict_is_the_strictest_or_satisfied_by_an_approval() {
    let combined = |verdicts: &[(&str, &str)]| {
        let gate = |(gate, verdict): &(&str, &str)| GateRecord {
            gate: (*gate).to_owned(),
            verdict: (*verdict).to_owned(),
            ground: RecordedGround(serde_json::json!({})),
        };
        Verdict::together(&verdicts.iter().map(gate).collect::<Vec<_>>())
    };
    let (allow, ask, deny) = ("allow", "needs_approval", "deny");
    assert_eq!(combined(&[("scope", allow), ("tier", allow)]), Verdict::Allow);
    assert_eq!(combined(&[("scope", allow), ("tier", ask)]), Verdict::NeedsApproval);
    assert_eq!(combined(&[("scope", deny), ("tier", ask)]), Verdict::Deny);
    assert_eq!(
        [combined(&[("scope", allow), ("tier", "perhaps")]), combined(&[])],
        [Verdict::Deny; 2]
    );
    assert_eq!(combined(&[("tier", ask), ("approval", allow)]), Verdict::Allow);
    assert_eq!(combined(&[("tier", ask), ("approval", ask)]), Verdict::NeedsApproval);
    assert_eq!(combined(&[("tier", allow), ("approval", deny)]), Verdict::Deny);
    assert_eq!(combined(&[("tier", deny), ("approval", allow)]), Verdict::Deny);
    // An approval gate that is not the last gate satisfies nothing.
    assert_eq!(combined(&[("approval", allow), ("tier", ask)]), Verdict::NeedsApproval);
}
