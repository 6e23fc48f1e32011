//! Places in a text, and the pieces of a text that an error shows.

use std::fmt;

use crate::count;
use crate::path::Cut;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u64,
    /// The byte in that line, counted from 1.
    pub column: u64,
}

/// Bytes of the input that an error shows at most.
pub const EXCERPT_BYTES_MAX: usize = 80;

/// A piece of the input as an error shows it: escaped, and cut at [`EXCERPT_BYTES_MAX`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt(String);

impl Place {
    /// The first byte of the first line.
    pub const START: Self = Self { line: 1, column: 1 };

    /// The place of the byte at `offset` of `input`.
    pub fn new(input: &[u8], offset: usize) -> Self {
        let before = input.get(..offset).unwrap_or(input);
        let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let newlines = memchr::memchr_iter(b'\n', before).count();
        Self { line: count(newlines) + 1, column: count(before.len() - start) + 1 }
    }

    /// The place `bytes` further on in the same line.
    pub fn right(self, bytes: usize) -> Self {
        Self { column: self.column.saturating_add(count(bytes)), ..self }
    }
}

impl Excerpt {
    /// Excerpt of `bytes` for an error.
    pub fn new(bytes: &[u8]) -> Self {
        Self(Cut(bytes, EXCERPT_BYTES_MAX).to_string())
    }

    /// Excerpt of the first line of `bytes` for an error.
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
