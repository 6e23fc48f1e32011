//! Summary of the difference between two versions of a file: line counts and a short preview (EX-15).

use std::collections::BTreeMap;
use std::fmt::Write;

use actum_core::text;
use actum_edit::hunk::Side;
use actum_edit::{LineHunk, line_diff};
use serde::{Deserialize, Serialize};

use super::clean_text::{Redact, cut, masked_lines};

/// Maximum length of a preview, in characters.
pub const PREVIEW_CHARS_MAX: usize = 500;

/// Summary of the difference between two versions of a file. It contains no credentials.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSummary {
    lines_added: u64,
    lines_removed: u64,
    preview: String,
}

impl DiffSummary {
    /// Compares the content of a file before and after a change. `None` stands for a missing file. For binary content, the line
    /// counts are 0 and the preview states the sizes.
    pub fn new(before: Option<&[u8]>, after: Option<&[u8]>, redact: Redact<'_>) -> Self {
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        if !text::is_text(old) || !text::is_text(new) {
            let preview = match (before, after) {
                (Some(old), Some(new)) => {
                    format!(
                        "Binary content: {} bytes before, {} bytes after.",
                        old.len(),
                        new.len()
                    )
                }
                (Some(content), None) => {
                    format!("Binary content: {} bytes, removed.", content.len())
                }
                (None, Some(content)) => format!("Binary content: {} bytes, added.", content.len()),
                (None, None) => String::new(),
            };
            return Self { lines_added: 0, lines_removed: 0, preview };
        }
        let hunks = line_diff::hunks(old, new, line_diff::CONTEXT_LINES);
        let (lines_added, lines_removed) = LineHunk::cost(&hunks);
        let masked = (masked_lines(old, redact(old)), masked_lines(new, redact(new)));
        Self { lines_added, lines_removed, preview: preview(&hunks, &masked.0, &masked.1) }
    }

    /// Returns the number of lines that occur only in the new content.
    pub fn lines_added(&self) -> u64 {
        self.lines_added
    }

    /// Returns the number of lines that occur only in the old content.
    pub fn lines_removed(&self) -> u64 {
        self.lines_removed
    }

    /// Returns the beginning of the unified diff. A diff longer than [`PREVIEW_CHARS_MAX`] characters is truncated and ends with
    /// `…`.
    pub fn preview(&self) -> &str {
        &self.preview
    }
}

/// Formats the beginning of the diff. `old_masked` and `new_masked` contain the lines that had credentials, by line number and with
/// the credentials removed.
fn preview(
    hunks: &[LineHunk],
    old_masked: &BTreeMap<u64, Vec<u8>>,
    new_masked: &BTreeMap<u64, Vec<u8>>,
) -> String {
    let mut preview = String::new();
    // The limit is in characters. A preview can have more bytes, because a character has at least one byte.
    let is_full = |preview: &String| preview.chars().count() > PREVIEW_CHARS_MAX;
    for hunk in hunks {
        let LineHunk { old_start, old_lines, new_start, new_lines, .. } = hunk;
        let head = writeln!(preview, "@@ -{old_start},{old_lines} +{new_start},{new_lines} @@");
        if head.is_err() || is_full(&preview) {
            break;
        }
        let (mut old, mut new) = (u64::from(*old_start), u64::from(*new_start));
        for line in hunk.lines().unwrap_or_default() {
            let (sign, masked) = match line.side {
                Side::Context => (' ', old_masked.get(&old).or_else(|| new_masked.get(&new))),
                Side::Old => ('-', old_masked.get(&old)),
                Side::New => ('+', new_masked.get(&new)),
            };
            old += u64::from(line.side != Side::New);
            new += u64::from(line.side != Side::Old);
            let bytes = masked.map_or(line.bytes, Vec::as_slice);
            // A character has at most four bytes, so bytes after this limit would be truncated anyway.
            let shown = bytes.get(..4 * (PREVIEW_CHARS_MAX + 1)).unwrap_or(bytes);
            preview.push(sign);
            preview.push_str(&String::from_utf8_lossy(shown));
            if shown.len() == bytes.len() && !bytes.ends_with(b"\n") {
                preview.push_str("\n\\ No newline at end of file\n");
            }
            if is_full(&preview) {
                return cut(&preview, PREVIEW_CHARS_MAX);
            }
        }
    }
    cut(&preview, PREVIEW_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ops::Range;

    fn keys(content: &[u8]) -> Vec<Range<usize>> {
        memchr::memmem::find_iter(content, "KEY-")
            .map(|at| at..(at + 12).min(content.len()))
            .collect()
    }

    fn none(_: &[u8]) -> Vec<Range<usize>> {
        Vec::new()
    }

    /// EX-15
    #[test]
    fn summary_has_line_counts_and_a_diff() {
        let diff = DiffSummary::new(Some(b"a\nb\nc\n"), Some(b"a\nB\nc\nd"), &none);
        assert_eq!((diff.lines_added(), diff.lines_removed()), (2, 1));
        let expected = "@@ -1,3 +1,4 @@\n a\n-b\n+B\n c\n+d\n\\ No newline at end of file\n";
        assert_eq!(diff.preview(), expected);
        let created = DiffSummary::new(None, Some(b"a\n"), &none);
        assert_eq!(created.preview(), "@@ -0,0 +1,1 @@\n+a\n");
        assert_eq!(DiffSummary::new(Some(b"a"), Some(b"a"), &none).preview(), "");
    }

    /// EX-15
    #[test]
    fn binary_content_is_summarized_by_size() {
        let diff = |before, after| DiffSummary::new(before, after, &none);
        let summary = diff(Some(b"a\n\0"), Some(b"ab\n"));
        assert_eq!(summary.preview(), "Binary content: 3 bytes before, 3 bytes after.");
        assert_eq!((summary.lines_added(), summary.lines_removed()), (0, 0));
        assert_eq!(diff(None, Some(b"\0")).preview(), "Binary content: 1 bytes, added.");
        assert_eq!(diff(Some(b"\0"), None).preview(), "Binary content: 1 bytes, removed.");
    }

    /// EX-15
    #[test]
    fn preview_is_limited_to_500_whole_characters() {
        let content = |chars: usize| "é".repeat(chars) + "\n";
        // Besides the 482 characters, the preview has a hunk header of 16 characters, a sign and a newline.
        let longest = DiffSummary::new(None, Some(content(482).as_bytes()), &none);
        assert_eq!(longest.preview().chars().count(), 500);
        assert!(longest.preview().ends_with("é\n"));
        let over = DiffSummary::new(None, Some(content(483).as_bytes()), &none);
        assert_eq!(over.preview().chars().count(), 500);
        assert!(over.preview().ends_with("é…"));
        let long = DiffSummary::new(None, Some(content(1 << 20).as_bytes()), &none);
        assert_eq!(long.preview(), over.preview());
    }

    /// EX-20
    #[test]
    fn preview_redacts_credentials_at_any_position() {
        let old = b"one\nkey = KEY-12345678;\ntwo\n";
        let new = b"one\nkey = KEY-87654321;\ntwo\n";
        let diff = DiffSummary::new(Some(old), Some(new), &keys);
        let expected = "@@ -1,3 +1,3 @@\n one\n-key = [redacted];\n+key = [redacted];\n two\n";
        assert_eq!(diff.preview(), expected);
        let beside =
            DiffSummary::new(Some(b"KEY-12345678\na\n"), Some(b"KEY-12345678\nb\n"), &keys);
        assert_eq!(beside.preview(), "@@ -1,2 +1,2 @@\n [redacted]\n-a\n+b\n");
    }

    proptest! {
        /// EX-15, EX-20
        #[test]
        fn preview_contains_no_part_of_a_credential(
            old in "([ab\n]{0,40}KEY-[0-9\n]{8})?[ab\n]{0,300}",
            new in "[ab\n]{0,300}(KEY-[0-9]{8}[ab\n]{0,90}){0,3}",
        ) {
            let diff = DiffSummary::new(Some(old.as_bytes()), Some(new.as_bytes()), &keys);
            let preview = diff.preview();
            prop_assert!(preview.chars().count() <= PREVIEW_CHARS_MAX);
            let lines = preview.lines().filter(|line| !line.starts_with("@@"));
            for line in lines {
                prop_assert!(!line.contains(|c: char| c.is_ascii_digit() || c == 'K'), "{}", line);
            }
            let counts = line_diff::count(old.as_bytes(), new.as_bytes());
            prop_assert_eq!((diff.lines_added(), diff.lines_removed()), counts);
        }
    }
}
