//! Which commands may run: rules about their arguments, as a pure function (AA-7).
//!
//! A command is its arguments; no shell reads it. Nothing may run that no rule allows. The
//! strictest of the rules that speak of a command decides, so their order has no meaning. A rule
//! that allows compares the program as it is written; one that asks or denies also means it under
//! another path or case.

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

/// How many rules a policy may have.
pub const COMMAND_RULES_MAX: usize = 10_000;

/// How many arguments may be told as alternatives in one place of a rule.
pub const ALTERNATIVES_MAX: usize = 100;

/// How many examples of each kind a rule may have.
pub const EXAMPLES_MAX: usize = 100;

/// How much of an example a message shows, in bytes.
const EXAMPLE_SHOWN_MAX: usize = 200;

/// The rules of one policy, each of which was found to say what it claims.
///
/// As a document each has with it what it does not reach over (`barred`), so that a decision can be
/// made again from it alone. Nobody's examples are tried when it is read: that was done when it was
/// written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Vec<LoadedRule>")]
pub struct CommandRules(
    /// Sorted, so that what is told does not depend on their order in the policy.
    Vec<LoadedRule>,
);

/// What is said of a command, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct CommandJudgement {
    /// The strictest of what the rules say.
    pub verdict: Verdict,
    /// Rule that decided; `None` where none matches the command.
    pub rule: Option<CommandRule>,
    /// Policy that has the rule.
    pub policy: Option<Source>,
    /// Rule that comes nearest where none matches.
    pub nearest: Option<Nearest>,
}

/// Why rules about commands cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRulesError {
    /// More than [`COMMAND_RULES_MAX`].
    #[error("a policy has at most {COMMAND_RULES_MAX} rules about commands, and this one {count}")]
    TooMany {
        /// How many there are.
        count: usize,
    },
    /// One of them cannot be used.
    #[error("the command rule {number}, `{rule}`, cannot be used: {problem}")]
    Rule {
        /// Which, counted from 1.
        number: usize,
        /// Its arguments.
        rule: String,
        /// What is wrong with it.
        #[source]
        problem: CommandRuleProblem,
    },
}

impl CommandRulesError {
    /// The permanent name of the problem.
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

/// Why one rule cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandRuleProblem {
    /// No command could be so.
    #[error(transparent)]
    Line(CommandLineError),
    /// None, or more than [`ALTERNATIVES_MAX`].
    #[error(
        "place {number} has {count} alternatives, and a place has at least one and at most \
         {ALTERNATIVES_MAX}"
    )]
    Alternatives {
        /// Which place; the program is 0.
        number: usize,
        /// How many it has.
        count: usize,
    },
    /// It allows what it does not name.
    #[error(transparent)]
    Open(OpenRunner),
    /// It allows something, and shows no command that it is for.
    #[error("a rule that allows has at least one example in `match`")]
    NoExample,
    /// More than [`EXAMPLES_MAX`] of one kind.
    #[error("it has {count} examples of one kind, and at most {EXAMPLES_MAX} are read")]
    Examples {
        /// How many.
        count: usize,
    },
    /// An example is no command.
    #[error("its example `{}`: {problem}", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Unreadable {
        /// The example.
        example: String,
        /// Why not.
        #[source]
        problem: CommandLineError,
    },
    /// An example in `match` is not covered.
    #[error("it does not speak of its own example `{}` in `match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    NoMatch {
        /// The example.
        example: String,
    },
    /// An example in `not_match` is covered.
    #[error("it speaks of its own example `{}` in `not_match`", Cut(.example.as_bytes(), EXAMPLE_SHOWN_MAX))]
    Match {
        /// The example.
        example: String,
    },
}

impl CommandRules {
    /// Checks the rules and their examples.
    ///
    /// # Errors
    /// [`CommandRulesError`] naming the first rule that cannot be used, and why.
    pub fn new(rules: Vec<CommandRule>) -> Result<Self, CommandRulesError> {
        Self::each(rules, LoadedRule::new, |rule| rule)
    }

    /// Those that were checked one by one.
    ///
    /// # Errors
    /// `TooMany`.
    pub(crate) fn of(mut rules: Vec<LoadedRule>) -> Result<Self, CommandRulesError> {
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
        Self::of(rules.collect::<Result<_, _>>()?)
    }

    /// The rules, in an order of their own.
    pub fn rules(&self) -> impl Iterator<Item = &CommandRule> {
        self.0.iter().map(LoadedRule::rule)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether one of them allows a command.
    pub fn allow_some(&self) -> bool {
        self.rules().any(|rule| rule.decision == RuleDecision::Allow)
    }

    /// Those that ask or deny.
    #[must_use]
    pub fn restraining(self) -> Self {
        let restrains = |loaded: &LoadedRule| loaded.rule().decision > RuleDecision::Allow;
        Self(self.0.into_iter().filter(restrains).collect())
    }

    /// Whether a command may run by these rules alone; it may not where none speaks of it.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        NarrowedRules::of([self]).judge(line)
    }

    /// What these rules hold against a command, where they only narrow what others allow: their
    /// silence and what they allow have no weight.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let restraining = self.0.iter().filter(|loaded| loaded.restrains(line));
        let strictest = restraining.min_by_key(|loaded| Reverse(loaded.rule().decision))?;
        Some(strictest.rule().judgement())
    }

    /// These rules, and others that can only narrow them, such as those of a workspace.
    pub fn narrowed_by<'a>(&'a self, narrowing: &'a CommandRules) -> NarrowedRules<'a> {
        NarrowedRules::of([self]).narrowed_by(narrowing)
    }

    /// Rules that allow nothing of what they show, with the first example and its judgement: others of these rules ask
    /// about each example, or deny it. Nobody can have meant that.
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
    /// The stricter of two; the first where they are the same.
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

/// The narrowest rules that allow these commands: each exactly, sorted, none twice.
pub fn suggest(commands: &[CommandLine]) -> Vec<CommandRule> {
    let mut rules: Vec<CommandRule> = commands.iter().map(CommandRule::allowing).collect();
    rules.sort();
    rules.dedup();
    rules
}
