//! Compression of long column values, each as a Zstandard frame (RFC 8878), if this makes them considerably shorter.
//!
//! Hashes and signatures cover the uncompressed bytes, so the stored form does not need to be protected. A frame is
//! recognized by its magic number. Bytes that happen to start with this number are always compressed, so that every column
//! value can be read unambiguously.

use std::borrow::Cow;
use std::io;

use zstd::bulk::{Compressor, Decompressor};
use zstd::zstd_safe::get_frame_content_size;

use crate::limits::BODY_BYTES_MAX;

/// Magic number at the start of a Zstandard frame.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();
/// Minimum length in bytes from which values are compressed. Shorter values fit into a page of the database.
const PACKED_FROM_BYTES: usize = 4096;
/// Compression level, which is the fastest one. Higher levels only save a few percent for lists of paths and digests.
const LEVEL: i32 = 1;

/// Converts bytes to the form in which a column stores them, which is compressed if that saves at least a quarter.
///
/// # Errors
/// Returns an error if the library fails, which only happens if there is not enough memory.
pub(super) fn pack(bytes: &[u8]) -> io::Result<Cow<'_, [u8]>> {
    let is_ambiguous = bytes.starts_with(&MAGIC);
    if bytes.len() < PACKED_FROM_BYTES && !is_ambiguous {
        return Ok(Cow::Borrowed(bytes));
    }
    let packed = Compressor::new(LEVEL)?.compress(bytes)?;
    let is_worth_it = packed.len() < bytes.len() / 4 * 3;
    Ok(if is_worth_it || is_ambiguous { Cow::Owned(packed) } else { Cow::Borrowed(bytes) })
}

/// Decompressor for column values that reuses one buffer for all of them.
#[derive(Default)]
pub(crate) struct Unpacker {
    library: Option<Decompressor<'static>>,
    bytes: Vec<u8>,
}

impl Unpacker {
    /// Decompresses a column value. Values that are not compressed are returned unchanged.
    ///
    /// # Errors
    /// Returns an error if the frame is damaged, does not state the length of its content, or states a length greater than
    /// [`BODY_BYTES_MAX`].
    pub(crate) fn unpack<'b>(&'b mut self, stored: &'b [u8]) -> io::Result<&'b [u8]> {
        if !stored.starts_with(&MAGIC) {
            return Ok(stored);
        }
        let damaged = |message: &str| io::Error::new(io::ErrorKind::InvalidData, message);
        let size = get_frame_content_size(stored).ok().flatten();
        let size = size.and_then(|size| usize::try_from(size).ok());
        let size = size.ok_or_else(|| damaged("the compressed data does not state its length"))?;
        if size > BODY_BYTES_MAX {
            return Err(damaged("the compressed data exceeds the size limit of a ledger"));
        }
        let library = match &mut self.library {
            Some(library) => library,
            none => none.insert(Decompressor::new()?),
        };
        self.bytes.clear();
        self.bytes.reserve(size);
        library.decompress_to_buffer(stored, &mut self.bytes)?;
        if self.bytes.len() != size {
            return Err(damaged("the compressed data does not have its stated length"));
        }
        Ok(&self.bytes)
    }

    /// Decompresses a column value into a new vector.
    ///
    /// # Errors
    /// See [`Unpacker::unpack`].
    pub(super) fn unpacked(stored: &[u8]) -> io::Result<Vec<u8>> {
        let mut unpacker = Self::default();
        if !stored.starts_with(&MAGIC) {
            return Ok(stored.to_vec());
        }
        unpacker.unpack(stored)?;
        Ok(unpacker.bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn there_and_back(bytes: &[u8]) -> usize {
        let packed = pack(bytes).unwrap();
        assert_eq!(Unpacker::unpacked(&packed).unwrap(), bytes);
        packed.len()
    }

    #[test]
    fn short_and_random_bytes_are_stored_uncompressed() {
        let text = "a/path/".repeat(580);
        assert_eq!(there_and_back(text.as_bytes()), text.len());
        let mut state = 1_u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            state.to_be_bytes()[0]
        });
        let random: Vec<u8> = random.take(10_000).collect();
        assert_eq!(there_and_back(&random), random.len());
        assert_eq!(there_and_back(b""), 0);
    }

    #[test]
    fn lists_of_long_paths_compress_to_a_twentieth() {
        let path = |n| format!("{}{n}.txt\n", "directory/".repeat(40));
        let list: String = (0..1000).map(path).collect();
        assert!(there_and_back(list.as_bytes()) * 20 < list.len());
    }

    #[test]
    fn bytes_that_look_like_a_frame_round_trip() {
        there_and_back(&MAGIC);
        let frame = pack("long ".repeat(2000).as_bytes()).unwrap().into_owned();
        assert!(frame.starts_with(&MAGIC));
        there_and_back(&frame);
    }

    #[test]
    fn damaged_frames_are_errors() {
        let text = "long ".repeat(2000);
        let frame = pack(text.as_bytes()).unwrap().into_owned();
        for end in MAGIC.len()..frame.len() {
            assert!(Unpacker::unpacked(&frame[..end]).is_err(), "{end}");
        }
        let longer = [&*frame, &*frame].concat();
        assert!(Unpacker::unpacked(&longer).is_err());
        // The header of this frame states a length of 256 MiB and one byte.
        let bomb = [&MAGIC[..], &[0xa0], &0x1000_0001_u32.to_le_bytes(), &[0x03, 0, 0]].concat();
        let error = Unpacker::unpacked(&bomb).unwrap_err();
        assert!(error.to_string().contains("exceeds the size limit of a ledger"), "{error}");
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_after_the_magic_number_never_panic(
            tail in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            drop(Unpacker::unpacked(&[&MAGIC[..], &tail].concat()));
        }
    }
}
