//! Property tests over random policies and requests.

use actum_access::{Access, AccessAction, AccessPolicies};
use proptest::prelude::*;
use proptest::sample::select;

use crate::request;

/// Policies whose conditions match some of the requests below.
const POLICIES: [&str; 10] = [
    r#"permit (principal, action, resource);"#,
    r#"permit (principal, action, resource) when { context.approvals >= 2 };"#,
    r#"permit (principal == User::"ada", action, resource) when { context.tier < 3 };"#,
    r#"permit (principal, action == Action::"run_command", resource);"#,
    r#"forbid (principal, action, resource) when { context.files > 10 };"#,
    r#"forbid (principal, action, resource) when { context.lines > 10 && context.approvals < 3 };"#,
    r#"forbid (principal, action, resource) when { context.directories.contains("src") };"#,
    r#"forbid (principal, action, resource) unless { context.approvals < 4 };"#,
    r#"forbid (principal, action, resource) when { context.lines * 1000000000 < 0 };"#,
    r#"permit (principal, action, resource) when { User::"bob".uid == 1 };"#,
];

/// Names a policy after its text, so that the name does not depend on its position.
fn named(policy: usize) -> String {
    format!("@id(\"p{policy}\") {}\n", POLICIES[policy])
}

fn read(chosen: &[usize]) -> AccessPolicies {
    AccessPolicies::read(&chosen.iter().map(|&policy| named(policy)).collect::<String>()).unwrap()
}

/// Computes the expected answer from the results of the individual policies.
fn model(
    chosen: &[usize],
    tier: u8,
    approvals: u32,
    files: u64,
    lines: u64,
    command: bool,
) -> Access {
    let holds = |policy: usize, approvals: u32| match policy {
        0 => Some(true),
        1 => Some(approvals >= 2),
        2 => Some(tier < 3),
        3 => Some(command),
        4 => Some(files > 10),
        5 => Some(lines > 10 && approvals < 3),
        6 => Some(true),
        7 => Some(approvals >= 4),
        8 => (lines < 9_223_372_037).then_some(false),
        _ => None,
    };
    for asked in (approvals..=4.max(approvals)).filter(|&asked| asked == approvals || asked <= 4) {
        let evaluated: Vec<_> =
            chosen.iter().map(|&policy| (policy, holds(policy, asked))).collect();
        if evaluated.iter().any(|(_, holds)| holds.is_none()) {
            return Access::Denied;
        }
        let any = |forbids: bool| {
            evaluated
                .iter()
                .any(|&(policy, holds)| (4..=8).contains(&policy) == forbids && holds == Some(true))
        };
        if any(false) && !any(true) && !(tier >= 3 && asked < 1) {
            return match asked == approvals {
                true => Access::Allowed,
                false => Access::NeedsApproval { approvals: asked },
            };
        }
    }
    Access::Denied
}

fn any_chosen() -> impl Strategy<Value = Vec<usize>> {
    prop::sample::subsequence((0..POLICIES.len()).collect::<Vec<_>>(), 0..POLICIES.len())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// AEC-6: answer and grounds match the model, and depend neither on the order of the policies nor on when they were read.
    #[test]
    fn answer_matches_the_model_in_any_policy_order(
        (chosen, shuffled) in any_chosen().prop_flat_map(|chosen| {
            (Just(chosen.clone()), Just(chosen).prop_shuffle())
        }),
        tier in 0u8..=4,
        approvals in 0u32..=5,
        files in select(vec![1u64, 10, 11]),
        lines in select(vec![10u64, 11, 9_223_372_037]),
        command in any::<bool>(),
    ) {
        let action = if command { AccessAction::RunCommand } else { AccessAction::ChangeFiles };
        let request = actum_access::AccessRequest { tier, approvals, files, lines, action, ..request() };
        let answer = read(&chosen).answer(&request);
        prop_assert_eq!(&answer, &read(&shuffled).answer(&request));
        prop_assert!(!answer.grounds.is_empty() && answer.grounds.is_sorted());
        let access = model(&chosen, tier, approvals, files, lines, command);
        prop_assert_eq!(answer.access, access);
    }

    /// AEC-6: no policy text makes the parser panic.
    #[test]
    fn any_policy_text_is_read_or_rejected(pieces in prop::collection::vec(select(vec![
        "permit", "forbid", "(", ")", "{", "}", "[", "]", "principal", "action", "resource", ",", ";",
        "when", "context", ".", "paths", "\"", "\\", "//", "\n", "\r", "if", "then", "else", "true",
        "!", "-", "1", "==", "&&", "||", "has", "like", "@id", "é", "?principal", "::", "User",
    ]), 0..60)) {
        let text = pieces.join(" ");
        if let Err(error) = AccessPolicies::read(&text) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}
