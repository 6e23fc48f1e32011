//! Decisions of the agent core: contracts, reasons, keys, and a comparison with a model in Python.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod contracts;
mod fixture;
mod golden;
mod keys;
mod model;
mod reasons;
mod sealed;
