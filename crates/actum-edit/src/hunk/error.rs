//! Errors for hunks that do not apply.

use crate::nearest_match::Lines;
use actum_core::path::CutContent;

/// Maximum number of bytes of a line that an error message shows.
const SHOWN_BYTES_MAX: usize = 120;

/// Reason why hunks do not apply. Hunks and lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HunkError {
    /// A line of the hunk has none of the allowed first characters.
    #[error("hunk {hunk}: line {line} of the body must start with ` `, `-`, `+` or `\\`")]
    Malformed {
        /// Number of the hunk.
        hunk: usize,
        /// Number of the line in the body of the hunk.
        line: usize,
    },
    /// A hunk has no lines.
    #[error("hunk {hunk} is empty")]
    Empty {
        /// Number of the hunk.
        hunk: usize,
    },
    /// The line counts in the header of a hunk do not match its body.
    #[error(
        "hunk {hunk}: the header says {header_old} old and {header_new} new lines, \
         but the body has {body_old} and {body_new}"
    )]
    WrongCount {
        /// Number of the hunk.
        hunk: usize,
        /// Number of old lines in the header.
        header_old: u32,
        /// Number of new lines in the header.
        header_new: u32,
        /// Number of old lines in the body.
        body_old: u64,
        /// Number of new lines in the body.
        body_new: u64,
    },
    /// A hunk starts before the end of the previous hunk.
    #[error("hunk {hunk} starts at line {start}, but the previous hunk extends to line {reached}")]
    OutOfOrder {
        /// Number of the hunk.
        hunk: usize,
        /// Line at which the hunk starts.
        start: u64,
        /// Last line of the previous hunk.
        reached: u64,
    },
    /// A line of the content differs from the line that the hunk expects.
    #[error(
        "hunk {hunk} does not match at line {line}: expected `{}`, found `{}`",
        CutContent(expected, SHOWN_BYTES_MAX),
        CutContent(found, SHOWN_BYTES_MAX)
    )]
    Mismatch {
        /// Number of the hunk.
        hunk: usize,
        /// Line number in the old content.
        line: u64,
        /// Line in the hunk.
        expected: Vec<u8>,
        /// Line in the content.
        found: Vec<u8>,
    },
    /// The content ends before the hunk.
    #[error("hunk {hunk} needs line {line}, but the content ends at line {last}")]
    PastEnd {
        /// Number of the hunk.
        hunk: usize,
        /// Line that the hunk needs.
        line: u64,
        /// Last line of the content.
        last: u64,
    },
    /// More content follows a hunk that must be at the end of the file because it has no context after its changes.
    #[error(
        "hunk {hunk} has no context after its changes, so it applies only at the end of the file, \
         but line {line} follows"
    )]
    NotAtEnd {
        /// Number of the hunk.
        hunk: usize,
        /// Number of the following line in the old content.
        line: u64,
    },
    /// The search for the lines of a hunk found several positions.
    #[error("hunk {hunk} is ambiguous because it matches at lines {lines}")]
    Ambiguous {
        /// Number of the hunk.
        hunk: usize,
        /// Lines at which the hunk matches.
        lines: Lines,
    },
    /// The lines of a hunk were not searched for, because the search limit for the file is exhausted.
    #[error(
        "hunk {hunk} does not match at its stated line, and the limit for searching is exhausted"
    )]
    TooMuchToSearch {
        /// Number of the hunk.
        hunk: usize,
    },
    /// More content would follow a new line that has no newline.
    #[error("hunk {hunk} writes a line without a newline before the end of the file")]
    GluedLines {
        /// Number of the hunk.
        hunk: usize,
    },
}

impl HunkError {
    /// Returns the error message without any content of the file or the hunk.
    pub fn without_content(&self) -> String {
        match self {
            Self::Mismatch { hunk, line, .. } => {
                format!("hunk {hunk} does not match at line {line}")
            }
            // These errors contain only numbers.
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

    /// Returns the number of the hunk if its lines are not at its stated position, or `None` for any other error.
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
