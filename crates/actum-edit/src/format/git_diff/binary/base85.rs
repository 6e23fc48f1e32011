//! Parses and writes the lines of a binary hunk, which contain bytes in git's base-85 encoding (git's `base85.c`).

use actum_core::place::{Excerpt, Place};

use super::problem::BinaryProblem;
use crate::format::ParseError;
use crate::format::git_diff::lines::{Lines, excerpt};
use crate::format::git_diff::problem::DiffProblem;

/// Symbols of the alphabet after the ASCII digits and letters, ordered by their value.
const SYMBOLS: &[u8] = b"!#$%&()*+-;<=>?@^_`{|}~";

/// Number of base-85 characters that encode four bytes.
const GROUP: usize = 5;

/// Prefixes of a line that cannot be part of a binary hunk, which show that the hunk is incomplete.
const NEXT_STARTS: [&[u8]; 5] = [b"diff ", b"literal ", b"delta ", b"From ", b"-- "];

/// Decodes the lines from the current line up to a blank line, and moves `lines` to the line after the blank line.
pub(super) fn read(lines: &mut Lines<'_>) -> Result<Vec<u8>, ParseError> {
    let mut bytes = Vec::new();
    loop {
        lines.check_end()?;
        let place = lines.place();
        let text = match lines.current().and_then(|line| line.strip_suffix(b"\n")) {
            Some(text) if text.ends_with(b"\r") => {
                return Err(ParseError::diff(place, DiffProblem::CarriageReturn));
            }
            Some(text) if !NEXT_STARTS.iter().any(|start| text.starts_with(start)) => text,
            Some(_) | None => {
                let problem = BinaryProblem::EndsEarly { found: lines.found() };
                return Err(ParseError::binary(place, problem));
            }
        };
        lines.advance();
        let Some((letter, groups)) = text.split_first() else {
            return Ok(bytes);
        };
        let refused = |problem| ParseError::binary(place, problem);
        let length = length(*letter)
            .ok_or_else(|| refused(BinaryProblem::LengthLetter { found: excerpt(text) }))?;
        let (expected, found) = (length.div_ceil(4) * GROUP, groups.len());
        if found != expected {
            let bytes = length;
            return Err(refused(BinaryProblem::LineLength { bytes, expected, found }));
        }
        let end = bytes.len() + length;
        decode(groups, place.right(1), &mut bytes)?;
        bytes.truncate(end);
    }
}

/// Maximum number of decoded bytes in a line.
const LINE_BYTES_MAX: usize = 52;

/// Encodes `bytes` as lines, without the blank line after them.
pub(super) fn write(bytes: &[u8], out: &mut Vec<u8>) {
    for line in bytes.chunks(LINE_BYTES_MAX) {
        let length = u8::try_from(line.len()).unwrap_or_default();
        out.push(if length <= 26 { b'A' + length - 1 } else { b'a' + length - 27 });
        for group in line.chunks(4) {
            let mut word = [0; 4];
            word.iter_mut().zip(group).for_each(|(place, byte)| *place = *byte);
            let (mut value, mut letters) = (u32::from_be_bytes(word), [0; GROUP]);
            for place in letters.iter_mut().rev() {
                *place = symbol(value % 85);
                value /= 85;
            }
            out.extend_from_slice(&letters);
        }
        out.push(b'\n');
    }
}

/// Returns the base-85 character for a value below 85.
fn symbol(value: u32) -> u8 {
    let value = u8::try_from(value).unwrap_or_default();
    match value {
        0..10 => b'0' + value,
        10..36 => b'A' + value - 10,
        36..62 => b'a' + value - 36,
        _ => SYMBOLS.get(usize::from(value - 62)).copied().unwrap_or_default(),
    }
}

/// Returns the number of decoded bytes in a line that starts with the length letter `letter`.
fn length(letter: u8) -> Option<usize> {
    match letter {
        b'A'..=b'Z' => Some(usize::from(letter - b'A') + 1),
        b'a'..=b'z' => Some(usize::from(letter - b'a') + 27),
        _ => None,
    }
}

/// Decodes complete groups of base-85 characters and appends their bytes to `bytes`.
fn decode(groups: &[u8], place: Place, bytes: &mut Vec<u8>) -> Result<(), ParseError> {
    let (groups, _) = groups.as_chunks::<GROUP>();
    for (group, column) in groups.iter().zip((0..).step_by(GROUP)) {
        let place = place.right(column);
        let mut number = 0u64;
        for (letter, column) in group.iter().zip(0..) {
            let value = value(*letter).ok_or_else(|| {
                let problem = BinaryProblem::Letter { found: Excerpt::new(&[*letter]) };
                ParseError::binary(place.right(column), problem)
            })?;
            number = number * 85 + u64::from(value);
        }
        let word = u32::try_from(number).map_err(|_| {
            ParseError::binary(place, BinaryProblem::Group { found: Excerpt::new(group) })
        })?;
        bytes.extend_from_slice(&word.to_be_bytes());
    }
    Ok(())
}

/// Returns the value of a base-85 character, or `None` if it is not in the alphabet.
fn value(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'A'..=b'Z' => Some(letter - b'A' + 10),
        b'a'..=b'z' => Some(letter - b'a' + 36),
        _ => u8::try_from(memchr::memchr(letter, SYMBOLS)? + 62).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::Reading;

    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        read(&mut Lines::new(text.as_bytes(), &Reading::default()))
            .map_err(|error| error.to_string())
    }

    /// FO-10
    #[test]
    fn base85_lines_of_any_length_decode_to_their_bytes() {
        assert_eq!(bytes("\n").unwrap(), b"");
        assert_eq!(bytes("A00000\nB00000\n\n").unwrap(), [0; 3]);
        assert_eq!(bytes("D|NsC0\n\n").unwrap(), [0xff; 4]);
        // Git writes this line for an empty content.
        assert_eq!(bytes("HcmV?d00001\n\n").unwrap(), [0x78, 0x01, 3, 0, 0, 0, 0, 1]);
        let long = format!("z{}\n", "|NsC0".repeat(13));
        assert_eq!(bytes(&format!("{long}Z{}\n\n", "00000".repeat(7))).unwrap(), {
            [vec![0xff; 52], vec![0; 26]].concat()
        });
    }

    /// FO-10
    #[test]
    fn each_base85_letter_has_a_distinct_value() {
        let mut values: Vec<u8> = (0..=u8::MAX).filter_map(value).collect();
        values.sort_unstable();
        assert_eq!(values, (0..85).collect::<Vec<_>>());
        assert_eq!([b'0', b'A', b'a', b'!', b'~'].map(value), [0, 10, 36, 62, 84].map(Some));
    }

    #[test]
    fn base85_group_larger_than_four_bytes_is_rejected() {
        assert_eq!(
            bytes("D|NsC1\n\n").unwrap_err(),
            "line 1, column 2: the base-85 group `|NsC1` does not fit into four bytes"
        );
    }
}
