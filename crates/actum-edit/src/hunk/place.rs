//! Finds the actual positions of hunks whose line numbers are wrong, for callers that allow this.

use crate::nearest_match::Lines;
use actum_core::count;

use super::{HunkError, LineHunk};
use crate::search::find_overlapping;

/// Hunk that applies at a different line than its header states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MovedHunk {
    /// Number of the hunk, counted from 1.
    pub hunk: usize,
    /// Line that the header of the hunk states.
    pub stated: u64,
    /// Line at which the hunk applies.
    pub found: u64,
}

/// Maximum number of bytes that may be searched in total for the hunks of one file: 8 GiB.
pub const SEARCHED_BYTES_MAX: u64 = 8 << 30;

impl LineHunk {
    /// Moves hunks to the positions of their old lines in `content`. Returns all hunks, and a list of those that moved.
    ///
    /// A hunk that matches at its stated line stays there, unless a previous hunk has moved. Otherwise, its old lines must occur
    /// exactly once after the previous hunk. A hunk whose lines are not found stays unchanged for the [`Patcher`] to reject, and
    /// so does a hunk that only adds lines.
    ///
    /// [`Patcher`]: super::Patcher
    ///
    /// # Errors
    /// Returns `Ambiguous` if the lines of a hunk occur several times, and `TooMuchToSearch` if the search would exceed
    /// [`SEARCHED_BYTES_MAX`].
    pub fn relocated(
        hunks: &[Self],
        content: &[u8],
    ) -> Result<(Vec<Self>, Vec<MovedHunk>), HunkError> {
        let mut search = Search { content, from: 0, line: 1, searched: 0 };
        let mut moved: Vec<MovedHunk> = Vec::new();
        let mut placed = Vec::with_capacity(hunks.len());
        for (index, hunk) in hunks.iter().enumerate() {
            let (stated, number) = (hunk.first_line(), index + 1);
            let found = search.place(hunk, number, moved.is_empty())?.unwrap_or(stated);
            if found != stated {
                moved.push(MovedHunk { hunk: number, stated, found });
            }
            let old_start = found - u64::from(hunk.old_lines == 0);
            let old_start = u32::try_from(old_start).unwrap_or(u32::MAX);
            placed.push(Self { old_start, ..hunk.clone() });
        }
        Ok((placed, moved))
    }
}

struct Search<'a> {
    content: &'a [u8],
    /// Byte offset of the end of the previous hunk.
    from: usize,
    /// Line number at `from`, counted from 1.
    line: u64,
    searched: u64,
}

impl Search<'_> {
    /// Returns the line at which `hunk` applies, or `None` if its lines are not found.
    fn place(
        &mut self,
        hunk: &LineHunk,
        number: usize,
        may_be_stated: bool,
    ) -> Result<Option<u64>, HunkError> {
        let old = hunk.old_text();
        if old.is_empty() {
            return Ok(None);
        }
        let fits = |at: usize| {
            let line_starts = at == 0 || self.content.get(at - 1) == Some(&b'\n');
            let end = at + old.len();
            let ends = !hunk.at_end && old.ends_with(b"\n");
            line_starts && (ends || end == self.content.len())
        };
        let rest = self.content.get(self.from..).unwrap_or_default();
        let stated =
            hunk.first_line().checked_sub(self.line).and_then(|ahead| nth_line(rest, ahead));
        let stated = stated.map(|ahead| self.from + ahead).filter(|at| {
            may_be_stated
                && fits(*at)
                && self.content.get(*at..).is_some_and(|rest| rest.starts_with(&old))
        });
        let at = match stated {
            Some(at) => at,
            None => {
                self.searched = self.searched.saturating_add(count(rest.len()));
                if self.searched > SEARCHED_BYTES_MAX {
                    return Err(HunkError::TooMuchToSearch { hunk: number });
                }
                let places = find_overlapping(rest, &old).map(|at| self.from + at);
                let places: Vec<usize> = places.filter(|at| fits(*at)).collect();
                match places.as_slice() {
                    [] => return Ok(None),
                    [at] => *at,
                    [_, _, ..] => {
                        let lines = Lines::new(self.content, places);
                        return Err(HunkError::Ambiguous { hunk: number, lines });
                    }
                }
            }
        };
        let newlines = |bytes: &[u8]| count(memchr::memchr_iter(b'\n', bytes).count());
        let between = self.content.get(self.from..at).unwrap_or_default();
        let found = self.line.saturating_add(newlines(between));
        self.line = found.saturating_add(newlines(&old));
        self.from = at + old.len();
        Ok(Some(found))
    }
}

/// Returns the offset of the line that follows the first `ahead` lines.
fn nth_line(bytes: &[u8], ahead: u64) -> Option<usize> {
    let Some(before) = ahead.checked_sub(1) else { return Some(0) };
    let newline = memchr::memchr_iter(b'\n', bytes).nth(usize::try_from(before).ok()?)?;
    Some(newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line_diff;
    use proptest::prelude::*;

    fn hunk(old_start: u32, body: &str) -> LineHunk {
        let lines = |sign: char| {
            let lines = body.lines().filter(|line| line.starts_with([' ', sign]));
            u32::try_from(lines.count()).unwrap()
        };
        LineHunk {
            old_start,
            old_lines: lines('-'),
            new_start: old_start,
            new_lines: lines('+'),
            body: body.into(),
            at_end: false,
        }
    }

    fn lines(hunks: &[LineHunk], content: &str) -> Result<Vec<u32>, HunkError> {
        let (placed, _) = LineHunk::relocated(hunks, content.as_bytes())?;
        Ok(placed.iter().map(|hunk| hunk.old_start).collect())
    }

    /// FO-10
    #[test]
    fn misplaced_hunk_moves_to_its_only_match() {
        assert_eq!(lines(&[hunk(1, "-b\n+x\n")], "a\nb\n"), Ok(vec![2]));
        assert_eq!(lines(&[hunk(9, "-b\n"), hunk(20, "-d\n")], "a\nb\nc\nd\n"), Ok(vec![2, 4]));
        let (_, moved) = LineHunk::relocated(&[hunk(3, "-b\n")], b"a\nb\n").unwrap();
        assert_eq!(moved, [MovedHunk { hunk: 1, stated: 3, found: 2 }]);
    }

    /// FO-10
    #[test]
    fn hunk_with_two_matches_is_rejected_unless_it_states_one() {
        let file = "x\na\nx\na\n";
        assert_eq!(lines(&[hunk(4, "-a\n")], file), Ok(vec![4]));
        assert_eq!(
            lines(&[hunk(1, "-a\n")], file).unwrap_err().to_string(),
            "hunk 1 is ambiguous because it matches at lines 2, 4"
        );
        // After a hunk has moved, the stated line numbers of later hunks are not trusted.
        let file = "n\nb\na\nc\na\n";
        assert!(lines(&[hunk(1, "-b\n"), hunk(3, "-a\n")], file).is_err());
        assert_eq!(lines(&[hunk(2, "-b\n"), hunk(3, "-a\n")], file), Ok(vec![2, 3]));
    }

    #[test]
    fn hunk_without_a_match_keeps_its_stated_line() {
        assert_eq!(lines(&[hunk(7, "-q\n")], "a\n"), Ok(vec![7]));
        assert_eq!(lines(&[hunk(7, "+q\n")], "a\n"), Ok(vec![7]));
        assert_eq!(lines(&[hunk(1, "-b\n")], "ab\n"), Ok(vec![1]));
    }

    proptest! {
        #[test]
        fn hunks_apply_below_added_lines_when_old_lines_are_distinct(
            above in 1usize..5, changed in proptest::collection::btree_set(0usize..30, 1..6),
        ) {
            let old: String = (0..30).map(|n| format!("{n}\n")).collect();
            let new: String = (0..30).map(|n| if changed.contains(&n) { format!("x{n}\n") }
                else { format!("{n}\n") }).collect();
            let hunks = line_diff::hunks(old.as_bytes(), new.as_bytes(), 3);
            let top = "top\n".repeat(above);
            let (placed, moved) =
                LineHunk::relocated(&hunks, (top.clone() + &old).as_bytes()).unwrap();
            prop_assert_eq!(moved.len(), hunks.len());
            let mut result = Vec::new();
            let mut patcher = super::super::Patcher::new(&placed).unwrap();
            patcher.feed((top.clone() + &old).as_bytes(), |b| result.extend_from_slice(b)).unwrap();
            patcher.finish(|b| result.extend_from_slice(b)).unwrap();
            prop_assert_eq!(result, (top + &new).into_bytes());
        }
    }
}
