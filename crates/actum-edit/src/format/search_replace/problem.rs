//! Errors of SEARCH/REPLACE blocks that are refused.

use actum_core::RelPath;
use actum_core::place::Excerpt;

use super::LINES_MAX;
use crate::format::Remedy;

/// Problem of SEARCH/REPLACE blocks. A block is named by the line that begins it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BlockProblem {
    /// The input has no block.
    #[error("the input has no SEARCH/REPLACE block: no line is `<<<<<<< SEARCH`")]
    NoBlock,
    /// The input ends within a block.
    #[error("the block that begins here is cut off: no line behind it is `>>>>>>> REPLACE`")]
    CutOff,
    /// A block begins within another.
    #[error(
        "a block begins here, but the one that begins at line {first} has not ended with `>>>>>>> REPLACE`"
    )]
    Nested {
        /// Line of the outer block.
        first: u64,
    },
    /// A block ends before its second part.
    #[error("the block that begins at line {first} ends here, but no line of it is `=======`")]
    NoDivider {
        /// Line of the block.
        first: u64,
    },
    /// A block has three parts.
    #[error(
        "the block that begins at line {first} has a line `=======` at line {divider} and a second one here, so it is \
         not clear which one divides it"
    )]
    TwoDividers {
        /// Line of the block.
        first: u64,
        /// Line of the first divider.
        divider: u64,
    },
    /// A part of a block stands outside of all blocks.
    #[error(
        "`{found}` stands outside of a block, which begins with `<<<<<<< SEARCH` and ends with `>>>>>>> REPLACE`"
    )]
    Outside {
        /// The line.
        found: Excerpt,
    },
    /// The input has another change beside the blocks.
    #[error(
        "`{found}` is a change in another format, beside SEARCH/REPLACE blocks; make each an input of its own"
    )]
    Mixed {
        /// The line.
        found: Excerpt,
    },
    /// A line ends in CRLF.
    #[error(
        "the line ends with CRLF, so the line ends of the blocks were converted after they were made; give them as \
         they were made"
    )]
    CarriageReturn,
    /// A block has no path.
    #[error(
        "the block does not name its file: no path stands on the line before it or before its fence"
    )]
    NoPath,
    /// The line that should be a path may be something else.
    #[error("`{found}` stands where the path of the block is expected, and could be prose")]
    UnclearPath {
        /// The line.
        found: Excerpt,
    },
    /// A block has two paths.
    #[error(
        "both `{path}` and `{rival}` stand before the block, so it is not clear which file it changes"
    )]
    TwoPaths {
        /// The nearest.
        path: RelPath,
        /// The other.
        rival: Excerpt,
    },
    /// A block makes a file that an earlier one changes.
    #[error(
        "nothing is searched for, which makes a new file, but the block at line {first} changes `{path}` before; give \
         lines to search for"
    )]
    MadeLate {
        /// The file.
        path: RelPath,
        /// Line of the earlier block.
        first: u64,
    },
    /// A block searches for blank lines alone.
    #[error(
        "the block searches for blank lines alone, so its place is not clear; leave out all lines before `=======` to \
         make a file, or give lines with text"
    )]
    BlankSearch,
    /// A block has very many lines.
    #[error(
        "the block has more than {LINES_MAX} lines; give the change as a diff or as a whole file"
    )]
    TooManyLines,
    /// Both parts of a block are equal.
    #[error(
        "the lines before and behind `=======` are equal, so the block changes nothing; leave it out"
    )]
    ChangesNothing,
}

impl BlockProblem {
    /// Remedy, where there is one beyond what the message says.
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
