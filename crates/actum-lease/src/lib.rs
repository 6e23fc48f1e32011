//! Grants, attenuates, seals and verifies lease tokens (FE-17, D-7).
//!
//! A token is a [Biscuit](https://www.biscuitsec.org), which is a chain of blocks. The lease key signs the first block,
//! and every holder can append a block without needing a key. A block is a list of checks in the form that
//! `docs/lease-format.md` defines. A token that contains anything else is rejected.
//!
//! This crate reads the checks as [`LeaseTerms`](actum_record::lease::LeaseTerms) and never evaluates them as Datalog;
//! `actum-gate` evaluates the terms. Reading needs no time limit, because [`TOKEN_BYTES_MAX`] bounds the amount of work.
//!
//! [`grant`] creates a token, [`Token::attenuate`] adds a block to one, and [`verify`] is the only function that returns
//! a [`VerifiedLease`]. The chain document of a verified lease contains the signed blocks without the proof, so it cannot
//! be used as a token. [`verify_chain`] verifies such a document later.
//!
//! This crate does not access the clock or the environment and performs no I/O. It uses randomness only for the new keys
//! that Biscuit generates. No other crate depends on Biscuit.

mod block;
mod chain;
mod check;
mod error;
mod limits;
mod source;
mod token;
mod verify;

pub use block::ChainBlock;
pub use chain::{LeaseChain, read_chain, verify_chain};
pub use error::{FormProblem, GrantError, LeaseError};
pub use limits::{CHAIN_BYTES_MAX, TOKEN_BYTES_MAX, TOKEN_TEXT_BYTES_MAX};
pub use source::write_checks;
pub use token::{Token, grant};
pub use verify::{VerifiedLease, verify};
