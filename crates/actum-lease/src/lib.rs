//! Lease tokens: granted, attenuated, sealed and verified (FE-17, D-7).
//!
//! A token is a [Biscuit](https://www.biscuitsec.org): a chain of blocks. The lease key signs the first block; each
//! holder can append a block without a key. A block is a list of checks in the one form of `docs/lease-format.md`, and
//! a token with anything else in it is rejected.
//!
//! The checks are read as [`LeaseTerms`](actum_record::lease::LeaseTerms) and never evaluated as Datalog here:
//! `actum-gate` judges the terms. Reading has no time limit, since [`TOKEN_BYTES_MAX`] bounds the work.
//!
//! [`grant`] creates a token, [`Token::attenuate`] attenuates one, and [`verify`] is the only way to a
//! [`VerifiedLease`]. Its chain document has the signed blocks without the proof: [`verify_chain`] checks it later, and
//! it cannot be used as a token.
//!
//! This crate has no clock, environment or I/O. The only randomness is that of new keys inside Biscuit. No other crate
//! uses Biscuit.

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
