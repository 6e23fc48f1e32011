//! Applies line hunks to content that arrives in pieces, strictly: a hunk applies where it says
//! and only if every context and removed line is there byte for byte.

mod error;
mod patcher;
mod place;

pub use error::HunkError;
pub use patcher::Patcher;
pub use place::{MovedHunk, SEARCHED_BYTES_MAX};

use serde::{Deserialize, Serialize};

/// A hunk of a unified diff over bytes, so that it can edit files in any encoding. The seed's
/// [`Hunk`](crate::Hunk) converts into it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineHunk {
    /// First line it replaces, counted from 1; for a pure insertion the line it follows.
    pub old_start: u32,
    /// Number of lines of the old content that it covers.
    pub old_lines: u32,
    /// First line in the new content. Not checked: it follows from the hunks before.
    pub new_start: u32,
    /// Number of lines of the new content that it covers.
    pub new_lines: u32,
    /// Lines that begin with ` `, `-` or `+`; `\` marks that the line before has no newline. A
    /// wholly empty line is an empty context line, as GNU diff writes it.
    #[serde(with = "crate::byte_text")]
    pub body: Vec<u8>,
    /// True if nothing may follow it. A diff has no context behind a change only where the content
    /// ends there. Without this rule, which git apply has too, lines appended at the end of a file
    /// would be appended once more by the same diff. A hunk at line 0 that nothing may follow makes a
    /// file, or fills an empty one; any other at line 0 inserts before line 1.
    pub at_end: bool,
}

/// Side that a line of a hunk belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// In both contents.
    Context,
    /// In the old content only.
    Old,
    /// In the new content only.
    New,
}

/// One line of a hunk's body, with its newline unless the content has none there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Side that the line belongs to.
    pub side: Side,
    /// Its bytes.
    pub bytes: &'a [u8],
}

impl LineHunk {
    /// The lines of the body; `Err` holds the number of the first malformed one.
    ///
    /// # Errors
    /// The 1-based number of the first line that starts with an unknown character.
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

    /// The 1-based first line of the old content that lies after the insertion point or is
    /// replaced.
    fn first_line(&self) -> u64 {
        u64::from(self.old_start) + u64::from(self.old_lines == 0)
    }

    /// Converts hunks of a file of which nothing is known: one that is alone at line 0 makes the
    /// file.
    pub(crate) fn making(mut hunks: Vec<Self>) -> Vec<Self> {
        if let [hunk] = hunks.as_mut_slice()
            && (hunk.old_start, hunk.old_lines) == (0, 0)
        {
            hunk.at_end = true;
        }
        hunks
    }

    /// The bytes it takes away, with its context.
    pub fn old_text(&self) -> Vec<u8> {
        self.text(Side::Old)
    }

    /// The bytes it puts in their place, with its context.
    pub fn new_text(&self) -> Vec<u8> {
        self.text(Side::New)
    }

    fn text(&self, side: Side) -> Vec<u8> {
        let lines = self.lines().unwrap_or_default().into_iter();
        let lines = lines.filter(|line| line.side == side || line.side == Side::Context);
        lines.flat_map(|line| line.bytes.iter().copied()).collect()
    }

    /// Returns the number of lines that the hunks add and remove.
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
