//! Objects at a path before and after a change, with their bytes, for display.

use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath};

use crate::change::Renames;
use crate::journal::back::Splices;

/// Largest file whose content is loaded for display, in bytes: 16 MiB.
pub const CONTENT_BYTES_MAX: u64 = 16 << 20;

/// Path before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// The path.
    pub path: RelPath,
    /// The path that the file had before, where it is reported as renamed.
    pub renamed_from: Option<RelPath>,
    /// Object before the change.
    pub before: State,
    /// Object after the change.
    pub after: State,
    /// Recorded excerpts, where the content can no longer be found.
    pub excerpts: Vec<Excerpt>,
}

/// Piece of a file that a run replaced: whole lines with some around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The bytes before.
    pub before: Vec<u8>,
    /// The bytes after.
    pub after: Vec<u8>,
    /// The numbers of its first line before and after, if they are known.
    pub lines: Option<(u64, u64)>,
}

/// Object at a path at one moment.
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

/// Bytes of a file, as far as they are available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes.
    Known(Arc<Vec<u8>>),
    /// There are more than [`CONTENT_BYTES_MAX`], all contents of the change are more than 64 MiB, or they follow from
    /// a content of more than 64 MiB.
    TooLarge,
    /// Something other than a run changed them, and they cannot be found again.
    Unknown,
}

impl PathChange {
    /// Returns the inverse changes.
    pub fn reversed(changes: Vec<Self>) -> Vec<Self> {
        let from =
            changes.iter().filter_map(|change| Some((change.renamed_from.as_ref()?, change)));
        let moves = from.map(|(from, to)| (from, &to.path)).collect();
        let will_be_file = |path: &RelPath| {
            let change = changes.iter().find(|change| change.path == *path);
            change.is_some_and(|change| matches!(change.after, State::File { .. }))
        };
        let renames = Renames::new(&moves, will_be_file);
        let from: Vec<_> =
            changes.iter().map(|change| renames.from(&change.path).cloned()).collect();
        let reversed = changes.into_iter().zip(from).map(|(change, renamed_from)| {
            let Self { path, renamed_from: _, before, after, excerpts } = change;
            let excerpts = excerpts.into_iter().map(Excerpt::reversed).collect();
            Self { path, renamed_from, before: after, after: before, excerpts }
        });
        reversed.collect()
    }
}

impl Excerpt {
    fn reversed(self) -> Self {
        let Self { before, after, lines } = self;
        let lines = lines.map(|(before, after)| (after, before));
        Self { before: after, after: before, lines }
    }

    /// Returns the excerpts that `back`, the way back from the bytes after a run, shows.
    pub(crate) fn all(back: &Splices) -> Vec<Self> {
        let newlines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
        let mut grown = 0u64; // by how many lines, wrapping: it may have shrunk
        let excerpts = back.splices.iter().enumerate().map(|(index, splice)| {
            let lines = back.lines.get(index).map(|after| (after.wrapping_sub(grown), *after));
            grown = grown.wrapping_add(newlines(&splice.old)).wrapping_sub(newlines(&splice.new));
            Self { before: splice.new.clone(), after: splice.old.clone(), lines }
        });
        excerpts.collect()
    }
}

impl State {
    /// Returns true if the bytes of a file cannot be found again.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::File { content: Content::Unknown, .. })
    }

    /// Returns true if both are equal, apart from the availability of the bytes.
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
