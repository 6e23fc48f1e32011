//! The input of a task: how plans, envelopes and configs are read, ordered and linted.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at what it did not expect"
)]

mod approvals;
mod codes;
#[path = "../../../actum-action/tests/action/documents.rs"]
mod documents;
mod envelopes;
mod examples;
mod graphs;
mod limits;
mod lints;
mod plans;
mod refusals;
mod schemas;
mod settings;
mod written_out;
