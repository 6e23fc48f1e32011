//! Applies hunks to content that is read in pieces.

use super::{HunkError, Line, LineHunk, Side};
use crate::splice::Splice;

/// Applies hunks to content that is read in pieces of any size, and records the changes as splices. It buffers at most one
/// line of the content.
pub struct Patcher<'a> {
    hunks: Vec<Checked<'a>>,
    /// Index of the current hunk, which is being matched or comes next.
    hunk: usize,
    /// Index of the next line in the current hunk.
    step: usize,
    /// Number of the line of the old content that starts at or contains `offset`, counted from 1.
    line: u64,
    /// Number of bytes of the old content that have been processed.
    offset: u64,
    /// Start of a line that continues in the next piece.
    partial: Vec<u8>,
    open: Option<Splice>,
    splices: Vec<Splice>,
    /// Index of a hunk that wrote a line without a newline, so no more content may follow.
    unterminated: Option<usize>,
    /// Index of a matched hunk after which the content must end.
    last: Option<usize>,
    at_line_start: bool,
}

struct Checked<'a> {
    first_line: u64,
    lines: Vec<Line<'a>>,
    at_end: bool,
}

impl<'a> Patcher<'a> {
    /// Checks the syntax, line counts and order of the hunks, independently of any content.
    ///
    /// # Errors
    /// Returns [`HunkError`] if a hunk is invalid or overlaps the previous one.
    pub fn new(hunks: &'a [LineHunk]) -> Result<Self, HunkError> {
        let mut checked = Vec::with_capacity(hunks.len());
        let mut reached = 0u64;
        for (index, hunk) in hunks.iter().enumerate() {
            let number = index + 1;
            let lines = hunk.lines().map_err(|line| HunkError::Malformed { hunk: number, line })?;
            let count = |side: Side| {
                let lines = lines.iter().filter(|l| l.side == Side::Context || l.side == side);
                actum_core::count(lines.count())
            };
            let (body_old, body_new) = (count(Side::Old), count(Side::New));
            let counted = (u64::from(hunk.old_lines), u64::from(hunk.new_lines));
            if lines.is_empty() && counted == (0, 0) {
                return Err(HunkError::Empty { hunk: number });
            }
            if counted != (body_old, body_new) {
                return Err(HunkError::WrongCount {
                    hunk: number,
                    header_old: hunk.old_lines,
                    header_new: hunk.new_lines,
                    body_old,
                    body_new,
                });
            }
            let first_line = hunk.first_line();
            if first_line <= reached {
                return Err(HunkError::OutOfOrder { hunk: number, start: first_line, reached });
            }
            reached = first_line + body_old - 1;
            checked.push(Checked { first_line, lines, at_end: hunk.at_end });
        }
        Ok(Self {
            hunks: checked,
            hunk: 0,
            step: 0,
            line: 1,
            offset: 0,
            partial: Vec::new(),
            open: None,
            splices: Vec::new(),
            unterminated: None,
            last: None,
            at_line_start: true,
        })
    }

    /// Processes the next piece of the old content, and passes the resulting new content to `out`.
    ///
    /// # Errors
    /// Returns [`HunkError`] if the content does not match a hunk.
    pub fn feed(&mut self, mut piece: &[u8], mut out: impl FnMut(&[u8])) -> Result<(), HunkError> {
        while !piece.is_empty() {
            if self.partial.is_empty() && self.at_line_start {
                self.insert_here(&mut out)?;
            }
            if let Some(hunk) = self.last {
                return Err(HunkError::NotAtEnd { hunk: hunk + 1, line: self.line });
            }
            let Some(hunk) = self.hunks.get(self.hunk) else {
                return self.pass(piece, &mut out);
            };
            if self.line < hunk.first_line {
                let skip = hunk.first_line - self.line;
                let (skipped, lines) = take_lines(piece, skip);
                self.at_line_start = skipped.ends_with(b"\n");
                self.pass(skipped, &mut out)?;
                self.line += lines;
                piece = piece.get(skipped.len()..).unwrap_or_default();
                continue;
            }
            let end = memchr::memchr(b'\n', piece).map(|newline| newline + 1);
            let (bytes, rest) = piece.split_at(end.unwrap_or(piece.len()));
            piece = rest;
            if end.is_none() || !self.partial.is_empty() {
                self.partial.extend_from_slice(bytes);
                // INVARIANT: the buffer never exceeds the length of the expected line plus one piece.
                let expected = self.expected().map_or(0, |line| line.bytes.len());
                if end.is_none() && self.partial.len() <= expected {
                    return Ok(());
                }
                let line = std::mem::take(&mut self.partial);
                self.match_line(&line, &mut out)?;
            } else {
                self.match_line(bytes, &mut out)?;
            }
        }
        Ok(())
    }

    /// Finishes at the end of the old content, and returns the splices that turn it into the new content.
    ///
    /// # Errors
    /// Returns [`HunkError`] if a hunk is not completely matched.
    pub fn finish(mut self, mut out: impl FnMut(&[u8])) -> Result<Vec<Splice>, HunkError> {
        if !self.partial.is_empty() {
            let line = std::mem::take(&mut self.partial);
            self.match_line(&line, &mut out)?;
        }
        if self.at_line_start {
            self.insert_here(&mut out)?;
        }
        self.close_splice();
        match self.hunks.get(self.hunk) {
            None => Ok(self.splices),
            Some(hunk) => Err(HunkError::PastEnd {
                hunk: self.hunk + 1,
                line: self.line.max(hunk.first_line),
                last: self.line - u64::from(self.at_line_start),
            }),
        }
    }

    /// Returns the next line of the old content that the current hunk expects.
    fn expected(&self) -> Option<Line<'a>> {
        let lines = self.hunks.get(self.hunk)?.lines.get(self.step..)?;
        lines.iter().find(|line| line.side != Side::New).copied()
    }

    /// Writes the added lines up to the next old line that the current hunk expects. If the hunk is complete, continues with
    /// the next one.
    fn insert_here(&mut self, out: &mut impl FnMut(&[u8])) -> Result<(), HunkError> {
        while let Some(hunk) = self.hunks.get(self.hunk) {
            if self.line < hunk.first_line {
                return Ok(());
            }
            let Some(line) = hunk.lines.get(self.step).copied() else {
                if hunk.at_end {
                    self.last = Some(self.hunk);
                }
                self.hunk += 1;
                self.step = 0;
                self.close_splice();
                continue;
            };
            if line.side != Side::New {
                return Ok(());
            }
            self.emit(line.bytes, out)?;
            self.splice().new.extend_from_slice(line.bytes);
            if !line.bytes.ends_with(b"\n") {
                self.unterminated = Some(self.hunk);
            }
            self.step += 1;
        }
        Ok(())
    }

    /// Compares a line of the content with the line that the current hunk expects.
    fn match_line(&mut self, found: &[u8], out: &mut impl FnMut(&[u8])) -> Result<(), HunkError> {
        let Some(expected) = self.expected() else {
            return self.pass(found, out);
        };
        if expected.bytes != found {
            return Err(HunkError::Mismatch {
                hunk: self.hunk + 1,
                line: self.line,
                expected: expected.bytes.to_vec(),
                found: found.to_vec(),
            });
        }
        if expected.side == Side::Context {
            self.close_splice();
            self.emit(found, out)?;
        } else {
            self.splice().old.extend_from_slice(found);
        }
        self.offset = self.offset.saturating_add(actum_core::count(found.len()));
        self.step += 1;
        let terminated = found.ends_with(b"\n");
        self.line += u64::from(terminated);
        if !terminated && expected.side == Side::Context {
            self.unterminated = Some(self.hunk);
        }
        self.at_line_start = true;
        self.insert_here(out)?;
        Ok(())
    }

    /// Passes unchanged content to `out`.
    fn pass(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) -> Result<(), HunkError> {
        self.close_splice();
        self.offset = self.offset.saturating_add(actum_core::count(bytes.len()));
        self.emit(bytes, out)
    }

    fn emit(&mut self, bytes: &[u8], out: &mut impl FnMut(&[u8])) -> Result<(), HunkError> {
        match self.unterminated {
            Some(hunk) if !bytes.is_empty() => Err(HunkError::GluedLines { hunk: hunk + 1 }),
            Some(_) | None => {
                out(bytes);
                Ok(())
            }
        }
    }

    fn splice(&mut self) -> &mut Splice {
        let offset = self.offset;
        self.open.get_or_insert_with(|| Splice { offset, old: Vec::new(), new: Vec::new() })
    }

    fn close_splice(&mut self) {
        self.splices.extend(self.open.take());
    }
}

/// Returns the prefix of `bytes` with at most `lines` newlines, and the number of newlines in it.
fn take_lines(bytes: &[u8], lines: u64) -> (&[u8], u64) {
    let found = actum_core::count(memchr::memchr_iter(b'\n', bytes).count());
    if found < lines {
        return (bytes, found);
    }
    let nth = usize::try_from(lines.saturating_sub(1)).unwrap_or(usize::MAX);
    let end = memchr::memchr_iter(b'\n', bytes).nth(nth).map_or(bytes.len(), |newline| newline + 1);
    (bytes.get(..end).unwrap_or(bytes), lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hunk(old: (u32, u32), new: (u32, u32), body: &str) -> LineHunk {
        LineHunk {
            old_start: old.0,
            old_lines: old.1,
            new_start: new.0,
            new_lines: new.1,
            body: body.as_bytes().to_vec(),
            at_end: false,
        }
    }

    fn apply(hunks: &[LineHunk], content: &[u8], piece: usize) -> Result<Vec<u8>, HunkError> {
        let mut result = Vec::new();
        let mut patcher = Patcher::new(hunks)?;
        for chunk in content.chunks(piece) {
            patcher.feed(chunk, |b| result.extend_from_slice(b))?;
        }
        let splices = patcher.finish(|b| result.extend_from_slice(b))?;
        assert_eq!(Splice::apply(&splices, content).unwrap(), result);
        assert_eq!(Splice::apply(&Splice::invert(&splices), &result).unwrap(), content);
        Ok(result)
    }

    #[test]
    fn content_after_an_end_of_file_hunk_is_rejected() {
        let append = [LineHunk { at_end: true, ..hunk((1, 1), (1, 2), " a\n+b\n") }];
        assert_eq!(every_piece(&append, "a\n").unwrap(), "a\nb\n");
        let error = every_piece(&append, "a\nb\n").unwrap_err();
        assert_eq!(error, HunkError::NotAtEnd { hunk: 1, line: 2 });
        let remove = [LineHunk { at_end: true, ..hunk((1, 2), (1, 1), " a\n-b\n") }];
        assert_eq!(every_piece(&remove, "a\nb\n").unwrap(), "a\n");
        assert!(every_piece(&remove, "a\nb\nc").is_err());
    }

    fn every_piece(hunks: &[LineHunk], content: &str) -> Result<String, HunkError> {
        let whole = apply(hunks, content.as_bytes(), usize::MAX);
        for piece in 1..=content.len() {
            assert_eq!(apply(hunks, content.as_bytes(), piece), whole, "pieces of {piece}");
        }
        whole.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn hunks_edit_the_lines_they_name() {
        let hunks = [
            hunk((1, 2), (1, 2), " a\n-b\n+B\n"),
            hunk((3, 0), (4, 1), "+new\n"),
            hunk((5, 1), (6, 0), "-e\n"),
        ];
        assert_eq!(every_piece(&hunks, "a\nb\nc\nd\ne\nf\n").unwrap(), "a\nB\nc\nnew\nd\nf\n");
    }

    #[test]
    fn inserts_at_both_ends_and_into_empty_content() {
        assert_eq!(every_piece(&[hunk((0, 0), (1, 1), "+a\n")], "b\n").unwrap(), "a\nb\n");
        assert_eq!(every_piece(&[hunk((1, 0), (2, 1), "+b\n")], "a\n").unwrap(), "a\nb\n");
        assert_eq!(every_piece(&[hunk((0, 0), (1, 1), "+a\n")], "").unwrap(), "a\n");
        assert_eq!(every_piece(&[hunk((1, 1), (0, 0), "-a\n")], "a\n").unwrap(), "");
    }

    #[test]
    fn a_missing_final_newline_is_kept_added_and_removed() {
        let kept = hunk((1, 2), (1, 2), "-a\n+A\n b\n\\ No newline at end of file\n");
        assert_eq!(every_piece(&[kept], "a\nb").unwrap(), "A\nb");
        let added = hunk((1, 1), (1, 1), "-a\n\\ No newline at end of file\n+a\n");
        assert_eq!(every_piece(&[added], "a").unwrap(), "a\n");
        let removed = hunk((1, 1), (1, 1), "-a\n+a\n\\ No newline at end of file\n");
        assert_eq!(every_piece(&[removed], "a\n").unwrap(), "a");
        let grown = hunk((1, 1), (1, 2), "-a\n\\ No newline at end of file\n+a\n+b\n\\ No\n");
        assert_eq!(every_piece(&[grown], "a").unwrap(), "a\nb");
    }

    #[test]
    fn hunk_that_would_join_lines_is_rejected() {
        let early = hunk((1, 1), (1, 1), "-a\n+A\n\\ No newline at end of file\n");
        assert_eq!(every_piece(&[early], "a\nb\n"), Err(HunkError::GluedLines { hunk: 1 }));
        let after = hunk((1, 0), (2, 1), "+b\n");
        assert!(matches!(every_piece(&[after], "a"), Err(HunkError::PastEnd { hunk: 1, .. })));
        let context = hunk((1, 1), (1, 2), " a\n\\ No newline at end of file\n+b\n");
        assert_eq!(every_piece(&[context], "a"), Err(HunkError::GluedLines { hunk: 1 }));
    }

    #[test]
    fn crlf_is_content() {
        let crlf = hunk((1, 1), (1, 1), "-a\r\n+b\r\n");
        assert_eq!(every_piece(std::slice::from_ref(&crlf), "a\r\nc\r\n").unwrap(), "b\r\nc\r\n");
        assert!(matches!(every_piece(&[crlf], "a\nc\n"), Err(HunkError::Mismatch { .. })));
    }

    #[test]
    fn mismatched_hunk_reports_expected_and_found_lines() {
        let error = every_piece(&[hunk((2, 1), (2, 1), "-two\n+2\n")], "one\nzwei\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "hunk 1 does not match at line 2: expected `two\\n`, found `zwei\\n`"
        );
        let error = every_piece(&[hunk((4, 1), (4, 0), "-x\n")], "a\nb\n").unwrap_err();
        assert_eq!(error.to_string(), "hunk 1 needs line 4, but the content ends at line 2");
    }

    #[test]
    fn inconsistent_hunks_are_rejected() {
        let wrong = |hunks: &[LineHunk]| Patcher::new(hunks).map(|_| ()).unwrap_err();
        assert!(matches!(wrong(&[hunk((1, 2), (1, 1), "-a\n")]), HunkError::WrongCount { .. }));
        assert!(matches!(wrong(&[hunk((1, 0), (1, 0), "")]), HunkError::Empty { hunk: 1 }));
        assert!(matches!(wrong(&[hunk((0, 1), (0, 0), "-a\n")]), HunkError::OutOfOrder { .. }));
        assert_eq!(
            wrong(&[hunk((1, 1), (1, 1), "*a\n")]),
            HunkError::Malformed { hunk: 1, line: 1 }
        );
        let second = hunk((1, 1), (1, 0), "-a\n");
        assert_eq!(
            wrong(&[hunk((1, 2), (1, 1), " a\n-b\n"), second]),
            HunkError::OutOfOrder { hunk: 2, start: 1, reached: 2 }
        );
    }

    #[test]
    fn unterminated_line_fails_without_being_buffered() {
        let hunks = [hunk((1, 1), (1, 0), "-short\n")];
        let mut patcher = Patcher::new(&hunks).unwrap();
        let error = patcher.feed(&[b'x'; 64], |_| ()).unwrap_err();
        assert!(matches!(error, HunkError::Mismatch { .. }));
    }

    proptest! {
        #[test]
        fn full_replacement_hunk_produces_the_new_content(
            old in proptest::collection::vec("[ab]{0,3}\n", 1..8),
            new in proptest::collection::vec("[ab]{0,3}\n", 1..8),
        ) {
            let body: String = old.iter().map(|l| format!("-{l}"))
                .chain(new.iter().map(|l| format!("+{l}"))).collect();
            let count = |lines: &[String]| u32::try_from(lines.len()).unwrap();
            let hunks = [hunk((1, count(&old)), (1, count(&new)), &body)];
            prop_assert_eq!(every_piece(&hunks, &old.concat()).unwrap(), new.concat());
        }
    }
}
