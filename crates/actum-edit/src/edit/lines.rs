//! Edits by line number, which insert lines before a given line or delete a range of lines.
//!
//! A line ends with a line feed. The line feed, and a carriage return directly before it, belong to the line. A carriage return
//! without a line feed does not end a line. Text after the last line feed is a line as well, unless it is empty.

use actum_core::count;
use serde::{Deserialize, Serialize};

use super::EDIT_BYTES_MAX;
use crate::Splice;

/// Inserts lines before a given line.
///
/// The content is inserted byte for byte. If it does not end with a line feed, a line ending is added. It is copied from the line
/// before the content, the line after it, or the first line of the content, in this order. Without an example, it is a line feed.
///
/// If the last line of the file has no line ending, content that is appended after it without a line feed stays without one. The
/// line ending is added to the old last line instead.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineInsert {
    /// Number of the line before which the content is inserted, counted from 1. The number after the last line appends.
    pub line_number: u32,
    /// Content to insert. If it is empty, an empty line is inserted.
    #[serde(with = "crate::byte_text")]
    pub content: Vec<u8>,
}

/// Deletes lines including their line endings. All other lines keep their bytes, so if the last line is deleted, the line before it
/// keeps its line ending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineDelete {
    /// First line to delete, counted from 1.
    pub start_line: u32,
    /// Last line to delete, which is included.
    pub end_line: u32,
}

/// Reason why lines cannot be inserted or deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line number is 0, or is beyond the end of the file by more than one line.
    #[error(
        "cannot insert before line {line} of a file with {lines} lines: lines are counted from 1, \
         and line {} appends",
        lines.saturating_add(1)
    )]
    NoPlace {
        /// Requested line number.
        line: u32,
        /// Number of lines in the file.
        lines: u64,
    },
    /// The file does not have a line with the given number.
    #[error("cannot delete line {line} of a file with {lines} lines: lines are counted from 1")]
    NoLine {
        /// Requested line number.
        line: u32,
        /// Number of lines in the file.
        lines: u64,
    },
    /// The first line of the range is after the last line.
    #[error("cannot delete lines {start} to {end} because the first is after the last")]
    Reversed {
        /// First line of the range.
        start: u32,
        /// Last line of the range.
        end: u32,
    },
    /// The result would be larger than [`EDIT_BYTES_MAX`].
    #[error("the result would have {bytes} bytes, but at most {EDIT_BYTES_MAX} are allowed")]
    TooLarge {
        /// Size of the result in bytes.
        bytes: u64,
    },
}

impl LineInsert {
    /// Returns the splice that inserts the lines in `content`.
    ///
    /// # Errors
    /// Returns [`LineError::NoPlace`] or [`LineError::TooLarge`].
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, LineError> {
        let missing = || LineError::NoPlace { line: self.line_number, lines: lines(content) };
        let line = self.line_number.checked_sub(1).ok_or_else(missing)?;
        let at = start_of(content, line).ok_or_else(missing)?;
        let (before, after) = content.split_at_checked(at).unwrap_or((content, b""));
        let is_open = !before.is_empty() && !before.ends_with(b"\n");
        let end = end_of_last(before)
            .or_else(|| end_of_first(after))
            .or_else(|| end_of_first(&self.content))
            .unwrap_or(b"\n");
        let mut new = Vec::with_capacity(self.content.len() + end.len());
        if is_open {
            new.extend_from_slice(end);
        }
        new.extend_from_slice(&self.content);
        let is_whole = self.content.ends_with(b"\n") || (is_open && !self.content.is_empty());
        if !is_whole {
            new.extend_from_slice(end);
        }
        let bytes = count(content.len()).saturating_add(count(new.len()));
        if bytes > EDIT_BYTES_MAX {
            return Err(LineError::TooLarge { bytes });
        }
        Ok(vec![Splice { offset: count(at), old: Vec::new(), new }])
    }
}

impl LineDelete {
    /// Returns the splice that deletes the lines from `content`.
    ///
    /// # Errors
    /// Returns [`LineError::NoLine`] or [`LineError::Reversed`].
    pub fn splices(&self, content: &[u8]) -> Result<Vec<Splice>, LineError> {
        let Self { start_line: start, end_line: end } = *self;
        if start > end {
            return Err(LineError::Reversed { start, end });
        }
        let missing = |line| LineError::NoLine { line, lines: lines(content) };
        let from = start.checked_sub(1).and_then(|line| start_of(content, line));
        let from = from.filter(|from| *from < content.len()).ok_or_else(|| missing(start))?;
        let last = start_of(content, end - 1).filter(|last| *last < content.len());
        let last = last.ok_or_else(|| missing(end))?;
        let rest = content.get(last..).unwrap_or_default();
        let to = last + memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
        let old = content.get(from..to).unwrap_or_default().to_vec();
        Ok(vec![Splice { offset: count(from), old, new: Vec::new() }])
    }
}

/// Returns the number of lines in a file.
fn lines(content: &[u8]) -> u64 {
    let ends = memchr::memchr_iter(b'\n', content).count();
    count(ends) + u64::from(!content.is_empty() && !content.ends_with(b"\n"))
}

/// Returns the byte offset of a line, counted from 0. The offset of the line after the last one is the end of the content.
fn start_of(content: &[u8], line: u32) -> Option<usize> {
    let Some(before) = line.checked_sub(1) else { return Some(0) };
    let before = usize::try_from(before).ok()?;
    let mut ends = memchr::memchr_iter(b'\n', content);
    match ends.nth(before) {
        Some(end) => Some(end + 1),
        // The position after a last line that has no line ending.
        None => (u64::from(line) == lines(content) && !content.ends_with(b"\n"))
            .then_some(content.len()),
    }
}

/// Returns the first line ending of a text.
fn end_of_first(text: &[u8]) -> Option<&'static [u8]> {
    let end = memchr::memchr(b'\n', text)?;
    Some(spelled(text, end))
}

/// Returns the last line ending of a text.
fn end_of_last(text: &[u8]) -> Option<&'static [u8]> {
    let end = memchr::memrchr(b'\n', text)?;
    Some(spelled(text, end))
}

fn spelled(text: &[u8], end: usize) -> &'static [u8] {
    let is_crlf = text.get(..end).is_some_and(|line| line.ends_with(b"\r"));
    if is_crlf { b"\r\n" } else { b"\n" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn applied(splices: Result<Vec<Splice>, LineError>, content: &[u8]) -> Result<Vec<u8>, String> {
        let splices = splices.map_err(|error| error.to_string())?;
        Ok(Splice::apply(&splices, content).unwrap())
    }

    fn insert(line_number: u32, content: &str, file: &str) -> String {
        let edit = LineInsert { line_number, content: content.into() };
        match applied(edit.splices(file.as_bytes()), file.as_bytes()) {
            Ok(result) => String::from_utf8(result).unwrap(),
            Err(error) => error,
        }
    }

    fn delete(start_line: u32, end_line: u32, file: &str) -> String {
        let edit = LineDelete { start_line, end_line };
        match applied(edit.splices(file.as_bytes()), file.as_bytes()) {
            Ok(result) => String::from_utf8(result).unwrap(),
            Err(error) => error,
        }
    }

    /// EX-10
    #[test]
    fn lines_are_inserted_before_the_given_line_with_matching_endings() {
        for (line, content, file, result) in [
            (1, "x", "a\nb\n", "x\na\nb\n"),
            (2, "x\ny\n", "a\nb\n", "a\nx\ny\nb\n"),
            (3, "x", "a\nb\n", "a\nb\nx\n"),
            (2, "x", "a\r\nb\r\n", "a\r\nx\r\nb\r\n"),
            (1, "x", "a\r\nb\n", "x\r\na\r\nb\n"),
            (3, "x", "a\r\nb\n", "a\r\nb\nx\n"),
            // Line endings inside the content are inserted unchanged.
            (1, "x\ny", "a\r\n", "x\ny\r\na\r\n"),
            // The last line of the file has no line ending.
            (2, "x", "a", "a\nx"),
            (2, "x\n", "a", "a\nx\n"),
            (2, "x\r\ny", "a", "a\r\nx\r\ny"),
            (3, "x", "a\r\nb", "a\r\nb\r\nx"),
            (1, "x", "a", "x\na"),
            // The file is empty.
            (1, "x", "", "x\n"),
            (1, "x\r\ny", "", "x\r\ny\r\n"),
            // The content is empty, so an empty line is inserted.
            (1, "", "", "\n"),
            (2, "", "a\nb\n", "a\n\nb\n"),
            (2, "", "a", "a\n\n"),
            // A carriage return without a line feed does not end a line.
            (2, "x", "a\rb\n", "a\rb\nx\n"),
        ] {
            assert_eq!(insert(line, content, file), result, "{line} {content:?} {file:?}");
        }
    }

    /// EX-10
    #[test]
    fn line_range_is_deleted_inclusively_with_its_line_endings() {
        for (start, end, file, result) in [
            (1, 1, "a\nb\nc\n", "b\nc\n"),
            (2, 3, "a\nb\nc\n", "a\n"),
            (1, 3, "a\nb\nc\n", ""),
            (2, 2, "a\r\nb\r\nc", "a\r\nc"),
            (2, 2, "a\nb", "a\n"),
            (1, 1, "a", ""),
            (2, 2, "a\n\nb\n", "a\nb\n"),
        ] {
            assert_eq!(delete(start, end, file), result, "{start} {end} {file:?}");
        }
    }

    /// EX-10
    #[test]
    fn line_out_of_range_reports_the_line_count() {
        let place = |line, lines, next| {
            format!(
                "cannot insert before line {line} of a file with {lines} lines: lines are counted \
                 from 1, and line {next} appends"
            )
        };
        for (line, file, lines, next) in
            [(0, "a\n", 1, 2), (3, "a\n", 1, 2), (3, "a", 1, 2), (2, "", 0, 1), (4, "a\nb", 2, 3)]
        {
            assert_eq!(insert(line, "x", file), place(line, lines, next));
        }
        assert_eq!(insert(u32::MAX, "x", "a\n"), place(u32::MAX, 1, 2));
        let none = |line, lines| {
            format!(
                "cannot delete line {line} of a file with {lines} lines: lines are counted from 1"
            )
        };
        assert_eq!(delete(0, 1, "a\n"), none(0, 1));
        assert_eq!(delete(2, 2, "a\n"), none(2, 1));
        assert_eq!(delete(2, 2, "a"), none(2, 1));
        assert_eq!(delete(1, 3, "a\nb"), none(3, 2));
        assert_eq!(delete(1, 1, ""), none(1, 0));
        assert_eq!(delete(1, u32::MAX, "a\n"), none(u32::MAX, 1));
        assert_eq!(
            delete(3, 2, "a\nb\nc\n"),
            "cannot delete lines 3 to 2 because the first is after the last"
        );
    }

    /// EX-10
    #[test]
    fn line_insert_result_size_is_limited_on_both_sides() {
        let file = vec![b'\n'; usize::try_from(EDIT_BYTES_MAX).unwrap() - 2];
        let edit = |content: &str| LineInsert { line_number: 1, content: content.into() };
        assert!(edit("a\n").splices(&file).is_ok());
        let bytes = EDIT_BYTES_MAX + 1;
        assert_eq!(edit("ab").splices(&file), Err(LineError::TooLarge { bytes }));
    }

    /// Splits a file into lines that include their line endings.
    fn split(file: &[u8]) -> Vec<&[u8]> {
        file.split_inclusive(|byte| *byte == b'\n').collect()
    }

    proptest! {
        /// EX-10
        #[test]
        fn other_lines_remain_unchanged(
            file in "[ab\r\n]{0,12}",
            content in "[xy\r\n]{0,6}",
            line in 0u32..8,
            end in 0u32..8,
        ) {
            let lines = split(file.as_bytes());
            let index = usize::try_from(line).unwrap().wrapping_sub(1);
            let edit = LineInsert { line_number: line, content: content.clone().into() };
            match applied(edit.splices(file.as_bytes()), file.as_bytes()) {
                Ok(result) => {
                    prop_assert!(index <= lines.len());
                    let (result, own) = (split(&result), split(content.as_bytes()).len().max(1));
                    prop_assert_eq!(result.len(), lines.len() + own);
                    let is_open = index == lines.len() && lines.last().is_some_and(|l| !l.ends_with(b"\n"));
                    let before = lines[..index].concat();
                    if is_open {
                        prop_assert!(result[..index].concat().starts_with(&before));
                    } else {
                        prop_assert_eq!(result[..index].concat(), before);
                        prop_assert!(result[index + own - 1].ends_with(b"\n"));
                    }
                    prop_assert!(result[index..index + own].concat().starts_with(content.as_bytes()));
                    prop_assert_eq!(&result[index + own..], &lines[index..]);
                }
                Err(_) => prop_assert!(index > lines.len()),
            }
            let edit = LineDelete { start_line: line, end_line: end };
            match applied(edit.splices(file.as_bytes()), file.as_bytes()) {
                Ok(result) => {
                    let end = usize::try_from(end).unwrap();
                    prop_assert_eq!(result, [&lines[..index], &lines[end..]].concat().concat());
                }
                Err(_) => prop_assert!(line == 0 || line > end || u64::from(end) > count(lines.len())),
            }
        }
    }
}
