//! SHA-256 digests (FIPS 180-4), the only content hash used by actum.

mod lanes;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize, Serializer};
use sha2::Digest as _;

use crate::path::Cut;

/// SHA-256 digest, written as 64 lowercase hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Digest([u8; 32]);

/// Maximum number of bytes of an invalid digest that an error message quotes.
const SHOWN_BYTES_MAX: usize = 80;

/// Error for a text that is not a SHA-256 digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` is not a SHA-256 digest: expected 64 hexadecimal characters",
    Cut(given.as_bytes(), SHOWN_BYTES_MAX)
)]
pub struct DigestError {
    /// Text that was rejected.
    pub given: String,
}

impl Digest {
    /// Computes the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// Computes the digest of each message, and returns the digests in the order of the messages.
    ///
    /// On a processor that has wide vector registers but no SHA-256 instructions, this takes a fraction of the time of
    /// hashing the messages one by one. The gain grows with the amount of data and levels off at about 100 KiB.
    pub fn of_each(messages: &[&[u8]]) -> Vec<Self> {
        if !lanes::are_faster(messages.len()) {
            return messages.iter().map(|message| Self::of(message)).collect();
        }
        let mut digests = vec![Self([0; 32]); messages.len()];
        lanes::hash(messages, |index, hash| {
            if let Some(digest) = digests.get_mut(index) {
                *digest = Self(hash);
            }
        });
        digests
    }

    /// Computes a digest of several parts for one purpose, which `tag` identifies.
    ///
    /// The hash input consists of the tag, a NUL byte, and each part preceded by its length as eight little-endian
    /// bytes. The same bytes therefore have a different digest if they are used for another purpose or divided into
    /// parts differently.
    pub fn tagged(tag: &str, parts: &[&[u8]]) -> Self {
        let mut hasher = Hasher::tagged(tag);
        parts.iter().for_each(|part| hasher.part(part));
        hasher.finish()
    }

    /// Creates a digest from its 32 bytes.
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// Parses a digest from 64 hexadecimal characters in either case. Returns `None` if the text is not a digest.
    pub fn from_text(text: &[u8]) -> Option<Self> {
        from_hex(text).map(Self)
    }

    /// Returns the 32 bytes of the digest.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// Formats a digest as 64 lowercase hexadecimal characters.
fn hexadecimal(digest: &Digest) -> [u8; 64] {
    let digit = |half: u8| if half < 10 { b'0' + half } else { b'a' - 10 + half };
    let mut text = [0; 64];
    for (pair, byte) in text.as_chunks_mut::<2>().0.iter_mut().zip(digest.0) {
        *pair = [digit(byte >> 4), digit(byte & 15)];
    }
    text
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(std::str::from_utf8(&hexadecimal(self)).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = hexadecimal(self);
        serializer.serialize_str(std::str::from_utf8(&text).map_err(serde::ser::Error::custom)?)
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    /// Parses a digest from 64 hexadecimal characters in either case.
    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::from_text(text.as_bytes()).ok_or_else(|| DigestError { given: text.to_owned() })
    }
}

/// Decodes `N` bytes from hexadecimal characters in either case. Returns `None` if the text has another length or other
/// characters.
pub fn from_hex<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let (pairs, rest) = text.as_chunks::<2>();
    if pairs.len() != N || !rest.is_empty() {
        return None;
    }
    let (mut bytes, mut all) = ([0; N], 0);
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        let (high, low) = (nibble(*high), nibble(*low));
        all |= high | low;
        *byte = (high << 4) | low;
    }
    (all < 0x10).then_some(bytes)
}

/// Returns the value of a hexadecimal character, or 0xff if the character is not hexadecimal.
fn nibble(character: u8) -> u8 {
    const VALUES: [u8; 256] = values();
    VALUES.get(usize::from(character)).copied().unwrap_or(0xff)
}

#[expect(clippy::indexing_slicing, clippy::cast_possible_truncation, reason = "16 values")]
const fn values() -> [u8; 256] {
    let mut values = [0xff; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value] as usize] = value as u8;
        values[b"0123456789ABCDEF"[value] as usize] = value as u8;
        value += 1;
    }
    values
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        text.parse()
    }
}

/// Collects messages, so that they can be hashed together by [`Digest::of_each`].
#[derive(Debug, Default)]
pub struct Messages {
    bytes: Vec<u8>,
    /// Offset in `bytes` at which each message ends.
    ends: Vec<usize>,
}

impl Messages {
    /// Number of bytes that are worth hashing together. A larger batch would only occupy more of the processor's cache.
    const BYTES_ENOUGH: usize = 256 << 10;

    /// Adds a message, which is the concatenation of the given parts.
    pub fn push(&mut self, parts: &[&[u8]]) {
        parts.iter().for_each(|part| self.bytes.extend_from_slice(part));
        self.ends.push(self.bytes.len());
    }

    /// Returns whether enough messages were collected to call [`Self::digests`].
    pub fn are_enough(&self) -> bool {
        self.bytes.len() >= Self::BYTES_ENOUGH
    }

    /// Appends the digests of the collected messages to `digests` in order, and clears the collection.
    pub fn digests(&mut self, digests: &mut Vec<Digest>) {
        let mut rest = &*self.bytes;
        let mut start = 0;
        let messages = self.ends.iter().map(|&end| {
            let (message, behind) = rest.split_at_checked(end - start).unwrap_or_default();
            (rest, start) = (behind, end);
            message
        });
        digests.extend(Digest::of_each(&messages.collect::<Vec<_>>()));
        self.bytes.clear();
        self.ends.clear();
    }
}

/// Computes a [`Digest`] incrementally. A hasher can be cloned to reuse the work on a common prefix.
#[derive(Clone, Default)]
pub struct Hasher(sha2::Sha256);

impl Hasher {
    /// Creates a hasher without any input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a hasher for the purpose identified by `tag`, as described at [`Digest::tagged`].
    pub fn tagged(tag: &str) -> Self {
        let mut hasher = Self::new();
        hasher.update(tag.as_bytes());
        hasher.update(b"\0");
        hasher
    }

    /// Appends a part, preceded by its length.
    pub fn part(&mut self, part: &[u8]) {
        self.update(&crate::count(part.len()).to_le_bytes());
        self.update(part);
    }

    /// Appends bytes to the hash input.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of the complete input.
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_input_has_the_published_digest() {
        let text = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Digest::of(b"").to_string(), text);
        assert_eq!(text.to_uppercase().parse::<Digest>().unwrap(), Digest::of(b""));
    }

    #[test]
    fn batch_digests_match_single_digests() {
        let messages: Vec<Vec<u8>> = (0..40).map(|at| vec![at; usize::from(at) * 9]).collect();
        for count in 0..=messages.len() {
            let messages: Vec<&[u8]> = messages.iter().take(count).map(Vec::as_slice).collect();
            let alone: Vec<Digest> = messages.iter().map(|message| Digest::of(message)).collect();
            assert_eq!(Digest::of_each(&messages), alone, "{count}");
        }
    }

    #[test]
    fn tag_and_part_boundaries_change_the_digest() {
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
    fn invalid_digest_text_is_refused() {
        let long = "0".repeat(66);
        for text in ["", "00", &"g".repeat(64), long.as_str(), &"é".repeat(32)] {
            assert!(text.parse::<Digest>().is_err(), "{text}");
        }
    }
}
