//! Command rules that were checked against their examples, with the options that they exclude.

use serde::{Deserialize, Serialize};

use super::excerpt::Parting;
use super::rule::{CommandRule, Fit, RuleDecision};
use super::runner::{barred_behind, is_barred};
use super::{ALTERNATIVES_MAX, CommandRuleProblem, EXAMPLES_MAX};
use crate::command_line::{CommandLine, check_argument};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct LoadedRule {
    #[serde(flatten)]
    rule: CommandRule,
    /// Options that the rule excludes, because they can name a program to run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    barred: Vec<String>,
}

/// Similarity between a rule and a command that it does not match.
pub(super) struct Nearness<'a> {
    pub(super) rule: &'a CommandRule,
    /// Number of leading arguments that match, and whether these are all arguments of the rule.
    pub(super) rank: (usize, bool),
    /// First difference between the command and the rule.
    pub(super) parting: Parting,
}

impl LoadedRule {
    /// Checks a rule and its examples, and determines the options that it excludes.
    pub(crate) fn new(rule: CommandRule) -> Result<Self, CommandRuleProblem> {
        check_places(&rule)?;
        let barred = barred_behind(&rule).map_err(CommandRuleProblem::Open)?;
        let barred = barred.into_iter().map(str::to_owned).collect();
        let loaded = Self { rule, barred };
        loaded.check_examples()?;
        Ok(loaded)
    }

    /// Checks the arguments of a rule that was loaded before. Its examples are not checked again.
    pub(super) fn checked(self) -> Result<Self, CommandRuleProblem> {
        check_places(&self.rule)?;
        Ok(self)
    }

    pub(crate) fn rule(&self) -> &CommandRule {
        &self.rule
    }

    fn check_examples(&self) -> Result<(), CommandRuleProblem> {
        let CommandRule { matches, not_match, decision, .. } = &self.rule;
        if *decision == RuleDecision::Allow && matches.is_empty() {
            return Err(CommandRuleProblem::NoExample);
        }
        let count = matches.len().max(not_match.len());
        if count > EXAMPLES_MAX {
            return Err(CommandRuleProblem::Examples { count });
        }
        for example in matches {
            if !self.matches_example(example)? {
                return Err(CommandRuleProblem::NoMatch { example: example.clone() });
            }
        }
        for example in not_match {
            if self.matches_example(example)? {
                return Err(CommandRuleProblem::Match { example: example.clone() });
            }
        }
        Ok(())
    }

    fn matches_example(&self, example: &str) -> Result<bool, CommandRuleProblem> {
        let line = CommandLine::parse(example).map_err(|problem| {
            CommandRuleProblem::Unreadable { example: example.to_owned(), problem }
        })?;
        Ok(self.covers(&line) || self.restrains(&line))
    }

    /// Returns true if the rule matches the command, with the program exactly as written.
    pub(super) fn covers(&self, line: &CommandLine) -> bool {
        match self.rule.fit(line) {
            Fit::Covered { rest } => !rest.iter().any(|it| is_barred(it, &self.barred)),
            Fit::Parted { .. } => false,
        }
    }

    /// Returns true if the rule asks about or denies the command. The path and case of the program are ignored.
    pub(super) fn restrains(&self, line: &CommandLine) -> bool {
        self.rule.decision > RuleDecision::Allow && self.rule.means(line)
    }

    /// Returns the similarity to a command that the rule does not match. Returns `None` if the programs differ or the rule
    /// is a `deny` rule.
    pub(super) fn nearness(&self, line: &CommandLine) -> Option<Nearness<'_>> {
        let rule = &self.rule;
        let argv = line.argv();
        let (after, parting) = match rule.fit(line) {
            Fit::Covered { rest } => {
                let option = rest.iter().position(|it| is_barred(it, &self.barred))?;
                (rule.argv.len(), Parting::BarredOption(rule.argv.len() + option))
            }
            Fit::Parted { after } => {
                let parting = match (rule.argv.get(after), argv.get(after)) {
                    (Some(_), Some(_)) => Parting::OtherArgument(after),
                    (Some(_), None) => Parting::CommandEnds(after),
                    (None, Some(_)) => Parting::RuleEnds(after),
                    (None, None) => return None,
                };
                (after, parting)
            }
        };
        let names_program = argv.first().zip(rule.argv.first());
        let names_program = names_program.is_some_and(|(program, place)| place.names(program));
        let is_near = names_program && rule.decision < RuleDecision::Deny;
        let rank = (after, after == rule.argv.len());
        is_near.then_some(Nearness { rule, rank, parting })
    }
}

/// Checks that every alternative is a valid argument, and that the longest combination of them is a valid command.
fn check_places(rule: &CommandRule) -> Result<(), CommandRuleProblem> {
    let mut longest = Vec::new();
    for (number, place) in rule.argv.iter().enumerate() {
        let alternatives = place.alternatives();
        let count = alternatives.len();
        let argument = alternatives.iter().max_by_key(|argument| argument.len());
        let Some(argument) = argument.filter(|_| count <= ALTERNATIVES_MAX) else {
            return Err(CommandRuleProblem::Alternatives { number, count });
        };
        for argument in alternatives {
            check_argument(number, argument).map_err(CommandRuleProblem::Line)?;
        }
        longest.push(argument.clone());
    }
    CommandLine::new(longest).map(drop).map_err(CommandRuleProblem::Line)
}
