//! Parses the hunks of one file, and checks them against the line counts in their headers.

use super::lines::{Lines, excerpt};
use super::plain;
use super::problem::DiffProblem;
use crate::LineHunk;
use crate::format::{HunkCounts, ParseError};

/// [`LineHunk`] whose body borrows from the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk<'a> {
    old_start: u32,
    old_lines: u32,
    new_start: u32,
    new_lines: u32,
    pub(super) body: &'a [u8],
}

impl Hunk<'_> {
    pub(super) fn to_line_hunk(&self) -> LineHunk {
        LineHunk {
            old_start: self.old_start,
            old_lines: self.old_lines,
            new_start: self.new_start,
            new_lines: self.new_lines,
            body: self.body.to_vec(),
            at_end: self.has_context_only_before(),
        }
    }

    fn has_context_only_before(&self) -> bool {
        // The marker for a missing newline (`\`) belongs to the line before it.
        let mut lines = self.body.split(|&byte| byte == b'\n').rev().skip(1);
        let last = lines.find(|line| line.first() != Some(&b'\\'));
        let is_context = |line: &[u8]| matches!(line.first(), Some(b' ') | None);
        is_context(self.body.split(|&byte| byte == b'\n').next().unwrap_or_default())
            && last.is_some_and(|line| !is_context(line))
    }

    /// Checks whether the hunk adds lines to an empty or new file.
    pub(super) fn creates(&self) -> bool {
        (self.old_start, self.old_lines, self.new_start) == (0, 0, 1)
    }

    /// Checks whether the hunk removes all lines of a file.
    pub(super) fn deletes(&self) -> bool {
        (self.old_start, self.new_start, self.new_lines) == (1, 0, 0)
    }

    /// Calls `take` with the content of each line. All lines of the hunk must be on the same side.
    pub(super) fn for_each_line(&self, mut take: impl FnMut(&[u8])) {
        // INVARIANT: the counts and markers have been checked, so each line is on the same side. Only the last line can
        // be a marker for a missing newline.
        let mut rest = self.body;
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |newline| newline + 1);
            let (line, after) = rest.split_at(end);
            let bare = after.starts_with(b"\\");
            let end = line.len() - usize::from(bare);
            take(line.get(1..end).unwrap_or_default());
            rest = if bare { b"" } else { after };
        }
    }
}

/// Parses all hunks from the current line on, possibly none, and moves `lines` to the line after them.
pub(super) fn read<'a>(lines: &mut Lines<'a>) -> Result<Vec<Hunk<'a>>, ParseError> {
    let mut hunks = Vec::new();
    while let Some(line) = lines.current().filter(|line| line.starts_with(b"@@ ")) {
        let refused = |problem| ParseError::diff(lines.place(), problem);
        let mut header = header(line).map_err(refused)?;
        if lines.counts == HunkCounts::Counted {
            (header.old_lines, header.new_lines) = counted(lines);
        }
        if header.old_lines == 0 && header.new_lines == 0 {
            return Err(refused(DiffProblem::HunkEmpty { found: excerpt(line) }));
        }
        lines.check_end()?;
        lines.advance();
        hunks.push(body(lines, header)?);
    }
    if let Some(last) = hunks.last() {
        refuse_excess(lines, last)?;
    }
    Ok(hunks)
}

/// Parses the header line of a hunk into a hunk with an empty body.
fn header(line: &[u8]) -> Result<Hunk<'static>, DiffProblem> {
    let malformed = || DiffProblem::HunkHeader { found: excerpt(line) };
    let too_large = || DiffProblem::HunkNumber { found: excerpt(line) };
    let rest = line.strip_prefix(b"@@ -").ok_or_else(malformed)?;
    let (old, rest) = range(rest).ok_or_else(malformed)?;
    let rest = rest.strip_prefix(b" +").ok_or_else(malformed)?;
    let (new, rest) = range(rest).ok_or_else(malformed)?;
    if !rest.starts_with(b" @@") {
        return Err(malformed());
    }
    let (old_start, old_lines) = old.ok_or_else(too_large)?;
    let (new_start, new_lines) = new.ok_or_else(too_large)?;
    Ok(Hunk { old_start, old_lines, new_start, new_lines, body: b"" })
}

/// Counts the old and new lines after the hunk header at the current line.
///
/// Empty lines at the end of a hunk are not counted. They can be context lines that lost their space, or belong to the
/// text after the hunk.
fn counted(lines: &Lines<'_>) -> (u32, u32) {
    let mut ahead = lines.clone();
    let (mut counts, mut until_empty) = ((0u32, 0u32), None);
    loop {
        ahead.advance();
        let Some(line) = ahead.current() else { break };
        let (old, new) = match line.first() {
            Some(b'-') if starts_next(&ahead, line) => break,
            Some(b' ' | b'\n') => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            Some(_) | None => break,
        };
        if line == b"\n" {
            until_empty.get_or_insert(counts);
        } else {
            until_empty = None;
        }
        counts = (counts.0.saturating_add(old), counts.1.saturating_add(new));
    }
    until_empty.unwrap_or(counts)
}

/// Checks whether a line that starts with `-` begins the next section or a mail signature.
fn starts_next(lines: &Lines<'_>, line: &[u8]) -> bool {
    let mut behind = lines.clone();
    behind.advance();
    let is_last = !behind.current().is_some_and(|next| {
        matches!(next.first(), Some(b' ' | b'-' | b'+' | b'@' | b'\\')) || next == b"\n"
    });
    behind.advance();
    let has_hunk = behind.current().is_some_and(|line| line.starts_with(b"@@ -"));
    (plain::starts(lines) && has_hunk) || (is_signature(line) && is_last)
}

/// Start and line count of a range, or `None` if one of them does not fit into 32 bits.
type Range = Option<(u32, u32)>;

/// Parses `START[,COUNT]` and returns the range and the rest of the text. A missing count means 1.
fn range(text: &[u8]) -> Option<(Range, &[u8])> {
    let (start, rest) = number(text)?;
    let Some(rest) = rest.strip_prefix(b",") else {
        return Some((start.map(|start| (start, 1)), rest));
    };
    let (count, rest) = number(rest)?;
    Some((start.zip(count), rest))
}

/// Parses the decimal number at the start of `text` and returns it with the rest. The number is `None` if it is too large.
fn number(text: &[u8]) -> Option<(Option<u32>, &[u8])> {
    let digits = text.iter().take_while(|b| b.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(digits);
    let number = std::str::from_utf8(digits).ok().filter(|digits| !digits.is_empty())?;
    Some((number.parse().ok(), rest))
}

/// Parses the body of `hunk` until it has as many lines as its header declares.
fn body<'a>(lines: &mut Lines<'a>, hunk: Hunk<'static>) -> Result<Hunk<'a>, ParseError> {
    let start = lines.clone();
    let (mut old, mut new) = (hunk.old_lines, hunk.new_lines);
    let mut last = None;
    while old > 0 || new > 0 {
        let Some(line) = lines.current() else {
            return Err(ends_early(lines, &hunk));
        };
        let (on_old, on_new) = match line.first() {
            Some(b' ' | b'\n') => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => {
                check_mark(lines, line, last.take(), (old, new))?;
                lines.advance();
                continue;
            }
            Some(_) | None => return Err(no_line(lines, line, &hunk)),
        };
        let (Some(old_left), Some(new_left)) = (old.checked_sub(on_old), new.checked_sub(on_new))
        else {
            return Err(goes_on(lines, line, &hunk));
        };
        (old, new) = (old_left, new_left);
        last = Some((on_old, on_new));
        lines.check_end()?;
        lines.advance();
    }
    if let Some(line) = lines.current().filter(|line| line.starts_with(b"\\")) {
        check_mark(lines, line, last, (0, 0))?;
        lines.advance();
    }
    Ok(Hunk { body: lines.since(&start), ..hunk })
}

/// Checks a marker for a missing newline, such as `\ No newline at end of file`.
///
/// The marker must follow the last line of its side. `last` counts the previous line on the old and the new side, and
/// `left` contains the number of lines that each side still needs.
fn check_mark(
    lines: &Lines<'_>,
    line: &[u8],
    last: Option<(u32, u32)>,
    left: (u32, u32),
) -> Result<(), ParseError> {
    let found = excerpt(line);
    let problem = match last {
        _ if !line.starts_with(b"\\ ") => DiffProblem::HunkGarbage { found },
        Some((old, new)) if (old == 0 || left.0 == 0) && (new == 0 || left.1 == 0) => return Ok(()),
        Some(_) | None => DiffProblem::StrayMark { found },
    };
    Err(ParseError::diff(lines.place(), problem))
}

/// Prefixes of a line that cannot be part of a hunk, which show that the hunk is incomplete.
const NEXT_STARTS: [&[u8]; 4] = [b"diff ", b"@@ ", b"From ", b"Index: "];

fn no_line(lines: &Lines<'_>, line: &[u8], hunk: &Hunk<'_>) -> ParseError {
    if NEXT_STARTS.iter().any(|start| line.starts_with(start)) {
        return ends_early(lines, hunk);
    }
    ParseError::diff(lines.place(), DiffProblem::HunkGarbage { found: excerpt(line) })
}

fn ends_early(lines: &Lines<'_>, hunk: &Hunk<'_>) -> ParseError {
    let (old, new) = (hunk.old_lines, hunk.new_lines);
    ParseError::diff(lines.place(), DiffProblem::HunkEndsEarly { old, new, found: lines.found() })
}

fn goes_on(lines: &Lines<'_>, line: &[u8], hunk: &Hunk<'_>) -> ParseError {
    let (old, new, found) = (hunk.old_lines, hunk.new_lines, excerpt(line));
    ParseError::diff(lines.place(), DiffProblem::HunkGoesOn { old, new, found })
}

/// Returns an error if the lines after the last hunk of a file look like a continuation of the hunk. If the counts in its
/// header are too low, a part of the change would otherwise be skipped as prose.
fn refuse_excess(lines: &Lines<'_>, hunk: &Hunk<'_>) -> Result<(), ParseError> {
    let mut ahead = lines.clone();
    while ahead.current().is_some_and(|line| matches!(line, b"\n" | b"\r\n")) {
        ahead.advance();
    }
    match ahead.current() {
        Some(line) if !is_signature(line) && !plain::starts(&ahead) => match line.first() {
            Some(b' ' | b'-' | b'+' | b'\\') => Err(goes_on(&ahead, line, hunk)),
            Some(_) | None => Ok(()),
        },
        Some(_) | None => Ok(()),
    }
}

/// Checks whether `line` starts a mail signature (RFC 3676, section 4.3).
fn is_signature(line: &[u8]) -> bool {
    line.trim_ascii_end() == b"--"
}
