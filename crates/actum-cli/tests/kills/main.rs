//! Kills commands at each of their system calls.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::wildcard_enum_match_arm,
    reason = "a test may fail loudly"
)]

mod agent_kills;
mod file_task_kills;
mod killed_at_each_call;
mod step_kills;
mod task_kills;

#[path = "../agent_goal/mod.rs"]
mod agent_goal;
#[path = "../duckdb/mod.rs"]
mod duckdb;
#[path = "../program/mod.rs"]
mod program;
#[path = "../traced/mod.rs"]
mod traced;
#[path = "../trees/mod.rs"]
mod trees;
