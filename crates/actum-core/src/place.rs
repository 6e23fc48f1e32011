//! Positions in a text, and excerpts of input for error messages.

use std::fmt;

use crate::count;
use crate::path::Cut;

/// Position in a text, as a line and a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Line number, starting at 1.
    pub line: u64,
    /// Byte position in the line, starting at 1.
    pub column: u64,
}

/// Maximum number of bytes of the input that an error message quotes.
pub const EXCERPT_BYTES_MAX: usize = 80;

/// Excerpt of the input for an error message, escaped and truncated to [`EXCERPT_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl Place {
    /// Position of the first byte of a text.
    pub const START: Self = Self { line: 1, column: 1 };

    /// Returns the position of the byte at `offset` in `input`.
    pub fn new(input: &[u8], offset: usize) -> Self {
        let before = input.get(..offset).unwrap_or(input);
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let newlines = memchr::memchr_iter(b'\n', before).count();
        Self { line: count(newlines) + 1, column: count(before.len() - start) + 1 }
    }

    /// Returns the position that is `bytes` further to the right on the same line.
    pub fn right(self, bytes: usize) -> Self {
        Self { column: self.column.saturating_add(count(bytes)), ..self }
    }
}

impl Excerpt {
    /// Creates an excerpt of `bytes` for an error message.
    pub fn new(bytes: &[u8]) -> Self {
        Self(Cut(bytes, EXCERPT_BYTES_MAX).to_string())
    }

    /// Creates an excerpt of the first line of `bytes` for an error message.
    pub fn of_line(bytes: &[u8]) -> Self {
        Self::new(bytes.split(|&b| b == b'\n').next().unwrap_or_default())
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_bytes_from_one() {
        let place = |offset| Place::new(b"ab\n\ncd", offset);
        assert_eq!(place(0), Place { line: 1, column: 1 });
        assert_eq!(place(2), Place { line: 1, column: 3 });
        assert_eq!(place(3), Place { line: 2, column: 1 });
        assert_eq!(place(5), Place { line: 3, column: 2 });
        assert_eq!(place(9), Place { line: 3, column: 3 });
    }

    #[test]
    fn an_excerpt_is_escaped_and_cut() {
        assert_eq!(Excerpt::new(b"a\x1b\xff").to_string(), "a\\033\\377");
        let full = "x".repeat(EXCERPT_BYTES_MAX);
        assert_eq!(Excerpt::new(full.as_bytes()).to_string(), full);
        assert_eq!(Excerpt::new(format!("{full}y").as_bytes()).to_string(), format!("{full}…"));
        assert_eq!(Excerpt::of_line(b"one\ntwo").to_string(), "one");
    }
}
