//! Combines the command rules of several policies, some of which can only tighten the others.

use std::cmp::Reverse;

use super::excerpt::Nearest;
use super::loaded::LoadedRule;
use super::{CommandJudgement, CommandLine, CommandRules};
use crate::verdict::Verdict;

/// Command rules, with further rules that can only tighten them.
#[derive(Debug, Clone)]
pub struct NarrowedRules<'a> {
    rules: Vec<&'a CommandRules>,
    narrowing: Vec<&'a CommandRules>,
}

impl<'a> NarrowedRules<'a> {
    /// Combines the rules of several policies. All of these rules can allow, ask and deny.
    pub fn new(rules: impl IntoIterator<Item = &'a CommandRules>) -> Self {
        Self { rules: rules.into_iter().collect(), narrowing: Vec::new() }
    }

    /// Adds rules that can only ask and deny. Their `allow` rules are ignored.
    #[must_use]
    pub fn narrowed_by(mut self, narrowing: &'a CommandRules) -> Self {
        self.narrowing.push(narrowing);
        self
    }

    /// Returns the strictest verdict of all rules. A command is denied if only tightening rules match it, or none.
    pub fn judge(&self, line: &CommandLine) -> CommandJudgement {
        let restraint = self.restraint(line);
        let covering = self.loaded().filter(|loaded| loaded.covers(line));
        // If several rules have the same decision, the first one is reported.
        match covering.min_by_key(|loaded| Reverse(loaded.rule().decision)) {
            Some(covering) => covering.rule().judgement().and(restraint),
            None => restraint.filter(|it| it.verdict == Verdict::Deny).unwrap_or_else(|| {
                let nearest = self.nearest(line);
                CommandJudgement { verdict: Verdict::Deny, rule: None, policy: None, nearest }
            }),
        }
    }

    /// Returns the strictest restriction on a command, even if no rule allows it. Returns `None` if no rule asks or denies.
    pub fn restraint(&self, line: &CommandLine) -> Option<CommandJudgement> {
        let all = self.rules.iter().chain(&self.narrowing);
        all.filter_map(|rules| rules.restraint(line)).reduce(|one, other| one.and(Some(other)))
    }

    fn loaded(&self) -> impl Iterator<Item = &'a LoadedRule> {
        self.rules.iter().flat_map(|rules| &rules.0)
    }

    /// Returns the rule that is most similar to a command that no rule allows.
    fn nearest(&self, line: &CommandLine) -> Option<Nearest> {
        let nearest = self.loaded().filter_map(|loaded| loaded.nearness(line));
        // `max_by_key` would return the last of several equally similar rules, but users expect the first.
        let nearest = nearest.reduce(|best, next| if next.rank > best.rank { next } else { best });
        nearest.map(|it| Nearest { rule: it.rule.into(), parting: it.parting })
    }
}
