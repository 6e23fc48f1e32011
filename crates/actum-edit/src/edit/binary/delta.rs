//! Git deltas, which build a content from pieces of a base content and from new bytes (gitformat-pack(5), "Deltified
//! representation").

use actum_core::count;

use crate::edit::EDIT_BYTES_MAX;

/// A well-formed git delta. It may still be applied to the wrong base, which [`Delta::apply`] checks by size.
#[derive(Debug)]
pub(crate) struct Delta<'a> {
    base_size: u64,
    /// Size of the result in bytes, at most [`EDIT_BYTES_MAX`].
    result_size: u64,
    /// INVARIANT: the instructions are well formed, copy only within a base of `base_size` bytes, and produce exactly
    /// `result_size` bytes.
    instructions: &'a [u8],
}

/// Instruction of a delta, which appends bytes to the result.
enum Instruction<'a> {
    /// Appends `size` bytes of the base, starting at `offset`.
    Copy { offset: u64, size: u64 },
    /// Appends the given bytes.
    Insert(&'a [u8]),
}

/// Reason why a delta cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeltaError {
    /// The delta is truncated.
    #[error("the delta ends in the middle of a size or an instruction")]
    EndsEarly,
    /// The delta contains the instruction 0, which git reserves for future use.
    #[error("the delta contains instruction 0, which git reserves")]
    Reserved,
    /// The result would be larger than [`EDIT_BYTES_MAX`].
    #[error("the delta produces {bytes} bytes, but at most {EDIT_BYTES_MAX} are allowed")]
    TooLarge {
        /// Declared size of the result in bytes, or `u64::MAX` if it does not fit.
        bytes: u64,
    },
    /// A copy instruction reads beyond the end of the base.
    #[error(
        "the delta copies {size} bytes at offset {offset}, beyond the end of its base of {base} bytes"
    )]
    BeyondBase {
        /// Offset in the base at which the copy starts, counted from 0.
        offset: u64,
        /// Number of bytes that the instruction copies.
        size: u64,
        /// Size of the base that the delta declares, in bytes.
        base: u64,
    },
    /// The instructions produce a different number of bytes than the delta declares.
    #[error("the delta declares a result of {announced} bytes, but produces {found}")]
    ResultSize {
        /// Declared size of the result in bytes.
        announced: u64,
        /// Number of bytes that the instructions produce.
        found: u64,
    },
    /// The base does not have the size that the delta declares.
    #[error("the delta expects a base of {expected} bytes, but the file has {found}")]
    BaseSize {
        /// Size of the base that the delta declares, in bytes.
        expected: u64,
        /// Actual size of the base in bytes.
        found: u64,
    },
}

impl<'a> Delta<'a> {
    /// Parses a delta and validates its instructions without a base. The result is not built yet.
    pub(crate) fn new(bytes: &'a [u8]) -> Result<Self, DeltaError> {
        let (base_size, rest) = size(bytes)?;
        let (result_size, instructions) = size(rest)?;
        if result_size > EDIT_BYTES_MAX {
            return Err(DeltaError::TooLarge { bytes: result_size });
        }
        let mut made = 0u64;
        let mut rest = instructions;
        while !rest.is_empty() {
            let instruction;
            (instruction, rest) = Instruction::read(rest)?;
            let adds = match instruction {
                Instruction::Copy { offset, size } if offset + size > base_size => {
                    return Err(DeltaError::BeyondBase { offset, size, base: base_size });
                }
                Instruction::Copy { size, .. } => size,
                Instruction::Insert(bytes) => count(bytes.len()),
            };
            made = made.saturating_add(adds);
        }
        if made != result_size {
            return Err(DeltaError::ResultSize { announced: result_size, found: made });
        }
        Ok(Self { base_size, result_size, instructions })
    }

    /// Returns the size of the result in bytes.
    pub(crate) fn result_size(&self) -> usize {
        usize::try_from(self.result_size).unwrap_or(usize::MAX)
    }

    /// Applies the delta to `base` and returns the result. Returns an error if `base` has a different size than declared.
    pub(crate) fn apply(&self, base: &[u8]) -> Result<Vec<u8>, DeltaError> {
        let (expected, found) = (self.base_size, count(base.len()));
        if found != expected {
            return Err(DeltaError::BaseSize { expected, found });
        }
        let mut result = Vec::with_capacity(usize::try_from(self.result_size).unwrap_or(0));
        let mut rest = self.instructions;
        while !rest.is_empty() {
            let instruction;
            (instruction, rest) = Instruction::read(rest)?;
            result.extend_from_slice(match instruction {
                Instruction::Copy { offset, size } => {
                    let place = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX);
                    base.get(place(offset)..place(offset + size)).unwrap_or_default()
                }
                Instruction::Insert(bytes) => bytes,
            });
        }
        Ok(result)
    }
}

impl<'a> Instruction<'a> {
    /// Bits of the first byte of a copy instruction. Each set bit means that one byte of the offset or size follows.
    const OFFSET_BITS: [u8; 4] = [0x01, 0x02, 0x04, 0x08];
    const SIZE_BITS: [u8; 3] = [0x10, 0x20, 0x40];
    /// Number of bytes that a copy instruction with size 0 copies.
    const SIZE_DEFAULT: u64 = 0x10000;

    /// Parses the instruction at the start of `bytes`, and returns it with the remaining bytes.
    fn read(bytes: &'a [u8]) -> Result<(Self, &'a [u8]), DeltaError> {
        let (first, rest) = bytes.split_first().ok_or(DeltaError::EndsEarly)?;
        match *first {
            0 => Err(DeltaError::Reserved),
            inserted @ 1..=0x7f => {
                let bytes = rest.split_at_checked(usize::from(inserted));
                bytes.map(|(new, rest)| (Self::Insert(new), rest)).ok_or(DeltaError::EndsEarly)
            }
            flags @ 0x80.. => {
                let (offset, rest) = number(rest, flags, &Self::OFFSET_BITS)?;
                let (size, rest) = number(rest, flags, &Self::SIZE_BITS)?;
                let size = if size == 0 { Self::SIZE_DEFAULT } else { size };
                Ok((Self::Copy { offset, size }, rest))
            }
        }
    }
}

/// Parses a little-endian number from which zero bytes may be omitted. A byte is present only if its bit in `flags` is set.
/// Returns the number and the remaining bytes.
fn number<'a>(mut rest: &'a [u8], flags: u8, bits: &[u8]) -> Result<(u64, &'a [u8]), DeltaError> {
    let mut number = 0;
    for (bit, shift) in bits.iter().zip((0u32..).step_by(8)) {
        if flags & bit != 0 {
            let byte;
            (byte, rest) = rest.split_first().ok_or(DeltaError::EndsEarly)?;
            number |= u64::from(*byte) << shift;
        }
    }
    Ok((number, rest))
}

/// Parses a size in the header of a delta, and returns it with the remaining bytes. Each byte holds seven bits, starting with the
/// least significant ones. A size that does not fit in a `u64` becomes `u64::MAX`.
fn size(mut rest: &[u8]) -> Result<(u64, &[u8]), DeltaError> {
    let mut size = 0u64;
    let mut place = Some(1u64);
    loop {
        let byte;
        (byte, rest) = rest.split_first().ok_or(DeltaError::EndsEarly)?;
        let digit = u64::from(byte & 0x7f);
        if digit > 0 {
            size = size.saturating_add(place.map_or(u64::MAX, |place| place.saturating_mul(digit)));
        }
        if byte & 0x80 == 0 {
            return Ok((size, rest));
        }
        place = place.and_then(|place| place.checked_mul(0x80));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(delta: &[u8], base: &[u8]) -> Result<Vec<u8>, DeltaError> {
        Delta::new(delta)?.apply(base)
    }

    /// FO-10
    #[test]
    fn delta_combines_base_ranges_and_new_bytes() {
        assert_eq!(apply(b"\x05\x09\x91\x03\x02\x03xyz\x90\x04", b"abcde").unwrap(), b"dexyzabcd");
        assert_eq!(apply(b"\x05\x00", b"abcde").unwrap(), b"");
    }

    /// FO-10
    #[test]
    fn delta_offset_and_size_bytes_are_decoded_by_position() {
        let base: Vec<u8> = (0u32..0x20000).map(|i| (i % 251).to_le_bytes()[0]).collect();
        let sizes = [0x80, 0x80, 0x08]; // 0x20000
        let with = |result: &[u8], rest: &[u8]| [&sizes[..], result, rest].concat();
        // A size without any bytes means 0x10000, and an offset without any bytes means 0.
        assert_eq!(apply(&with(b"\x80\x80\x04", b"\x80"), &base).unwrap(), base[..0x10000]);
        assert_eq!(
            apply(&with(b"\x02", b"\x96\x01\x01\x02"), &base).unwrap(),
            base[0x10100..0x10102]
        );
        assert_eq!(apply(&with(b"\x80\x80\x08", b"\xc0\x02"), &base).unwrap(), base);
    }

    #[test]
    fn truncated_delta_is_refused() {
        let whole = b"\x05\x09\x91\x03\x02\x03xyz\x90\x04";
        for length in [0, 1, 3, 4, 6, 7, 8, 10] {
            assert_eq!(
                Delta::new(&whole[..length]).unwrap_err(),
                DeltaError::EndsEarly,
                "{length}"
            );
        }
        for (length, found) in [(2, 0), (5, 2), (9, 5)] {
            let error = DeltaError::ResultSize { announced: 9, found };
            assert_eq!(Delta::new(&whole[..length]).unwrap_err(), error);
        }
    }

    #[test]
    fn inconsistent_delta_is_refused() {
        for (delta, message) in [
            (&b"\x05\x01\x00"[..], "the delta contains instruction 0, which git reserves"),
            (
                b"\x05\x02\x91\x04\x02",
                "the delta copies 2 bytes at offset 4, beyond the end of its base of 5 bytes",
            ),
            (
                b"\x05\x01\x80",
                "the delta copies 65536 bytes at offset 0, beyond the end of its base of 5 bytes",
            ),
            (b"\x05\x01\x90\x02", "the delta declares a result of 1 bytes, but produces 2"),
        ] {
            assert_eq!(Delta::new(delta).unwrap_err().to_string(), message);
        }
        let wide = Delta::new(b"\x05\x02\xff\xff\xff\xff\xff\xff\xff\xff").unwrap_err();
        let (offset, size) = (0xffff_ffff, 0x00ff_ffff);
        assert_eq!(wide, DeltaError::BeyondBase { offset, size, base: 5 });
        assert_eq!(
            apply(b"\x05\x02\x90\x02", b"abcd").unwrap_err().to_string(),
            "the delta expects a base of 5 bytes, but the file has 4"
        );
    }

    /// A declared size above the limit is rejected before the instructions are parsed.
    #[test]
    fn delta_result_size_is_limited_on_both_sides() {
        let with = |size: u64| {
            let digits = (0..9).map(|i| (size >> (7 * i)).to_le_bytes()[0] | 0x80);
            [&[5][..], &digits.collect::<Vec<u8>>(), b"\x00"].concat()
        };
        let error = DeltaError::ResultSize { announced: EDIT_BYTES_MAX, found: 0 };
        assert_eq!(Delta::new(&with(EDIT_BYTES_MAX)).unwrap_err(), error);
        assert_eq!(
            Delta::new(&with(EDIT_BYTES_MAX + 1)).unwrap_err().to_string(),
            "the delta produces 104857601 bytes, but at most 104857600 are allowed"
        );
        let endless = [&[5][..], &[0xff; 40], b"\x01"].concat();
        let error = DeltaError::TooLarge { bytes: u64::MAX };
        assert_eq!(Delta::new(&endless).unwrap_err(), error);
        let padded = [&[5][..], &[0x80; 40], b"\x00"].concat();
        assert_eq!(apply(&padded, b"abcde").unwrap(), b"");
    }
}
