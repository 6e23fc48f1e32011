//! How many lines an edit adds and removes (FO-4).

use actum_core::{Splice, line_diff};

/// Lines added and removed by splices: those that differ in the lines that a splice is in. What is
/// not near a splice is not looked at.
pub(super) fn cost_of(splices: &[Splice], content: &[u8]) -> (u64, u64) {
    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(content.len());
    let end = |splice: &Splice| place(splice.offset).saturating_add(splice.old.len());
    let line_start = |at: usize| {
        let before = content.get(..at).unwrap_or_default();
        memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1)
    };
    let line_end = |at: usize| {
        let rest = content.get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(content.len(), |newline| at + newline + 1)
    };
    let share_a_line = |a: &Splice, b: &Splice| line_end(end(a)) > line_start(place(b.offset));
    let (mut added, mut removed) = (0u64, 0u64);
    for group in splices.chunk_by(share_a_line) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else { continue };
        let (start, stop) = (line_start(place(first.offset)), line_end(end(last)));
        let old = content.get(start..stop).unwrap_or_default();
        let mut new = Vec::with_capacity(old.len());
        let mut done = start;
        for splice in group {
            new.extend_from_slice(content.get(done..place(splice.offset)).unwrap_or_default());
            new.extend_from_slice(&splice.new);
            done = end(splice);
        }
        new.extend_from_slice(content.get(done..stop).unwrap_or_default());
        let (plus, minus) = line_diff::count(old, &new);
        (added, removed) = (added.saturating_add(plus), removed.saturating_add(minus));
    }
    (added, removed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::lines;
    use proptest::prelude::*;

    /// FO-4
    #[test]
    fn an_edit_costs_the_lines_that_differ() {
        let splice =
            |offset: u64, old: &str, new: &str| Splice { offset, old: old.into(), new: new.into() };
        assert_eq!(cost_of(&[], b"a\n"), (0, 0));
        assert_eq!(cost_of(&[splice(2, "b", "x")], b"a\nb\nc\n"), (1, 1));
        assert_eq!(cost_of(&[splice(0, "a", "x"), splice(1, "b", "y")], b"ab\nc\n"), (1, 1));
        assert_eq!(cost_of(&[splice(0, "a", "x"), splice(4, "c", "")], b"a\nb\nc\n"), (2, 2));
        assert_eq!(cost_of(&[splice(2, "b\n", "")], b"a\nb\nc\n"), (0, 1));
        assert_eq!(cost_of(&[splice(1, "", "\nx")], b"a"), (2, 1));
    }

    proptest! {
        /// FO-4
        #[test]
        fn what_is_added_and_removed_accounts_for_every_line(
            old in "[ab\n]{0,20}", new in "[ab\n]{0,20}",
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let (added, removed) = cost_of(&Splice::between(old, new), old);
            prop_assert_eq!(lines(old) + added, lines(new) + removed);
            prop_assert_eq!((added, removed) == (0, 0), old == new);
        }
    }
}
