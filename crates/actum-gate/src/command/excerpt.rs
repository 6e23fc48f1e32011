//! Commands and rules as grounds name them: whole where they are short, else their beginning.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::rule::{CommandRule, Extent, RuleArgument};
use crate::command_line::{CommandLine, array, escaped, shown, shown_argument, shown_count};

/// Shown in the place of what was left out.
const OMITTED: &str = "…";

/// Beginning of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandExcerpt {
    argv: Vec<String>,
    /// Further arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Beginning of a rule about commands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleExcerpt {
    argv: Vec<RuleArgument>,
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    extent: Extent,
    /// Further arguments.
    #[serde(default, skip_serializing_if = "is_zero")]
    omitted: usize,
}

/// Rule that comes nearest to a command that no rule allows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nearest {
    /// Rule.
    pub rule: RuleExcerpt,
    /// Where command and rule part.
    pub parting: Parting,
}

/// Where a command and a rule part: the number of an argument, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parting {
    /// The command has an option that can name a program, and the rule does not reach over it.
    BarredOption(usize),
    /// Both have an argument there, and not the same.
    OtherArgument(usize),
    /// The command ends before it.
    CommandEnds(usize),
    /// The rule ends before it.
    RuleEnds(usize),
}

impl CommandExcerpt {
    /// Whether no argument was left out.
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
    /// Words where rule and command part; the rule is the subject.
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
        // Alternatives that are cut in what is shown are left out as a whole.
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
