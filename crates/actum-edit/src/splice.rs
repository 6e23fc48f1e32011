//! Byte-level differences between two contents, and their inverses.

mod widened;

use actum_core::count;

/// Replaces the bytes `old` at `offset` with `new`. The splices in a list are in ascending order and do not overlap, and their
/// offsets refer to the content before any of them is applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// Offset of `old` in the old content, in bytes.
    pub offset: u64,
    /// Bytes to replace. They are compared with the content before the splice is applied.
    pub old: Vec<u8>,
    /// Bytes that replace `old`.
    pub new: Vec<u8>,
}

/// Error for content that does not contain the old bytes of a splice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the content at byte {offset} differs from the recorded content")]
pub struct SpliceError {
    /// Offset of the difference, in bytes.
    pub offset: u64,
}

impl Splice {
    /// Returns the smallest single splice that turns `old` into `new`, or an empty list if they are equal.
    pub fn between(old: &[u8], new: &[u8]) -> Vec<Self> {
        let prefix = old.iter().zip(new).take_while(|(a, b)| a == b).count();
        let (old_rest, new_rest) =
            (old.get(prefix..).unwrap_or_default(), new.get(prefix..).unwrap_or_default());
        let suffix =
            old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        let middle = |rest: &[u8]| rest.get(..rest.len() - suffix).unwrap_or_default().to_vec();
        let (old, new) = (middle(old_rest), middle(new_rest));
        if old.is_empty() && new.is_empty() {
            return Vec::new();
        }
        vec![Self { offset: count(prefix), old, new }]
    }

    /// Returns the inverse splices, which turn the new content into the old one.
    pub fn invert(splices: &[Self]) -> Vec<Self> {
        let (mut added, mut removed) = (0u64, 0u64);
        splices
            .iter()
            .map(|splice| {
                let offset = splice.offset.saturating_add(added).saturating_sub(removed);
                added = added.saturating_add(count(splice.new.len()));
                removed = removed.saturating_add(count(splice.old.len()));
                Self { offset, old: splice.new.clone(), new: splice.old.clone() }
            })
            .collect()
    }

    /// Applies `splices` to `content`, and returns the new content.
    ///
    /// # Errors
    /// Returns [`SpliceError`] if `content` does not contain the old bytes of a splice.
    pub fn apply(splices: &[Self], content: &[u8]) -> Result<Vec<u8>, SpliceError> {
        let mut result = Vec::with_capacity(content.len());
        let mut splicer = Splicer::new(splices);
        splicer.feed(content, |bytes| result.extend_from_slice(bytes))?;
        splicer.finish(|bytes| result.extend_from_slice(bytes))?;
        Ok(result)
    }

    /// Returns the total number of old and new bytes in a list of splices.
    pub fn weight(splices: &[Self]) -> u64 {
        splices.iter().map(|s| count(s.old.len()).saturating_add(count(s.new.len()))).sum()
    }
}

/// Applies a list of splices to content that is read in pieces of any size.
pub struct Splicer<'a> {
    splices: std::slice::Iter<'a, Splice>,
    current: Option<&'a Splice>,
    /// Number of bytes of `current.old` that have been matched.
    matched: usize,
    offset: u64,
}

impl<'a> Splicer<'a> {
    /// Creates a splicer for the start of the content.
    pub fn new(splices: &'a [Splice]) -> Self {
        let mut splices = splices.iter();
        let current = splices.next();
        Self { splices, current, matched: 0, offset: 0 }
    }

    /// Processes the next piece of the old content, and passes the resulting new content to `out`.
    ///
    /// # Errors
    /// Returns [`SpliceError`] if the content does not contain the old bytes of a splice.
    pub fn feed(
        &mut self,
        mut piece: &[u8],
        mut out: impl FnMut(&[u8]),
    ) -> Result<(), SpliceError> {
        while !piece.is_empty() {
            let Some(splice) = self.current else {
                out(piece);
                self.offset = self.offset.saturating_add(count(piece.len()));
                return Ok(());
            };
            let ahead = splice.offset.saturating_sub(self.offset);
            if ahead > 0 && self.matched == 0 {
                let take = usize::try_from(ahead).unwrap_or(usize::MAX).min(piece.len());
                let (unchanged, rest) = piece.split_at(take);
                out(unchanged);
                self.offset = self.offset.saturating_add(count(take));
                piece = rest;
                continue;
            }
            let wanted = splice.old.get(self.matched..).unwrap_or_default();
            let take = wanted.len().min(piece.len());
            let (seen, rest) = piece.split_at(take);
            if wanted.get(..take) != Some(seen) {
                return Err(SpliceError { offset: self.offset });
            }
            self.matched += take;
            self.offset = self.offset.saturating_add(count(take));
            piece = rest;
            self.close(&mut out);
        }
        Ok(())
    }

    /// Finishes at the end of the old content, and passes any bytes that are inserted there to `out`.
    ///
    /// # Errors
    /// Returns [`SpliceError`] if the content ended before a splice.
    pub fn finish(mut self, mut out: impl FnMut(&[u8])) -> Result<(), SpliceError> {
        while let Some(splice) = self.current {
            if splice.offset > self.offset || !self.close(&mut out) {
                return Err(SpliceError { offset: self.offset });
            }
        }
        Ok(())
    }

    /// If the current splice is completely matched, passes its new bytes to `out` and continues with the next splice.
    fn close(&mut self, out: &mut impl FnMut(&[u8])) -> bool {
        match self.current {
            Some(splice) if self.matched == splice.old.len() => {
                out(&splice.new);
                self.current = self.splices.next();
                self.matched = 0;
                true
            }
            Some(_) | None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn changed_content_is_not_spliced() {
        let splices = Splice::between(b"one two three", b"one 2 three");
        assert_eq!(Splice::apply(&splices, b"one two three").unwrap(), b"one 2 three");
        assert_eq!(Splice::apply(&splices, b"one TWO three"), Err(SpliceError { offset: 4 }));
        assert!(Splice::apply(&splices, b"one").is_err());
    }

    proptest! {
        /// FO-5
        #[test]
        fn inverted_splices_restore_the_old_content(
            old in proptest::collection::vec(0u8..3, 0..40),
            new in proptest::collection::vec(0u8..3, 0..40),
            piece in 1usize..7,
        ) {
            let splices = Splice::between(&old, &new);
            prop_assert_eq!(&Splice::apply(&splices, &old).unwrap(), &new);
            let inverse = Splice::invert(&splices);
            let mut result = Vec::new();
            let mut splicer = Splicer::new(&inverse);
            for chunk in new.chunks(piece) {
                splicer.feed(chunk, |b| result.extend_from_slice(b)).unwrap();
            }
            splicer.finish(|b| result.extend_from_slice(b)).unwrap();
            prop_assert_eq!(result, old);
        }
    }
}
