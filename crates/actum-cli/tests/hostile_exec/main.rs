//! Attacks on the sandbox, made through `actum exec`. Each attack first runs without actum to show its effect on the host, and then
//! under each invocation of `exec`. The verdict depends on the effect on the host, on the remaining processes, and on the state of
//! the workspace.
//!
//! This binary is both the test runner and the attacking program (`hostile attack NAME FACTS`). It shares the attacks and the
//! criteria of the verdict with the suite of `actum-sandbox`.
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
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "it attacks, and a test may fail loudly"
)]

mod invocation;
mod judge;
mod runner;

#[path = "../../../actum-sandbox/tests/hostile"]
#[allow(dead_code, reason = "the suite of the sandbox uses more of it")]
mod hostile {
    pub(crate) mod act;
    pub(crate) mod attack;
    pub(crate) mod course;
    pub(crate) mod effect;
    pub(crate) mod scene;
    pub(crate) mod table;
    pub(crate) mod user;
}

// These modules import each other from the crate root.
use hostile::{act, attack, course, effect, scene, table, user};

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().skip(1).map(String::as_str).collect();
    match words.as_slice() {
        ["attack", name, facts] => {
            println!("{}", effect::BEGUN);
            (table::find(name).act)(&serde_json::from_str(facts).unwrap());
        }
        ["control", name] => judge::control(name),
        ["look", name, way] => judge::look(name, way),
        ["supervise", name, host, facts] => course::supervise(name, host, facts),
        ["terminal", name, way, facts] => invocation::at_terminal(name, way, facts),
        _ => return runner::run(),
    }
    ExitCode::SUCCESS
}
