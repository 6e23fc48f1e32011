//! Parses and writes binary patches, the lines after `GIT binary patch` in a section (git's `apply.c`, `parse_binary`).

mod base85;
mod ids;
mod problem;

pub use problem::{BinaryProblem, Side};

use actum_core::place::{Excerpt, Place};
use actum_core::{Digest, RelPath};

use super::lines::{Lines, Text};
use crate::edit::{BinaryChange, BinaryEdit, BlobId, Delta};
use crate::format::{INPUT_BYTES_MAX, ParseError};
use ids::Ids;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_zlib_with_limit};

/// Maximum total size of the decompressed binary hunks of one diff, in bytes: 200 MiB.
///
/// This is enough for the largest content in both directions. A limit is needed because one compressed byte can expand to
/// about a thousand bytes.
pub const UNPACKED_BYTES_MAX: usize = 2 * INPUT_BYTES_MAX;

/// Compression level for zlib, from 0 to 10.
const PACKING_LEVEL: u8 = 6;

/// Number of bytes that the remaining binary hunks of the diff may still decompress to.
pub(super) struct Room(usize);

/// Binary patch of one file, whose hunks have been checked against the object ids in the header.
pub(super) struct BinaryPatch {
    ids: Ids,
    /// Hunk that produces the new content from the old content.
    forward: Hunk,
    /// Hunk that produces the old content from the new content. Git writes it so that the patch can be reversed.
    reverse: Option<Hunk>,
}

struct Hunk {
    /// Position of the first line of the hunk.
    place: Place,
    change: BinaryChange,
}

/// Encoding of the content of a binary hunk: the whole content, or a delta against the other content.
#[derive(Clone, Copy)]
enum Form {
    Literal,
    Delta,
}

/// Keyword at the start of the first line of a hunk, for each form.
const FORMS: [(Form, &str); 2] = [(Form::Literal, "literal "), (Form::Delta, "delta ")];

impl Room {
    pub(super) fn new() -> Self {
        Self(UNPACKED_BYTES_MAX)
    }

    /// Subtracts `bytes` from the remaining number, or returns an error if fewer remain.
    fn take(&mut self, bytes: usize) -> Result<(), BinaryProblem> {
        self.0 = self.0.checked_sub(bytes).ok_or(BinaryProblem::NoRoom)?;
        Ok(())
    }
}

/// Parses the binary patch that starts at the current line, and moves `lines` to the line after it. Returns `None` if no
/// binary patch starts there.
///
/// `index` is the text after `index ` in the header. `sides` contains the paths of the old and the new file, if they exist.
pub(super) fn read(
    lines: &mut Lines<'_>,
    room: &mut Room,
    index: Option<Text<'_>>,
    sides: (Option<&RelPath>, Option<&RelPath>),
) -> Result<Option<BinaryPatch>, ParseError> {
    let place = lines.place();
    if lines.after("GIT binary patch")?.is_none_or(|rest| !rest.bytes.is_empty()) {
        return Ok(None);
    }
    let ids = Ids::read(index, place, sides)?;
    lines.advance();
    let Some(forward) = hunk(lines, room)? else {
        let problem = BinaryProblem::NoHunk { found: lines.found() };
        return Err(ParseError::binary(lines.place(), problem));
    };
    forward.check(ids.old, ids.new)?;
    let reverse = hunk(lines, room)?;
    if let Some(reverse) = &reverse {
        reverse.check(ids.new, ids.old)?;
    }
    refuse_excess(lines)?;
    Ok(Some(BinaryPatch { ids, forward, reverse }))
}

impl BinaryPatch {
    /// Returns the content of the new file that the patch creates.
    pub(super) fn created(self) -> Result<Vec<u8>, ParseError> {
        self.forward.literal()
    }

    /// Returns the digest of the file that the patch deletes at `path`.
    pub(super) fn deleted(self, path: &RelPath) -> Result<Digest, ParseError> {
        let Some(reverse) = self.reverse else {
            let problem = BinaryProblem::NoReverse { path: path.clone() };
            return Err(ParseError::binary(self.forward.place, problem));
        };
        Ok(Digest::of(&reverse.literal()?))
    }

    /// Returns the edit of a file that exists before and after the patch.
    pub(super) fn edit(self) -> BinaryEdit {
        let Ids { old, new } = self.ids;
        BinaryEdit { before: old, after: new, change: self.forward.change }
    }
}

impl Hunk {
    /// Returns an error if the hunk cannot turn the content with the id `from` into the content with the id `to`.
    fn check(&self, from: BlobId, to: BlobId) -> Result<(), ParseError> {
        let problem = match &self.change {
            BinaryChange::Literal(content) if to.is_zero() => {
                if content.is_empty() {
                    return Ok(());
                }
                BinaryProblem::ContentOfNoFile
            }
            BinaryChange::Delta(_) if to.is_zero() => BinaryProblem::ContentOfNoFile,
            BinaryChange::Literal(content) => match to.of_same_kind(content) {
                found if found == to => return Ok(()),
                found => BinaryProblem::WrongId { expected: to, found },
            },
            BinaryChange::Delta(_) if from.is_zero() => BinaryProblem::DeltaOfNoFile,
            BinaryChange::Delta(_) => return Ok(()),
        };
        Err(ParseError::binary(self.place, problem))
    }

    /// Returns the content of a `literal` hunk, or an error for a delta.
    fn literal(self) -> Result<Vec<u8>, ParseError> {
        match self.change {
            BinaryChange::Literal(content) => Ok(content),
            BinaryChange::Delta(_) => {
                Err(ParseError::binary(self.place, BinaryProblem::DeltaOfNoFile))
            }
        }
    }
}

/// Writes a binary patch that contains both contents as literals, so that it can also be reversed.
pub(super) fn write(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut out = b"GIT binary patch\n".to_vec();
    for content in [new, old] {
        out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(content, PACKING_LEVEL);
        base85::write(&packed, &mut out);
        out.push(b'\n');
    }
    out
}

/// Parses the hunk that starts at the current line, and moves `lines` to the line after its final blank line. Returns
/// `None` if no hunk starts there.
fn hunk(lines: &mut Lines<'_>, room: &mut Room) -> Result<Option<Hunk>, ParseError> {
    let place = lines.place();
    let refused = |problem| ParseError::binary(place, problem);
    for (form, keyword) in FORMS {
        let Some(text) = lines.after(keyword)? else { continue };
        let size = size(text)?;
        room.take(size).map_err(refused)?;
        lines.advance();
        let packed = base85::read(lines)?;
        let content = inflate(&packed, size).map_err(refused)?;
        let change = match form {
            Form::Literal => BinaryChange::Literal(content),
            Form::Delta => {
                let delta = Delta::new(&content);
                let delta = delta.map_err(|source| refused(BinaryProblem::Delta(source)))?;
                // The result of the delta is held in memory as well.
                room.take(delta.result_size()).map_err(refused)?;
                BinaryChange::Delta(content)
            }
        };
        return Ok(Some(Hunk { place, change }));
    }
    Ok(None)
}

/// Parses the decompressed size in the first line of a hunk.
fn size(text: Text<'_>) -> Result<usize, ParseError> {
    let size = || Excerpt::new(text.bytes);
    let problem = match std::str::from_utf8(text.bytes) {
        Ok(digits) if !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()) => {
            match digits.parse() {
                Ok(bytes) if bytes <= INPUT_BYTES_MAX => return Ok(bytes),
                Ok(_) | Err(_) => BinaryProblem::TooLarge { size: size() },
            }
        }
        Ok(_) | Err(_) => BinaryProblem::NoSize { found: size() },
    };
    Err(ParseError::binary(text.place, problem))
}

/// Decompresses `packed`, which must result in exactly `size` bytes.
fn inflate(packed: &[u8], size: usize) -> Result<Vec<u8>, BinaryProblem> {
    match decompress_to_vec_zlib_with_limit(packed, size) {
        Ok(content) if content.len() == size => Ok(content),
        Ok(content) => Err(BinaryProblem::TooShort { announced: size, found: content.len() }),
        Err(error) if error.status == TINFLStatus::HasMoreOutput => {
            Err(BinaryProblem::TooLong { announced: size })
        }
        Err(_) => Err(BinaryProblem::Packed),
    }
}

/// Returns an error if another hunk follows the binary patch, even after blank lines.
fn refuse_excess(lines: &Lines<'_>) -> Result<(), ParseError> {
    let mut ahead = lines.clone();
    while ahead.current().is_some_and(|line| matches!(line, b"\n" | b"\r\n")) {
        ahead.advance();
    }
    if ahead.current().is_some_and(is_first_line) {
        let problem = BinaryProblem::GoesOn { found: ahead.found() };
        return Err(ParseError::binary(ahead.place(), problem));
    }
    Ok(())
}

/// Checks whether `line` is the first line of a binary hunk.
fn is_first_line(line: &[u8]) -> bool {
    FORMS.iter().any(|(_, keyword)| {
        let size = line.strip_prefix(keyword.as_bytes()).map(<[u8]>::trim_ascii_end);
        size.is_some_and(|size| !size.is_empty() && size.iter().all(u8::is_ascii_digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn total_unpacked_size_of_a_diff_is_limited() {
        let mut room = Room::new();
        assert_eq!(room.take(INPUT_BYTES_MAX), Ok(()));
        assert_eq!(room.take(INPUT_BYTES_MAX), Ok(()));
        assert_eq!(room.take(0), Ok(()));
        let message = "the binary hunks of the diff have more than 209715200 bytes in total; split the \
                       diff";
        assert_eq!(room.take(1).unwrap_err().to_string(), message);
    }

    #[test]
    fn binary_hunk_size_is_limited() {
        let of = |digits: &str| size(Text { bytes: digits.as_bytes(), place: Place::START });
        assert_eq!(of("0"), Ok(0));
        assert_eq!(of("104857600"), Ok(INPUT_BYTES_MAX));
        for large in ["104857601", "99999999999999999999999999"] {
            assert_eq!(
                of(large).unwrap_err().to_string(),
                format!(
                    "line 1, column 1: the hunk declares {large} bytes, but may have at most \
                     104857600 bytes"
                )
            );
        }
    }

    /// FO-10
    #[test]
    fn inflate_restores_content_of_any_size_and_compression_level() {
        for size in [0, 1, 2, 257, 258, 259, 32767, 32768, 65535, 65536, 200_000] {
            let mixed = (0u32..).map(|i| i.wrapping_mul(0x9e37_79b1).to_be_bytes()[0]);
            let mixed: Vec<u8> = mixed.take(size).collect();
            for content in [vec![0; size], mixed] {
                for level in [0, 1, 6, 9] {
                    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&content, level);
                    assert_eq!(inflate(&packed, size).unwrap(), content, "{size} {level}");
                    if size > 0 {
                        let error = BinaryProblem::TooLong { announced: size - 1 };
                        assert_eq!(inflate(&packed, size - 1), Err(error), "{size} {level}");
                    }
                    let error = BinaryProblem::TooShort { announced: size + 1, found: size };
                    assert_eq!(inflate(&packed, size + 1), Err(error), "{size} {level}");
                    let cut = &packed[..packed.len() - 1];
                    assert_eq!(inflate(cut, size), Err(BinaryProblem::Packed), "{size} {level}");
                }
            }
        }
    }
}
