//! Tests of command rules: parsing of commands and policies, and decisions about commands. They also show that the order of rules,
//! wildcards and wrapper programs never allow more than intended.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a test fails by panicking, and its texts are its own"
)]

mod judging;
mod loading;
mod properties;
mod reading;
mod runners;

use actum_gate::command::{CommandLine, CommandRule, CommandRules};
use serde::Deserialize;

/// Policy that consists only of command rules.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    #[serde(default)]
    command: Vec<CommandRule>,
}

fn policy(text: &str) -> Result<Vec<CommandRule>, String> {
    let policy: Result<Policy, _> = toml::from_str(text);
    policy.map(|policy| policy.command).map_err(|error| error.message().to_owned())
}

fn rules(text: &str) -> CommandRules {
    CommandRules::new(policy(text).unwrap()).unwrap()
}

fn line(text: &str) -> CommandLine {
    CommandLine::parse(text).unwrap()
}

/// Creates a rule that allows all commands beginning with these words.
fn allowing_all(words: &[&str]) -> CommandRule {
    let line = CommandLine::new(words.iter().map(ToString::to_string).collect()).unwrap();
    CommandRule { extent: Default::default(), ..CommandRule::allowing(&line) }
}
