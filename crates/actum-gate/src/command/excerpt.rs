//! Excerpts of commands and rules for grounds: whole if they are short, otherwise their beginning.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rule::{CommandRule, Extent, RuleArgument};
use crate::command_line::{CommandLine, array, escaped, shown, shown_argument, shown_count};

/// Replacement for omitted text.
const OMITTED: &str = "…";

/// Beginning of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandExcerpt {
    argv: Vec<String>,
    /// Number of further arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Beginning of a command rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleExcerpt {
    argv: Vec<RuleArgument>,
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    extent: Extent,
    /// Number of further arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Rule nearest to a command that no rule allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    /// Rule.
    pub rule: RuleExcerpt,
    /// First difference of command and rule.
    pub parting: Parting,
}

/// First difference of a command and a rule: the number of an argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The command has an option that can name a program, which the rule excludes.
    BarredOption(usize),
    /// Both have an argument at this position, but a different one.
    OtherArgument(usize),
    /// The command ends before this position.
    CommandEnds(usize),
    /// The rule ends before this position.
    RuleEnds(usize),
}

impl CommandExcerpt {
    /// Returns true if no argument is omitted.
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
    /// Describes the first difference of rule and command; the rule is the subject.
    pub(crate) fn parting(&self, command: &CommandExcerpt) -> String {
        match self.parting {
            Parting::BarredOption(at) => {
                format!("does not reach over {}, which can name a program", command.argument(at))
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
        // An argument whose alternatives would be truncated is omitted as a whole.
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

/// Condition for serde to omit a count.
fn is_zero(count: &usize) -> bool {
    *count == 0
}
