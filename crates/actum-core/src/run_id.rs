//! Identifiers of runs.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Identifier of a run: 60 random bits, written as 12 characters of a base 32 alphabet without `i`, `l`, `o` and `u`.
///
/// Run ids are random instead of ordered by time, so that a short prefix usually identifies a run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct RunId(u64);

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 12;
const MASK: u64 = (1 << 60) - 1;
/// Value of each byte as a base 32 digit, or [`NONE`] if the byte is not in the alphabet.
const DIGITS: [u8; 256] = digits();
const NONE: u8 = 0xff;

/// Error for a text that is not a run id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not a run id: expected 12 characters of 0-9 and a-z without i, l, o, u")]
pub struct RunIdError {
    /// Text that was rejected.
    pub given: String,
}

impl RunId {
    /// Number of characters in a run id.
    pub const CHARS: usize = LENGTH;

    /// Creates a run id from random bits. The four most significant bits are ignored.
    pub fn from_random(bits: u64) -> Self {
        Self(bits & MASK)
    }

    /// Parses a run id. Returns `None` if the text is not a run id.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        let text: &[u8; LENGTH] = text.try_into().ok()?;
        let mut bits = 0;
        for byte in text {
            let digit = *DIGITS.get(usize::from(*byte))?;
            if digit == NONE {
                return None;
            }
            bits = (bits << 5) | u64::from(digit);
        }
        Some(Self(bits))
    }

    /// Returns the 60 bits of the run id.
    pub fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for place in (0..LENGTH).rev() {
            let digit = usize::try_from((self.0 >> (place * 5)) & 31).unwrap_or(0);
            let character = ALPHABET.get(digit).copied().unwrap_or(b'0');
            write!(f, "{}", char::from(character))?;
        }
        Ok(())
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RunId {
    type Err = RunIdError;

    fn from_str(text: &str) -> Result<Self, RunIdError> {
        Self::from_text(text.as_bytes()).ok_or_else(|| RunIdError { given: text.to_owned() })
    }
}

#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "32 characters")]
const fn digits() -> [u8; 256] {
    let mut digits = [NONE; 256];
    let mut digit = 0;
    while digit < ALPHABET.len() {
        digits[ALPHABET[digit] as usize] = digit as u8;
        digit += 1;
    }
    digits
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for RunId {
    type Error = RunIdError;

    fn try_from(text: String) -> Result<Self, RunIdError> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_id_round_trips_through_text() {
        for bits in [0, 1, 31, 32, MASK, 0x0123_4567_89ab_cdef & MASK] {
            let id = RunId::from_random(bits);
            assert_eq!(id.to_string().len(), LENGTH);
            assert_eq!(id.to_string().parse::<RunId>().unwrap(), id);
        }
    }

    #[test]
    fn invalid_run_id_is_refused() {
        for text in ["", "0123", "0123456789abc", "01234567 9ab", "01234567o9ab", "ééééééé"]
        {
            assert!(text.parse::<RunId>().is_err(), "{text}");
        }
    }
}
