//! Tests of lease tokens: granting, attenuation, attacks, and comparison with Biscuit's own authorizer.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test may fail loudly"
)]

mod attacks;
mod chain;
mod fixture;
mod forms;
mod limits;
mod model;
mod tokens;
