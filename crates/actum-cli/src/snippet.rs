//! The line of an input that an error speaks of, with a mark below the place.

use std::fmt;

use actum_core::format::Place;
use actum_core::path::Harmless;

/// How many bytes of a line are shown.
const SHOWN_BYTES_MAX: usize = 100;

/// A line of an input and a place in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Snippet {
    number: u64,
    text: String,
    /// How many characters of the text stand before the place.
    indent: usize,
}

impl Snippet {
    /// The line at `place`; `None` where the input has no such line.
    pub(crate) fn of(input: &[u8], place: Place) -> Option<Self> {
        let index = usize::try_from(place.line.checked_sub(1)?).ok()?;
        let line = input.split(|&b| b == b'\n').nth(index)?;
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let column = usize::try_from(place.column.saturating_sub(1)).ok()?.min(line.len());
        // Of a long line what is around the place.
        let start = column.saturating_sub(SHOWN_BYTES_MAX / 2);
        let end = line.len().min(start.saturating_add(SHOWN_BYTES_MAX));
        let shown = |from: usize, to: usize| {
            let text = Harmless(line.get(from..to).unwrap_or_default()).to_string();
            text.replace('\t', " ")
        };
        let mark = |cut: bool| if cut { "…" } else { "" };
        let before = format!("{}{}", mark(start > 0), shown(start, column));
        let text = format!("{before}{}{}", shown(column, end), mark(end < line.len()));
        Some(Self { number: place.line, text, indent: before.chars().count() })
    }
}

impl fmt::Display for Snippet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, text, indent } = self;
        let width = number.to_string().len();
        writeln!(f, "{:width$} |", "")?;
        writeln!(f, "{number} | {text}")?;
        write!(f, "{:width$} | {:indent$}^", "", "")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(input: &[u8], line: u64, column: u64) -> String {
        Snippet::of(input, Place { line, column }).unwrap().to_string()
    }

    #[test]
    fn the_line_is_shown_with_a_mark_below_the_place() {
        assert_eq!(snippet(b"a\nb\tcd\r\n", 2, 3), "  |\n2 | b cd\n  |   ^");
        assert_eq!(snippet(b"a\n", 2, 1), "  |\n2 | \n  | ^");
        assert_eq!(Snippet::of(b"a", Place { line: 2, column: 1 }), None);
    }

    #[test]
    fn what_a_terminal_would_obey_is_escaped_and_a_long_line_cut() {
        assert_eq!(snippet(b"\x1b[31mx", 1, 2), "  |\n1 | \\033[31mx\n  |     ^");
        let long = format!("{}{{{}", "x".repeat(500), "y".repeat(500));
        let shown = snippet(long.as_bytes(), 1, 501);
        assert!(shown.contains("…xxx") && shown.contains("yyy…"), "{shown}");
        assert!(shown.lines().all(|line| line.len() < 130), "{shown}");
    }
}
