//! Text between two values, which consists of blanks, comments, and possibly a comma.

use std::ops::Range;

use super::strict::comment;

/// Text between two values, described by byte offsets in the file.
#[derive(Debug, Default)]
pub(super) struct Gap {
    pub(super) range: Range<usize>,
    pub(super) comments: Vec<Comment>,
    pub(super) comma: Option<usize>,
}

#[derive(Debug, Clone)]
pub(super) struct Comment {
    pub(super) range: Range<usize>,
    /// Whether the comment is a `//` comment, which extends to the end of its line.
    pub(super) is_line: bool,
}

impl Gap {
    /// Parses the text in `range`, which must not contain a value.
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

    /// Returns the offset after the comments that follow `from` on the same line. The flag is true if the last of them is a `//`
    /// comment, so that nothing can follow it on the line.
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
