//! State of a file, as recorded and compared by actum.

use serde::{Deserialize, Serialize};

use crate::{Digest, FileMode};

/// Digest, size and mode of a file at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileState {
    /// SHA-256 digest of the file's content.
    pub sha256: Digest,
    /// Size of the file in bytes.
    pub size: u64,
    /// Permission bits of the file.
    pub mode: FileMode,
}
