//! Reader of values from the bytes of an input, so that every input is valid.

/// Remaining bytes of an input. Behind its end everything is 0 and empty.
pub(super) struct Bytes<'a>(pub(super) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().map_or((0, self.0), |(byte, rest)| (*byte, rest));
        self.0 = rest;
        first
    }

    /// Returns a number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Returns up to 255 bytes, preceded by their number.
    pub(super) fn piece(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }

    /// Returns the bytes before and behind the first NUL.
    pub(super) fn halves(self) -> (&'a [u8], &'a [u8]) {
        match self.0.iter().position(|byte| *byte == 0) {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (self.0, b""),
        }
    }
}
