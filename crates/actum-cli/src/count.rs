//! Counts in words, as text and documents have them.

use crate::style::{ADDED, Painted, REMOVED};

/// Counts items as documents do.
pub(crate) fn number(items: usize) -> u64 {
    u64::try_from(items).unwrap_or(u64::MAX)
}

/// Returns `1 run`, `3 runs`.
pub(crate) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

/// Returns `+3 -1`; `None` without any lines.
pub(crate) fn lines(added: u64, removed: u64) -> Option<String> {
    (added > 0 || removed > 0).then(|| format!("+{added} -{removed}"))
}

/// Writes changed lines in the colours of a diff.
pub(crate) fn painted_lines(added: u64, removed: u64) -> Option<String> {
    let (more, fewer) = (format!("+{added}"), format!("-{removed}"));
    let paint =
        |style, count, text| if count == 0 { text } else { Painted(style, text).to_string() };
    (added > 0 || removed > 0)
        .then(|| format!("{} {}", paint(ADDED, added, more), paint(REMOVED, removed, fewer)))
}
