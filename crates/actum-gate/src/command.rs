//! Command rules, which decide by their arguments whether commands may run (AA-7).
//!
//! A command is a list of arguments, which is never parsed by a shell. A command that no rule allows must not run. If
//! several rules match, the strictest one decides, so their order has no influence. An `allow` rule matches the program
//! exactly as written, while `ask` and `deny` rules also match it under another path or in another case.

mod excerpt;
mod loaded;
mod narrowed;
mod rule;
mod runner;

use std::cmp::Reverse;

use actum_core::path::Cut;
use serde::{Deserialize, Serialize};

use crate::source::Source;
use crate::verdict::Verdict;

pub use crate::command_line::{
    ARGUMENT_BYTES_MAX, COMMAND_ARGUMENTS_MAX, COMMAND_BYTES_MAX, CommandLine, CommandLineError,
};
pub use excerpt::{CommandExcerpt, Nearest, Parting, RuleExcerpt};
pub(crate) use loaded::LoadedRule;
pub use narrowed::NarrowedRules;
pub use rule::{CommandRule, Extent, RuleArgument, RuleDecision};
pub use runner::OpenRunner;

/// Maximum number of rules in a policy.
pub const COMMAND_RULES_MAX: usize = 10_000;

/// Maximum number of alternatives for one argument of a rule.
pub const ALTERNATIVES_MAX: usize = 100;

/// Maximum number of examples in each of the lists `match` and `not_match` of a rule.
pub const EXAMPLES_MAX: usize = 100;

/// Maximum length of an example in a message, in bytes.
const EXAMPLE_SHOWN_MAX: usize = 200;

/// Command rules of one policy, each of which was checked against its own examples.
///
/// When serialised, each rule includes the options that it excludes (`barred`), so that the document is enough to replay
/// a decision. Examples are not checked again when a document is read, because they were checked before it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<LoadedRule>")]
pub struct CommandRules(
    /// Sorted rules, so that the serialised form does not depend on their order in the policy.
    Vec<LoadedRule>,
);

/// Verdict on a command, with the rule that determined it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CommandJudgement {
    /// Strictest verdict of all matching rules.
    pub verdict: Verdict,
    /// Rule that determined the verdict, or `None` if no rule matches the command.
    pub rule: Option<CommandRule>,
    /// Policy that contains the rule.
    pub policy: Option<Source>,
    /// Most similar rule, if no rule matches the command.
    pub nearest: Option<Nearest>,
}

/// Reason why the command rules of a policy are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRulesError {
    /// The policy has more rules than [`COMMAND_RULES_MAX`].
    #[error("the policy has {count} command rules, but the limit is {COMMAND_RULES_MAX}")]
    TooMany {
        /// Number of rules in the policy.
        count: usize,
    },
    /// A rule is invalid.
    #[error("the command rule {number}, `{rule}`, cannot be used: {problem}")]
    Rule {
        /// Number of the rule, starting at 1.
        number: usize,
        /// Arguments of the rule, formatted for the message.
        rule: String,
        /// Reason why the rule is invalid.
        #[source]
        problem: CommandRuleProblem,
    },
}

impl CommandRulesError {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooMany { .. } => "COMMAND_RULES_TOO_MANY",
            Self::Rule { problem, .. } => match problem {
                CommandRuleProblem::Alternatives { .. } | CommandRuleProblem::Line(_) => {
                    "COMMAND_RULE_MALFORMED"
                }
                CommandRuleProblem::Open(_) => "COMMAND_RULE_OPEN",
                CommandRuleProblem::NoExample
                | CommandRuleProblem::Examples { .. }
                | CommandRuleProblem::Unreadable { .. }
                | CommandRuleProblem::NoMatch { .. }
                | CommandRuleProblem::Match { .. } => "COMMAND_RULE_EXAMPLE",
            },
        }
    }
}

/// Reason why a command rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRuleProblem {
    /// The rule describes a command that cannot exist.
    #[error(transparent)]
    Line(CommandLineError),
    /// An argument of the rule has no alternatives, or more than [`ALTERNATIVES_MAX`].
    #[error("argument {number} has {count} alternatives, but must have 1 to {ALTERNATIVES_MAX}")]
    Alternatives {
        /// Index of the argument in the rule. The program has index 0.
        number: usize,
        /// Number of alternatives for the argument.
        count: usize,
    },
    /// The rule would allow code that it does not name.
    #[error(transparent)]
    Open(OpenRunner),
    /// The rule allows commands, but has no example in `match`.
    #[error("a rule that allows commands needs at least one example in `match`")]
    NoExample,
    /// The rule has more than [`EXAMPLES_MAX`] examples in `match` or `not_match`.
    #[error("it has {count} examples of one kind, but the limit is {EXAMPLES_MAX}")]
    Examples {
        /// Number of examples in the longer list.
        count: usize,
    },
    /// An example is not a valid command.
    #[error("its example `{}` is invalid: {problem}", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Unreadable {
        /// Text of the example.
        example: String,
        /// Reason why the example is invalid.
        #[source]
        problem: CommandLineError,
    },
    /// The rule does not match an example in `match`.
    #[error("it does not match its own example `{}` in `match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    NoMatch {
        /// Text of the example.
        example: String,
    },
    /// The rule matches an example in `not_match`.
    #[error("it matches its own example `{}` in `not_match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Match {
        /// Text of the example.
        example: String,
    },
}

impl CommandRules {
    /// Creates the rules of a policy, and checks each rule and its examples.
    ///
    /// # Errors
    /// Returns [`CommandRulesError`] with the first invalid rule, or if there are too many rules.
    pub fn new(rules: Vec<CommandRule>) -> Result<Self, CommandRulesError> {
        Self::each(rules, LoadedRule::new, |rule| rule)
    }

    /// Creates the rules of a policy from rules that were already checked. Duplicates are removed.
    ///
    /// # Errors
    /// Returns `TooMany` if the number of rules exceeds the limit.
    pub(crate) fn from_rules(mut rules: Vec<LoadedRule>) -> Result<Self, CommandRulesError> {
        check_count(rules.len())?;
        rules.sort();
        rules.dedup();
        Ok(Self(rules))
    }

    fn each<T>(
        rules: Vec<T>,
        load: impl Fn(T) -> Result<LoadedRule, CommandRuleProblem>,
        rule: impl Fn(&T) -> &CommandRule,
    ) -> Result<Self, CommandRulesError> {
        check_count(rules.len())?;
        let rules = rules.into_iter().zip(1..).map(|(given, number)| {
            let text = rule(&given).to_string();
            let error = |problem| CommandRulesError::Rule { number, rule: text, problem };
            load(given).map_err(error)
        });
        Self::from_rules(rules.collect::<Result<_, _>>()?)
    }

    /// Returns the rules in sorted order.
    pub fn rules(&self) -> impl Iterator<Item = &CommandRule> {
        self.0.iter().map(LoadedRule::rule)
    }

    /// Returns true if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true if any rule allows a command.
    pub fn allow_some(&self) -> bool {
        self.rules().any(|rule| rule.decision == RuleDecision::Allow)
    }

    /// Returns only the rules that ask or deny.
    #[must_use]
    pub fn restraining(self) -> Self {
        let restrains = |loaded: &LoadedRule| loaded.rule().decision > RuleDecision::Allow;
        Self(self.0.into_iter().filter(restrains).collect())
    }

    /// Judges whether these rules allow a command. A command that no rule matches is denied.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        NarrowedRules::new([self]).judge(line)
    }

    /// Returns the strictest restriction that these rules place on a command, for use with other rules that allow it.
    /// Rules that allow commands have no effect here. Returns `None` if no rule asks or denies.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let restraining = self.0.iter().filter(|loaded| loaded.restrains(line));
        let strictest = restraining.min_by_key(|loaded| Reverse(loaded.rule().decision))?;
        Some(strictest.rule().judgement())
    }

    /// Combines these rules with others that can only tighten them, such as the rules of a workspace policy.
    pub fn narrowed_by<'a>(&'a self, narrowing: &'a CommandRules) -> NarrowedRules<'a> {
        NarrowedRules::new([self]).narrowed_by(narrowing)
    }

    /// Returns `allow` rules that have no effect because other rules ask about or deny all of their examples. Such rules
    /// are probably a mistake. Each is returned with its first example and the judgement on it.
    pub fn idle(&self) -> impl Iterator<Item = (&CommandRule, CommandLine, CommandJudgement)> {
        let allowing = self.rules().filter(|rule| rule.decision == RuleDecision::Allow);
        allowing.filter_map(|rule| {
            let judged = |example: &String| {
                let line = CommandLine::parse(example).ok()?;
                let judgement = self.judge(&line);
                Some((line, judgement))
            };
            let mut judged = rule.matches.iter().filter_map(judged);
            let (line, first) = judged.next()?;
            let is_held_back = |it: &CommandJudgement| it.verdict > Verdict::Allow;
            let is_idle = is_held_back(&first) && judged.all(|(_, it)| is_held_back(&it));
            is_idle.then_some((rule, line, first))
        })
    }
}

fn check_count(count: usize) -> Result<(), CommandRulesError> {
    if count > COMMAND_RULES_MAX { Err(CommandRulesError::TooMany { count }) } else { Ok(()) }
}

impl TryFrom<Vec<LoadedRule>> for CommandRules {
    type Error = CommandRulesError;

    fn try_from(rules: Vec<LoadedRule>) -> Result<Self, Self::Error> {
        Self::each(rules, LoadedRule::checked, LoadedRule::rule)
    }
}

impl CommandJudgement {
    /// Returns the stricter of two judgements, or `self` if their verdicts are equal.
    pub fn and(self, other: Option<Self>) -> Self {
        match other {
            Some(other) if other.verdict > self.verdict => other,
            Some(_) | None => self,
        }
    }
}

impl CommandRule {
    fn judgement(&self) -> CommandJudgement {
        let (verdict, rule) = (self.decision.verdict(), Some(self.clone()));
        CommandJudgement { verdict, rule, policy: None, nearest: None }
    }
}

/// Returns rules that allow exactly these commands, sorted and without duplicates.
pub fn suggest(commands: &[CommandLine]) -> Vec<CommandRule> {
    let mut rules: Vec<CommandRule> = commands.iter().map(CommandRule::allowing).collect();
    rules.sort();
    rules.dedup();
    rules
}
