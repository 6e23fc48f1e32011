//! Passphrases that protect private keys.

use std::fmt;

use zeroize::Zeroizing;

/// Maximum length of a passphrase in bytes.
pub const PASSPHRASE_BYTES_MAX: usize = 1024;
/// Minimum length in characters of a passphrase for a new key.
pub const PASSPHRASE_CHARACTERS_MIN: usize = 8;

/// Passphrase that is wiped from memory when it is dropped. Its bytes are used without any normalization.
pub struct Passphrase(Zeroizing<Vec<u8>>);

/// Reason why some bytes cannot be used as a passphrase. The messages never contain any of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PassphraseError {
    /// The passphrase is empty.
    #[error("it is empty")]
    Empty,
    /// The passphrase has more than [`PASSPHRASE_BYTES_MAX`] bytes.
    #[error("it has more than {PASSPHRASE_BYTES_MAX} bytes")]
    TooLong,
    /// The passphrase contains a line break or a zero byte, so it cannot be typed, and programs could disagree about where
    /// it ends.
    #[error("it is not one line, because it contains a line break or a zero byte")]
    NotALine,
}

impl Passphrase {
    /// Creates a passphrase from its bytes.
    ///
    /// # Errors
    /// Returns [`PassphraseError`] if the bytes are empty, too long or not a single line.
    pub fn new(bytes: Zeroizing<Vec<u8>>) -> Result<Self, PassphraseError> {
        if bytes.is_empty() {
            Err(PassphraseError::Empty)
        } else if bytes.len() > PASSPHRASE_BYTES_MAX {
            Err(PassphraseError::TooLong)
        } else if bytes.iter().any(|byte| matches!(byte, b'\n' | b'\r' | 0)) {
            Err(PassphraseError::NotALine)
        } else {
            Ok(Self(bytes))
        }
    }

    /// Returns whether both passphrases are equal.
    pub fn is(&self, other: &Self) -> bool {
        self.0 == other.0
    }

    /// Returns whether the passphrase is long enough for a new key. If it is not UTF-8, its bytes are counted instead of its
    /// characters.
    pub(super) fn is_long_enough(&self) -> bool {
        let characters = std::str::from_utf8(&self.0).map(|text| text.chars().count());
        characters.unwrap_or(self.0.len()) >= PASSPHRASE_CHARACTERS_MIN
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Passphrase {
    /// Prints only the type name, so that the passphrase cannot leak into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passphrase(text: &str) -> Result<Passphrase, PassphraseError> {
        Passphrase::new(Zeroizing::new(text.as_bytes().to_vec()))
    }

    #[test]
    fn a_passphrase_is_one_line_of_1_to_1024_bytes() {
        for (text, problem) in [
            (String::new(), Some(PassphraseError::Empty)),
            ("a".to_owned(), None),
            (" ".to_owned(), None),
            ("a".repeat(1024), None),
            ("a".repeat(1025), Some(PassphraseError::TooLong)),
            ("a\nb".to_owned(), Some(PassphraseError::NotALine)),
            ("a\r".to_owned(), Some(PassphraseError::NotALine)),
            ("a\0b".to_owned(), Some(PassphraseError::NotALine)),
        ] {
            assert_eq!(passphrase(&text).err(), problem, "{text:?}");
        }
    }

    #[test]
    fn passphrase_length_is_measured_in_characters() {
        for (text, is_enough) in
            [("1234567", false), ("12345678", true), ("äöüß", false), ("äöüßäöüß", true)]
        {
            assert_eq!(passphrase(text).unwrap().is_long_enough(), is_enough, "{text}");
        }
        let bytes = Passphrase::new(Zeroizing::new(vec![0xff; 8])).unwrap();
        assert!(bytes.is_long_enough());
    }

    #[test]
    fn debug_output_hides_the_passphrase() {
        assert_eq!(format!("{:?}", passphrase("open sesame").unwrap()), "Passphrase");
    }
}
