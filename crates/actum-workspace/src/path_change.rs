//! What a path held before a change and what it holds after, with the bytes, to be shown.

use std::rc::Rc;

use actum_core::{Digest, FileMode, RelPath};

/// The largest file, in bytes, whose content is fetched to be shown: 16 MiB.
pub const CONTENT_BYTES_MAX: u64 = 16 << 20;

/// A path before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path.
    pub path: RelPath,
    /// The path the file had before, where it was moved here.
    pub renamed_from: Option<RelPath>,
    /// What was there.
    pub before: State,
    /// What is there after.
    pub after: State,
}

/// What a path holds at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Absent,
    /// A directory.
    Directory {
        /// Its permission bits.
        mode: FileMode,
    },
    /// A regular file.
    File {
        /// Its permission bits.
        mode: FileMode,
        /// Its size in bytes.
        size: u64,
        /// The SHA-256 of its bytes.
        digest: Digest,
        /// Its bytes.
        content: Content,
    },
}

/// The bytes of a file, as far as they are at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// They are here.
    Known(Rc<Vec<u8>>),
    /// There are more than [`CONTENT_BYTES_MAX`].
    TooLarge,
    /// They were changed by something else than a run and cannot be found again.
    Unknown,
}

impl State {
    /// Whether both are the same, whatever is known of the bytes.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Absent, Self::Absent) => true,
            (Self::Directory { mode: a }, Self::Directory { mode: b }) => a == b,
            (
                Self::File { mode: a, digest: digest_a, .. },
                Self::File { mode: b, digest: digest_b, .. },
            ) => (a, digest_a) == (b, digest_b),
            (Self::Absent | Self::Directory { .. } | Self::File { .. }, _) => false,
        }
    }
}
