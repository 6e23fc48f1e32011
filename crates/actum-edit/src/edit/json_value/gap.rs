//! Text between two values: blanks, comments, and perhaps a comma.

use std::ops::Range;

use super::strict::comment;

/// Text between two values, by its places in the text.
#[derive(Debug, Default)]
pub(super) struct Gap {
    pub(super) range: Range<usize>,
    pub(super) comments: Vec<Comment>,
    pub(super) comma: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) range: Range<usize>,
    /// True if it reaches to the end of its line.
    pub(super) is_line: bool,
}

impl Gap {
    /// Reads the text in `range`, which holds no value.
    pub(super) fn new(text: &str, range: Range<usize>) -> Self {
        let mut gap = Self { range: range.clone(), ..Self::default() };
        let bytes = text.as_bytes().get(..range.end).unwrap_or_default();
        let mut at = range.start;
        while let Some(byte) = bytes.get(at) {
            let rest = bytes.get(at..).unwrap_or_default();
            match (byte, comment(rest)) {
                (b'/', Ok(length)) if length > 0 => {
                    let is_line = rest.starts_with(b"//");
                    gap.comments.push(Comment { range: at..at + length, is_line });
                    at += length;
                    continue;
                }
                (b',', _) => gap.comma = gap.comma.or(Some(at)),
                _ => {}
            }
            at += 1;
        }
        gap
    }

    /// Returns the end of what belongs to the line of `from`: behind the comments that start before
    /// the line ends. The flag is true if the last of them leaves nothing of the line.
    pub(super) fn rest_of_line(&self, text: &str, from: usize) -> (usize, bool) {
        let (mut at, mut is_line) = (from, false);
        for comment in self.comments.iter().filter(|comment| comment.range.start >= from) {
            let between = text.get(at..comment.range.start).unwrap_or_default();
            if is_line || between.contains('\n') {
                break;
            }
            (at, is_line) = (comment.range.end, comment.is_line);
        }
        (at, is_line)
    }
}
