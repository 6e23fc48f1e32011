//! Data types for records and proofs, such as ledger entries, receipts, keyrings, leases and checkpoints. Also contains the
//! formats in which they are signed, which are DSSE envelopes, C2SP signed notes and RFC 6962 Merkle trees.
//!
//! This crate contains only data types and pure functions. It does not use I/O, the clock, randomness, the environment or
//! async code. Signatures are made by `actum-ledger` and verified by `actum-gate`.

pub mod agent;
pub mod checkpoint;
pub mod command;
pub mod dsse;
pub mod keyring;
pub mod lease;
pub mod ledger;
pub mod lifecycle;
pub mod merkle;
pub mod name;
pub mod note;
pub mod receipt;
pub mod signer;
