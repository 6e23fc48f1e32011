//! Errors for invalid binary patches.

use std::fmt;

use actum_core::RelPath;
use actum_core::place::{Excerpt, Place};

use super::UNPACKED_BYTES_MAX;
use crate::edit::{BlobId, DeltaError};
use crate::format::git_diff::problem::{DiffProblem, Found};
use crate::format::{INPUT_BYTES_MAX, ParseError};

/// Reason why a binary patch is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BinaryProblem {
    /// The binary patch is not in the section of a file.
    #[error(
        "`{found}` does not belong to a file; add a `diff --git` line and an `index` line before it"
    )]
    WithoutFile {
        /// First line of the binary patch.
        found: Excerpt,
    },
    /// The header has no `index` line with full object ids.
    #[error(
        "a binary patch needs an `index` line with the full ids of both contents; create the diff with \
         `git diff --binary`"
    )]
    Index,
    /// The ids of the old and the new content are equal.
    #[error("both contents have the id `{id}`, so the binary patch changes nothing")]
    SameId {
        /// Id of both contents.
        id: BlobId,
    },
    /// An id is zero, although the file exists on its side.
    #[error("the {side} id must not be zero because the file exists on the {side} side")]
    ZeroId {
        /// Side of the id.
        side: Side,
    },
    /// An id is not zero, although the file does not exist on its side.
    #[error(
        "the {side} id is `{id}`, but the file does not exist on the {side} side, so it must be zero"
    )]
    IdOfNoFile {
        /// Side of the id.
        side: Side,
        /// Id that must be zero.
        id: BlobId,
    },
    /// The binary patch has no hunk.
    #[error("expected `literal SIZE` or `delta SIZE` after `GIT binary patch`, found {found}")]
    NoHunk {
        /// Line after `GIT binary patch`.
        found: Found,
    },
    /// The size in the first line of a hunk is invalid.
    #[error("expected a decimal size, found `{found}`")]
    NoSize {
        /// Text at the position of the size.
        found: Excerpt,
    },
    /// A hunk is larger than [`INPUT_BYTES_MAX`].
    #[error("the hunk declares {size} bytes, but may have at most {INPUT_BYTES_MAX} bytes")]
    TooLarge {
        /// Size in the first line of the hunk.
        size: Excerpt,
    },
    /// The binary hunks together are larger than [`UNPACKED_BYTES_MAX`].
    #[error(
        "the binary hunks of the diff have more than {UNPACKED_BYTES_MAX} bytes in total; split the \
         diff"
    )]
    NoRoom,
    /// A line does not start with its length.
    #[error(
        "expected a line of a binary hunk, which starts with a length letter (`A` to `Z` or `a` to `z`), \
         found `{found}`"
    )]
    LengthLetter {
        /// Invalid line.
        found: Excerpt,
    },
    /// The length of a line does not match its length letter.
    #[error("the line declares {bytes} bytes, which take {expected} characters, but has {found}")]
    LineLength {
        /// Number of bytes according to the length letter.
        bytes: usize,
        /// Expected number of characters after the length letter.
        expected: usize,
        /// Actual number of characters after the length letter.
        found: usize,
    },
    /// A line contains a character that is not in the base-85 alphabet.
    #[error("`{found}` is not a character of git's base-85 alphabet")]
    Letter {
        /// Invalid character.
        found: Excerpt,
    },
    /// The value of a group of base-85 characters does not fit into four bytes.
    #[error("the base-85 group `{found}` does not fit into four bytes")]
    Group {
        /// Characters of the group.
        found: Excerpt,
    },
    /// A hunk does not end with a blank line.
    #[error("expected a blank line after the binary hunk, found {found}; pass the whole diff")]
    EndsEarly {
        /// Line at the position of the blank line.
        found: Found,
    },
    /// The content of a hunk is not valid zlib data.
    #[error("the hunk cannot be decompressed because its data is damaged or incomplete")]
    Packed,
    /// A hunk contains fewer bytes than it declares.
    #[error("the hunk declares {announced} bytes, but contains {found}")]
    TooShort {
        /// Declared size in bytes.
        announced: usize,
        /// Actual size in bytes.
        found: usize,
    },
    /// A hunk contains more bytes than it declares.
    #[error("the hunk declares {announced} bytes, but contains more")]
    TooLong {
        /// Declared size in bytes.
        announced: usize,
    },
    /// A delta is invalid.
    #[error(transparent)]
    Delta(DeltaError),
    /// The content of a hunk does not match the id in the header.
    #[error("the content of the hunk has the id `{found}`, but the `index` line says `{expected}`")]
    WrongId {
        /// Id in the `index` line.
        expected: BlobId,
        /// Actual id of the content.
        found: BlobId,
    },
    /// A hunk has content, although the file does not exist on the side that the hunk produces.
    #[error("the hunk removes the file, so it must be `literal 0`")]
    ContentOfNoFile,
    /// A hunk is a delta, although there is no content to apply it to.
    #[error("there is no content to apply a delta to, so the hunk must be `literal SIZE`")]
    DeltaOfNoFile,
    /// The patch of a deleted file does not contain the old content.
    #[error(
        "the section deletes `{path}`, but has no second hunk with the deleted content; create the diff \
         with `git diff --binary`"
    )]
    NoReverse {
        /// Deleted file.
        path: RelPath,
    },
    /// Another hunk follows after the end of the binary patch.
    #[error("unexpected hunk after the end of the binary patch: {found}")]
    GoesOn {
        /// First line of the hunk.
        found: Found,
    },
}

/// Side of a diff: the content before or after the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Content before the change.
    Old,
    /// Content after the change.
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
