//! Command rules, which a policy declares as `[[command]]`.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::command_line::{CommandLine, array, escaped, shown, shown_argument};
use crate::verdict::Verdict;

/// Rule that allows, asks about or denies commands with certain arguments.
///
/// Each argument must match exactly, byte for byte. There are no wildcards or patterns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// Arguments of the command, starting with the program.
    pub argv: Vec<RuleArgument>,
    /// Whether a command may have further arguments. In a policy, `exact = true` rules them out.
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    pub extent: Extent,
    /// Decision for the commands that match.
    pub decision: RuleDecision,
    /// Reason for the decision, which is shown to users whose command matches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Examples that the rule must match, which is checked when the policy is loaded. An `allow` rule needs at least one.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Examples that the rule must not match, which is checked when the policy is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

/// Argument of a rule, with one or more alternatives.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleArgument(Vec<String>);

/// Extent to which the arguments of a rule cover those of a command.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Extent {
    /// The rule covers the beginning of a command, which may have any further arguments.
    #[default]
    Prefix,
    /// The rule covers the entire command.
    Exact,
}

/// Decision of a rule for the commands that it matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    /// The command may run.
    Allow,
    /// The command may run if a user approves it.
    Ask,
    /// The command must not run.
    Deny,
}

impl RuleDecision {
    /// Returns the decision as it is written in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// Returns the decision as the verdict of a gate.
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

/// Result of comparing a command with a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit<'a> {
    /// The rule matches the command.
    Covered {
        /// Arguments of the command that follow those of the rule.
        rest: &'a [String],
    },
    /// The command differs from the rule, or one of them ends early.
    Parted {
        /// Number of leading arguments that match.
        after: usize,
    },
}

impl CommandRule {
    /// Creates a rule that allows exactly this command.
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

    /// Returns true if the rule matches the command, ignoring the path and case of the program.
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
    /// Creates an argument with several alternatives. Their order has no meaning.
    pub fn one_of(mut alternatives: Vec<String>) -> Self {
        alternatives.sort();
        alternatives.dedup();
        Self(alternatives)
    }

    /// Returns the alternatives of the argument, sorted.
    pub fn alternatives(&self) -> &[String] {
        &self.0
    }

    fn has(&self, argument: &str) -> bool {
        self.0.iter().any(|alternative| alternative == argument)
    }

    /// Returns true if an alternative has the same file name as the program, ignoring directories and case.
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
    /// Serialises the argument as a string, or as an array of strings if it has several alternatives.
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
        f.write_str("an argument, or an array of alternative arguments")
    }

    fn visit_str<E: serde::de::Error>(self, argument: &str) -> Result<Self::Value, E> {
        Ok(argument.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut alternatives: Vec<String> = Vec::new();
        while let Some(argument) = array.next_element::<String>()? {
            if alternatives.contains(&argument) {
                let problem =
                    format!("the alternative {} is listed more than once", escaped(&argument));
                return Err(A::Error::custom(problem));
            }
            alternatives.push(argument);
        }
        Ok(RuleArgument::one_of(alternatives))
    }
}

impl fmt::Display for CommandRule {
    /// Formats the arguments as in a policy, with `…` at the end if further arguments are allowed. Long rules are
    /// truncated.
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
