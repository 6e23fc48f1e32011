//! Contract of the action API: reading, writing, and the frozen form.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    reason = "a test stops at what it did not expect"
)]

mod contract;
mod documents;
mod examples;
mod limits;
mod malformed;
mod refusals;
mod schemas;
