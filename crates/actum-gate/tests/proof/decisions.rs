//! Decisions: the verdicts of the gates, reproducibility, and the detection of every change.

use actum_core::{Budget, Digest, PathRule, Scope};
use actum_gate::{
    Bundle, DECISION_SEMANTICS, DocumentError, DocumentProblem, GateName, NoAccess, ReplayProblem,
    Verdict, decide, replay,
};
use actum_record::receipt::{DecisionRecord, EffectKind, PathEffect};
use proptest::prelude::*;

use crate::material::{bundle, bundle_of, change, gate, path, policy, policy_bytes};

fn rules(texts: &[&str]) -> Vec<PathRule> {
    texts.iter().map(|text| PathRule::new(text).unwrap()).collect()
}

fn touching(path_text: &str, effect: EffectKind) -> PathEffect {
    let path = path(path_text);
    PathEffect { path, effect, from: None, before: None, after: None, added: 1, removed: 1 }
}

fn judged(scope: Scope, budget: Budget, change: Vec<PathEffect>) -> (Verdict, Vec<String>) {
    let decision = decide(&bundle_of(scope, budget, change), &policy(), &NoAccess);
    let words = decision
        .gates
        .into_iter()
        .map(|gate| format!("{} {}: {}", gate.gate, gate.verdict.as_str(), gate.ground));
    (decision.verdict, words.collect())
}

/// FO-3, FO-4, AEC-11: every gate reports its ground, regardless of the verdicts of the others.
#[test]
fn all_gates_report_grounds_and_the_strictest_decides() {
    let scope = Scope { allow: Some(rules(&["src/", "docs/"])), deny: rules(&["docs/gone.md"]) };
    let budget = Budget { max_files: Some(2), max_loc: None };
    let (verdict, grounds) = judged(scope, budget, change());
    assert_eq!(verdict, Verdict::Deny);
    let begins = |grounds: &[String]| -> Vec<_> {
        grounds.iter().map(|one| one.split(' ').next().unwrap().to_owned()).collect()
    };
    let all: Vec<_> = GateName::ALL.iter().map(|gate| gate.to_string()).collect();
    assert_eq!(begins(&grounds), all);
    for expected in [
        "protected allow: no protected path is changed",
        "scope deny: the path `docs/gone.md` is denied by the rule `docs/gone.md`; the same applies to 1 more",
        "budget deny: files: 4 (limit 2); changed lines: 6 (no limit)",
        "commands allow: no command would be run",
        "credentials allow: no new content looks like a credential",
        "tier allow: R2: every change can be undone",
        "access allow: no access policies are in force",
        "approval allow: no gate requires a user's approval",
    ] {
        assert!(grounds.iter().any(|one| one == expected), "{expected}: {grounds:?}");
    }
    let (verdict, grounds) = judged(Scope::everything(), Budget::unlimited(), change());
    assert_eq!((verdict, begins(&grounds)), (Verdict::Allow, all));
    for expected in [
        "scope allow: every path is in scope",
        "budget allow: files: 4 (no limit); changed lines: 6 (no limit)",
    ] {
        assert!(grounds.iter().any(|one| one == expected), "{expected}: {grounds:?}");
    }
    assert!(grounds.iter().all(|one| one.contains(" allow: ")), "{grounds:?}");
}

/// AEC-10: the first of the strictest gates is reported as the refusal.
#[test]
fn first_refusal_is_the_first_of_the_strictest_gates() {
    let decision = decide(&bundle(), &policy(), &NoAccess);
    assert_eq!((decision.verdict, decision.first_refusal()), (Verdict::Allow, None));
    let budget = Budget { max_files: Some(0), max_loc: Some(0) };
    let decision = decide(&bundle_of(Scope::everything(), budget, change()), &policy(), &NoAccess);
    assert_eq!(decision.first_refusal().unwrap().gate, GateName::Budget);
    let nowhere = Scope { allow: Some(Vec::new()), deny: Vec::new() };
    let decision = decide(&bundle_of(nowhere, budget, change()), &policy(), &NoAccess);
    assert_eq!(decision.first_refusal().unwrap().gate, GateName::Scope);
    assert!(Verdict::Allow < Verdict::NeedsApproval && Verdict::NeedsApproval < Verdict::Deny);
}

/// FO-3: a renamed file must be in scope at its old and at its new path.
#[test]
fn renamed_file_must_be_in_scope_at_both_paths() {
    let renamed = |from: &str, to: &str| {
        vec![PathEffect { from: Some(path(from)), ..touching(to, EffectKind::Renamed) }]
    };
    let scope = || Scope { allow: Some(rules(&["src/"])), deny: rules(&["src/secret"]) };
    let verdict = |from, to| judged(scope(), Budget::unlimited(), renamed(from, to)).0;
    assert_eq!(verdict("src/a", "src/b"), Verdict::Allow);
    assert_eq!(verdict("a", "src/b"), Verdict::Deny);
    assert_eq!(verdict("src/a", "b"), Verdict::Deny);
    assert_eq!(verdict("src/secret", "src/b"), Verdict::Deny);
    assert_eq!(verdict("src/a", "src/secret/b"), Verdict::Deny);
}

/// FO-4: a renamed file or a mode change counts as one file, and a directory does not count.
#[test]
fn budget_counts_files_like_the_workspace() {
    let change = vec![
        PathEffect { from: Some(path("a")), ..touching("b", EffectKind::Renamed) },
        PathEffect { added: 0, removed: 0, ..touching("c", EffectKind::Mode) },
        PathEffect { added: 0, removed: 0, ..touching("d", EffectKind::DirectoryCreated) },
        PathEffect { added: 0, removed: 0, ..touching("e", EffectKind::DirectoryRemoved) },
    ];
    let verdict = |max_files, max_loc| {
        let budget = Budget { max_files: Some(max_files), max_loc: Some(max_loc) };
        judged(Scope::everything(), budget, change.clone()).0
    };
    assert_eq!(verdict(2, 2), Verdict::Allow);
    assert_eq!(verdict(1, 2), Verdict::Deny);
    assert_eq!(verdict(2, 1), Verdict::Deny);
}

/// FO-3: a file's parent directories are created with it, even if they are not in scope themselves.
#[test]
fn directory_follows_the_scope_of_the_files_below_it() {
    let scope = || Scope { allow: Some(rules(&["src/new/"])), deny: rules(&["src/new/no"]) };
    let verdict = |change| judged(scope(), Budget::unlimited(), change).0;
    for kind in [EffectKind::DirectoryCreated, EffectKind::DirectoryRemoved] {
        let directory = touching("src/new", kind);
        let file = touching("src/new/a", EffectKind::Created);
        assert_eq!(verdict(vec![directory.clone(), file.clone()]), Verdict::Allow);
        assert_eq!(verdict(vec![file.clone(), directory.clone()]), Verdict::Allow);
        let beside = touching("src/newer", EffectKind::Created);
        assert_eq!(verdict(vec![directory.clone(), beside]), Verdict::Deny);
        assert_eq!(verdict(vec![directory]), Verdict::Deny, "nothing leads there");
        let denied = touching("src/new/no", kind);
        let below = touching("src/new/no/a", EffectKind::Created);
        assert_eq!(verdict(vec![denied, below]), Verdict::Deny);
    }
}

fn recorded(bundle: &Bundle) -> (Vec<u8>, DecisionRecord) {
    let bytes = bundle.to_vec().unwrap();
    let record = decide(bundle, &policy(), &NoAccess).record(&bytes).unwrap();
    (bytes, record)
}

/// AEC-11
#[test]
fn replayed_decision_is_the_same() {
    let scope = Scope { allow: Some(rules(&["src/"])), deny: Vec::new() };
    let refused = bundle_of(scope, Budget { max_files: Some(1), max_loc: Some(1) }, change());
    for bundle in [bundle(), refused] {
        let (bytes, record) = recorded(&bundle);
        assert_eq!(Bundle::read(&bytes), Ok(bundle));
        assert_eq!(replay(&bytes, &policy_bytes(), &record, &NoAccess), Ok(()));
    }
}

/// AEC-11: the digest of an entire decision is recorded here. If it changes, the version of the rules must change too.
#[test]
fn decision_digest_matches_the_recorded_one() {
    let (_, record) = recorded(&bundle());
    let digest = "1619a8a8b873a08148cbbb2900815e14058d3716e22d28f1a9523cae09ebf98d";
    assert_eq!(record.digest.to_string(), digest);
}

/// AEC-11
#[test]
fn any_changed_byte_in_a_bundle_is_a_reference_mismatch() {
    let (bytes, record) = recorded(&bundle());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let (expected, found) = (record.bundle, Digest::of(&changed));
        let problem = ReplayProblem::RefHashMismatch { expected, found };
        assert_eq!(replay(&changed, &policy_bytes(), &record, &NoAccess), Err(problem));
    }
}

/// AEC-11
#[test]
fn altered_record_is_a_mismatch_that_names_the_gate() {
    let (bytes, record) = recorded(&bundle());
    let mismatch = |change: &dyn Fn(&mut DecisionRecord)| {
        let mut record = record.clone();
        change(&mut record);
        match replay(&bytes, &policy_bytes(), &record, &NoAccess) {
            Err(ReplayProblem::DecisionMismatch { what }) => what,
            judged => panic!("{judged:?}"),
        }
    };
    assert_eq!(mismatch(&|record| record.digest = Digest::of(b"")), "the digest differs");
    assert_eq!(mismatch(&|record| drop(record.gates.pop())), "the number of gates differs");
    assert_eq!(
        mismatch(&|record| record.gates.push(record.gates[0].clone())),
        "the number of gates differs"
    );
    assert_eq!(
        mismatch(&|record| gate(record, GateName::Budget).ground.0["files"] = 9.into()),
        "the gate `budget` decides differently"
    );
    assert_eq!(
        mismatch(&|record| gate(record, GateName::Protected).verdict = "deny".to_owned()),
        "the gate `protected` decides differently"
    );
    let first = format!("the gate `{}` decides differently", GateName::ALL[0]);
    assert_eq!(mismatch(&|record| record.gates.swap(0, 1)), first);
}

/// AEC-11: a decision made by another version of the rules is unsupported, which is not a mismatch.
#[test]
fn decision_by_other_rules_is_unsupported_but_not_a_mismatch() {
    let (bytes, record) = recorded(&bundle());
    let text = String::from_utf8(bytes.clone()).unwrap();
    let unsupported = |bytes: &[u8], semantics| {
        let bundle = Digest::of(bytes);
        let record = DecisionRecord { semantics, bundle, ..record.clone() };
        let problem = replay(bytes, &policy_bytes(), &record, &NoAccess).unwrap_err();
        assert!(matches!(problem, ReplayProblem::EngineUnsupported { .. }), "{problem}");
        assert_eq!(problem.reason(), "REPLAY_ENGINE_UNSUPPORTED");
    };
    unsupported(&bytes, DECISION_SEMANTICS + 1);
    let [now, next] = [0, 1].map(|more| format!("\"semantics\":{}", DECISION_SEMANTICS + more));
    for (from, to) in [
        (&*now, &*next),
        (&now, &format!("{now}.5")),
        ("actum.bundle/6", "actum.bundle/7"),
        ("{\"case\"", "{\"access\":1,\"case\""),
        ("{\"case\"", "{ \"case\""),
        ("\"max_files\":15,", ""),
    ] {
        let other = text.replacen(from, to, 1);
        assert_ne!(other, text);
        unsupported(other.as_bytes(), DECISION_SEMANTICS);
    }
    // The description of the change can still be read, for settling and for display.
    let later = text.replace(&now, &next);
    assert_eq!(Bundle::read(later.as_bytes()).unwrap().change(), bundle().change());
    let format = text.replace("actum.bundle/6", "actum.bundle/7");
    assert_eq!(
        Bundle::read(format.as_bytes()),
        Err(DocumentError {
            what: "the bundle of a decision",
            problem: DocumentProblem::OtherVersion {
                found: "actum.bundle/7".to_owned(),
                known: "actum.bundle/6".to_owned(),
            },
        })
    );
}

/// AEC-11, D-4: an unknown field is rejected because it could change the meaning of the bundle.
#[test]
fn bundle_with_unknown_fields_is_rejected_at_any_depth() {
    let text = String::from_utf8(bundle().to_vec().unwrap()).unwrap();
    let more = text.replacen("\"effect\":", "\"aside\":1,\"effect\":", 1);
    let problem = Bundle::read(more.as_bytes()).unwrap_err().problem;
    assert_eq!(problem, DocumentProblem::NotCanonical);
}

/// FO-4: a limit above the largest number that JSON can represent is reduced to that number.
#[test]
fn limit_above_the_largest_json_number_is_clamped() {
    let budget = Budget { max_files: Some(u64::MAX), max_loc: Some((1 << 53) - 1) };
    let bundle = bundle_of(Scope::everything(), budget, change());
    assert_eq!(bundle.budget().max_files, Some((1 << 53) - 1));
    let (bytes, record) = recorded(&bundle);
    assert_eq!(replay(&bytes, &policy_bytes(), &record, &NoAccess), Ok(()));
}

fn any_effect() -> impl Strategy<Value = PathEffect> {
    let kinds = vec![
        EffectKind::Created,
        EffectKind::Renamed,
        EffectKind::Mode,
        EffectKind::DirectoryCreated,
        EffectKind::Deleted,
    ];
    let name = prop::sample::select(vec!["a", "a/b", "a/b/c", "ab", "c/d"]);
    (name.clone(), prop::sample::select(kinds), name, 0u64..9, 0u64..9).prop_map(
        |(name, effect, from, added, removed)| {
            let from = (effect == EffectKind::Renamed).then(|| path(from));
            PathEffect { from, added, removed, ..touching(name, effect) }
        },
    )
}

fn any_rules() -> impl Strategy<Value = Vec<PathRule>> {
    let rule = prop::sample::select(vec!["a", "a/", "a/b", "c/", "ab"]);
    prop::collection::vec(rule, 0..3).prop_map(|texts| rules(&texts))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// AEC-11, FO-3, FO-4: the order of paths affects only which ground is reported first, never the verdict. Additional denying
    /// rules and lower limits never allow more.
    #[test]
    fn decision_is_stable_and_stricter_bundles_never_allow_more(
        mut change in prop::collection::vec(any_effect(), 0..6),
        allow in prop::option::of(any_rules()),
        deny in any_rules(),
        max_files in prop::option::of(0u64..5),
        max_loc in prop::option::of(0u64..30),
        more_deny in any_rules(),
    ) {
        let scope = Scope { allow, deny };
        let budget = Budget { max_files, max_loc };
        let bundle = bundle_of(scope.clone(), budget, change.clone());
        let verdict = decide(&bundle, &policy(), &NoAccess).verdict;
        let (bytes, record) = recorded(&bundle);
        prop_assert_eq!(replay(&bytes, &policy_bytes(), &record, &NoAccess), Ok(()));
        let stricter = Scope { deny: [scope.deny.clone(), more_deny].concat(), ..scope.clone() };
        let lower = Budget { max_files: max_files.map(|max| max / 2), max_loc: Some(0) };
        prop_assert!(decide(&bundle_of(stricter, lower, change.clone()), &policy(), &NoAccess).verdict >= verdict);
        change.reverse();
        prop_assert_eq!(decide(&bundle_of(scope, budget, change), &policy(), &NoAccess).verdict, verdict);
    }
}
