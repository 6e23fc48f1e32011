//! Git blob ids, which identify the content of a file.

use std::fmt;

use actum_core::digest::from_hex;
use actum_core::path::Cut;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::Digest as _;

/// Maximum number of bytes of an invalid id that an error message shows.
const SHOWN_BYTES_MAX: usize = 80;

/// Git blob id: the hash of `blob SIZE`, a NUL byte, and the content.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub enum BlobId {
    /// Blob id in a repository that uses SHA-1, which is the default.
    Sha1([u8; 20]),
    /// Blob id in a repository that uses SHA-256 (git-init(1), `--object-format`).
    Sha256([u8; 32]),
}

impl BlobId {
    /// Parses a blob id of 40 or 64 lowercase hexadecimal characters.
    ///
    /// Returns `None` for any other text. Like git, it rejects uppercase characters.
    pub fn parse(text: &[u8]) -> Option<Self> {
        if text.iter().any(u8::is_ascii_uppercase) {
            return None;
        }
        from_hex(text).map(Self::Sha1).or_else(|| from_hex(text).map(Self::Sha256))
    }

    /// All-zero SHA-1 id, which stands for a missing file.
    pub const NONE: Self = Self::Sha1([0; 20]);

    /// Returns the blob id of `content`, computed with the same hash function as this id.
    #[must_use]
    pub fn of_same_kind(self, content: &[u8]) -> Self {
        let head = format!("blob {}\0", content.len());
        match self {
            Self::Sha1(_) => {
                let hasher = sha1::Sha1::new_with_prefix(head).chain_update(content);
                Self::Sha1(hasher.finalize().into())
            }
            Self::Sha256(_) => {
                let hasher = sha2::Sha256::new_with_prefix(head).chain_update(content);
                Self::Sha256(hasher.finalize().into())
            }
        }
    }

    /// Whether the id consists of zeros only, which git writes for a missing file.
    pub fn is_zero(&self) -> bool {
        self.bytes().iter().all(|byte| *byte == 0)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Sha1(bytes) => bytes,
            Self::Sha256(bytes) => bytes,
        }
    }
}

impl fmt::Display for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.bytes().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for BlobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for BlobId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for BlobId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text.as_bytes()).ok_or_else(|| {
            let given = Cut(text.as_bytes(), SHOWN_BYTES_MAX);
            D::Error::custom(format_args!(
                "`{given}` is not a git object id: expected 40 or 64 lowercase hexadecimal \
                 characters"
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FO-10: git uses these ids for the empty file.
    #[test]
    fn empty_blob_ids_match_those_of_git() {
        for empty in [
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        ] {
            let id = BlobId::parse(empty.as_bytes()).unwrap();
            assert_eq!(id.to_string(), empty);
            assert_eq!(id.of_same_kind(b""), id);
            assert!(!id.is_zero());
            let zero = BlobId::parse("0".repeat(empty.len()).as_bytes()).unwrap();
            assert!(zero.is_zero());
            assert_eq!(zero.of_same_kind(b""), id);
        }
    }

    #[test]
    fn incomplete_or_invalid_blob_id_is_not_parsed() {
        let zeros = |count: usize| "0".repeat(count);
        for text in ["", "e69de29", &zeros(39), &zeros(41), &"g".repeat(40), &"A".repeat(40)] {
            assert_eq!(BlobId::parse(text.as_bytes()), None, "{text}");
            assert!(serde_json::from_value::<BlobId>(text.into()).is_err(), "{text}");
        }
    }
}
