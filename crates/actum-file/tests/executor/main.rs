//! Tests that call the File Executor as a kernel does, on real files.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod between;
mod capabilities;
mod compromised_worker;
mod crash;
mod idempotency;
mod leases;
mod model;
mod paths;
mod recovery;
mod sandboxed;
mod simulated;
mod swaps;
mod world;
