//! Inputs, effects and messages of `apply`, `exec` and `undo`.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may fail loudly"
)]

mod binding;
mod brief;
mod confined;
mod documents;
mod earlier_versions;
mod exec;
mod exec_caches;
mod exec_captures;
mod exec_links;
mod exec_real_commands;
mod exit_codes;
mod file_tasks;
mod inputs;
mod large_files;
mod leases;
mod log;
mod meanwhile;
mod messages;
mod once;
mod output_files;
mod receipts;
mod sandbox;
mod staged_views;

#[path = "../library/mod.rs"]
mod library;
#[path = "../program/mod.rs"]
mod program;
#[path = "../task/mod.rs"]
mod task;
#[path = "../trees/mod.rs"]
mod trees;

/// Parses standard output as a JSON document.
fn json(ended: &program::Ended) -> serde_json::Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}
