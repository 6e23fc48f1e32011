//! The public API of the ledger: storage, access and tamper detection.
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test may fail loudly"
)]

mod actions;
mod agent_tables;
mod agents;
mod alerts;
mod append_only;
mod conformance;
mod crashes;
mod exporting;
mod grounds;
mod home;
mod keys;
mod leases;
mod many;
mod memory;
mod packing;
mod passphrases;
mod places;
mod plans;
mod reading;
mod receipts;
mod signing;
mod tampering;
