//! Runs every attack of the table with real system calls, without a sandbox and in each tier. The verdict depends on the effect on
//! the host.
//!
//! This binary has three roles: the test runner, the attacking program (`hostile attack NAME FACTS`), and the sandbox helper,
//! through [`actum_sandbox::inside::enter`].
#![allow(
    unsafe_code,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::let_underscore_must_use,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it attacks, and a test may fail loudly"
)]

mod act;
mod attack;
mod course;
mod document;
mod effect;
mod runner;
mod scene;
mod table;
mod user;

use std::process::ExitCode;

use actum_sandbox::{Helper, HostReport};

fn main() -> ExitCode {
    actum_sandbox::inside::enter();
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    match words.as_slice() {
        ["attack", name, facts] => {
            // Without this line, the attack never ran and its failure proves nothing.
            println!("{}", effect::BEGUN);
            (table::find(name).act)(&serde_json::from_str(facts).unwrap());
        }
        ["probe"] => {
            let report = HostReport::probe(&Helper::at(std::env::current_exe().unwrap()));
            println!("{}", serde_json::to_string(&report).unwrap());
        }
        ["trial", name, tier, host] => course::trial(name, tier, host),
        ["supervise", name, host, facts] => course::supervise(name, host, facts),
        _ => return runner::run(),
    }
    ExitCode::SUCCESS
}
