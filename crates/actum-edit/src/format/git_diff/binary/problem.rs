//! Errors of a binary patch that is refused.

use std::fmt;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::UNPACKED_BYTES_MAX;
use crate::edit::{BlobId, DeltaError};
use crate::format::git_diff::problem::{DiffProblem, Found};
use crate::format::{INPUT_BYTES_MAX, ParseError};

/// Problem of a binary patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinaryProblem {
    /// The patch is in no section.
    #[error("`{found}` belongs to no file; put a `diff --git` line and an `index` line before it")]
    WithoutFile {
        /// Its first line.
        found: Excerpt,
    },
    /// The header does not say from what to what it leads.
    #[error(
        "a binary patch needs an `index` line with the whole ids of both contents; make the diff \
         with `git diff --binary`"
    )]
    Index,
    /// Both ids are equal.
    #[error("both contents have the id `{id}`, so the binary patch changes nothing")]
    SameId {
        /// The id.
        id: BlobId,
    },
    /// An id is zero, though there is a file.
    #[error("the {side} id is zero, which means that there is no {side} file, but there is one")]
    ZeroId {
        /// Side of the hunk.
        side: Side,
    },
    /// An id is not zero, though there is no file.
    #[error("the {side} id is `{id}`, but there is no {side} file, so it must be zero")]
    IdOfNoFile {
        /// Side of the hunk.
        side: Side,
        /// The id.
        id: BlobId,
    },
    /// The patch has no hunk.
    #[error("no `literal SIZE` or `delta SIZE` follows `GIT binary patch`: found {found}")]
    NoHunk {
        /// Next line.
        found: Found,
    },
    /// The size of a hunk is invalid.
    #[error("the size `{found}` is no decimal number")]
    NoSize {
        /// Text in place of the size.
        found: Excerpt,
    },
    /// A hunk is too large.
    #[error("the hunk announces {size} bytes, but at most {INPUT_BYTES_MAX} are unpacked")]
    TooLarge {
        /// The size it announces.
        size: Excerpt,
    },
    /// All hunks together are too large.
    #[error(
        "the binary hunks of the diff announce more than {UNPACKED_BYTES_MAX} bytes together, and \
         no more are unpacked; split it"
    )]
    NoRoom,
    /// A line does not say how many bytes it has.
    #[error(
        "a line of a binary hunk starts with a letter for its length, `A` to `Z` or `a` to `z`: \
         found `{found}`"
    )]
    LengthLetter {
        /// The line.
        found: Excerpt,
    },
    /// A line is longer or shorter than it says.
    #[error("the line announces {bytes} bytes, which are {expected} letters, but has {found}")]
    LineLength {
        /// The bytes it announces.
        bytes: usize,
        /// The letters it should have after the first.
        expected: usize,
        /// The letters it has.
        found: usize,
    },
    /// A line has a letter that stands for nothing.
    #[error("`{found}` is no letter of the base 85 of git")]
    Letter {
        /// The letter.
        found: Excerpt,
    },
    /// A group of letters stands for more than four bytes.
    #[error("`{found}` is more in base 85 than four bytes can hold")]
    Group {
        /// The letters.
        found: Excerpt,
    },
    /// A hunk is cut off.
    #[error("the binary hunk has no blank line at its end: found {found}; give the whole diff")]
    EndsEarly {
        /// Line in its place.
        found: Found,
    },
    /// The content of a hunk cannot be unpacked.
    #[error("what the hunk holds cannot be unpacked; it is damaged or not whole")]
    Packed,
    /// A hunk holds less than it says.
    #[error("the hunk announces {announced} bytes, but holds {found}")]
    TooShort {
        /// The size it announces.
        announced: usize,
        /// The size it has.
        found: usize,
    },
    /// A hunk holds more than it says.
    #[error("the hunk announces {announced} bytes, but holds more")]
    TooLong {
        /// The size it announces.
        announced: usize,
    },
    /// A delta is not sound.
    #[error(transparent)]
    Delta(DeltaError),
    /// A hunk holds another content than the header says.
    #[error("the content of the hunk has the id `{found}`, but the `index` line says `{expected}`")]
    WrongId {
        /// The id by the header.
        expected: BlobId,
        /// The id it has.
        found: BlobId,
    },
    /// A hunk leads to a content where there is no file.
    #[error("the hunk leads to where there is no file, so it must be `literal 0`")]
    ContentOfNoFile,
    /// A hunk is a delta where there is no file to start from.
    #[error("the hunk starts from where there is no file, so it must be `literal SIZE`")]
    DeltaOfNoFile,
    /// A file is deleted, and its content is missing.
    #[error(
        "the section deletes `{path}`, but has no second hunk with the content that goes; make the \
         diff with `git diff --binary`"
    )]
    NoReverse {
        /// The file.
        path: RelPath,
    },
    /// A hunk follows the last one, or blank lines precede it.
    #[error("the binary patch of the file ended before this hunk: found {found}")]
    GoesOn {
        /// The first line of the hunk.
        found: Found,
    },
}

/// One of the two contents between which a diff leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The one before.
    Old,
    /// The one after.
    New,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Old => "old",
            Self::New => "new",
        })
    }
}

impl ParseError {
    pub(in crate::format::git_diff) fn binary(place: Place, problem: BinaryProblem) -> Self {
        Self::diff(place, DiffProblem::BinaryPatch(problem))
    }
}
