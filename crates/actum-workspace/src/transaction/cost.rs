//! Computation of the number of lines that an edit adds and removes (FO-4).

use actum_edit::{Splice, line_diff};

use crate::change::Lines;

/// Counts the lines added and removed by splices. Only lines that differ within a splice count, and lines outside of
/// all splices are not examined.
pub(super) fn cost_of(splices: &[Splice], content: &[u8]) -> Lines {
    let lines = Splice::widened(splices, content, 0);
    let counts = lines.iter().map(|splice| line_diff::count(&splice.old, &splice.new));
    counts.map(Lines::new).fold(Lines::default(), Lines::and)
}

#[cfg(test)]
mod tests {
    use super::*;
    use actum_core::text::lines;
    use proptest::prelude::*;

    fn cost(splices: &[Splice], content: &[u8]) -> (u64, u64) {
        let Lines { added, removed } = cost_of(splices, content);
        (added, removed)
    }

    /// FO-4
    #[test]
    fn edit_cost_is_the_number_of_differing_lines() {
        let splice =
            |offset: u64, old: &str, new: &str| Splice { offset, old: old.into(), new: new.into() };
        assert_eq!(cost(&[], b"a\n"), (0, 0));
        assert_eq!(cost(&[splice(2, "b", "x")], b"a\nb\nc\n"), (1, 1));
        assert_eq!(cost(&[splice(0, "a", "x"), splice(1, "b", "y")], b"ab\nc\n"), (1, 1));
        assert_eq!(cost(&[splice(0, "a", "x"), splice(4, "c", "")], b"a\nb\nc\n"), (2, 2));
        assert_eq!(cost(&[splice(2, "b\n", "")], b"a\nb\nc\n"), (0, 1));
        assert_eq!(cost(&[splice(1, "", "\nx")], b"a"), (2, 1));
    }

    proptest! {
        /// FO-4
        #[test]
        fn added_and_removed_lines_account_for_every_line(
            old in "[ab\n]{0,20}", new in "[ab\n]{0,20}",
        ) {
            let (old, new) = (old.as_bytes(), new.as_bytes());
            let (added, removed) = cost(&Splice::between(old, new), old);
            prop_assert_eq!(lines(old).unwrap() + added, lines(new).unwrap() + removed);
            prop_assert_eq!((added, removed) == (0, 0), old == new);
        }
    }
}
