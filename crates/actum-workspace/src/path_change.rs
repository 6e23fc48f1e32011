//! States and contents of paths before and after a change, for display.

use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath};

use crate::change::Renames;
use crate::journal::back::Splices;

/// Maximum size of a file whose content is loaded for display, in bytes: 16 MiB.
pub const CONTENT_BYTES_MAX: u64 = 16 << 20;

/// State of a path before and after a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PathChange {
    /// Path that the change affects.
    pub path: RelPath,
    /// Path of the file before the change, if it is reported as renamed.
    pub renamed_from: Option<RelPath>,
    /// State before the change.
    pub before: State,
    /// State after the change.
    pub after: State,
    /// Recorded excerpts of the change, if the complete content can no longer be found.
    pub excerpts: Vec<Excerpt>,
}

/// Part of a file that a run replaced: whole lines, with some context lines around them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// Bytes of the excerpt before the run.
    pub before: Vec<u8>,
    /// Bytes of the excerpt after the run.
    pub after: Vec<u8>,
    /// Numbers of the first line of the excerpt before and after the run, if they are known.
    pub lines: Option<(u64, u64)>,
}

/// State of a path at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Nothing exists at the path.
    Absent,
    /// A directory exists at the path.
    Directory {
        /// Permission bits of the directory.
        mode: FileMode,
    },
    /// A regular file exists at the path.
    File {
        /// Permission bits of the file.
        mode: FileMode,
        /// Size of the file in bytes.
        size: u64,
        /// SHA-256 of the content.
        digest: Digest,
        /// Content of the file, if it is available.
        content: Content,
    },
}

/// Content of a file, if it is available.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes of the file.
    Known(Arc<Vec<u8>>),
    /// The content is too large. It exceeds [`CONTENT_BYTES_MAX`], all contents of the change exceed 64 MiB together,
    /// or it can only be rebuilt from a content over 64 MiB.
    TooLarge,
    /// Something other than a run changed the file, and the content can no longer be found.
    Unknown,
}

impl PathChange {
    /// Returns the inverse of `changes`, in which the states before and after each change are swapped.
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

    /// Returns the replaced parts of a file as excerpts. `back` contains the splices from the bytes after a run to
    /// those before it.
    pub(crate) fn all(back: &Splices) -> Vec<Self> {
        let newlines = |bytes: &[u8]| memchr::memchr_iter(b'\n', bytes).count() as u64;
        let mut grown = 0u64; // in lines; wraps around if the file shrinks
        let excerpts = back.splices.iter().enumerate().map(|(index, splice)| {
            let lines = back.lines.get(index).map(|after| (after.wrapping_sub(grown), *after));
            grown = grown.wrapping_add(newlines(&splice.old)).wrapping_sub(newlines(&splice.new));
            Self { before: splice.new.clone(), after: splice.old.clone(), lines }
        });
        excerpts.collect()
    }
}

impl State {
    /// Returns true if this is a file whose content can no longer be found.
    pub(crate) fn is_unknown(&self) -> bool {
        matches!(self, Self::File { content: Content::Unknown, .. })
    }

    /// Returns true if two states are equal, even if the content is only available in one of them.
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
