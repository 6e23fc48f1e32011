//! Actions and plugin packages.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may fail loudly"
)]

mod action_commands;
mod actions;
mod actions_stopped;
mod catalog;
mod feedback;
mod plugin_actions;
mod plugin_attacks;
mod plugin_steps;
mod plugins;
mod repairs;

#[path = "../envelopes/mod.rs"]
mod envelopes;
#[path = "../library/mod.rs"]
mod library;
#[path = "../package/mod.rs"]
mod package;
#[path = "../program/mod.rs"]
mod program;
#[path = "../stage/mod.rs"]
mod stage;
#[path = "../trees/mod.rs"]
mod trees;
