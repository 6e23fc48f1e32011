//! Command rule of a policy: `[[command]]`.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::command_line::{CommandLine, array, escaped, shown, shown_argument};
use crate::verdict::Verdict;

/// Decision about the commands with these arguments, or with this beginning.
///
/// Arguments are compared as a whole, byte by byte. There are no wildcards or patterns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// Arguments in order, the program first.
    pub argv: Vec<RuleArgument>,
    /// Permission for further arguments; `exact = true` in a policy allows none.
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    pub extent: Extent,
    /// Decision about these commands.
    pub decision: RuleDecision,
    /// Reason, for the users whose command matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Examples that the rule must match, checked when it is loaded. A rule that allows has at least one.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Examples that the rule must not match, checked when it is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

/// Position of a rule: one argument, or several alternatives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleArgument(Vec<String>);

/// Part of a command that a rule describes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Extent {
    /// Its beginning; any further arguments also match.
    #[default]
    Prefix,
    /// Whole command.
    Exact,
}

/// Decision of a rule about the commands that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    /// Command may run.
    Allow,
    /// Command may run with an approval.
    Ask,
    /// Command must not run.
    Deny,
}

impl RuleDecision {
    /// Returns the word used in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the verdict of the decision beside other gates.
    pub fn verdict(self) -> Verdict {
        match self {
            Self::Allow => Verdict::Allow,
            Self::Ask => Verdict::NeedsApproval,
            Self::Deny => Verdict::Deny,
        }
    }
}

impl Extent {
    pub(super) fn is_prefix(&self) -> bool {
        *self == Self::Prefix
    }
}

impl From<bool> for Extent {
    fn from(exact: bool) -> Self {
        if exact { Self::Exact } else { Self::Prefix }
    }
}

impl From<Extent> for bool {
    fn from(extent: Extent) -> Self {
        extent == Extent::Exact
    }
}

/// Comparison of a command with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit<'a> {
    /// Rule matches.
    Covered {
        /// Arguments after those of the rule.
        rest: &'a [String],
    },
    /// Command differs after this number of the rule's arguments, or ends there.
    Parted {
        /// Number of equal arguments.
        after: usize,
    },
}

impl CommandRule {
    /// Makes a rule that allows only this command.
    pub fn allowing(line: &CommandLine) -> Self {
        Self {
            argv: line.argv().iter().map(RuleArgument::from).collect(),
            extent: Extent::Exact,
            decision: RuleDecision::Allow,
            reason: None,
            matches: vec![line.quoted()],
            not_match: Vec::new(),
        }
    }

    pub(super) fn fit<'a>(&self, line: &'a CommandLine) -> Fit<'a> {
        self.fit_with(line.argv(), |place, argument| place.has(argument))
    }

    /// Returns true if the rule matches the command, whatever the path or spelling of its program.
    pub(super) fn means(&self, line: &CommandLine) -> bool {
        let mut is_program = true;
        let fit = self.fit_with(line.argv(), |place, argument| {
            let has = if is_program { place.names(argument) } else { place.has(argument) };
            is_program = false;
            has
        });
        matches!(fit, Fit::Covered { .. })
    }

    fn fit_with<'a>(
        &self,
        argv: &'a [String],
        mut has: impl FnMut(&RuleArgument, &str) -> bool,
    ) -> Fit<'a> {
        let same = self.argv.iter().zip(argv).take_while(|(place, argument)| has(place, argument));
        let after = same.count();
        match argv.get(self.argv.len()..) {
            Some(rest) if after == self.argv.len() => match (self.extent, rest) {
                (Extent::Prefix, _) | (Extent::Exact, []) => Fit::Covered { rest },
                (Extent::Exact, [_, ..]) => Fit::Parted { after },
            },
            Some(_) | None => Fit::Parted { after },
        }
    }
}

impl RuleArgument {
    /// Makes a position with alternatives; their order has no meaning.
    pub fn one_of(mut alternatives: Vec<String>) -> Self {
        alternatives.sort();
        alternatives.dedup();
        Self(alternatives)
    }

    /// Returns the alternatives.
    pub fn alternatives(&self) -> &[String] {
        &self.0
    }

    fn has(&self, argument: &str) -> bool {
        self.0.iter().any(|alternative| alternative == argument)
    }

    /// Returns true if an alternative is this program, by its file name and regardless of case.
    pub(super) fn names(&self, program: &str) -> bool {
        let name = file_name(program);
        self.0.iter().any(|alternative| file_name(alternative).eq_ignore_ascii_case(name))
    }
}

impl<T: AsRef<str> + ?Sized> From<&T> for RuleArgument {
    fn from(argument: &T) -> Self {
        Self(vec![argument.as_ref().to_owned()])
    }
}

pub(super) fn file_name(program: &str) -> &str {
    program.rsplit_once('/').map_or(program, |(_, name)| name)
}

impl Serialize for RuleArgument {
    /// Serialises as a string, or as an array of strings if there are several.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [argument] => serializer.serialize_str(argument),
            alternatives => serializer.collect_seq(alternatives),
        }
    }
}

impl<'de> Deserialize<'de> for RuleArgument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ArgumentVisitor)
    }
}

struct ArgumentVisitor;

impl<'de> Visitor<'de> for ArgumentVisitor {
    type Value = RuleArgument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an argument, or an array of arguments of which the command has one")
    }

    fn visit_str<E: serde::de::Error>(self, argument: &str) -> Result<Self::Value, E> {
        Ok(argument.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut alternatives: Vec<String> = Vec::new();
        while let Some(argument) = array.next_element::<String>()? {
            if alternatives.contains(&argument) {
                let problem = format!("the alternative {} is there twice", escaped(&argument));
                return Err(A::Error::custom(problem));
            }
            alternatives.push(argument);
        }
        Ok(RuleArgument::one_of(alternatives))
    }
}

impl fmt::Display for CommandRule {
    /// Formats the arguments as in a policy, with `…` if more may follow, and truncated if they are long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = match self.extent {
            Extent::Prefix => ", …]",
            Extent::Exact => "]",
        };
        let places = self.argv.iter().map(ToString::to_string);
        f.write_str(&array(places, end).unwrap_or_else(|cut| cut))
    }
}

impl fmt::Display for RuleArgument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_slice() {
            [argument] => f.write_str(&shown_argument(argument)),
            several => f.write_str(&shown(several).unwrap_or_else(|cut| cut)),
        }
    }
}
