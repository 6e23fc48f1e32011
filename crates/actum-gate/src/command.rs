//! Command rules: which arguments are allowed, as a pure function (AA-7).
//!
//! A command is a list of arguments; no shell parses it. A command that no rule allows must not run. The
//! strictest matching rule decides, so the order of the rules has no meaning. A rule that allows compares the
//! program as it is written. A rule that asks or denies also matches it under another path or case.

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

/// Maximum number of alternatives in one position of a rule.
pub const ALTERNATIVES_MAX: usize = 100;

/// Maximum number of examples of each kind in a rule.
pub const EXAMPLES_MAX: usize = 100;

/// Maximum length of an example in a message, in bytes.
const EXAMPLE_SHOWN_MAX: usize = 200;

/// Rules of one policy, each checked against its own examples.
///
/// In a document each rule also has the commands that it excludes (`barred`), so that a decision can be
/// replayed from the document alone. Examples are not checked when a document is read: that was done when it
/// was written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<LoadedRule>")]
pub struct CommandRules(
    /// Sorted, so that the output does not depend on the order in the policy.
    Vec<LoadedRule>,
);

/// Verdict on a command, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CommandJudgement {
    /// Strictest verdict of the rules.
    pub verdict: Verdict,
    /// Rule that decided; `None` if none matches the command.
    pub rule: Option<CommandRule>,
    /// Policy that has the rule.
    pub policy: Option<Source>,
    /// Nearest rule if none matches.
    pub nearest: Option<Nearest>,
}

/// Reason why command rules are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRulesError {
    /// More rules than [`COMMAND_RULES_MAX`].
    #[error("a policy has at most {COMMAND_RULES_MAX} rules about commands, and this one {count}")]
    TooMany {
        /// Number of rules.
        count: usize,
    },
    /// Invalid rule.
    #[error("the command rule {number}, `{rule}`, cannot be used: {problem}")]
    Rule {
        /// Number of the rule, counted from 1.
        number: usize,
        /// Arguments of the rule.
        rule: String,
        /// Problem of the rule.
        #[source]
        problem: CommandRuleProblem,
    },
}

impl CommandRulesError {
    /// Returns the permanent name of the problem.
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

/// Reason why a rule is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRuleProblem {
    /// Argument that no command can have.
    #[error(transparent)]
    Line(CommandLineError),
    /// No alternative, or more than [`ALTERNATIVES_MAX`].
    #[error(
        "place {number} has {count} alternatives, and a place has at least one and at most \
         {ALTERNATIVES_MAX}"
    )]
    Alternatives {
        /// Position in the rule; the program is 0.
        number: usize,
        /// Number of alternatives.
        count: usize,
    },
    /// Rule that allows more than it names.
    #[error(transparent)]
    Open(OpenRunner),
    /// Rule that allows commands without an example.
    #[error("a rule that allows has at least one example in `match`")]
    NoExample,
    /// More examples of one kind than [`EXAMPLES_MAX`].
    #[error("it has {count} examples of one kind, and at most {EXAMPLES_MAX} are read")]
    Examples {
        /// Number of examples.
        count: usize,
    },
    /// Example that is not a valid command.
    #[error("its example `{}`: {problem}", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Unreadable {
        /// Example.
        example: String,
        /// Reason why it is invalid.
        #[source]
        problem: CommandLineError,
    },
    /// Example in `match` that the rule does not match.
    #[error("it does not speak of its own example `{}` in `match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    NoMatch {
        /// Example.
        example: String,
    },
    /// Example in `not_match` that the rule matches.
    #[error("it speaks of its own example `{}` in `not_match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Match {
        /// Example.
        example: String,
    },
}

impl CommandRules {
    /// Checks the rules and their examples.
    ///
    /// # Errors
    /// [`CommandRulesError`] with the first invalid rule and its problem.
    pub fn new(rules: Vec<CommandRule>) -> Result<Self, CommandRulesError> {
        Self::each(rules, LoadedRule::new, |rule| rule)
    }

    /// Combines rules that were checked one by one.
    ///
    /// # Errors
    /// `TooMany`.
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

    /// Returns the rules, in an internal order.
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

    /// Keeps only the rules that ask or deny.
    #[must_use]
    pub fn restraining(self) -> Self {
        let restrains = |loaded: &LoadedRule| loaded.rule().decision > RuleDecision::Allow;
        Self(self.0.into_iter().filter(restrains).collect())
    }

    /// Judges whether a command may run by these rules alone. A command that no rule matches is denied.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        NarrowedRules::new([self]).judge(line)
    }

    /// Returns the strictest restriction of a command by these rules, where they only tighten what others
    /// allow. Rules that allow, and a missing match, have no effect.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let restraining = self.0.iter().filter(|loaded| loaded.restrains(line));
        let strictest = restraining.min_by_key(|loaded| Reverse(loaded.rule().decision))?;
        Some(strictest.rule().judgement())
    }

    /// Combines these rules with others that can only tighten them, such as those of a workspace.
    pub fn narrowed_by<'a>(&'a self, narrowing: &'a CommandRules) -> NarrowedRules<'a> {
        NarrowedRules::new([self]).narrowed_by(narrowing)
    }

    /// Returns rules that allow none of their own examples, with the first example and its judgement. Other
    /// rules ask about each example, or deny it, which cannot be intended.
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
    /// Returns the stricter of two judgements, or `self` if both are equal.
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

/// Returns the narrowest rules that allow these commands: each exactly, sorted, without duplicates.
pub fn suggest(commands: &[CommandLine]) -> Vec<CommandRule> {
    let mut rules: Vec<CommandRule> = commands.iter().map(CommandRule::allowing).collect();
    rules.sort();
    rules.dedup();
    rules
}
