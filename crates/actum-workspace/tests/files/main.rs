//! Runs on a real file system of the machine.
#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod allowances;
mod attributes;
mod block_deltas;
mod captures;
mod directories;
mod identity;
mod journal_damage;
mod kept_edits;
mod links;
mod operations;
mod races;
mod refusals;
mod reported_changes;
mod staged_directories;
mod staged_files;
mod there_and_back;
