//! Applies hunks of lines to content that is read in pieces. A hunk applies only at its stated line, and only if all of its
//! context and removed lines match byte for byte.

mod error;
mod patcher;
mod place;

pub use error::HunkError;
pub use patcher::Patcher;
pub use place::{MovedHunk, SEARCHED_BYTES_MAX};

use serde::{Deserialize, Serialize};

/// Hunk of a unified diff. Its lines are bytes, so it can edit files in any encoding. A [`Hunk`](crate::Hunk) of a change set
/// can be converted into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineHunk {
    /// First line that the hunk covers in the old content, counted from 1. For a pure insertion, the line after which it inserts.
    pub old_start: u32,
    /// Number of lines that the hunk covers in the old content.
    pub old_lines: u32,
    /// First line that the hunk covers in the new content. It is not checked, because it follows from the previous hunks.
    pub new_start: u32,
    /// Number of lines that the hunk covers in the new content.
    pub new_lines: u32,
    /// Lines that start with ` `, `-` or `+`. A line that starts with `\` means that the previous line has no newline. An empty
    /// line is an empty context line, as GNU diff can write it.
    #[serde(with = "crate::byte_text")]
    pub body: Vec<u8>,
    /// Whether the content must end after the hunk. A diff has no context after a change only at the end of the content.
    /// Without this rule, which `git apply` also has, applying a diff again would append the same lines a second time. At line 0,
    /// a hunk with this flag creates a file or fills an empty one. Without the flag, it inserts lines before line 1.
    pub at_end: bool,
}

/// Side of a diff to which a line of a hunk belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The line is in both the old and the new content.
    Context,
    /// The line is only in the old content.
    Old,
    /// The line is only in the new content.
    New,
}

/// Line of a hunk, including its newline unless the content has none there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Side that the line belongs to.
    pub side: Side,
    /// Bytes of the line, without its prefix.
    pub bytes: &'a [u8],
}

impl LineHunk {
    /// Parses the lines of the body.
    ///
    /// # Errors
    /// Returns the number of the first malformed line, counted from 1.
    pub fn lines(&self) -> Result<Vec<Line<'_>>, usize> {
        let mut lines: Vec<Line<'_>> = Vec::new();
        for (index, raw) in self.body.split_inclusive(|&b| b == b'\n').enumerate() {
            let (side, bytes) = match raw.split_first() {
                Some((b' ', rest)) => (Side::Context, rest),
                Some((b'-', rest)) => (Side::Old, rest),
                Some((b'+', rest)) => (Side::New, rest),
                Some((b'\n', _)) => (Side::Context, raw),
                Some((b'\\', _)) => {
                    let last = lines.last_mut().ok_or(index + 1)?;
                    last.bytes = last.bytes.strip_suffix(b"\n").ok_or(index + 1)?;
                    continue;
                }
                Some(_) | None => return Err(index + 1),
            };
            lines.push(Line { side, bytes });
        }
        Ok(lines)
    }

    /// Returns the first line of the old content that the hunk covers, counted from 1. For a pure insertion, returns the line
    /// after the insertion point.
    fn first_line(&self) -> u64 {
        u64::from(self.old_start) + u64::from(self.old_lines == 0)
    }

    /// Prepares hunks for a file whose previous content is unknown. A single hunk at line 0 then creates the file instead of
    /// inserting lines before line 1.
    pub(crate) fn making(mut hunks: Vec<Self>) -> Vec<Self> {
        if let [hunk] = hunks.as_mut_slice()
            && (hunk.old_start, hunk.old_lines) == (0, 0)
        {
            hunk.at_end = true;
        }
        hunks
    }

    /// Returns the old text of the hunk: its context and removed lines.
    pub fn old_text(&self) -> Vec<u8> {
        self.text(Side::Old)
    }

    /// Returns the new text of the hunk: its context and added lines.
    pub fn new_text(&self) -> Vec<u8> {
        self.text(Side::New)
    }

    fn text(&self, side: Side) -> Vec<u8> {
        let lines = self.lines().unwrap_or_default().into_iter();
        let lines = lines.filter(|line| line.side == side || line.side == Side::Context);
        lines.flat_map(|line| line.bytes.iter().copied()).collect()
    }

    /// Returns the total numbers of lines that the hunks add and remove.
    pub fn cost(hunks: &[Self]) -> (u64, u64) {
        let count = |sign: u8| {
            let starts = |hunk: &Self| {
                hunk.body.split(|&b| b == b'\n').filter(|l| l.first() == Some(&sign)).count()
            };
            hunks.iter().map(|hunk| actum_core::count(starts(hunk))).sum()
        };
        (count(b'+'), count(b'-'))
    }
}
