//! What a task leaves behind: its documents, and a rollback script that is really run.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod documents;
mod examples;
mod rollback;
mod schemas;
mod tree;
