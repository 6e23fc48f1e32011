//! Near-miss search for error messages: the nearest match of a text that is not at its place.
//!
//! Nothing here decides where an edit goes; it only shows a reader where to look.

use std::collections::HashMap;
use std::fmt;

use actum_core::count;

/// The lines that places are in, as a message lists them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines(pub Vec<u64>);

/// Nearest match of a text that is not where it should be. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NearestMatch {
    /// The text is elsewhere.
    Elsewhere {
        /// The lines it starts in.
        lines: Lines,
    },
    /// The text is part of longer lines, where whole lines are required.
    Within {
        /// The lines it starts in.
        lines: Lines,
    },
    /// The new text exists already.
    New {
        /// The line that starts in.
        line: u64,
    },
    /// The file ends with the text, except for the newline after it.
    NoFinalNewline {
        /// The line that text starts in.
        line: u64,
    },
    /// A text differs from it only in line ends: one has CRLF and the other LF.
    LineEnds {
        /// The line that text starts in.
        line: u64,
    },
    /// A text differs from it only in blanks.
    Blanks {
        /// The line that text starts in.
        line: u64,
    },
    /// Some of its lines are there, in their order and distance.
    Partly {
        /// The line where all of it would start.
        line: u64,
        /// Number of its lines that match.
        equal: u64,
        /// Number of its lines.
        of: u64,
    },
}

/// Lines that a message lists at most.
const LINES_SHOWN_MAX: usize = 8;
/// Longer texts are not compared line by line.
const COMPARED_LINES_MAX: usize = 2_000;
/// Lines that are in a text more often than this say nothing about where it belongs.
const REPEATED_MAX: usize = 8;

impl NearestMatch {
    /// Finds the nearest match in `content` for `old`, which `new` should replace.
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

/// Finds `text` in `content` with nothing but blanks beside it in its lines: a word within another shows
/// nothing about the change.
fn whole_lines(text: &[u8], content: &[u8]) -> Option<usize> {
    let is_inner = |b: &&u8| !b.is_ascii_whitespace() || **b == b'\n';
    let is_bound = |byte: Option<&u8>| byte.is_none_or(|&b| b == b'\n');
    memchr::memmem::find_iter(content, text).find(|&at| {
        let before = content.iter().take(at).rev().find(is_inner);
        let behind = content.iter().skip(at + text.len()).find(is_inner);
        (text.starts_with(b"\n") || is_bound(before)) && (text.ends_with(b"\n") || is_bound(behind))
    })
}

/// Finds `old` in `content` if only the bytes to keep count.
fn alike(old: &[u8], content: &[u8], keep: fn(u8) -> bool) -> Option<usize> {
    let kept = |bytes: &[u8]| bytes.iter().copied().filter(|b| keep(*b)).collect::<Vec<_>>();
    let (old, reduced) = (kept(old), kept(content));
    let at = memchr::memmem::find(&reduced, &old).filter(|_| !old.is_empty())?;
    let mut places = content.iter().enumerate().filter(|(_, b)| keep(**b)).map(|(index, _)| index);
    places.nth(at)
}

/// The place where most lines of `old` are in `content`, if that is at least half of them.
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
    // A vote of each line that is there for where the first one would have to be.
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
    /// A clause that follows what was attempted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elsewhere { lines } if lines.0.len() == 1 => write!(f, "it is at line {lines}"),
            Self::Elsewhere { lines } => write!(f, "it is at lines {lines}"),
            Self::Within { lines } if lines.0.len() == 1 => {
                write!(f, "line {lines} has it as part of a longer line")
            }
            Self::Within { lines } => write!(f, "lines {lines} have it as part of longer lines"),
            Self::New { line } => write!(f, "the new text is already at line {line}"),
            Self::NoFinalNewline { line } => {
                write!(f, "line {line} has it without the newline at the end")
            }
            Self::LineEnds { line } => {
                write!(f, "line {line} has it with other line ends (CRLF against LF)")
            }
            Self::Blanks { line } => write!(f, "line {line} differs from it only in blanks"),
            Self::Partly { line, equal, of } => {
                write!(f, "{equal} of its {of} lines are at line {line}")
            }
        }
    }
}

/// Nearest match, as the end of a sentence; empty without a match.
pub struct Clause<'a>(
    /// Nearest match.
    pub Option<&'a NearestMatch>,
);

impl fmt::Display for Clause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |near| write!(f, "; {near}"))
    }
}

impl Lines {
    /// The lines, counted from 1, of ascending byte `offsets` of `content`.
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
    fn what_is_nearest_is_told_with_its_line() {
        assert_eq!(near("x", "y", "abc"), "");
        assert_eq!(near("b\n", "x", "a\nb\n"), "; it is at line 2");
        assert_eq!(near("b\n", "x", "b\na\nb\n"), "; it is at lines 1, 3");
        assert_eq!(near("old", "new", "a\nnew\n"), "; the new text is already at line 2");
        assert_eq!(near("old", "get", "getUser\nforget\nget()\n"), "");
        assert_eq!(
            near("old", "get", "getUser\n  get \r\n"),
            "; the new text is already at line 2"
        );
        assert_eq!(near("old\n", "a\nget\n", "x a\nget\n"), "");
        assert_eq!(
            near("b\nc\n", "x", "a\r\nb\r\nc\r\n"),
            "; line 2 has it with other line ends (CRLF against LF)"
        );
        assert_eq!(
            near("f(a, b)", "x", "\n\n  f(a,b)\n"),
            "; line 3 differs from it only in blanks"
        );
        assert_eq!(
            near("b\nc\n", "x", "a\nb\nc"),
            "; line 2 has it without the newline at the end"
        );
        assert_eq!(near("b\nq\nd\n", "x", "a\nb\nc\nd\n"), "; 2 of its 3 lines are at line 2");
        assert_eq!(near("b\nq\nr\n", "x", "a\nb\nc\nd\n"), "");
        assert_eq!(near("\n\n", "x", "a\n\n\n"), "");
    }

    #[test]
    fn many_lines_are_listed_in_part() {
        assert_eq!(
            near("b\n", "x", &"b\n".repeat(20)),
            "; it is at lines 1, 2, 3, 4, 5, 6, 7, 8, …"
        );
    }
}
