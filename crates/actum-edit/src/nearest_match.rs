//! Near-miss search for error messages, which finds the text that is most similar to a text that does not match.
//!
//! The result never determines where an edit is applied. It only shows users and agents where to look.

use std::collections::HashMap;
use std::fmt;

use actum_core::count;

/// Line numbers, which are displayed as a list that is truncated if it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines(pub Vec<u64>);

/// Nearest match for a text that was not found at the expected position. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearestMatch {
    /// The text is at other positions.
    Elsewhere {
        /// Lines at which the text starts.
        lines: Lines,
    },
    /// The text is only part of longer lines, but whole lines are required.
    Within {
        /// Lines at which the text starts.
        lines: Lines,
    },
    /// The content already contains the new text.
    New {
        /// Line at which the new text starts.
        line: u64,
    },
    /// The content ends with the text, but without its final newline.
    NoFinalNewline {
        /// Line at which the text starts.
        line: u64,
    },
    /// The content has a text that differs only in line endings: one has CRLF and the other has LF.
    LineEnds {
        /// Line at which the similar text starts.
        line: u64,
    },
    /// The content has a text that differs only in whitespace.
    Blanks {
        /// Line at which the similar text starts.
        line: u64,
    },
    /// At least half of the lines of the text match, at the same distances from each other.
    Partly {
        /// Line at which the whole text would start.
        line: u64,
        /// Number of lines of the text that match.
        equal: u64,
        /// Total number of lines of the text.
        of: u64,
    },
}

/// Maximum number of lines that a message lists.
const LINES_SHOWN_MAX: usize = 8;
/// Maximum number of lines in a text that is compared line by line.
const COMPARED_LINES_MAX: usize = 2_000;
/// Maximum number of occurrences of a line in the text. More frequent lines say nothing about the position of the text.
const REPEATED_MAX: usize = 8;

impl NearestMatch {
    /// Finds the nearest match in `content` for the text `old`, which an edit wants to replace with `new`.
    pub fn find(old: &[u8], new: &[u8], content: &[u8]) -> Option<Self> {
        if old.trim_ascii().is_empty() {
            return None;
        }
        let line = |offset| Lines::new(content, [offset]).0.first().copied().unwrap_or(1);
        let places: Vec<_> = memchr::memmem::find_iter(content, old).collect();
        if !places.is_empty() {
            return Some(Self::Elsewhere { lines: Lines::new(content, places) });
        }
        let is_there = |text: &[u8]| whole_lines(text, content);
        let new = (!new.trim_ascii().is_empty()).then(|| is_there(new)).flatten();
        None.or_else(|| new.map(|at| Self::New { line: line(at) }))
            .or_else(|| {
                let end = old.strip_suffix(b"\n").filter(|end| content.ends_with(end))?;
                Some(Self::NoFinalNewline { line: line(content.len() - end.len()) })
            })
            .or_else(|| {
                alike(old, content, |b| b != b'\r').map(|at| Self::LineEnds { line: line(at) })
            })
            .or_else(|| {
                let at = alike(old, content, |b| !b.is_ascii_whitespace());
                at.map(|at| Self::Blanks { line: line(at) })
            })
            .or_else(|| partly(old, content))
    }
}

/// Finds `text` in `content`, with only whitespace before and after it on its lines. A match within a longer word would not show
/// that the change has already been made.
fn whole_lines(text: &[u8], content: &[u8]) -> Option<usize> {
    let is_inner = |b: &&u8| !b.is_ascii_whitespace() || **b == b'\n';
    let is_bound = |byte: Option<&u8>| byte.is_none_or(|&b| b == b'\n');
    memchr::memmem::find_iter(content, text).find(|&at| {
        let before = content.iter().take(at).rev().find(is_inner);
        let behind = content.iter().skip(at + text.len()).find(is_inner);
        (text.starts_with(b"\n") || is_bound(before)) && (text.ends_with(b"\n") || is_bound(behind))
    })
}

/// Finds `old` in `content`, ignoring all bytes that `keep` rejects.
fn alike(old: &[u8], content: &[u8], keep: fn(u8) -> bool) -> Option<usize> {
    let kept = |bytes: &[u8]| bytes.iter().copied().filter(|b| keep(*b)).collect::<Vec<_>>();
    let (old, reduced) = (kept(old), kept(content));
    let at = memchr::memmem::find(&reduced, &old).filter(|_| !old.is_empty())?;
    let mut places = content.iter().enumerate().filter(|(_, b)| keep(**b)).map(|(index, _)| index);
    places.nth(at)
}

/// Finds the position in `content` at which most lines of `old` match, if at least half of them do.
fn partly(old: &[u8], content: &[u8]) -> Option<NearestMatch> {
    let lines: Vec<&[u8]> = old.split_inclusive(|&b| b == b'\n').collect();
    if lines.len() < 2 || lines.len() > COMPARED_LINES_MAX {
        return None;
    }
    let mut offsets: HashMap<&[u8], Vec<usize>> = HashMap::new();
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim_ascii().is_empty())
    {
        offsets.entry(line).or_default().push(index);
    }
    offsets.retain(|_, indices| indices.len() <= REPEATED_MAX);
    // Each matching line votes for the position at which the first line would have to be.
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (index, line) in content.split_inclusive(|&b| b == b'\n').enumerate() {
        for offset in offsets.get(line).into_iter().flatten() {
            if let Some(start) = index.checked_sub(*offset) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let best = votes.into_iter().max_by_key(|(start, equal)| (*equal, usize::MAX - start));
    let (start, _) = best?;
    let there = content.split_inclusive(|&b| b == b'\n').skip(start);
    let equal = there.zip(&lines).filter(|(a, b)| a == *b).count();
    (equal * 2 >= lines.len()).then(|| NearestMatch::Partly {
        line: count(start) + 1,
        equal: count(equal),
        of: count(lines.len()),
    })
}

impl fmt::Display for NearestMatch {
    /// Writes a clause for the end of an error message.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { lines } if lines.0.len() == 1 => {
                write!(f, "the expected text is at line {lines}")
            }
            Self::Elsewhere { lines } => {
                write!(f, "the expected text is at lines {lines}")
            }
            Self::Within { lines } if lines.0.len() == 1 => {
                write!(f, "line {lines} contains the text as part of a longer line")
            }
            Self::Within { lines } => {
                write!(f, "lines {lines} contain the text as part of longer lines")
            }
            Self::New { line } => write!(f, "the new text is already at line {line}"),
            Self::NoFinalNewline { line } => {
                write!(f, "the text at line {line} has no newline at its end")
            }
            Self::LineEnds { line } => {
                write!(f, "the text at line {line} differs only in line endings (CRLF or LF)")
            }
            Self::Blanks { line } => {
                write!(f, "the text at line {line} differs only in whitespace")
            }
            Self::Partly { line, equal, of } => {
                write!(f, "closest match at line {line} ({equal} of {of} lines)")
            }
        }
    }
}

/// Displays the nearest match as a clause that starts with `; `, or nothing if there is no match.
pub struct Clause<'a>(
    /// Nearest match, if there is one.
    pub Option<&'a NearestMatch>,
);

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, "; {near}"))
    }
}

impl Lines {
    /// Converts ascending byte `offsets` in `content` to line numbers, counted from 1.
    pub fn new(content: &[u8], offsets: impl IntoIterator<Item = usize>) -> Self {
        let (mut line, mut seen) = (1u64, 0usize);
        let lines = offsets.into_iter().map(|offset| {
            let between = content.get(seen..offset).unwrap_or_default();
            line = line.saturating_add(count(memchr::memchr_iter(b'\n', between).count()));
            seen = offset;
            line
        });
        Self(lines.collect())
    }
}

impl fmt::Display for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, line) in self.0.iter().take(LINES_SHOWN_MAX).enumerate() {
            write!(f, "{}{line}", if index == 0 { "" } else { ", " })?;
        }
        if self.0.len() > LINES_SHOWN_MAX { f.write_str(", …") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(old: &str, new: &str, content: &str) -> String {
        let near = NearestMatch::find(old.as_bytes(), new.as_bytes(), content.as_bytes());
        Clause(near.as_ref()).to_string()
    }

    #[test]
    fn nearest_match_is_reported_with_its_line() {
        assert_eq!(near("x", "y", "abc"), "");
        assert_eq!(near("b\n", "x", "a\nb\n"), "; the expected text is at line 2");
        assert_eq!(near("b\n", "x", "b\na\nb\n"), "; the expected text is at lines 1, 3");
        assert_eq!(near("old", "new", "a\nnew\n"), "; the new text is already at line 2");
        assert_eq!(near("old", "get", "getUser\nforget\nget()\n"), "");
        assert_eq!(
            near("old", "get", "getUser\n  get \r\n"),
            "; the new text is already at line 2"
        );
        assert_eq!(near("old\n", "a\nget\n", "x a\nget\n"), "");
        assert_eq!(
            near("b\nc\n", "x", "a\r\nb\r\nc\r\n"),
            "; the text at line 2 differs only in line endings (CRLF or LF)"
        );
        assert_eq!(
            near("f(a, b)", "x", "\n\n  f(a,b)\n"),
            "; the text at line 3 differs only in whitespace"
        );
        assert_eq!(
            near("b\nc\n", "x", "a\nb\nc"),
            "; the text at line 2 has no newline at its end"
        );
        assert_eq!(
            near("b\nq\nd\n", "x", "a\nb\nc\nd\n"),
            "; closest match at line 2 (2 of 3 lines)"
        );
        assert_eq!(near("b\nq\nr\n", "x", "a\nb\nc\nd\n"), "");
        assert_eq!(near("\n\n", "x", "a\n\n\n"), "");
    }

    #[test]
    fn long_line_number_lists_are_truncated() {
        assert_eq!(
            near("b\n", "x", &"b\n".repeat(20)),
            "; the expected text is at lines 1, 2, 3, 4, 5, 6, 7, 8, …"
        );
    }
}
