//! The hostile suite. Each attack of the table is made with real system calls, without a sandbox and in
//! each tier of it, and is judged by what it did to the host.
//!
//! This program is three: the runner of the suite; the program that attacks (`hostile attack NAME
//! FACTS`); and the helper of the sandbox, by [`actum_sandbox::inside::enter`].
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
            // An attack that does not report this never ran, and stopped nothing.
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
