//! Tests of the engine's public API.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    dead_code,
    reason = "a test may fail loudly"
)]

mod access;
mod both_logs;
mod catalog;
mod examples;
mod feedback;
mod grounds;
mod leases;
mod plan_model;
// In-memory store from the ledger's own tests, which uses only public items.
#[path = "../../../actum-ledger/tests/ledger/memory.rs"]
mod memory;
mod plugin_packages;
mod queue;
mod rehearsal;
mod requests;
mod witness;
