//! Policies, the queue, keys, and nested workspaces.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]

mod agent_alone;
mod agent_finder;
mod agent_goals;
mod keys;
mod passphrases;
mod policies;
mod policy_answers;
mod policy_commands;
mod policy_places;
mod queue;
mod surroundings;

#[path = "../agent_goal/mod.rs"]
mod agent_goal;
#[path = "../program/mod.rs"]
mod program;
#[path = "../traced/mod.rs"]
#[allow(dead_code, reason = "the tests of kills use more of it")]
mod traced;
