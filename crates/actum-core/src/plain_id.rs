//! The ids of documents, plans and tasks.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::path::Cut;

/// An id: 1 to 128 characters of `A-Z`, `a-z`, `0-9`, `.`, `_` and `-`, so that it fits into the
/// name of a file, in a script and in a line of text. Those that actum makes are UUIDs.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PlainId(Box<str>);

/// The longest id, in characters.
pub const ID_CHARS_MAX: usize = 128;

/// Error for a text that is not an id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not an id: expected 1 to {ID_CHARS_MAX} characters of A-Z, a-z, 0-9, `.`, `_` and `-`",
    Cut(given.as_bytes(), 80)
)]
pub struct PlainIdError {
    /// The text that was given.
    pub given: String,
}

impl PlainId {
    /// A new id from random bytes: a UUID of version 4 (RFC 9562, 5.4), 122 bits of it random.
    pub fn random(bytes: [u8; 16]) -> Self {
        // The version is the high half of byte 6, the variant the two high bits of byte 8.
        let bits = u128::from_be_bytes(bytes);
        let bits = bits & !(0xf << 76) | (0x4 << 76);
        let bits = bits & !(0x3 << 62) | (0x2 << 62);
        let field = |from: u32, count: u32| (bits >> from) & ((1 << count) - 1);
        let text = format!(
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            field(96, 32),
            field(80, 16),
            field(64, 16),
            field(48, 16),
            field(0, 48)
        );
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true if a text is an id.
    pub fn is_one(text: &str) -> bool {
        (1..=ID_CHARS_MAX).contains(&text.len()) && has_its_characters(text)
    }
}

/// Returns true if a text has only the characters of an id.
pub fn has_its_characters(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
}

impl FromStr for PlainId {
    type Err = PlainIdError;

    fn from_str(text: &str) -> Result<Self, PlainIdError> {
        let is_one = Self::is_one(text);
        is_one.then(|| Self(text.into())).ok_or_else(|| PlainIdError { given: text.to_owned() })
    }
}

impl TryFrom<String> for PlainId {
    type Error = PlainIdError;

    fn try_from(text: String) -> Result<Self, PlainIdError> {
        text.parse()
    }
}

impl From<PlainId> for String {
    fn from(id: PlainId) -> Self {
        id.0.into()
    }
}

impl fmt::Display for PlainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for PlainId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// EX-14
    #[test]
    fn a_new_id_is_a_uuid_of_version_4() {
        let id = PlainId::random([0; 16]);
        assert_eq!(id.to_string(), "00000000-0000-4000-8000-000000000000");
        let id = PlainId::random([0xff; 16]);
        assert_eq!(id.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        let bytes: Vec<u8> = (0..16).map(|n| n * 0x11).collect();
        let id = PlainId::random(bytes.try_into().unwrap());
        assert_eq!(id.to_string(), "00112233-4455-4677-8899-aabbccddeeff");
    }

    /// EX-2
    #[test]
    fn an_id_can_stand_in_the_name_of_a_file() {
        for id in ["a", "plan-001", "A.b_c-9", "..", &"x".repeat(ID_CHARS_MAX)] {
            assert_eq!(id.parse::<PlainId>().unwrap().as_str(), id);
        }
        for text in ["", "a/b", "a b", "é", "a\n", "$(a)", "+", &"x".repeat(ID_CHARS_MAX + 1)] {
            assert!(text.parse::<PlainId>().is_err(), "{text}");
        }
    }

    proptest! {
        /// EX-14
        #[test]
        fn other_random_bytes_give_another_id(bytes in any::<[u8; 16]>(), bit in 0usize..128) {
            let mut other = bytes;
            other[bit / 8] ^= 1 << (bit % 8);
            let is_fixed = (bit / 8 == 6 && bit % 8 >= 4) || (bit / 8 == 8 && bit % 8 >= 6);
            let is_same = PlainId::random(bytes) == PlainId::random(other);
            prop_assert_eq!(is_same, is_fixed);
        }
    }
}
