//! Access policies that are spread over several files, and their effect on the gate.

use actum_access::{Access, AccessError, AccessFileError, AccessPolicies, Cedar, POLICY_BYTES_MAX};
use actum_core::path_name::PathName;
use actum_core::{Digest, RelPath, RiskTier};
use actum_gate::{
    AccessJudge, AccessText, Bundle, Case, GateName, NoAccess, Policy, ReplayProblem, Verdict,
    WorkKind, decide, replay,
};
use actum_record::ledger::Actor;
use actum_record::receipt::{EffectKind, PathEffect};

use crate::request;

fn file(name: &str, text: &str) -> AccessText {
    AccessText { name: name.to_owned(), text: text.to_owned() }
}

fn refused(files: &[AccessText]) -> String {
    AccessPolicies::read_files(files).unwrap_err().to_string()
}

/// Creates a change requested by `ada` that writes one line to each of these paths.
fn case(paths: &[&str]) -> Case {
    let effect = |path: &&str| PathEffect {
        path: PathName(RelPath::new(path).unwrap()),
        effect: EffectKind::Modified,
        from: None,
        before: None,
        after: None,
        added: 1,
        removed: 0,
    };
    let actor = Actor { user: "ada".to_owned(), uid: 1000, agent: Some("robot".to_owned()) };
    Case { actor, root: "/srv/app".to_owned(), ..Case::new(paths.iter().map(effect).collect()) }
}

fn bundle(case: Case, policy: &Policy) -> Bundle {
    Bundle::new(Digest::of(&policy.to_vec().unwrap()), case)
}

/// Returns the verdict and ground of the access gate.
fn access_gate(files: &[AccessText], case: Case) -> (Verdict, String) {
    let policy = Policy::default().with_access(files.to_vec());
    let decision = decide(&bundle(case, &policy), &policy, &Cedar::default());
    let gate = decision.gates.iter().find(|gate| gate.gate == GateName::Access).unwrap();
    (gate.verdict, gate.ground.to_string())
}

const ALL: &str = "permit (principal, action, resource);";
const NO_CI: &str = "@id(\"no-ci\")\n@reason(\"CI is changed by hand\")\nforbid (principal, action, \
                     resource) when { context.directories.contains(\"ci\") };";

/// AEC-6: grounds name both the file and the policy, and do not depend on the order of the files.
#[test]
fn policies_of_several_files_combine_and_grounds_name_file_and_policy() {
    let (all, ci) = (file("all.cedar", ALL), file("ci.cedar", NO_CI));
    for files in [vec![all.clone(), ci.clone()], vec![ci.clone(), all.clone()]] {
        let policies = AccessPolicies::read_files(&files).unwrap();
        assert_eq!((policies.count(), policies.count_in("ci.cedar")), (2, 1));
        assert_eq!(policies.answer(&request()).access, Access::Allowed);
        assert_eq!(
            access_gate(&files, case(&["src/a"])),
            (Verdict::Allow, "permitted by policy 1 in `all.cedar`".to_owned())
        );
        let ground = "forbidden by `no-ci` in `ci.cedar`: CI is changed by hand";
        assert_eq!(
            access_gate(&files, case(&["src/a", "ci/b"])),
            (Verdict::Deny, ground.to_owned())
        );
    }
    // A file that contains only `forbid` policies permits nothing by itself.
    let nothing = (Verdict::Deny, "no access policy permits the request".to_owned());
    assert_eq!(access_gate(&[ci], case(&["src/a"])), nothing);
    assert_eq!(access_gate(&[file("empty.cedar", "")], case(&["src/a"])), nothing);
}

/// AEC-6: an error names the file it is in, with the line number in that file.
#[test]
fn policy_errors_report_the_file() {
    let sound = file("a.cedar", &format!("{ALL}\n"));
    let wrong = file("b.cedar", &format!("\n{}", NO_CI.replace("directories", "folders")));
    let error = AccessPolicies::read_files(&[sound.clone(), wrong.clone()]).unwrap_err();
    assert_eq!(error.file.as_deref(), Some("b.cedar"));
    assert!(error.to_string().starts_with(
        "`b.cedar`: the access policies are not valid: `no-ci`, line 4: attribute `folders` in context"
    ));
    assert_eq!(AccessPolicies::read_files(&[wrong, sound.clone()]).unwrap_err(), error);
    // A policy that is left unfinished in one file cannot be completed in another.
    let begun = file("b.cedar", "permit (principal, action, resource) when { context.undo");
    let ended = file("c.cedar", "};");
    assert!(refused(&[sound.clone(), begun, ended]).starts_with("`b.cedar`: "));
    let open = file("b.cedar", "permit (principal, action, resource) // the end is in");
    assert!(refused(&[open, file("c.cedar", ";")]).starts_with("`b.cedar`: "));
    // Grounds name the file too, so a policy name has to be unique only within its file.
    let ci = file("ci.cedar", NO_CI);
    assert!(AccessPolicies::read_files(&[ci.clone(), file("d.cedar", NO_CI)]).is_ok());
    let twice = file("ci.cedar", &format!("{NO_CI}{NO_CI}"));
    let same = "`ci.cedar`: the access policies 1 and 2 have the same `@id`, `no-ci`";
    assert_eq!(refused(&[twice]), same);
}

/// AEC-6: the limits apply to the combined policies of all files.
#[test]
fn policy_limits_apply_to_all_files_together() {
    let half = format!("// {}", "x".repeat(POLICY_BYTES_MAX / 2 - 3));
    let two = [file("a.cedar", &half), file("b.cedar", &half)];
    assert!(AccessPolicies::read_files(&two).is_ok());
    let three = [two.as_slice(), &[file("c.cedar", "\n")]].concat();
    let problem = AccessError::Bytes { bytes: POLICY_BYTES_MAX + 1 };
    let error = AccessPolicies::read_files(&three).unwrap_err();
    assert_eq!(error, AccessFileError { file: None, problem });
    let many = ALL.replace(' ', "").repeat(5001);
    let error = refused(&[file("a.cedar", &many), file("b.cedar", &many)]);
    assert_eq!(error, "there are 10002 access policies, but the limit is 10000");
}

/// AEC-6: each fact of a change in a bundle reaches the policies.
#[test]
fn every_fact_of_a_bundled_change_reaches_the_policies() {
    let holds = |condition: &str, case: Case| {
        let text = format!("permit (principal, action, resource) when {{ {condition} }};");
        access_gate(&[file("a.cedar", &text)], case).0 == Verdict::Allow
    };
    let requester = r#"principal == User::"ada" && principal.uid == 1000 &&
                 principal has agent && principal.agent == "robot""#;
    assert!(holds(requester, case(&["a"])));
    let place = r#"resource == Workspace::"/srv/app" && resource.tenant == "default" &&
                   context.door == "library""#;
    assert!(holds(place, case(&["a"])));
    let mut all = case(&["a/b", "c"]);
    all.change[1].effect = EffectKind::Deleted;
    all.change[0].effect = EffectKind::Renamed;
    all.change[0].from = Some(PathName(RelPath::new("old/b").unwrap()));
    all.change
        .push(PathEffect { effect: EffectKind::DirectoryCreated, ..case(&["a"]).change.remove(0) });
    let what = r#"action == Action::"change_files" && context.tier == 2 && context.approvals == 0 &&
                  context.files == 2 && context.lines == 2 && context.deletes == 1 &&
                  context.paths == ["a", "a/b", "old/b", "c"] && context.directories == ["a", "old"] &&
                  !context.undo"#;
    assert!(holds(what, all.clone()));
    // Only the undo sets `context.undo`, and the redo does not.
    let undoes = Some("r0000000000n".parse().unwrap());
    let undo = Case { undoes, work: WorkKind::Undo, ..case(&["a"]) };
    assert!(holds("context.undo", undo.clone()));
    assert!(!holds("context.undo", Case { work: WorkKind::Redo, ..undo }));
}

/// AEC-6, AEC-8: policies that name a path or workspace have the same effect when the root is a subdirectory of the workspace.
#[test]
fn policies_apply_from_every_root_inside_their_workspace() {
    let is_forbidden = |condition: &str, root: &str, path: &str| {
        let text = format!(
            "permit (principal, action, resource);
             forbid (principal, action, resource) when {{ {condition} }};"
        );
        let enclosing = if root == "/srv/app" { Vec::new() } else { vec!["/srv/app".to_owned()] };
        let case = Case { root: root.to_owned(), enclosing, ..case(&[path]) };
        access_gate(&[file("a.cedar", &text)], case).0 == Verdict::Deny
    };
    for condition in [
        r#"context.directories.contains("release")"#,
        r#"context.paths.contains("release/notes.md")"#,
        r#"resource in Workspace::"/srv/app""#,
    ] {
        assert!(is_forbidden(condition, "/srv/app", "release/notes.md"), "{condition}");
        assert!(is_forbidden(condition, "/srv/app/release", "notes.md"), "{condition}");
    }
    assert!(!is_forbidden(r#"context.directories.contains("docs")"#, "/srv/app/release", "a.md"));
    assert!(!is_forbidden(r#"resource in Workspace::"/srv/ap""#, "/srv/app/release", "a.md"));
}

/// AA-5, AEC-6: the gate asks for at most one approval, so a policy that needs two denies; built-in policies still apply.
#[test]
fn gate_asks_for_one_approval_and_denies_when_two_are_needed() {
    let when =
        |condition: &str| format!("permit(principal, action, resource) when {{ {condition} }};");
    let one = file("a.cedar", &when("context.approvals >= 1"));
    assert_eq!(
        access_gate(&[one], case(&["a"])),
        (
            Verdict::NeedsApproval,
            "no access policy permits the request; permitted by policy 1 in `a.cedar` after 1 approval"
                .to_owned()
        )
    );
    let two = file("a.cedar", &when("context.approvals >= 2"));
    let (verdict, ground) = access_gate(&[two], case(&["a"]));
    assert_eq!(verdict, Verdict::Deny);
    assert!(ground.starts_with("2 approvals are required, but only one is possible; "), "{ground}");
    let risky = Case { declared: Some(RiskTier::R4), ..case(&["a"]) };
    let (verdict, ground) = access_gate(&[file("a.cedar", ALL)], risky);
    assert_eq!(verdict, Verdict::NeedsApproval);
    assert!(ground.starts_with("forbidden by `actum.tier`: "), "{ground}");
}

/// AEC-10: an evaluation error denies the change with a message that does not depend on the version of Cedar.
#[test]
fn gate_denies_when_a_policy_cannot_be_evaluated() {
    let text = format!(
        "{ALL}\n@id(\"sum\") forbid (principal, action, resource) when {{ context.lines + \
         9223372036854775807 < 0 }};"
    );
    let ground = "`sum` in `a.cedar` cannot be evaluated: a number overflows";
    assert_eq!(
        access_gate(&[file("a.cedar", &text)], case(&["a"])),
        (Verdict::Deny, ground.to_owned())
    );
}

/// AEC-11: a verifier with Cedar confirms a decision, and one without reports that it cannot.
#[test]
fn replay_confirms_decisions_only_with_cedar() {
    let policy = Policy::default().with_access(vec![file("a.cedar", ALL), file("b.cedar", NO_CI)]);
    let policy_bytes = policy.to_vec().unwrap();
    for paths in [["src/a"], ["ci/b"]] {
        let bundle = bundle(case(&paths), &policy);
        let bytes = bundle.to_vec().unwrap();
        let record = decide(&bundle, &policy, &Cedar::default()).record(&bytes).unwrap();
        assert_eq!(replay(&bytes, &policy_bytes, &record, &Cedar::default()), Ok(()));
        let problem = replay(&bytes, &policy_bytes, &record, &NoAccess).unwrap_err();
        assert_eq!(problem.reason(), "REPLAY_ENGINE_UNSUPPORTED");
    }
    // This version cannot have made a decision with a policy that it fails to parse.
    let policy = Policy::default().with_access(vec![file("a.cedar", "permit")]);
    let bundle = bundle(case(&["a"]), &policy);
    let decision = decide(&bundle, &policy, &Cedar::default());
    assert_eq!(
        (decision.verdict, decision.first_refusal().unwrap().gate),
        (Verdict::Deny, GateName::Access)
    );
    let bytes = bundle.to_vec().unwrap();
    let record = decision.record(&bytes).unwrap();
    let policy = policy.to_vec().unwrap();
    let problem = replay(&bytes, &policy, &record, &Cedar::default()).unwrap_err();
    assert!(matches!(problem, ReplayProblem::EngineUnsupported { .. }), "{problem}");
}

/// AEC-6: the most recently parsed policies are cached and shared by all clones.
#[test]
fn unchanged_policies_are_cached_and_changed_ones_are_read_again() {
    let (cedar, all) = (Cedar::default(), [file("a.cedar", ALL)]);
    let first = cedar.read(&all).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &cedar.clone().read(&all).unwrap()));
    let other = cedar.read(&[file("b.cedar", ALL)]).unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &other));
    assert_eq!(other.count_in("a.cedar"), 0);
    // A policy that fails to parse does not replace the cached one.
    assert!(cedar.read(&[file("c.cedar", "permit")]).is_err());
    let judge: &dyn AccessJudge = &cedar;
    let policy = Policy::default();
    let access_gate = judge.judge(&all, &bundle(case(&["a"]), &policy), RiskTier::R2).unwrap();
    assert_eq!(access_gate.verdict, Verdict::Allow);
}
