//! Distinguishes text from binary content and counts lines.

mod blocks;

use crate::count;

pub use blocks::{BLOCK_BYTES, TextBlocks, TextFinder};

/// Number of bytes at the start of a file in which a NUL byte marks the file as binary. Git uses the same limit.
const LOOKED_AT_MAX: usize = 8000;

/// Returns whether `content` is treated as text rather than as binary.
pub fn is_text(content: &[u8]) -> bool {
    let start = content.get(..LOOKED_AT_MAX).unwrap_or(content);
    memchr::memchr(0, start).is_none()
}

/// Returns the number of lines in `content`, including a last line without a newline. Returns `None` for binary
/// content.
pub fn lines(content: &[u8]) -> Option<u64> {
    let mut counter = LineCounter::default();
    counter.feed(content);
    counter.finish()
}

/// Counts the lines of content that arrives in pieces of any size.
#[derive(Debug, Clone, Default)]
pub struct LineCounter {
    is_binary: bool,
    /// Number of bytes that were searched for a NUL byte so far.
    looked_at: usize,
    newlines: u64,
    /// Whether the content so far ends with an incomplete line.
    is_open: bool,
}

impl LineCounter {
    /// Processes the next piece of the content.
    pub fn feed(&mut self, piece: &[u8]) {
        let start = piece.get(..LOOKED_AT_MAX - self.looked_at).unwrap_or(piece);
        self.looked_at += start.len();
        self.is_binary |= memchr::memchr(0, start).is_some();
        let Some(last) = piece.last().filter(|_| !self.is_binary) else { return };
        self.is_open = *last != b'\n';
        self.newlines =
            self.newlines.saturating_add(count(memchr::memchr_iter(b'\n', piece).count()));
    }

    /// Returns the number of lines, or `None` if the content is binary.
    pub fn finish(self) -> Option<u64> {
        (!self.is_binary).then(|| self.newlines.saturating_add(u64::from(self.is_open)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// FO-4
    #[test]
    fn unterminated_last_line_is_counted_and_binary_has_no_lines() {
        assert_eq!(lines(b""), Some(0));
        assert_eq!(lines(b"a\nb\n"), Some(2));
        assert_eq!(lines(b"a\nb"), Some(2));
        assert_eq!(lines(b"a\n\0"), None);
        let late = [vec![b'a'; LOOKED_AT_MAX], vec![0]].concat();
        assert_eq!(lines(&late), Some(1));
        assert_eq!(lines(&late[1..]), None);
    }

    proptest! {
        /// FO-4
        #[test]
        fn line_count_is_independent_of_chunking(
            content in "[a\n\0]{0,3}[ab\n]{7990,7996}[a\n\0]{0,12}", at in 0usize..8020,
        ) {
            let content = content.as_bytes();
            let (start, end) = content.split_at(at.min(content.len()));
            let mut counter = LineCounter::default();
            counter.feed(start);
            counter.feed(end);
            prop_assert_eq!(counter.finish(), lines(content));
            prop_assert_eq!(lines(content).is_some(), is_text(content));
        }
    }
}
