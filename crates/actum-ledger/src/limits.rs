//! Limits of a log.

/// The longest body of an entry and the longest document, in bytes: 256 MiB.
pub const BODY_BYTES_MAX: usize = 256 << 20;
/// Default limit of a log in bytes: 8 GiB, which hold some millions of runs.
pub const LOG_BYTES_MAX: u64 = 8 << 30;
/// Limit of the entries that are appended all or none.
pub const REQUEST_ENTRIES_MAX: usize = 256;
/// Entries after which the next checkpoint is signed.
pub(crate) const CHECKPOINT_ENTRIES: u64 = 64;
