//! Reader that derives structured values from fuzzer input. It accepts every input.

/// Remaining bytes of the input. After its end, the reader returns zeros and empty slices.
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

    /// Returns a number less than `end`, which must not be 0.
    pub(super) fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// Reads a length byte and returns that many bytes, or fewer at the end of the input.
    pub(super) fn piece(&mut self) -> &'a [u8] {
        let length = usize::from(self.byte()).min(self.0.len());
        let (piece, rest) = self.0.split_at(length);
        self.0 = rest;
        piece
    }

    /// Splits the input at its first NUL byte. Without a NUL byte, the second part is empty.
    pub(super) fn halves(self) -> (&'a [u8], &'a [u8]) {
        match self.0.iter().position(|byte| *byte == 0) {
            Some(at) => (&self.0[..at], &self.0[at + 1..]),
            None => (self.0, b""),
        }
    }
}
