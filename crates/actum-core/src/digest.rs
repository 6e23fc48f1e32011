//! SHA-256 digests (FIPS 180-4), the only content hash in actum.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::Digest as _;

use crate::path::Cut;

/// A SHA-256 digest, written as 64 lowercase hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

/// How much of what is no digest an error shows.
const SHOWN_BYTES_MAX: usize = 80;

/// What was given is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a SHA-256 digest: expected 64 hexadecimal characters",
    Cut(given.as_bytes(), SHOWN_BYTES_MAX)
)]
pub struct DigestError {
    /// The text that was given.
    pub given: String,
}

impl Digest {
    /// The digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The digest of several parts for one purpose: `tag` names the purpose and ends with a NUL, and
    /// each part follows its length (eight bytes, little end first), so that neither another purpose
    /// nor another division gives the same digest.
    pub fn tagged(tag: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Hasher::tagged(tag);
        parts.iter().for_each(|part| hasher.part(part));
        hasher.finish()
    }

    /// A digest from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Reads 64 hexadecimal characters of either case.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        let bytes = from_hex(text.as_bytes());
        bytes.map(Self).ok_or_else(|| DigestError { given: text.to_owned() })
    }
}

/// The bytes that `text` writes as hexadecimal characters of either case.
pub(crate) fn from_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let nibble = |c: u8| char::from(c).to_digit(16).and_then(|n| u8::try_from(n).ok());
    let mut bytes = [0u8; N];
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = (nibble(*high)? << 4) | nibble(*low)?;
    }
    Some(bytes)
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

/// Computes a [`Digest`] piece by piece. Cloning one shares the work done on a common prefix.
#[derive(Clone, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The same for one purpose; [`Digest::tagged`].
    pub fn tagged(tag: &str) -> Self {
        let mut hasher = Self::new();
        hasher.update(tag.as_bytes());
        hasher.update(b"\0");
        hasher
    }

    /// Takes in a part, behind its length.
    pub fn part(&mut self, part: &[u8]) {
        self.update(&crate::count(part.len()).to_le_bytes());
        self.update(part);
    }

    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all that was taken in.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_of_nothing_is_the_published_one() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.to_uppercase().parse::<Digest>().unwrap(), Digest::of(b""));
    }

    #[test]
    fn another_purpose_and_another_division_give_another_digest() {
        let parts = Digest::tagged("a", &[b"bc", b"d"]);
        let others: [(&str, &[&[u8]]); 5] = [
            ("b", &[b"bc", b"d"]),
            ("a", &[b"b", b"cd"]),
            ("a", &[b"bcd"]),
            ("a", &[b"bc", b"d", b""]),
            ("ab", &[b"c", b"d"]),
        ];
        for (tag, other) in others {
            assert_ne!(Digest::tagged(tag, other), parts, "{tag} {other:?}");
        }
        let bytes = b"a\0\x02\0\0\0\0\0\0\0bc\x01\0\0\0\0\0\0\0d";
        assert_eq!(parts, Digest::of(bytes));
    }

    #[test]
    fn a_text_that_is_no_digest_is_refused() {
        let long = "0".repeat(66);
        for text in ["", "00", &"g".repeat(64), long.as_str(), &"é".repeat(32)] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
