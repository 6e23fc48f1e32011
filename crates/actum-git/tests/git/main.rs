//! Compares the git backend with the `git` program: the content of commits and reverts, the files left unchanged, the rejected
//! repositories, and that nothing a repository configures is executed.
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
