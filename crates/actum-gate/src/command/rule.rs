//! One rule about commands, as a policy has it: `[[command]]`.

use std::fmt;

use serde::de::{Error as _, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::command_line::{CommandLine, array, escaped, shown, shown_argument};
use crate::verdict::Verdict;

/// What may be done with the commands that begin so, or are so.
///
/// Arguments are compared whole, byte by byte. There are no wildcards and no patterns.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandRule {
    /// The arguments in their order, the program first.
    pub argv: Vec<RuleArgument>,
    /// Whether more arguments may follow; `exact = true` in a policy where none may.
    #[serde(default, rename = "exact", skip_serializing_if = "Extent::is_prefix")]
    pub extent: Extent,
    /// What is said of these commands.
    pub decision: RuleDecision,
    /// Why, for those who meet the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Commands that the rule speaks of, which is checked when it is loaded. A rule that allows has
    /// at least one.
    #[serde(default, rename = "match", skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<String>,
    /// Commands that it does not speak of, which is checked when it is loaded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_match: Vec<String>,
}

/// One place of a rule: an argument, or several of which the command has one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleArgument(Vec<String>);

/// How much of a command a rule tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub enum Extent {
    /// Its beginning; whatever follows is covered as well.
    #[default]
    Prefix,
    /// All of it.
    Exact,
}

/// What a rule says of the commands that it speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    /// They may run.
    Allow,
    /// They may run if a person agrees.
    Ask,
    /// They may not run.
    Deny,
}

impl RuleDecision {
    /// The word for it in a policy.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    /// What it means beside the other gates.
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

/// How a command stands to a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fit<'a> {
    /// The rule speaks of it.
    Covered {
        /// What follows the arguments of the rule.
        rest: &'a [String],
    },
    /// It has this many arguments of the rule at its beginning, and then another, or none.
    Parted {
        /// How many.
        after: usize,
    },
}

impl CommandRule {
    /// A rule that allows this command and no other.
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

    /// Whether the rule means the command, under whatever path or spelling its program is called.
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
    /// One of several arguments; their order has no meaning.
    pub fn one_of(mut alternatives: Vec<String>) -> Self {
        alternatives.sort();
        alternatives.dedup();
        Self(alternatives)
    }

    /// The arguments that may stand there.
    pub fn alternatives(&self) -> &[String] {
        &self.0
    }

    fn has(&self, argument: &str) -> bool {
        self.0.iter().any(|alternative| alternative == argument)
    }

    /// Whether one of them is this program, by its file name and whatever the case.
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
    /// A string, or an array of strings where there are several.
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
    /// The arguments as a policy has them, with `…` where more may follow, and cut where they are
    /// long.
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
