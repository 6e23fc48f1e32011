//! Attacks on the three boundaries of an SQL step: the list of statements, the locked engine and the sandbox. The real worker
//! rejects each attack. With the first boundary turned off, the next one rejects it, and with all turned off, the attack does its
//! harm.
//!
//! This binary is both the test runner and a worker whose boundaries can be turned off. That worker exists only here, but calls the
//! library through the same module as the real one.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it attacks, and a test may fail loudly"
)]

mod attack;
mod bomb;
mod ground;
mod runner;
mod table;
mod worker;

/// Modules of the real worker.
#[allow(dead_code, unused_imports, unreachable_pub, reason = "the real worker uses more of them")]
#[path = "../../src"]
mod real {
    pub(crate) mod comparison;
    pub(crate) mod duckdb;
    pub(crate) mod job;
    pub(crate) mod lockdown;
    pub(crate) mod message;
    pub(crate) mod parameter;
    pub(crate) mod statement;
}

// These modules refer to each other from the crate root.
use real::{comparison, job, message, parameter};

use std::process::ExitCode;

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        // The first argument that the host gives its worker.
        Some("actum-sql-worker") => worker::serve(),
        _ => return runner::run(),
    }
    ExitCode::SUCCESS
}
