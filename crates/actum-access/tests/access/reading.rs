//! Policies that are accepted, and the errors for those that are rejected.

use actum_access::{
    ANNOTATION_BYTES_MAX, Access, AccessPolicies, POLICIES_MAX, POLICY_BYTES_MAX,
    POLICY_NESTING_MAX,
};
use actum_gate::ground::AccessGround;

use crate::{policies, request};

fn refused(text: &str) -> String {
    AccessPolicies::read(text).unwrap_err().to_string()
}

/// Creates a policy with the given condition.
fn when(condition: &str) -> String {
    format!("forbid (principal, action, resource) when {{ {condition} }};")
}

/// AEC-6: an unknown name is an error when the policy is parsed, instead of a condition that never matches.
#[test]
fn names_missing_from_the_schema_are_rejected_with_the_known_names() {
    assert_eq!(
        refused(&format!(
            "// First.\n{}\n@id(\"no-rush\")\n{}",
            when("context.undo"),
            when("\ncontext.rsik > 1")
        )),
        "the access policies are not valid: `no-rush`, line 5: attribute `rsik` in context for \
         Action::\"change_files\" not found; `context` has `approvals`, `deletes`, `directories`, \
         `door`, `files`, `lines`, `paths`, `tier`, `undo`"
    );
    assert_eq!(
        refused(&when("principal.name == \"ada\"")),
        "the access policies are not valid: policy 1, line 1: attribute `name` on entity type `User` \
         not found; a user has `agent`, `uid`"
    );
    assert_eq!(
        refused(&when("resource.owner == \"ada\"")),
        "the access policies are not valid: policy 1, line 1: attribute `owner` on entity type \
         `Workspace` not found; a workspace has `tenant`"
    );
    assert_eq!(
        refused("permit (principal, action == Action::\"delete_files\", resource);"),
        "the access policies are not valid: policy 1, line 1: unrecognized action \
         `Action::\"delete_files\"`; known actions are `Action::\"change_files\"`, \
         `Action::\"run_command\"`, `Action::\"run_action\"`"
    );
    assert_eq!(
        refused("permit (principal in Group::\"admins\", action, resource);"),
        "the access policies are not valid: policy 1, line 1: unrecognized entity type `Group`; \
         known entity types are `User`, `Workspace`, `Action`"
    );
    assert_eq!(
        refused(&when("context.tier == \"R3\"")),
        "the access policies are not valid: policy 1, line 1: the types Long and String are not \
         compatible; both operands to a `==` expression must have compatible \
         types. Types must be exactly equal to be compatible"
    );
    assert_eq!(
        refused(&when("principal.agent == \"x\"")),
        "the access policies are not valid: policy 1, line 1: unable to guarantee safety of access \
         to optional attribute `agent` on entity type `User`; try testing for the attribute's \
         presence with `e has agent && ..`"
    );
    assert_eq!(policies(&when("principal has agent && principal.agent == \"x\"")).count(), 1);
}

/// AEC-6: a policy that can never apply is rejected, because it would protect nothing.
#[test]
fn policies_that_can_never_apply_are_rejected() {
    assert_eq!(
        refused(&when("context.undo && !context.undo && false")),
        "the access policies are not valid: policy 1, line 1: policy is impossible: the policy \
         expression evaluates to false for all valid requests"
    );
    assert_eq!(
        refused("@id(\"per-user\") forbid (principal == ?principal, action, resource);"),
        "the access policy `per-user` is a template with `?principal` or `?resource`, which is not \
         supported; name the principal and the resource instead"
    );
    assert!(refused(&when("context.door == \"\u{202e}cli\"")).contains("BIDI"));
    assert_eq!(policies(&when("context.paths.contains(\"docs/обзор-overview\")")).count(), 1);
}

/// AEC-6
#[test]
fn invalid_policies_are_rejected_with_their_line() {
    assert_eq!(
        refused("permit (principal, action, resource);\n\nallow (principal, action, resource);"),
        "the access policies cannot be read: line 3: invalid policy effect: allow; effect must be \
         either `permit` or `forbid`"
    );
    assert!(refused("permit (principal").starts_with("the access policies cannot be read: "));
    assert!(refused(&when("now() == 1")).contains("line 1: `now` is not a valid function"));
}

/// AEC-6: grounds refer to policies by id, so ids must be unique.
#[test]
fn duplicate_reserved_or_blank_policy_ids_are_rejected() {
    let named = |id: &str| format!("@id(\"{id}\") permit (principal, action, resource);");
    assert_eq!(
        refused(&[named("a"), named("b"), named("a")].join("\n")),
        "the access policies 1 and 3 have the same `@id`, `a`"
    );
    assert_eq!(
        refused(&named("actum.tier")),
        "the access policy 1 has the `@id` `actum.tier`, which is reserved for built-in policies"
    );
    assert_eq!(refused(&named(" ")), "the access policy 1 has the `@id` ` `, which is blank");
    assert_eq!(
        refused(&named("a\\nb")),
        "the access policy 1 has the `@id` `a\\nb`, which contains a control character"
    );
}

/// AEC-6: policies at each limit are accepted, and those beyond it are rejected.
#[test]
fn policies_have_limits() {
    let padded = |bytes: usize| format!("// {}", "x".repeat(bytes - 3));
    assert_eq!(policies(&padded(POLICY_BYTES_MAX)).count(), 0);
    assert_eq!(
        refused(&padded(POLICY_BYTES_MAX + 1)),
        "the access policies have 1048577 bytes, but the limit is 1048576"
    );
    let many = |count: usize| "permit(principal,action,resource);".repeat(count);
    assert_eq!(policies(&many(POLICIES_MAX)).count(), POLICIES_MAX);
    assert_eq!(
        refused(&many(POLICIES_MAX + 1)),
        "there are 10001 access policies, but the limit is 10000"
    );
    let reason = |bytes: usize| {
        format!("@reason(\"{}\") permit (principal, action, resource);", "x".repeat(bytes))
    };
    assert_eq!(policies(&reason(ANNOTATION_BYTES_MAX)).count(), 1);
    assert_eq!(
        refused(&reason(ANNOTATION_BYTES_MAX + 1)),
        "the `@reason` of the access policy 1 has 1001 bytes, but the limit is 1000"
    );
}

/// AEC-6: a deeply nested policy neither overflows the stack nor escapes validation. Test threads have a stack of 2 MiB.
#[test]
fn deepest_policy_is_validated_and_a_deeper_one_is_rejected() {
    // The parentheses around the condition add one level of nesting.
    let depth = POLICY_NESTING_MAX - 1;
    for (open, bottom, close, rest) in [
        ("(", "context.wrong", ")", " == 1"),
        ("!(", "context.wrong", ")", ""),
        ("{a: ", "context.wrong", "}", " == {}"),
        ("[", "context.wrong", "]", " == [[1]]"),
        ("if (", "context.wrong", ") then true else false", ""),
    ] {
        let nested =
            |depth| when(&format!("{}{bottom}{}{rest}", open.repeat(depth), close.repeat(depth)));
        let message = refused(&nested(depth));
        assert!(message.contains("`wrong`"), "{open}: {message}");
        assert!(
            refused(&nested(depth + 1)).contains("nests brackets more than 20 levels deep"),
            "{open}"
        );
        assert!(
            refused(&nested(10_000)).contains("nests brackets more than 20 levels deep"),
            "{open}"
        );
    }
    // These chains reach the limit together with the operators at both ends.
    for (link, links, first, last) in [
        (".a", 249, "context.wrong", ""),
        (" || context.undo", 124, "context.wrong", ""),
        (" && context.undo", 124, "context.wrong", ""),
        (" + context.tier", 124, "context.wrong", " > 1"),
        ("if context.undo then true else ", 124, "", "context.wrong"),
    ] {
        let chained = |links: usize| when(&format!("{first}{}{last}", link.repeat(links)));
        assert!(refused(&chained(links)).contains("`wrong`"), "{link}");
        assert!(refused(&chained(links + 1)).contains("more than 250 operators"), "{link}");
        assert!(refused(&chained(20_000)).contains("more than 250 operators"), "{link}");
    }
}

/// AEC-6: policies are rejected if the remaining stack is too small to validate them.
#[test]
fn policies_are_not_read_if_the_stack_is_too_small_to_validate_them() {
    let read = || AccessPolicies::read("").map(drop).map_err(|error| error.to_string());
    let small = std::thread::Builder::new().stack_size(400 * 1024).spawn(read).unwrap();
    assert_eq!(
        small.join().unwrap(),
        Err(
            "the built-in access policies cannot be loaded: the thread's stack is too small or of \
             unknown size, so policies would not be validated"
                .to_owned()
        )
    );
}

/// AEC-6
#[test]
fn without_policies_nothing_is_permitted() {
    for text in ["", "// Nothing.\n"] {
        let answer = policies(text).answer(&request());
        assert_eq!(answer.access, Access::Denied);
        assert_eq!(answer.grounds, [AccessGround::NotPermitted]);
    }
}
