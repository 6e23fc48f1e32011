//! Confirmation by users: languages, words, attacks on the parser, and proofs.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]

mod attacks;
mod fixture;
mod languages;
mod lexicon;
mod model;
mod proofs;
mod words;
