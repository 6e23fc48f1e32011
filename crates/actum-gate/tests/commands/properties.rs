//! Properties that hold for all rules and all commands.

use std::cmp::max;

use actum_gate::Verdict;
use actum_gate::command::{
    CommandLine, CommandLineError, CommandRule, CommandRules, Extent, RuleArgument, RuleDecision,
    suggest,
};
use proptest::prelude::*;
use proptest::sample::select;

/// Generates one of a few words, so that rules often match commands.
fn any_program() -> impl Strategy<Value = &'static str> {
    select(&["tool", "./tool", "/bin/TOOL", "cargo", "bin/cargo", "bash", "env"])
}

fn any_argument() -> impl Strategy<Value = &'static str> {
    select(&["test", "-q", "--config", "--config=x", "-c", "./x.sh", "A=b", "cargo", ""])
}

fn any_line() -> impl Strategy<Value = CommandLine> {
    (any_program(), prop::collection::vec(any_argument(), 0..4)).prop_map(|(program, arguments)| {
        let argv = std::iter::once(program).chain(arguments).map(str::to_owned);
        CommandLine::new(argv.collect()).unwrap()
    })
}

/// Generates a rule that a policy may contain.
fn any_rule() -> impl Strategy<Value = CommandRule> {
    let places = prop::collection::vec(prop::collection::vec(any_argument(), 1..3), 0..3);
    let decision = select(&[RuleDecision::Allow, RuleDecision::Ask, RuleDecision::Deny]);
    let programs = prop::collection::vec(any_program(), 1..3);
    (programs, places, any::<bool>(), decision)
        .prop_map(|(programs, places, exact, decision)| {
            let place = |words: Vec<&str>| {
                RuleArgument::one_of(words.into_iter().map(str::to_owned).collect())
            };
            let argv = std::iter::once(programs).chain(places).map(place).collect::<Vec<_>>();
            let first = argv.iter().map(|place| place.alternatives()[0].clone()).collect();
            let extent = Extent::from(exact);
            let matches = vec![CommandLine::new(first).unwrap().quoted()];
            CommandRule { argv, extent, decision, reason: None, matches, not_match: Vec::new() }
        })
        .prop_filter("it must be loaded", |rule| CommandRules::new(vec![rule.clone()]).is_ok())
}

fn any_rules() -> impl Strategy<Value = Vec<CommandRule>> {
    prop::collection::vec(any_rule(), 0..6)
}

fn loaded(rules: &[CommandRule]) -> CommandRules {
    CommandRules::new(rules.to_vec()).unwrap()
}

/// Decides with a simple model that enumerates every command prefix a rule describes.
fn model(rules: &[CommandRule], line: &CommandLine) -> Verdict {
    let name = |path: &str| path.split('/').next_back().unwrap().to_lowercase();
    let argv = line.argv();
    let mut allowed = false;
    let mut strictest = Verdict::Allow;
    for rule in rules {
        for beginning in beginnings(&rule.argv) {
            let count = beginning.len();
            if argv.len() < count || rule.extent == Extent::Exact && argv.len() > count {
                continue;
            }
            if argv[1..count] != beginning[1..] || name(&argv[0]) != name(&beginning[0]) {
                continue;
            }
            let is_same = argv[0] == beginning[0];
            if rule.decision == RuleDecision::Allow {
                let config = argv[count..].iter().any(|word| word.starts_with("--config"));
                allowed |= is_same && !(config && starts_cargo(&rule.argv));
            } else {
                allowed |= is_same;
                strictest = max(strictest, rule.decision.verdict());
            }
        }
    }
    if allowed { strictest } else { Verdict::Deny }
}

fn beginnings(places: &[RuleArgument]) -> Vec<Vec<String>> {
    let Some((last, before)) = places.split_last() else { return vec![Vec::new()] };
    let longer = |beginning: &Vec<String>| {
        let words = last.alternatives().iter();
        words.map(|word| [&beginning[..], std::slice::from_ref(word)].concat()).collect::<Vec<_>>()
    };
    beginnings(before).iter().flat_map(longer).collect()
}

fn starts_cargo(places: &[RuleArgument]) -> bool {
    let has = |place: &RuleArgument, word: &str| {
        place.alternatives().iter().any(|alternative| alternative.ends_with(word))
    };
    let Some((program, arguments)) = places.split_first() else { return false };
    let started = arguments.iter().position(|place| !has(place, "A=b"));
    has(program, "cargo")
        || has(program, "env") && started.is_some_and(|at| starts_cargo(&arguments[at..]))
}

fn any_text() -> impl Strategy<Value = String> {
    prop::collection::vec(
        select(&["a", "b", "'", "\"", "\\", " ", "$", "\n", "=", "é", "-"]),
        0..12,
    )
    .prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 1000,
        ..Default::default()
    })]

    /// AA-7: the rules and the model always agree.
    #[test]
    fn rules_agree_with_a_reference_model(rules in any_rules(), line in any_line()) {
        prop_assert_eq!(loaded(&rules).judge(&line).verdict, model(&rules, &line));
    }

    /// AA-7: neither the verdict nor the ground depends on the order of the rules.
    #[test]
    fn the_order_of_rules_never_matters(
        (rules, shuffled) in any_rules().prop_flat_map(|rules| {
            (Just(rules.clone()), Just(rules).prop_shuffle())
        }),
        line in any_line(),
    ) {
        prop_assert_eq!(loaded(&rules).judge(&line), loaded(&shuffled).judge(&line));
    }

    /// AA-7: an additional restricting rule never allows more, and each one restricts independently of the others.
    #[test]
    fn additional_restricting_rule_never_allows_more(
        operator in any_rules(),
        narrowing in any_rules(),
        more in any_rule(),
        line in any_line(),
    ) {
        let operator = loaded(&operator);
        let narrowing_more = loaded(&[&narrowing[..], &[more]].concat());
        let narrowing = loaded(&narrowing);
        let alone = operator.judge(&line).verdict;
        let before = operator.narrowed_by(&narrowing).judge(&line).verdict;
        let after = operator.narrowed_by(&narrowing_more).judge(&line).verdict;
        prop_assert!(alone <= before && before <= after);
    }

    /// AA-7
    #[test]
    fn suggested_rules_allow_exactly_the_recorded_commands(
        seen in prop::collection::vec(any_line(), 0..5),
        line in any_line(),
    ) {
        let allowed = loaded(&suggest(&seen)).judge(&line).verdict == Verdict::Allow;
        prop_assert_eq!(allowed, seen.contains(&line));
    }

    /// AA-7
    #[test]
    fn quoted_command_round_trips(
        program in "[^\0]{1,8}",
        arguments in prop::collection::vec("[^\0]{0,8}", 0..6),
    ) {
        let line = CommandLine::new([vec![program], arguments].concat()).unwrap();
        prop_assert_eq!(CommandLine::parse(&line.quoted()), Ok(line));
    }

    /// AA-7: another implementation splits every accepted text into the same words.
    #[test]
    fn word_splitting_agrees_with_another_implementation(text in any_text()) {
        match CommandLine::parse(&text) {
            Ok(line) => prop_assert_eq!(Some(line.into()), shlex::split(&text)),
            Err(CommandLineError::Unclosed { .. } | CommandLineError::Backslash { .. }) => {
                prop_assert_eq!(shlex::split(&text), None);
            }
            Err(_) => {}
        }
    }

    /// AA-7: the parser either accepts or rejects any text, and fails in no other way.
    #[test]
    fn any_policy_text_is_read_or_rejected(text in any::<String>()) {
        if let Ok(line) = CommandLine::parse(&text) {
            prop_assert!(!line.argv()[0].is_empty());
        }
    }
}
