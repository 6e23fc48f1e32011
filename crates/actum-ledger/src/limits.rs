//! Size limits of a log and its entries.

/// Maximum size of the body of an entry and of a document, 256 MiB.
pub const BODY_BYTES_MAX: usize = 256 << 20;
/// Default maximum size of a log, 8 GiB, which is sufficient for several million runs.
pub const LOG_BYTES_MAX: u64 = 8 << 30;
/// Maximum number of entries in a request, which are appended either all or not at all.
pub const REQUEST_ENTRIES_MAX: usize = 256;
/// Number of new entries after which a checkpoint is signed automatically.
pub(crate) const CHECKPOINT_ENTRIES: u64 = 64;
