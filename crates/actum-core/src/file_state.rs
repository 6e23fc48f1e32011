//! State of a file, as far as a record or a comparison needs it.

use serde::{Deserialize, Serialize};

use crate::{Digest, FileMode};

/// A file, as it was or as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// SHA-256 of its bytes.
    pub sha256: Digest,
    /// Its size in bytes.
    pub size: u64,
    /// Its permission bits.
    pub mode: FileMode,
}
