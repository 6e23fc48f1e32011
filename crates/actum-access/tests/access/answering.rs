//! Decisions of the access policies about a change, and the grounds that each decision gives.

use actum_access::{
    Access, AccessAction, AccessAnswer, AccessRequest, ChangeKind, GROUNDS_MAX, REQUEST_PATHS_MAX,
};
use actum_core::RelPath;

use crate::{policies, request};

const TIERS: &str = r#"
    @id("small-changes")
    permit (principal, action == Action::"change_files", resource)
    when { context.tier <= 2 && context.files <= 15 };

    @id("with-an-agreement")
    permit (principal, action, resource)
    when { context.tier == 3 && context.approvals >= 1 };

    @id("with-two")
    @reason("four eyes see more")
    permit (principal, action, resource)
    when { context.tier == 4 && context.approvals >= 2 };

    @id("no-ci")
    @reason("CI is changed by hand")
    forbid (principal, action, resource)
    when { context.directories.contains(".github/workflows") };

    forbid (principal, action, resource)
    when { principal has agent && context.deletes > 5 };
"#;

fn answer(text: &str, change: impl FnOnce(&mut AccessRequest)) -> AccessAnswer {
    let mut request = request();
    change(&mut request);
    policies(text).answer(&request)
}

/// Returns the text of each ground of an answer.
fn sentences(answer: &AccessAnswer) -> Vec<String> {
    answer.grounds.iter().map(ToString::to_string).collect()
}

fn paths(texts: &[&[u8]]) -> std::collections::BTreeSet<RelPath> {
    texts.iter().map(|text| RelPath::new(text).unwrap()).collect()
}

fn access(condition: &str, change: impl FnOnce(&mut AccessRequest)) -> Access {
    answer(&format!("permit (principal, action, resource) when {{ {condition} }};"), change).access
}

const TIER_GROUND: &str =
    "forbidden by `actum.tier`: a change of tier R3 or R4 never runs without a person's agreement";

/// AEC-6: a request is allowed, needs approval or is denied, and the answer names the policies that decided.
#[test]
fn answer_has_three_outcomes_and_names_the_deciding_policies() {
    let is = |answer: AccessAnswer, access: Access, grounds: &[&str]| {
        assert_eq!(answer.access, access);
        assert_eq!(sentences(&answer), grounds);
    };
    is(answer(TIERS, |_| ()), Access::Allowed, &["permitted by `small-changes`"]);
    is(
        answer(TIERS, |request| request.tier = 3),
        Access::NeedsApproval { approvals: 1 },
        &[TIER_GROUND, "permitted by `with-an-agreement` after 1 approval"],
    );
    is(
        answer(TIERS, |request| (request.tier, request.approvals) = (3, 1)),
        Access::Allowed,
        &["permitted by `with-an-agreement`"],
    );
    is(
        answer(TIERS, |request| request.tier = 4),
        Access::NeedsApproval { approvals: 2 },
        &[TIER_GROUND, "permitted by `with-two` after 2 approvals: four eyes see more"],
    );
    is(
        answer(TIERS, |request| (request.tier, request.approvals) = (4, 1)),
        Access::NeedsApproval { approvals: 2 },
        &[
            "no access policy permits the request",
            "permitted by `with-two` after 2 approvals: four eyes see more",
        ],
    );
    is(
        answer(TIERS, |request| request.files = 16),
        Access::Denied,
        &["no access policy permits the request"],
    );
    is(
        answer(TIERS, |request| request.paths = paths(&[b"a", b".github/workflows/ci.yml"])),
        Access::Denied,
        &["forbidden by `no-ci`: CI is changed by hand"],
    );
    is(
        answer(TIERS, |request| {
            (request.tier, request.agent, request.deletes) = (3, Some("x".to_owned()), 6);
        }),
        Access::Denied,
        &[TIER_GROUND, "forbidden by policy 5"],
    );
}

/// AEC-6: a built-in policy wins over any permit of an operator.
#[test]
fn operator_policies_cannot_permit_tiers_3_and_4_without_approval() {
    let everything = "permit(principal, action, resource);";
    for action in AccessAction::ALL {
        for tier in 0..=4 {
            let access = |approvals| {
                answer(everything, |request| {
                    (request.action, request.tier, request.approvals) = (action, tier, approvals);
                })
                .access
            };
            let expected =
                if tier < 3 { Access::Allowed } else { Access::NeedsApproval { approvals: 1 } };
            assert_eq!(access(0), expected, "{action:?} {tier}");
            assert_eq!(access(1), Access::Allowed, "{action:?} {tier}");
        }
    }
}

/// AEC-6: the answer asks for at most four approvals.
#[test]
fn answer_reports_the_minimum_number_of_approvals() {
    for least in 1..=6u32 {
        for there in 0..=6u32 {
            let access = access(&format!("context.approvals >= {least}"), |request| {
                request.approvals = there;
            });
            let expected = if there >= least {
                Access::Allowed
            } else if least <= 4 {
                Access::NeedsApproval { approvals: least }
            } else {
                Access::Denied
            };
            assert_eq!(access, expected, "{least} {there}");
        }
    }
    assert_eq!(access("context.approvals < 1", |request| request.approvals = 1), Access::Denied);
}

/// AEC-6: the number of missing approvals is found however a policy phrases its condition.
#[test]
fn approvals_are_detected_however_a_policy_spells_them() {
    for condition in [
        "context.approvals >= 1",
        "context // where\n . // what\n approvals >= 1",
        "context[\"approvals\"] >= 1",
        r#"context["approv\u{61}ls"] >= 1"#,
        r#"context["\x61pprovals"] >= 1"#,
        "(context).approvals >= 1",
        "{whole: context}.whole.approvals >= 1",
        "(if context.undo then context else context).approvals >= 1",
        "!(context.approvals < 1)",
    ] {
        assert_eq!(
            access(condition, |_| ()),
            Access::NeedsApproval { approvals: 1 },
            "{condition}"
        );
        let forbid = format!(
            "permit (principal, action, resource); forbid (principal, action, resource) \
             unless {{ {condition} }};"
        );
        assert_eq!(answer(&forbid, |_| ()).access, Access::NeedsApproval { approvals: 1 });
    }
}

/// AEC-6: a policy applies only to the actions it lists.
#[test]
fn policies_apply_only_to_the_actions_in_their_head() {
    let text = r#"
        permit (principal, action, resource);
        @id("one")
        forbid (principal, action == Action::"run_command", resource);
        @id("two")
        forbid (principal, action in [Action::"run_command", Action::"run_action"], resource);
    "#;
    for (action, grounds) in [
        (AccessAction::ChangeFiles, vec!["permitted by policy 1"]),
        (AccessAction::RunCommand, vec!["forbidden by `one`", "forbidden by `two`"]),
        (AccessAction::RunAction, vec!["forbidden by `two`"]),
    ] {
        assert_eq!(sentences(&answer(text, |request| request.action = action)), grounds);
    }
}

/// AEC-6: a policy that fails to evaluate denies the request, whatever the other policies say.
#[test]
fn a_policy_that_cannot_be_evaluated_denies() {
    let overflow = "permit(principal, action, resource);\n@id(\"sum\") forbid(principal, action, \
                    resource) when { context.lines + 9223372036854775807 < 0 };";
    let denied = |text: &str, ground: &str| {
        let answer = answer(text, |_| ());
        assert_eq!(
            (answer.access, &*sentences(&answer)),
            (Access::Denied, &[ground.to_owned()][..])
        );
    };
    denied(overflow, "`sum` cannot be evaluated: a number overflows");
    // This policy fails to evaluate only for some number of approvals, but that already denies the request.
    let later = "permit(principal, action, resource) when { context.approvals > 1 };\npermit( \
                 principal, action, resource) when { context.approvals + 9223372036854775806 < 0 };";
    denied(later, "policy 2 cannot be evaluated: a number overflows");
    // The policy reads an attribute of a user other than the one in the request.
    let other = "permit(principal, action, resource);\nforbid(principal, action, resource) when { \
                 User::\"bob\".uid == 0 };";
    denied(
        other,
        "policy 2 cannot be evaluated: it refers to an attribute of a different user or workspace",
    );
}

/// AEC-6: policies see every attribute of a change unmodified.
#[test]
fn policies_can_test_every_part_of_a_request() {
    let with_agent = |request: &mut AccessRequest| request.agent = Some("coder \"1\"".to_owned());
    let undo = |request: &mut AccessRequest| request.kind = ChangeKind::Undo;
    let allowed = Access::Allowed;
    assert_eq!(access("principal == User::\"ada\" && principal.uid == 1000", |_| ()), allowed);
    assert_eq!(access("!(principal has agent)", |_| ()), allowed);
    let agent = r#"principal has agent && principal.agent == "coder \"1\"""#;
    assert_eq!(access(agent, with_agent), allowed);
    assert_eq!(access(agent, |_| ()), Access::Denied);
    let workspace = r#"resource == Workspace::"/home/ada/project" && resource.tenant == "home""#;
    assert_eq!(access(workspace, |_| ()), allowed);
    let numbers = "context.tier == 2 && context.approvals == 0 && context.files == 1 && \
                   context.lines == 10 && context.deletes == 0";
    assert_eq!(access(numbers, |_| ()), allowed);
    assert_eq!(access("context.door == \"cli\" && !context.undo", |_| ()), allowed);
    assert_eq!(access("context.undo", undo), allowed);
    let everywhere = r#"context.paths == ["src/parser/lexer.rs"] &&
                        context.directories == ["src", "src/parser"]"#;
    assert_eq!(access(everywhere, |_| ()), allowed);
    let top = r#"context.paths == ["a", "b"] && ["x"].containsAll(context.directories)"#;
    assert_eq!(access(top, |request| request.paths = paths(&[b"b", b"a"])), allowed);
    for action in AccessAction::ALL {
        let only = format!("action == Action::\"{}\"", action.as_str());
        assert_eq!(access(&only, |request| request.action = action), allowed);
    }
}

/// AEC-6: a path that is not UTF-8 gets a name that no other path has, and its parent directories remain known.
#[test]
fn non_utf8_path_gets_a_unique_hex_name() {
    let change = |request: &mut AccessRequest| request.paths = paths(&[b"src/\xff/a", b"src/b"]);
    let condition = r#"context.paths == ["/hex/7372632fff2f61", "src/b"] &&
                  context.directories == ["src", "/hex/7372632fff"]"#;
    assert_eq!(access(condition, change), Access::Allowed);
}

/// AEC-6: a request at each limit is answered, and one beyond it is denied.
#[test]
fn a_request_has_limits() {
    let everything = "permit(principal, action, resource) when { context.tier <= 4 };";
    let with = |change: &dyn Fn(&mut AccessRequest)| {
        let answer = answer(everything, change);
        (answer.access, sentences(&answer).join(", "))
    };
    let permitted = (Access::Allowed, "permitted by policy 1".to_owned());
    let denied = |ground: &str| (Access::Denied, ground.to_owned());
    assert_eq!(with(&|request| (request.tier, request.approvals) = (4, 1)), permitted);
    assert_eq!(
        with(&|request| (request.tier, request.approvals) = (5, 1)),
        denied("the access policies cannot be evaluated: there is no risk tier 5")
    );
    assert_eq!(with(&|request| request.lines = u64::MAX / 2), permitted);
    assert_eq!(
        with(&|request| request.lines = u64::MAX / 2 + 1),
        denied(
            "the access policies cannot be evaluated: 9223372036854775808 lines exceed the number range of \
             access policies"
        )
    );
    let many = |count: usize| {
        move |request: &mut AccessRequest| {
            request.paths = (0..count).map(|n| RelPath::new(n.to_string()).unwrap()).collect();
        }
    };
    assert_eq!(with(&many(REQUEST_PATHS_MAX)), permitted);
    assert_eq!(
        with(&many(REQUEST_PATHS_MAX + 1)),
        denied(
            "the access policies cannot be evaluated: the change has 100001 paths, but at most 100000 are supported"
        )
    );
    let text = "permit(principal, action, resource);";
    let counts = |count: usize| {
        let answer = answer(&text.repeat(count), |_| ());
        (answer.grounds.len(), answer.more)
    };
    assert_eq!(counts(GROUNDS_MAX), (GROUNDS_MAX, 0));
    assert_eq!(counts(GROUNDS_MAX + 1), (GROUNDS_MAX, 1));
}
