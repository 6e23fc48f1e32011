//! Records and proofs: the entries of a ledger, receipts, keyrings, checkpoints, and the forms in which they are
//! signed (DSSE, C2SP notes, RFC 6962 trees).
//!
//! Everything here is a value or a function of values: no I/O, clock, randomness, environment or async. Signatures are
//! made by the ledger and checked by the gate.

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
