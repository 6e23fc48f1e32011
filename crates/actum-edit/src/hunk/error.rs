//! Errors of hunks that do not apply.

use crate::nearest_match::Lines;
use actum_core::path::CutContent;

/// Bytes of a line that an error shows at most.
const SHOWN_BYTES_MAX: usize = 120;

/// Reason why hunks do not apply. Hunks are counted from 1, lines too.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HunkError {
    /// A body line starts with something else than ` `, `-`, `+` or `\`.
    #[error("hunk {hunk}: line {line} of its body starts with neither ` `, `-`, `+` nor `\\`")]
    Malformed {
        /// Number of the hunk.
        hunk: usize,
        /// Number of the line in its body.
        line: usize,
    },
    /// The hunk has no lines.
    #[error("hunk {hunk} is empty")]
    Empty {
        /// Number of the hunk.
        hunk: usize,
    },
    /// The header's counts and the body disagree.
    #[error(
        "hunk {hunk}: its header says {header_old} old and {header_new} new lines, \
         its body has {body_old} and {body_new}"
    )]
    WrongCount {
        /// Number of the hunk.
        hunk: usize,
        /// Old lines by the header.
        header_old: u32,
        /// New lines by the header.
        header_new: u32,
        /// Old lines in the body.
        body_old: u64,
        /// New lines in the body.
        body_new: u64,
    },
    /// The hunk starts before the end of the hunk before it.
    #[error("hunk {hunk} starts at line {start}, but the hunk before it reaches line {reached}")]
    OutOfOrder {
        /// Number of the hunk.
        hunk: usize,
        /// Line at which it starts.
        start: u64,
        /// The last line of the hunk before.
        reached: u64,
    },
    /// A line of the content is not what the hunk expects.
    #[error(
        "hunk {hunk} does not match at line {line}: expected `{}`, found `{}`",
        CutContent(expected, SHOWN_BYTES_MAX),
        CutContent(found, SHOWN_BYTES_MAX)
    )]
    Mismatch {
        /// Number of the hunk.
        hunk: usize,
        /// The line in the old content.
        line: u64,
        /// The line the hunk holds.
        expected: Vec<u8>,
        /// The line that is there.
        found: Vec<u8>,
    },
    /// The content ends before the hunk does.
    #[error("hunk {hunk} needs line {line}, but the content ends at line {last}")]
    PastEnd {
        /// Number of the hunk.
        hunk: usize,
        /// The line it needs.
        line: u64,
        /// The last line there is.
        last: u64,
    },
    /// More content follows a hunk that has no context behind its changes.
    #[error(
        "hunk {hunk} has no context behind its changes and so must end the content, \
         but line {line} follows"
    )]
    NotAtEnd {
        /// Number of the hunk.
        hunk: usize,
        /// The line that follows, in the old content.
        line: u64,
    },
    /// Its place was searched for, and there are several.
    #[error("hunk {hunk} fits at lines {lines}, so it is not clear where it belongs")]
    Ambiguous {
        /// Number of the hunk.
        hunk: usize,
        /// Lines at which it fits.
        lines: Lines,
    },
    /// Its place was not searched for, since that takes too long.
    #[error("hunk {hunk} is not where it says, and too much was searched for the hunks before it")]
    TooMuchToSearch {
        /// Number of the hunk.
        hunk: usize,
    },
    /// A new line without newline is followed by more content.
    #[error("hunk {hunk} writes a line without newline before the end of the content")]
    GluedLines {
        /// Number of the hunk.
        hunk: usize,
    },
}

impl HunkError {
    /// The message without any content of the file or the hunk.
    pub fn without_content(&self) -> String {
        match self {
            Self::Mismatch { hunk, line, .. } => {
                format!("hunk {hunk} does not match at line {line}")
            }
            // These hold numbers alone.
            Self::Malformed { .. }
            | Self::Empty { .. }
            | Self::WrongCount { .. }
            | Self::OutOfOrder { .. }
            | Self::PastEnd { .. }
            | Self::NotAtEnd { .. }
            | Self::Ambiguous { .. }
            | Self::TooMuchToSearch { .. }
            | Self::GluedLines { .. } => self.to_string(),
        }
    }

    /// The number of the hunk whose lines are not where it says; `None` where something else is
    /// wrong.
    pub fn misplaced(&self) -> Option<usize> {
        match self {
            Self::Mismatch { hunk, .. } | Self::PastEnd { hunk, .. } => Some(*hunk),
            Self::NotAtEnd { .. }
            | Self::Ambiguous { .. }
            | Self::TooMuchToSearch { .. }
            | Self::GluedLines { .. }
            | Self::Malformed { .. }
            | Self::Empty { .. }
            | Self::WrongCount { .. }
            | Self::OutOfOrder { .. } => None,
        }
    }
}
