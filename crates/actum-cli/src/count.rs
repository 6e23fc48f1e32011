//! Formatting of counts for text output and documents.

use crate::style::{ADDED, Painted, REMOVED};

/// Converts a number of items to the integer type that documents use.
pub(crate) fn number(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// Formats a number with a noun, such as `1 run` or `3 runs`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Formats the number of changed lines, such as `+3 -1`. Returns `None` if no line changed.
pub(crate) fn lines(added: u64, removed: u64) -> Option<String> {
    (added > 0 || removed > 0).then(|| format!("+{added} -{removed}"))
}

/// Formats the number of changed lines in the colors of a diff. Returns `None` if no line changed.
pub(crate) fn painted_lines(added: u64, removed: u64) -> Option<String> {
    let (more, fewer) = (format!("+{added}"), format!("-{removed}"));
    let paint =
        |style, count, text| if count == 0 { text } else { Painted(style, text).to_string() };
    (added > 0 || removed > 0)
        .then(|| format!("{} {}", paint(ADDED, added, more), paint(REMOVED, removed, fewer)))
}
