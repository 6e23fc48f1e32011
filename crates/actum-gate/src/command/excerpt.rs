//! Excerpts of commands and rules for use in grounds. Long commands and rules are truncated.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rule::{CommandRule, Extent, RuleArgument};
use crate::command_line::{CommandLine, array, escaped, shown, shown_argument, shown_count};

/// Mark that replaces omitted text.
const OMITTED: &str = "…";

/// Command, possibly truncated to its first arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandExcerpt {
    argv: Vec<String>,
    /// Number of arguments that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Command rule, possibly truncated to its first arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleExcerpt {
    argv: Vec<RuleArgument>,
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    extent: Extent,
    /// Number of arguments that are left out.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Rule that is most similar to a command that no rule allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    /// Excerpt of the rule.
    pub rule: RuleExcerpt,
    /// First difference between the command and the rule.
    pub parting: Parting,
}

/// First difference between a command and a rule, with the index of the argument where they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The command has an option that the rule excludes because it can name a program.
    BarredOption(usize),
    /// The command and the rule have different arguments at this index.
    OtherArgument(usize),
    /// The command has no argument at this index, but the rule does.
    CommandEnds(usize),
    /// The rule has no argument at this index, but the command does.
    RuleEnds(usize),
}

impl CommandExcerpt {
    /// Returns true if the excerpt contains the entire command.
    pub(crate) fn is_whole(&self) -> bool {
        self.omitted == 0
    }

    fn argument(&self, number: usize) -> String {
        self.argv
            .get(number)
            .map_or_else(|| OMITTED.to_owned(), |argument| shown_argument(argument))
    }
}

impl RuleExcerpt {
    fn argument(&self, number: usize) -> String {
        self.argv.get(number).map_or_else(|| OMITTED.to_owned(), ToString::to_string)
    }
}

impl Nearest {
    /// Describes the first difference from the command, as a clause whose subject is the rule.
    pub(crate) fn parting(&self, command: &CommandExcerpt) -> String {
        match self.parting {
            Parting::BarredOption(at) => {
                format!("excludes {}, which can name a program", command.argument(at))
            }
            Parting::OtherArgument(at) => format!(
                "has {} where the command has {}",
                self.rule.argument(at),
                command.argument(at)
            ),
            Parting::CommandEnds(at) => {
                format!("has {} where the command ends", self.rule.argument(at))
            }
            Parting::RuleEnds(at) => {
                format!("ends where the command has {}", command.argument(at))
            }
        }
    }
}

impl From<&CommandLine> for CommandExcerpt {
    fn from(line: &CommandLine) -> Self {
        let argv = line.argv();
        let count = shown_count(argv.iter().map(|argument| escaped(argument)));
        let argv = argv.iter().take(count).cloned().collect::<Vec<_>>();
        Self { omitted: line.argv().len() - argv.len(), argv }
    }
}

impl From<&CommandRule> for RuleExcerpt {
    fn from(rule: &CommandRule) -> Self {
        // An argument is omitted entirely if its alternatives would have to be truncated.
        let is_short = |place: &&RuleArgument| shown(place.alternatives()).is_ok();
        let short = rule.argv.iter().take_while(is_short);
        let count = shown_count(short.map(ToString::to_string));
        let argv: Vec<_> = rule.argv.iter().take(count).cloned().collect();
        Self { omitted: rule.argv.len() - argv.len(), argv, extent: rule.extent }
    }
}

impl fmt::Display for CommandExcerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_array(f, self.argv.iter().map(|argument| escaped(argument)), self.omitted, "]")
    }
}

impl fmt::Display for RuleExcerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.extent {
            Extent::Prefix => ", …]",
            Extent::Exact => "]",
        };
        write_array(f, self.argv.iter().map(ToString::to_string), self.omitted, end)
    }
}

fn write_array(
    f: &mut fmt::Formatter<'_>,
    items: impl Iterator<Item = String>,
    omitted: usize,
    end: &str,
) -> fmt::Result {
    let cut = (omitted > 0).then(|| OMITTED.to_owned());
    let end = if cut.is_some() { "]" } else { end };
    f.write_str(&array(items.chain(cut), end).unwrap_or_else(|cut| cut))
}

/// Returns true if serde should omit the count.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
