//! The rules of several policies together, of which some only narrow what the others allow.

use std::cmp::Reverse;

use super::excerpt::Nearest;
use super::loaded::LoadedRule;
use super::{CommandJudgement, CommandLine, CommandRules};
use crate::verdict::Verdict;

/// Rules, and others that can only narrow them.
#[derive(Debug, Clone)]
pub struct NarrowedRules<'a> {
    rules: Vec<&'a CommandRules>,
    narrowing: Vec<&'a CommandRules>,
}

impl<'a> NarrowedRules<'a> {
    /// The rules of several policies, all of which count in full.
    pub fn of(rules: impl IntoIterator<Item = &'a CommandRules>) -> Self {
        Self { rules: rules.into_iter().collect(), narrowing: Vec::new() }
    }

    /// And others, of which only what they hold back counts.
    #[must_use]
    pub fn narrowed_by(mut self, narrowing: &'a CommandRules) -> Self {
        self.narrowing.push(narrowing);
        self
    }

    /// The strictest of what all of them say; a command may not run where none of those that count
    /// in full speaks of it.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        let restraint = self.restraint(line);
        let covering = self.loaded().filter(|loaded| loaded.covers(line));
        // Of two rules that say the same, the first in their own order is named.
        match covering.min_by_key(|loaded| Reverse(loaded.rule().decision)) {
            Some(covering) => covering.rule().judgement().and(restraint),
            None => restraint.filter(|it| it.verdict == Verdict::Deny).unwrap_or_else(|| {
                let nearest = self.nearest(line);
                CommandJudgement { verdict: Verdict::Deny, rule: None, policy: None, nearest }
            }),
        }
    }

    /// The strictest of what all of them hold against a command that none has to allow; nothing where they hold
    /// nothing against it.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let all = self.rules.iter().chain(&self.narrowing);
        all.filter_map(|rules| rules.restraint(line)).reduce(|one, other| one.and(Some(other)))
    }

    fn loaded(&self) -> impl Iterator<Item = &'a LoadedRule> {
        self.rules.iter().flat_map(|rules| &rules.0)
    }

    /// Rule that comes nearest to a command that none allows.
    fn nearest(&self, line: &CommandLine) -> Option<Nearest> {
        let nearest = self.loaded().filter_map(|loaded| loaded.nearness(line));
        // The last of the greatest would depend on nothing either; the first is easier to read.
        let nearest = nearest.reduce(|best, next| if next.rank > best.rank { next } else { best });
        nearest.map(|it| Nearest { rule: it.rule.into(), parting: it.parting })
    }
}
