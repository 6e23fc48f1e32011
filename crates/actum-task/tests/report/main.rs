//! The output of a task: its documents, and its rollback script, which the tests actually run.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod deltas;
mod documents;
mod examples;
mod owners;
mod races;
mod rollback;
mod schemas;
mod synced;
mod tree;
