//! Combined rules of several policies, some of which only tighten the others.

use std::cmp::Reverse;

use super::excerpt::Nearest;
use super::loaded::LoadedRule;
use super::{CommandJudgement, CommandLine, CommandRules};
use crate::verdict::Verdict;

/// Rules, and others that can only tighten them.
#[derive(Debug, Clone)]
pub struct NarrowedRules<'a> {
    rules: Vec<&'a CommandRules>,
    narrowing: Vec<&'a CommandRules>,
}

impl<'a> NarrowedRules<'a> {
    /// Combines the rules of several policies, all of which fully apply.
    pub fn new(rules: impl IntoIterator<Item = &'a CommandRules>) -> Self {
        Self { rules: rules.into_iter().collect(), narrowing: Vec::new() }
    }

    /// Adds rules of which only the restrictions apply.
    #[must_use]
    pub fn narrowed_by(mut self, narrowing: &'a CommandRules) -> Self {
        self.narrowing.push(narrowing);
        self
    }

    /// Returns the strictest verdict of all rules. A command is denied if no fully applying rule matches it.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        let restraint = self.restraint(line);
        let covering = self.loaded().filter(|loaded| loaded.covers(line));
        // Among rules with the same decision, the first in their order is reported.
        match covering.min_by_key(|loaded| Reverse(loaded.rule().decision)) {
            Some(covering) => covering.rule().judgement().and(restraint),
            None => restraint.filter(|it| it.verdict == Verdict::Deny).unwrap_or_else(|| {
                let nearest = self.nearest(line);
                CommandJudgement { verdict: Verdict::Deny, rule: None, policy: None, nearest }
            }),
        }
    }

    /// Returns the strictest restriction of a command that needs no allowing rule; `None` if no rule restricts it.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let all = self.rules.iter().chain(&self.narrowing);
        all.filter_map(|rules| rules.restraint(line)).reduce(|one, other| one.and(Some(other)))
    }

    fn loaded(&self) -> impl Iterator<Item = &'a LoadedRule> {
        self.rules.iter().flat_map(|rules| &rules.0)
    }

    /// Returns the rule nearest to a command that no rule allows.
    fn nearest(&self, line: &CommandLine) -> Option<Nearest> {
        let nearest = self.loaded().filter_map(|loaded| loaded.nearness(line));
        // Taking the last maximum would be deterministic too, but the first is easier to understand.
        let nearest = nearest.reduce(|best, next| if next.rank > best.rank { next } else { best });
        nearest.map(|it| Nearest { rule: it.rule.into(), parting: it.parting })
    }
}
