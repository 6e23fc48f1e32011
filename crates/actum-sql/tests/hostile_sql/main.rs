//! Attacks on the three boundaries of an SQL step: the list of statements, the locked engine and
//! the sandbox. The real worker refuses each attack. If the first boundary is turned off the next
//! one refuses it, and if all are off it does its harm.
//!
//! This program is two: the runner of the suite, and a worker whose boundaries can be turned off.
//! The worker is part of this program alone, and calls the library by the same module as the real
//! one.
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

/// Parts of the real worker.
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

// They name each other from the root of their crate.
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
