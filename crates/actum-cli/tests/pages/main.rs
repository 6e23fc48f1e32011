//! Documentation pages, terminal output and shell completions.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod completions;
mod docs;
mod documents;
mod hostile_terminal;
mod scenarios;
mod security;
mod suggested_commands;

#[path = "../duckdb/mod.rs"]
mod duckdb;
#[path = "../program/mod.rs"]
mod program;
#[path = "../scenario/mod.rs"]
mod scenario;
