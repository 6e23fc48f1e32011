//! Decisions about commands by rules, and their grounds.

use actum_gate::command::{CommandRules, suggest};
use actum_gate::{CommandLine, Ground, Verdict};

use crate::{line, policy, rules};

fn judged(rules: &CommandRules, text: &str) -> (Verdict, String) {
    let line = line(text);
    let judgement = rules.judge(&line);
    (judgement.verdict, Ground::of_command(&line, &judgement).to_string())
}

const POLICY: &str = r#"
    [[command]]
    argv = ["cargo", ["test", "check"], ["-q", "--quiet"]]
    decision = "allow"
    match = ["cargo test -q", "cargo check --quiet --all"]
    not_match = ["cargo test --all -q"]

    [[command]]
    argv = ["make", "test"]
    exact = true
    decision = "allow"
    match = ["make test"]

    [[command]]
    argv = ["cargo", "test", "-q", "--release"]
    decision = "ask"
    reason = "it takes an hour"

    [[command]]
    argv = ["rm"]
    decision = "deny"
    reason = "files are deleted by a change"
"#;

/// AA-7
#[test]
fn strictest_matching_rule_decides() {
    let rules = rules(POLICY);
    for (text, verdict, decides, reason) in [
        (
            "cargo test -q --all",
            Verdict::Allow,
            r#"the rule `["cargo", ["check", "test"], ["--quiet", "-q"], …]` allows"#,
            "",
        ),
        (
            "cargo test -q --release x",
            Verdict::NeedsApproval,
            r#"the rule `["cargo", "test", "-q", "--release", …]` requires an approval for"#,
            ": it takes an hour",
        ),
        (
            "rm -r src",
            Verdict::Deny,
            r#"the rule `["rm", …]` denies"#,
            ": files are deleted by a change",
        ),
    ] {
        let ground = format!("{decides} the command `{}`{reason}", line(text));
        assert_eq!(judged(&rules, text), (verdict, ground), "{text}");
    }
}

/// AA-7: unmatched commands are denied, and the ground contains the closest rule and a rule that would allow the command.
#[test]
fn unmatched_command_is_denied_with_a_suggested_rule() {
    let rules = rules(POLICY);
    for (text, nearest) in [
        ("python3 x.py", "no rule names its program"),
        (
            "make test V=1",
            r#"the nearest rule, `["make", "test"]`, ends where the command has "V=1""#,
        ),
        ("make", r#"the nearest rule, `["make", "test"]`, has "test" where the command ends"#),
        (
            "cargo test --all",
            "the nearest rule, `[\"cargo\", [\"check\", \"test\"], [\"--quiet\", \"-q\"], …]`, has \
             [\"--quiet\", \"-q\"] where the command has \"--all\"",
        ),
        (
            "./make test",
            r#"the nearest rule, `["make", "test"]`, has "make" where the command has "./make""#,
        ),
        (
            "cargo check -q --config=x",
            "the nearest rule, `[\"cargo\", [\"check\", \"test\"], [\"--quiet\", \"-q\"], …]`, \
             excludes \"--config=x\", which can name a program",
        ),
    ] {
        let argv = line(text).to_string();
        let ground = format!(
            "no rule allows the command `{argv}`: {nearest}; to allow exactly this command, add a \
             `[[command]]` with `argv = {argv}`, `exact = true`, `decision = \"allow\"` and the command \
             as an example in `match`"
        );
        assert_eq!(judged(&rules, text), (Verdict::Deny, ground), "{text}");
    }
    let long = CommandLine::new(vec!["a".repeat(2000)]).unwrap();
    assert_eq!(
        Ground::of_command(&long, &rules.judge(&long)).to_string(),
        "no rule allows the command `[…]`: no rule names its program; the command is too long to \
         suggest a rule for it"
    );
}

/// AA-7: a program with the same name at another path is a different program, but denying rules match it as well.
#[test]
fn only_restricting_rules_match_a_program_by_name_alone() {
    let rules = rules(
        r#"
        [[command]]
        argv = ["tool", "run"]
        decision = "allow"
        match = ["tool run"]
        [[command]]
        argv = ["./tool", "run", "fast"]
        exact = true
        decision = "allow"
        match = ["./tool run fast"]
        [[command]]
        argv = ["tool", "run", "fast"]
        decision = "ask"
        [[command]]
        argv = ["/usr/bin/tool", "run", "away"]
        decision = "deny"
        "#,
    );
    let verdict = |text| judged(&rules, text).0;
    assert_eq!(verdict("tool run"), Verdict::Allow);
    assert_eq!(verdict("./tool run"), Verdict::Deny);
    assert_eq!(verdict("./tool run fast"), Verdict::NeedsApproval);
    assert_eq!(verdict("tool run away"), Verdict::Deny);
    // A rule that asks for approval grants nothing unless a rule matches this exact program.
    assert_eq!(verdict("/bin/tool run fast"), Verdict::Deny);
    assert_eq!(verdict("TOOL run away"), Verdict::Deny);
}

/// AA-7
#[test]
fn arguments_are_compared_literally() {
    let rules = rules(
        r#"
        [[command]]
        argv = ["tool", "a*", ".+"]
        decision = "allow"
        match = ["tool 'a*' .+"]
        "#,
    );
    let denied =
        ["tool ab .+", "tool 'a*' xx", "tool 'a* .+'", "tool 'A*' .+", "tool 'a*'", "tool"];
    for text in denied {
        assert_eq!(judged(&rules, text).0, Verdict::Deny, "{text}");
    }
    assert_eq!(judged(&rules, "tool 'a*' .+ x").0, Verdict::Allow);
}

/// AA-7: rules of a workspace can restrict commands but never allow them.
#[test]
fn workspace_rules_only_restrict() {
    let operator = rules(POLICY);
    let workspace = rules(
        r#"
        [[command]]
        argv = ["cargo", "check"]
        decision = "ask"
        [[command]]
        argv = ["make"]
        decision = "deny"
        reason = "use cargo"
        [[command]]
        argv = ["cargo", "publish"]
        decision = "allow"
        match = ["cargo publish"]
        "#,
    );
    let narrowed = operator.narrowed_by(&workspace);
    let verdict = |text| narrowed.judge(&line(text)).verdict;
    assert_eq!(verdict("cargo test -q"), Verdict::Allow);
    assert_eq!(verdict("cargo check -q"), Verdict::NeedsApproval);
    assert_eq!(verdict("cargo publish"), Verdict::Deny);
    assert_eq!(
        Ground::of_command(&line("make test"), &narrowed.judge(&line("make test"))).to_string(),
        "the rule `[\"make\", …]` denies the command `[\"make\", \"test\"]`: use cargo"
    );
    let nothing = CommandRules::new(Vec::new()).unwrap();
    assert_eq!(operator.narrowed_by(&nothing).judge(&line("make test")).verdict, Verdict::Allow);
    let twice = nothing.narrowed_by(&operator).narrowed_by(&workspace);
    assert_eq!(twice.judge(&line("make test")).verdict, Verdict::Deny);
}

/// AA-7: suggested rules allow exactly the recorded commands, even for programs that execute their arguments.
#[test]
fn suggested_rules_allow_only_recorded_commands() {
    let seen = ["make test", "bash -c 'a; b'", "make test", "cargo test --all"].map(line);
    let suggested = suggest(&seen);
    let text =
        toml::to_string(&std::collections::BTreeMap::from([("command", &suggested)])).unwrap();
    assert_eq!(
        text,
        r#"[[command]]
argv = ["bash", "-c", "a; b"]
exact = true
decision = "allow"
match = ["bash -c 'a; b'"]

[[command]]
argv = ["cargo", "test", "--all"]
exact = true
decision = "allow"
match = ["cargo test --all"]

[[command]]
argv = ["make", "test"]
exact = true
decision = "allow"
match = ["make test"]
"#
    );
    assert_eq!(policy(&text).unwrap(), suggested);
    let rules = CommandRules::new(suggested).unwrap();
    for seen in &seen {
        assert_eq!(rules.judge(seen).verdict, Verdict::Allow);
    }
    for other in ["make", "make test x", "cargo test", "bash -c 'a; b' c"] {
        assert_eq!(judged(&rules, other).0, Verdict::Deny, "{other}");
    }
}
