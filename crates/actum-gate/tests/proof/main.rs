//! Tests of proofs: published vectors, our own vectors, other implementations, changed bytes, wrong keys, malicious texts and
//! replayed decisions.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    unreachable_pub,
    reason = "a test fails by panicking, and its texts are its own"
)]

mod access;
mod approvals;
mod catalog;
mod changed_bytes;
mod commands;
mod decisions;
mod differential;
mod earlier;
mod golden;
mod grounds;
mod hostile;
mod learning;
mod lease_entries;
mod leases;
mod material;
mod merkle;
mod pipelines;
mod policies;
mod policy_mistakes;
mod policy_tests;
mod published;
mod refusals;
mod slo_waivers;
mod sql;
mod vectors;
