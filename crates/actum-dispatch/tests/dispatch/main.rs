//! Acceptance tests of seed 004, section 13, with the agent core on a real engine.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod acceptance;
mod claims;
mod examples;
mod guardrails;
mod hosts;
mod non_goals;
mod operators;
mod replays;
mod world;
