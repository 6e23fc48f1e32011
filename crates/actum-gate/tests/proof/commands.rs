//! Command rules in policies: the file format, and the decisions of the gate.

use actum_core::{Budget, Digest, Scope};
use actum_gate::command::CommandLineError;
use actum_gate::policy::{Ignored, Trust};
use actum_gate::{
    Bundle, Case, CommandLine, Decision, GateName, NoAccess, Policy, PolicyFile, Verdict, decide,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::material::case;

const CARGO: &str =
    "[[command]]\nargv = ['cargo', 'test']\ndecision = 'allow'\nmatch = ['cargo test']\n";

fn file(text: &str) -> PolicyFile {
    PolicyFile::read(format!("version = 1\n{text}").as_bytes()).unwrap()
}

fn policy_error(text: &str) -> String {
    PolicyFile::read(format!("version = 1\n{text}").as_bytes()).unwrap_err().to_string()
}

fn operator(text: &str) -> Policy {
    Policy::new(Some(file(text)), None).0
}

fn line(text: &str) -> CommandLine {
    CommandLine::parse(text).unwrap()
}

fn running(policy: &Policy, lines: &[CommandLine]) -> Decision {
    let judged = case(Scope::everything(), Budget::unlimited(), Vec::new());
    let judged = Case { commands: lines.to_vec(), ..judged };
    decide(&Bundle::new(Digest::of(&policy.to_vec().unwrap()), judged), policy, &NoAccess)
}

/// Returns the verdict and the ground of the gate for these commands.
fn commands_gate(policy: &Policy, texts: &[&str]) -> (String, String) {
    let lines: Vec<_> = texts.iter().map(|text| line(text)).collect();
    let decision = running(policy, &lines);
    let gate = decision.gates.iter().find(|gate| gate.gate == GateName::Commands).unwrap();
    (gate.verdict.as_str().to_owned(), gate.ground.to_string())
}

fn verdict(policy: &Policy, text: &str) -> Verdict {
    running(policy, &[line(text)]).verdict
}

/// AEC-10: a command that no rule allows is denied, even if the policy has no rules.
#[test]
fn command_without_an_allowing_rule_is_denied() {
    let ask = "[[command]]\nargv = ['make']\ndecision = 'ask'\n";
    let workspace = Policy::new(None, Some((file(CARGO), Trust::Untrusted))).0;
    for policy in [Policy::default(), operator(""), operator(ask), workspace] {
        for text in ["cargo test", "true", "/bin/cargo test"] {
            let (verdict, ground) = commands_gate(&policy, &[text]);
            assert_eq!(verdict, "deny", "{text}");
            assert!(ground.starts_with("no rule allows the command `["), "{ground}");
        }
        let nothing = ("allow".to_owned(), "no command would be run".to_owned());
        assert_eq!(commands_gate(&policy, &[]), nothing);
    }
}

/// AA-5, AEC-10: the strictest decision about a command applies, and is reported with the rule and its policy.
#[test]
fn strictest_command_is_reported_with_its_rule_and_policy() {
    let own = "[[command]]\nargv = ['cargo', 'test', '--release']\ndecision = 'ask'\nreason = 'it is slow'\n\
               [[command]]\nargv = ['rm']\ndecision = 'deny'\n";
    let (policy, _) = Policy::new(Some(file(CARGO)), Some((file(own), Trust::Untrusted)));
    let allowed = r#"the rule `["cargo", "test", …]` allows the command"#;
    let asked =
        r#"the rule `["cargo", "test", "--release", …]` requires an approval for the command"#;
    let (by_operator, by_workspace) = ("(the operator's policy)", "(this workspace's policy)");
    for (texts, verdict, ground) in [
        (
            &["cargo test"][..],
            "allow",
            format!("{allowed} `[\"cargo\", \"test\"]` {by_operator}"),
        ),
        (
            &["cargo test -q", "cargo test"],
            "allow",
            format!(
                "{allowed} `[\"cargo\", \"test\", \"-q\"]` {by_operator}; the same applies to 1 more"
            ),
        ),
        (
            &["cargo test", "cargo test --release"],
            "needs_approval",
            format!("{asked} `[\"cargo\", \"test\", \"--release\"]`: it is slow {by_workspace}"),
        ),
        (
            &["rm x", "cargo test --release", "/bin/RM y", "cargo test"],
            "deny",
            "the rule `[\"rm\", …]` denies the command `[\"rm\", \"x\"]` (this workspace's policy); \
             the same applies to 1 more"
                .to_owned(),
        ),
    ] {
        assert_eq!(commands_gate(&policy, texts), (verdict.to_owned(), ground), "{texts:?}");
    }
    let asks = running(&policy, &[line("cargo test --release")]);
    assert_eq!(asks.verdict, Verdict::NeedsApproval);
    assert_eq!(asks.first_refusal().unwrap().gate, GateName::Commands);
}

/// AEC-10: grounds appear in receipts, so they are kept short and escaped.
#[test]
fn command_ground_is_short_and_escaped() {
    let long = "x".repeat(100_000);
    let rule = format!(
        "[[command]]\nargv = ['tool', '{long}', ['{long}', 'y']]\ndecision = 'deny'\nreason = '{}'\n",
        "r".repeat(1000)
    );
    let policy = operator(&rule);
    for argv in
        [vec!["tool", &long, "y"], vec!["tool", &long], vec![&long], vec!["a\u{1b}[31m\u{202e}"]]
    {
        let line = CommandLine::new(argv.into_iter().map(str::to_owned).collect()).unwrap();
        let decision = running(&policy, &[line]);
        let gate = decision.first_refusal().unwrap();
        let recorded = gate.record().unwrap().ground.0.to_string();
        let ground = gate.ground.to_string();
        assert!(recorded.len().max(ground.len()) < 6000, "{recorded}");
        let obeyed = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!ground.contains(obeyed), "{ground:?}");
    }
}

/// D-5: allowing rules of a workspace apply only if the workspace is trusted; restricting rules always apply.
#[test]
fn a_workspace_allows_commands_only_when_it_is_trusted() {
    let own = "[[command]]\nargv = ['make', 'test']\nexact = true\ndecision = 'allow'\nmatch = ['make test']\n\
               [[command]]\nargv = ['cargo', 'test']\ndecision = 'ask'\n\
               [[command]]\nargv = ['npm', 'ci']\nexact = true\ndecision = 'ask'\n";
    let of = |trust| Policy::new(Some(file(CARGO)), Some((file(own), trust)));
    let (untrusted, ignored) = of(Trust::Untrusted);
    assert_eq!(ignored, [Ignored::Commands(1)]);
    let (trusted, ignored) = of(Trust::Trusted);
    assert_eq!(ignored, []);
    for (text, before, after) in [
        ("make test", Verdict::Deny, Verdict::Allow),
        ("cargo test", Verdict::NeedsApproval, Verdict::NeedsApproval),
        // A rule that asks for approval allows nothing by itself.
        ("npm ci", Verdict::Deny, Verdict::NeedsApproval),
    ] {
        assert_eq!((verdict(&untrusted, text), verdict(&trusted, text)), (before, after), "{text}");
    }
    let alone = file("[[command]]\nargv = ['rm']\ndecision = 'deny'\n");
    let (_, ignored) = Policy::new(None, Some((alone, Trust::Untrusted)));
    assert_eq!(ignored, [], "all of it counts");
}

/// AEC-10, D-4: the error for a rule that would allow arbitrary code contains its line and a suggested replacement.
#[test]
fn shells_and_interpreters_cannot_be_allowed_by_prefix() {
    for program in ["bash", "/bin/sh", "python3", "node", "env", "sudo", "xargs", "perl", "find"] {
        let rule = format!(
            "\n[[command]]\ndecision = 'allow'\nargv = ['{program}']\nmatch = ['{program} x']\n"
        );
        let message = policy_error(&rule);
        let expected = format!(
            "line 5: `command.argv` cannot be used: `{program}` can run code from its \
             arguments, and the rule allows any further arguments; "
        );
        assert!(message.starts_with(&expected), "{message}");
    }
    assert_eq!(
        policy_error("[[command]]\nargv = [['ls', 'bash']]\ndecision = 'allow'\nmatch = ['ls']\n")
            .split_once(';')
            .unwrap()
            .0,
        "line 3: `command.argv` cannot be used: `bash` can run code from its arguments, and the \
         rule allows any further arguments"
    );
    let exact = "[[command]]\nargv = ['bash', '-c', 'a; b']\nexact = true\ndecision = 'allow'\n\
                 match = ['''bash -c 'a; b' ''']\n";
    assert_eq!(verdict(&operator(exact), "bash -c 'a; b'"), Verdict::Allow);
    assert_eq!(verdict(&operator(exact), "bash -c 'a; c'"), Verdict::Deny);
}

/// AEC-10, D-4: the error for a rule that contradicts its examples contains the line of the example.
#[test]
fn wrong_example_rejects_the_policy_file_with_its_line() {
    let rule = |examples: &str| {
        policy_error(&format!(
            "[[command]]\nargv = ['cargo', 'test']\ndecision = 'allow'\n{examples}\n"
        ))
    };
    for (examples, expected) in [
        (
            "match = [\n'cargo test',\n'cargo  testx']",
            "line 7: item 2 of `command.match` cannot be used: it does not match its own example \
             `cargo \\040testx` in `match`",
        ),
        (
            "match = ['cargo test']\nnot_match = ['cargo test x']",
            "line 6: item 1 of `command.not_match` cannot be used: it matches its own example `cargo \
             test x` in `not_match`",
        ),
        (
            "match = ['cargo test']\nnot_match = ['cargo | x']",
            "line 6: item 1 of `command.not_match` cannot be used: its example `cargo | x` is invalid: \
             the command is run without a shell, but the `|` at character 7 would need one",
        ),
        (
            "reason = 'r'",
            "line 4: `command.decision` cannot be used: a rule that allows commands needs at least \
             one example in `match`",
        ),
        ("match = []", "line 4: `command.decision` cannot be used: a rule that allows commands"),
    ] {
        let message = rule(examples);
        assert!(message.starts_with(expected), "{message}");
    }
    let many = format!("match = [{}]", "'cargo test',".repeat(101));
    let expected = "line 5: `command.match` cannot be used: it has 101 examples of one kind";
    assert!(rule(&many).starts_with(expected), "{}", rule(&many));
    let harmless = rule("match = [\"a\\u001b[31m\\u202e\"]");
    assert!(!harmless.contains(['\u{1b}', '\u{202e}']), "{harmless:?}");
}

/// D-4
#[test]
fn invalid_command_rule_is_reported_with_key_and_line() {
    for (text, expected) in [
        (
            "[command]\nargv = ['a']\n",
            "line 2: `command` must be a list of tables (`[[command]]`), but is a table",
        ),
        (
            "[[command]]\nargs = ['a']\n",
            "line 3: unknown key `command.args` (did you mean `argv`?); valid keys are `argv`, `exact`, `decision`, `reason`, \
             `match` and `not_match`",
        ),
        ("[[command]]\nargv = ['a']\n", "line 2: `command` has no `decision`"),
        ("[[command]]\ndecision = 'deny'\n", "line 2: `command` has no `argv`"),
        (
            "[[command]]\nargv = 'a'\n",
            "line 3: `command.argv` must be a list of arguments (`[…]`), but is a string",
        ),
        (
            "[[command]]\nargv = ['a', 1]\n",
            "line 3: item 2 of `command.argv` must be an argument (a string) or a list of arguments, \
             but is a whole number",
        ),
        (
            "[[command]]\nargv = ['a', ['b', 'b']]\n",
            "line 3: item 2 of `command.argv` cannot be used: it lists the same alternative more than once",
        ),
        (
            "[[command]]\nargv = ['a']\ndecision = 'maybe'\n",
            "line 4: `command.decision` must be `allow`, `ask` or `deny`, but is `maybe`",
        ),
        (
            "[[command]]\nargv = ['a']\nexact = 'yes'\n",
            "line 4: `command.exact` must be `true` or `false`, but is a string",
        ),
        (
            "[[command]]\nargv = ['a']\ndecision = 'deny'\nreason = ''\n",
            "line 5: `command.reason` must be a string of 1 to 1000 bytes, but is 0 bytes long",
        ),
        (
            "[[command]]\nargv = []\ndecision = 'deny'\n",
            "line 3: `command.argv` cannot be used: the command does not name a program",
        ),
        (
            "[[command]]\nargv = ['a', []]\ndecision = 'deny'\n",
            "line 3: `command.argv` cannot be used: argument 1 has 0 alternatives",
        ),
    ] {
        let message = policy_error(text);
        assert!(message.starts_with(expected), "{text}\n{message}");
    }
    let reason = |length: usize| {
        let reason = "r".repeat(length);
        let text =
            format!("version = 1\n[[command]]\nargv=['a']\ndecision='deny'\nreason='{reason}'\n");
        PolicyFile::read(text.as_bytes()).is_ok()
    };
    assert_eq!([1, 1000, 1001].map(reason), [true, true, false]);
    let rules = |count: usize| "[[command]]\nargv=['a']\ndecision='deny'\n".repeat(count);
    assert_eq!(file(&rules(10_000)), file(&rules(10_000)));
    assert_eq!(
        policy_error(&rules(10_001)),
        "the policy has 10001 rules under `[[command]]`, but at most 10000 are allowed"
    );
}

/// AEC-10: text that a shell would interpret is rejected, and quoted text remains one argument.
#[test]
fn text_that_needs_a_shell_is_rejected_as_a_command() {
    let policy = operator(CARGO);
    for text in [
        "cargo test; rm x",
        "cargo test && rm x",
        "cargo test $(rm x)",
        "cargo test > x",
        "A=b cargo test",
        "cargo test *",
        "cargo test `x`",
        "cargo test\nrm x",
    ] {
        let error = CommandLine::parse(text).unwrap_err();
        let needs_shell = matches!(
            error,
            CommandLineError::Metacharacter { .. } | CommandLineError::Assignment { .. }
        );
        assert!(needs_shell, "{text}: {error}");
    }
    let quoted = line("cargo test '; rm x'");
    assert_eq!(quoted.argv(), ["cargo", "test", "; rm x"]);
    assert_eq!(running(&policy, &[quoted]).verdict, Verdict::Allow);
    assert_eq!(verdict(&policy, "'cargo test'"), Verdict::Deny);
}

/// AEC-10: a change may have the maximum number of commands, but not one more.
#[test]
fn change_may_run_at_most_1000_commands() {
    let policy = operator(CARGO);
    let of = |count: usize| running(&policy, &vec![line("cargo test"); count]);
    assert_eq!(of(1000).verdict, Verdict::Allow);
    let over = of(1001);
    assert_eq!(over.verdict, Verdict::Deny);
    let ground = over.first_refusal().unwrap().ground.to_string();
    assert_eq!(ground, "1001 commands would be run, but at most 1000 are allowed");
}

/// AEC-11: a stored policy contains the excluded options of each rule, so replays do not depend on the current list of programs.
#[test]
fn stored_command_rules_are_sorted_and_round_trip() {
    let second = "[[command]]\nargv = ['ls', ['-l', '-a']]\nexact = true\ndecision = 'ask'\n";
    let (policy, _) = Policy::new(
        Some(file(&format!("{second}{CARGO}"))),
        Some((file(second), Trust::Untrusted)),
    );
    let bytes = policy.to_vec().unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert_eq!(Policy::read(&bytes), Ok(policy));
    let cargo = r#"{"argv":["cargo","test"],"barred":["--config","--manifest-path","-Z","-C"],"decision":"allow","match":["cargo test"]}"#;
    let ls = r#"{"argv":["ls",["-a","-l"]],"decision":"ask","exact":true}"#;
    assert!(
        text.contains(&format!(r#""commands":{{"narrowing":[],"rules":[{cargo},{ls}]}}"#)),
        "{text}"
    );
    for (from, to) in [
        (format!("{cargo},{ls}"), format!("{ls},{cargo}")),
        (format!("{cargo},{ls}"), format!("{cargo},{cargo},{ls}")),
        (r#"["-a","-l"]"#.to_owned(), r#"["-l","-a"]"#.to_owned()),
        (r#"["cargo","test"]"#.to_owned(), "[]".to_owned()),
        (r#""exact":true"#.to_owned(), r#""exact":true,"more":1"#.to_owned()),
        (r#""narrowing":[],"#.to_owned(), String::new()),
    ] {
        let other = text.replacen(&from, &to, 1);
        assert_ne!(other, text);
        assert!(Policy::read(other.as_bytes()).is_err(), "{other}");
    }
}

/// D-4: a rule is idle if other rules of the file restrict every one of its examples.
#[test]
fn rule_with_only_restricted_examples_is_reported_as_idle() {
    let idle = |text: &str| {
        let policy = operator(text);
        let rules = &policy.layers()[0].commands.rules;
        rules.idle().map(|(rule, _, by)| (rule.to_string(), by.verdict)).collect::<Vec<_>>()
    };
    let deny = "[[command]]\nargv = ['/usr/bin/cargo']\ndecision = 'deny'\n";
    assert_eq!(
        idle(&format!("{CARGO}{deny}")),
        [(r#"["cargo", "test", …]"#.to_owned(), Verdict::Deny)]
    );
    let narrower = "[[command]]\nargv = ['cargo', 'test', '-q']\ndecision = 'ask'\n";
    assert_eq!(idle(&format!("{CARGO}{narrower}")), []);
}

fn any_rule() -> impl Strategy<Value = String> {
    let word = || select(vec!["tool", "./tool", "cargo", "run", "-q", "--config", "x"]);
    (word(), prop::collection::vec(word(), 0..3), any::<bool>(), select(vec!["allow", "ask", "deny"]))
        .prop_map(|(program, arguments, exact, decision)| {
            let argv = [&[program][..], &arguments].concat();
            let example = argv.join(" ");
            format!(
                "[[command]]\nargv = {argv:?}\nexact = {exact}\ndecision = {decision:?}\nmatch = [{example:?}]\n"
            )
        })
        .prop_filter("it must be one", |rule| {
            PolicyFile::read(format!("version = 1\n{rule}").as_bytes()).is_ok()
        })
}

fn any_rules() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec(any_rule(), 0..5)
}

fn any_lines() -> impl Strategy<Value = Vec<CommandLine>> {
    let word = || select(vec!["tool", "./TOOL", "cargo", "run", "-q", "--config=y", "x"]);
    let line = prop::collection::vec(word(), 1..4).prop_map(|words| {
        CommandLine::new(words.into_iter().map(str::to_owned).collect()).unwrap()
    });
    prop::collection::vec(line, 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// D-5, AEC-10: neither an additional rule in an untrusted workspace nor an additional command ever allows more.
    #[test]
    fn additional_rule_in_a_restricting_layer_never_allows_more(
        own in any_rules(),
        narrowing in any_rules(),
        more in any_rule(),
        lines in any_lines(),
    ) {
        let with = |rules: &[String]| {
            let workspace = (file(&rules.concat()), Trust::Untrusted);
            Policy::new(Some(file(&own.concat())), Some(workspace)).0
        };
        let alone = running(&operator(&own.concat()), &lines).verdict;
        let before = running(&with(&narrowing), &lines).verdict;
        let after = running(&with(&[&narrowing[..], &[more]].concat()), &lines).verdict;
        prop_assert!(alone <= before && before <= after);
        for line in &lines {
            let one = running(&with(&narrowing), std::slice::from_ref(line)).verdict;
            prop_assert!(one <= before);
        }
    }

    /// AEC-10, AEC-11: files that differ only in the order of their rules are the same policy.
    #[test]
    fn the_order_of_rules_in_a_file_never_matters(
        (rules, shuffled) in any_rules().prop_flat_map(|rules| {
            (Just(rules.clone()), Just(rules).prop_shuffle())
        }),
        trusted in any::<bool>(),
    ) {
        let trust = if trusted { Trust::Trusted } else { Trust::Untrusted };
        let of = |rules: &[String]| Policy::new(None, Some((file(&rules.concat()), trust)));
        prop_assert_eq!(of(&rules), of(&shuffled));
    }

    /// AEC-11: a policy with arbitrary rules is unchanged by a round trip.
    #[test]
    fn policy_with_command_rules_round_trips(own in any_rules(), other in any_rules()) {
        let workspace = (file(&other.concat()), Trust::Untrusted);
        let (policy, _) = Policy::new(Some(file(&own.concat())), Some(workspace));
        prop_assert_eq!(Policy::read(&policy.to_vec().unwrap()), Ok(policy));
    }
}
