//! Requirements that a policy must meet to be loaded.

use actum_gate::command::{
    ALTERNATIVES_MAX, COMMAND_ARGUMENTS_MAX, COMMAND_RULES_MAX, CommandRule, CommandRules,
    CommandRulesError, EXAMPLES_MAX, RuleArgument, RuleDecision,
};

use crate::{allowing_all, policy};

fn refused(text: &str) -> String {
    CommandRules::new(policy(text).unwrap()).unwrap_err().to_string()
}

fn rule(lines: &str) -> String {
    format!("[[command]]\n{lines}")
}

/// AA-7: a rule that contradicts its own examples is not loaded.
#[test]
fn rule_that_contradicts_its_examples_is_rejected() {
    let allow = "argv = [\"cargo\", \"test\"]\ndecision = \"allow\"\n";
    assert_eq!(
        refused(&rule(&format!("{allow}match = [\"cargo test\", \"cargo testx\"]"))),
        "the command rule 1, `[\"cargo\", \"test\", …]`, cannot be used: it does not match its \
         own example `cargo testx` in `match`"
    );
    assert_eq!(
        refused(&rule(&format!(
            "{allow}match = [\"cargo test\"]\nnot_match = [\"cargo test --all\"]"
        ))),
        "the command rule 1, `[\"cargo\", \"test\", …]`, cannot be used: it matches its own \
         example `cargo test --all` in `not_match`"
    );
    assert_eq!(
        refused(&rule(&format!("{allow}match = [\"cargo test | tee x\"]"))),
        "the command rule 1, `[\"cargo\", \"test\", …]`, cannot be used: its example `cargo test | \
         tee x` is invalid: the command is run without a shell, but the `|` at character 12 would \
         need one; quote it to pass it literally"
    );
    let fine = rule(&format!("{allow}match = [\"cargo test\"]\nnot_match = [\"cargo test -Zx\"]"));
    let second = rule("argv = [\"rm\"]\ndecision = \"deny\"\nnot_match = [\"/bin/RM x\"]");
    assert_eq!(
        refused(&format!("{fine}\n{second}")),
        "the command rule 2, `[\"rm\", …]`, cannot be used: it matches its own example `/bin/RM \
         x` in `not_match`"
    );
    assert_eq!(
        refused(&rule(allow)),
        "the command rule 1, `[\"cargo\", \"test\", …]`, cannot be used: a rule that allows \
         commands needs at least one example in `match`"
    );
}

/// D-4
#[test]
fn unknown_fields_values_and_wrong_types_in_a_rule_are_rejected() {
    let of = |lines: &str| policy(&rule(lines)).unwrap_err();
    assert_eq!(
        of("argv = [\"a\"]\ndecision = \"deny\"\nregex = \"x\""),
        "unknown field `regex`, expected one of `argv`, `exact`, `decision`, `reason`, `match`, \
         `not_match`"
    );
    assert_eq!(
        of("argv = [\"a\"]\ndecision = \"maybe\""),
        "unknown variant `maybe`, expected one of `allow`, `ask`, `deny`"
    );
    assert_eq!(
        of("argv = [\"a\", 1]\ndecision = \"deny\""),
        "invalid type: integer `1`, expected an argument, or an array of alternative \
         arguments"
    );
    assert_eq!(
        of("argv = [\"a\", [\"b\", \"b\"]]\ndecision = \"deny\""),
        "the alternative \"b\" is listed more than once"
    );
    assert_eq!(of("argv = [\"a\"]"), "missing field `decision`");
}

/// AA-7: each limit is tested on both sides.
#[test]
fn rules_have_limits() {
    let deny = |argv: Vec<RuleArgument>| CommandRule {
        argv,
        decision: RuleDecision::Deny,
        matches: Vec::new(),
        ..allowing_all(&["x"])
    };
    let of = |rule: CommandRule| match CommandRules::new(vec![rule]) {
        Ok(_) => String::new(),
        Err(CommandRulesError::Rule { problem, .. }) => problem.to_string(),
        Err(error) => error.to_string(),
    };
    let many = |count: usize| RuleArgument::one_of((0..count).map(|n| n.to_string()).collect());
    assert_eq!(of(deny(vec!["a".into(), many(ALTERNATIVES_MAX)])), "");
    assert_eq!(
        of(deny(vec!["a".into(), many(ALTERNATIVES_MAX + 1)])),
        "argument 1 has 101 alternatives, but must have 1 to 100"
    );
    assert_eq!(
        of(deny(vec!["a".into(), many(0)])),
        "argument 1 has 0 alternatives, but must have 1 to 100"
    );
    assert_eq!(of(deny(vec!["a".into(); COMMAND_ARGUMENTS_MAX])), "");
    assert_eq!(
        of(deny(vec!["a".into(); COMMAND_ARGUMENTS_MAX + 1])),
        "the command has 1025 arguments, but the limit is 1024"
    );
    assert_eq!(of(deny(Vec::new())), "the command does not name a program");
    assert_eq!(of(deny(vec!["".into()])), "the command does not name a program");
    assert_eq!(
        of(deny(vec!["a".into(), "\0".into()])),
        "argument 1 of the command contains a NUL byte"
    );
    let shown =
        |count| CommandRule { matches: vec!["a".to_owned(); count], ..allowing_all(&["a"]) };
    assert_eq!(of(shown(EXAMPLES_MAX)), "");
    assert_eq!(
        of(shown(EXAMPLES_MAX + 1)),
        "it has 101 examples of one kind, but the limit is 100"
    );
    let full = vec![allowing_all(&["a"]); COMMAND_RULES_MAX];
    assert!(CommandRules::new(full.clone()).is_ok());
    let count = COMMAND_RULES_MAX + 1;
    let over = [full, vec![allowing_all(&["a"])]].concat();
    assert_eq!(CommandRules::new(over), Err(CommandRulesError::TooMany { count }));
}
