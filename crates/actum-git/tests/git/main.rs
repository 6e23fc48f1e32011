//! Git backend, compared with the `git` program: what is committed and reverted, what is left alone, what is refused,
//! and that nothing a repository configures is executed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    clippy::wildcard_enum_match_arm,
    unreachable_pub,
    reason = "a test fails by panicking, and its texts are its own; repositories are made by git"
)]

mod checking;
mod committing;
mod conversions;
mod hostile;
mod index;
mod kinds;
mod properties;
mod repo;
mod resuming;
mod reverting;
