//! SQL steps with a real library.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test may fail loudly"
)]

mod attacks;
mod comparisons;
mod libraries;
mod steps;
mod world;
