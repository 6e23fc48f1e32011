//! Errors for invalid SEARCH/REPLACE blocks.

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::LINES_MAX;
use crate::format::Remedy;

/// Reason why an input with SEARCH/REPLACE blocks is invalid. Messages identify a block by the line at which it starts.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockProblem {
    /// The input contains no SEARCH/REPLACE block.
    #[error("the input has no SEARCH/REPLACE blocks, which start with a `<<<<<<< SEARCH` line")]
    NoBlock,
    /// The input ends inside a block.
    #[error("the block that starts here is incomplete: no `>>>>>>> REPLACE` line follows")]
    CutOff,
    /// A block starts inside another block.
    #[error(
        "a block starts here, but the block that starts at line {first} has not ended with `>>>>>>> REPLACE`"
    )]
    Nested {
        /// Line at which the outer block starts.
        first: u64,
    },
    /// A block has no `=======` line.
    #[error("the block that starts at line {first} ends here, but it has no `=======` line")]
    NoDivider {
        /// Line at which the block starts.
        first: u64,
    },
    /// A block has two `=======` lines.
    #[error(
        "the block that starts at line {first} has a `=======` line at line {divider} and another one here, so it is \
         unclear which of them separates its parts"
    )]
    TwoDividers {
        /// Line at which the block starts.
        first: u64,
        /// Line number of the first `=======` line.
        divider: u64,
    },
    /// A marker line of a block is outside all blocks.
    #[error(
        "`{found}` is outside a block, which starts with `<<<<<<< SEARCH` and ends with `>>>>>>> REPLACE`"
    )]
    Outside {
        /// Marker line.
        found: Excerpt,
    },
    /// The input contains SEARCH/REPLACE blocks and a change in another format.
    #[error(
        "`{found}` belongs to a change in another format; pass it and the SEARCH/REPLACE blocks as separate inputs"
    )]
    Mixed {
        /// First line of the other change.
        found: Excerpt,
    },
    /// A marker line or a path ends with CRLF.
    #[error(
        "the line ends with CRLF, so the line endings of the blocks were converted; pass the blocks with their \
         original line endings"
    )]
    CarriageReturn,
    /// No path precedes a block.
    #[error(
        "the file path is missing; it must be on the line before the block or before its code fence"
    )]
    NoPath,
    /// The line before a block could be something other than a path.
    #[error("expected the file path of the block, but `{found}` could be prose")]
    UnclearPath {
        /// Line before the block.
        found: Excerpt,
    },
    /// Two different paths precede a block.
    #[error(
        "both `{path}` and `{rival}` precede the block, so it is unclear which file it changes"
    )]
    TwoPaths {
        /// Path that is nearest to the block.
        path: RelPath,
        /// Other path.
        rival: Excerpt,
    },
    /// A block creates a file that an earlier block changes.
    #[error(
        "a block without lines to search for creates a file, but the block at line {first} already changes `{path}`; \
         add the lines to search for"
    )]
    MadeLate {
        /// File that both blocks change.
        path: RelPath,
        /// Line at which the earlier block starts.
        first: u64,
    },
    /// A block searches only for blank lines.
    #[error(
        "the block searches only for blank lines, so its position is unclear; add lines with text, or remove all lines \
         before `=======` to create a file"
    )]
    BlankSearch,
    /// A block has more than [`LINES_MAX`] lines.
    #[error(
        "the block has more than {LINES_MAX} lines; pass the change as a diff or as a whole file"
    )]
    TooManyLines,
    /// The search lines and the replacement lines of a block are equal.
    #[error(
        "the lines before and after `=======` are equal, so the block changes nothing; remove it"
    )]
    ChangesNothing,
}

impl BlockProblem {
    /// Returns a remedy for the problem, unless the message already contains one.
    pub(in crate::format) fn remedy(&self) -> Option<Remedy> {
        match self {
            Self::NoPath | Self::UnclearPath { .. } | Self::TwoPaths { .. } => {
                Some(Remedy::NameFile)
            }
            Self::TwoDividers { .. } | Self::Nested { .. } | Self::Outside { .. } => {
                Some(Remedy::OtherFormat)
            }
            Self::CutOff | Self::NoDivider { .. } => Some(Remedy::WholeInput),
            Self::NoBlock => Some(Remedy::KnownFormat),
            Self::Mixed { .. }
            | Self::CarriageReturn
            | Self::MadeLate { .. }
            | Self::BlankSearch
            | Self::TooManyLines
            | Self::ChangesNothing => None,
        }
    }
}
