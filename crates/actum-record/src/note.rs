//! Signed notes (C2SP `signed-note`), which consist of a text and lines with signatures. This module only reads and writes
//! notes; `actum-gate` verifies their signatures.

use actum_core::Digest;
use actum_core::digest::from_hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::signer::{PublicKey, Signature};

/// Maximum size of a note, in bytes.
pub const NOTE_BYTES_MAX: usize = 1 << 20;
/// Maximum number of signatures in a note.
pub const SIGNATURES_MAX: usize = 100;
/// Algorithm identifier of Ed25519 in signed notes.
const ED25519: u8 = 1;
/// Prefix of a signature line, which is an em dash followed by a space.
const DASH: &str = "\u{2014} ";

/// Signed note with its text and signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Signed text, which ends with a line feed.
    pub text: String,
    /// Signatures, in the order of their lines.
    pub signatures: Vec<NoteSignature>,
}

/// Signature line of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// Name of the key.
    pub name: String,
    /// First four bytes of a digest of the key, which distinguish keys with the same name.
    pub key_hash: [u8; 4],
    /// Signature as raw bytes, of which Ed25519 has 64.
    pub signature: Vec<u8>,
}

/// Error for a text that is not a valid signed note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The note is longer than [`NOTE_BYTES_MAX`].
    #[error("a signed note may be at most {NOTE_BYTES_MAX} bytes")]
    TooLarge,
    /// The note is not UTF-8 or contains a control character.
    #[error("a signed note must be UTF-8 text without control characters")]
    NotText,
    /// The note has no blank line between its text and its signatures.
    #[error("a signed note must have a blank line between its text and its signatures")]
    NoSignatures,
    /// The note has more than [`SIGNATURES_MAX`] signatures.
    #[error("a signed note may have at most {SIGNATURES_MAX} signatures")]
    TooManySignatures,
    /// A line after the blank line is not a valid signature line.
    #[error("signature line {line} must have the form `— name base64`")]
    Line {
        /// Number of the signature line, counted from 1.
        line: usize,
    },
    /// The text cannot be signed as a note.
    #[error(
        "the text to sign must end with a line feed, without blank lines and control characters"
    )]
    Unsignable,
}

/// Key that verifies notes, consisting of a name and an Ed25519 public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    /// Name of the key, which is not empty and contains no spaces or plus signs.
    pub name: String,
    /// Ed25519 public key.
    pub key: PublicKey,
}

/// Error for a text that is not a valid verifier key of signed notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 verifier key of signed notes: expected `name+hash+base64`")]
pub struct NoteKeyError;

impl Note {
    /// Creates a note without signatures.
    ///
    /// # Errors
    /// Returns `Unsignable` if the text cannot be signed as a note.
    pub fn new(text: String) -> Result<Self, NoteError> {
        let is_sound = text.ends_with('\n') && !text.contains("\n\n") && is_text(&text);
        if !is_sound || text == "\n" {
            return Err(NoteError::Unsignable);
        }
        Ok(Self { text, signatures: Vec::new() })
    }

    /// Returns the note with an additional signature, which must have been made over [`Note::text`].
    #[must_use]
    pub fn signed(mut self, key: &NoteKey, signature: &Signature) -> Self {
        let (name, key_hash) = (key.name.clone(), key.hash());
        self.signatures.push(NoteSignature { name, key_hash, signature: signature.0.to_vec() });
        self
    }

    /// Parses a signed note without verifying its signatures.
    ///
    /// # Errors
    /// Returns any [`NoteError`] except `Unsignable`.
    pub fn read(bytes: &[u8]) -> Result<Self, NoteError> {
        if bytes.len() > NOTE_BYTES_MAX {
            return Err(NoteError::TooLarge);
        }
        let whole = std::str::from_utf8(bytes).ok().filter(|text| is_text(text));
        let (text, lines) =
            whole.ok_or(NoteError::NotText)?.rsplit_once("\n\n").ok_or(NoteError::NoSignatures)?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::NoSignatures)?;
        if lines.split('\n').count() > SIGNATURES_MAX {
            return Err(NoteError::TooManySignatures);
        }
        let signatures = lines
            .split('\n')
            .zip(1..)
            .map(|(text, line)| NoteSignature::read(text).ok_or(NoteError::Line { line }));
        Ok(Self { text: format!("{text}\n"), signatures: signatures.collect::<Result<_, _>>()? })
    }

    /// Formats the entire note, including its signatures.
    pub fn to_text(&self) -> String {
        let lines = self.signatures.iter().map(|signature| {
            let bytes = [&signature.key_hash[..], &signature.signature].concat();
            format!("{DASH}{} {}\n", signature.name, STANDARD.encode(bytes))
        });
        format!("{}\n{}", self.text, lines.collect::<String>())
    }
}

impl NoteSignature {
    fn read(line: &str) -> Option<Self> {
        let (name, base64) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = STANDARD.decode(base64).ok()?;
        let (key_hash, signature) = bytes.split_first_chunk::<4>()?;
        let is_sound = is_name(name) && !signature.is_empty();
        is_sound.then(|| Self {
            name: name.to_owned(),
            key_hash: *key_hash,
            signature: signature.to_vec(),
        })
    }
}

impl NoteKey {
    /// Returns the first four bytes of the digest of name, algorithm and public key.
    pub fn hash(&self) -> [u8; 4] {
        let digest = Digest::of(&[self.name.as_bytes(), b"\n", &[ED25519], &self.key.0].concat());
        let [a, b, c, d, ..] = *digest.as_bytes();
        [a, b, c, d]
    }

    /// Formats the key as a verifier key ("vkey").
    pub fn to_text(&self) -> String {
        let hash: String = self.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        let key = STANDARD.encode([&[ED25519][..], &self.key.0].concat());
        format!("{}+{hash}+{key}", self.name)
    }

    /// Parses a verifier key ("vkey").
    ///
    /// # Errors
    /// Returns [`NoteKeyError`] if the text is malformed or its hash does not match the key.
    pub fn read(text: &str) -> Result<Self, NoteKeyError> {
        let read = || {
            let (name, rest) = text.split_once('+')?;
            let (hash, base64) = rest.split_once('+')?;
            let bytes = STANDARD.decode(base64).ok()?;
            let (&algorithm, key) = bytes.split_first()?;
            let key = PublicKey(key.try_into().ok().filter(|_| algorithm == ED25519)?);
            let read = Self { name: name.to_owned(), key };
            (is_name(name) && from_hex(hash.as_bytes()) == Some(read.hash())).then_some(read)
        };
        read().ok_or(NoteKeyError)
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.chars().any(|c| c.is_whitespace() || c == '+')
}

fn is_text(text: &str) -> bool {
    !text.bytes().any(|byte| byte < 0x20 && byte != b'\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example note from the C2SP specification.
    const NOTE: &str = "This is an example message.\n\n\u{2014} example.com/foo \
        Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
    const KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

    #[test]
    fn published_checkpoint_example_round_trips() {
        let note = Note::read(NOTE.as_bytes()).unwrap();
        assert_eq!(note.text, "This is an example message.\n");
        assert_eq!(note.to_text(), NOTE);
        let key = NoteKey::read(KEY).unwrap();
        assert_eq!(key.to_text(), KEY);
        assert_eq!(
            (&note.signatures[0].name, note.signatures[0].key_hash),
            (&key.name, key.hash())
        );
    }

    #[test]
    fn malformed_checkpoint_is_rejected() {
        let cases = [
            (String::new(), NoteError::NoSignatures),
            ("text\n".to_owned(), NoteError::NoSignatures),
            (NOTE.trim_end().to_owned(), NoteError::NoSignatures),
            (NOTE.replace("example message", "example\tmessage"), NoteError::NotText),
            (NOTE.replace('\u{2014}', "-"), NoteError::Line { line: 1 }),
            (NOTE.replace("\u{2014} example.com/foo", "\u{2014} a+b"), NoteError::Line { line: 1 }),
            (NOTE.replace("Uw2Q", "!"), NoteError::Line { line: 1 }),
            (format!("{NOTE}\u{2014} a AAAA\n"), NoteError::Line { line: 2 }),
            ("x".repeat(NOTE_BYTES_MAX + 1), NoteError::TooLarge),
        ];
        for (text, error) in cases {
            assert_eq!(Note::read(text.as_bytes()), Err(error), "{:.60}", text);
        }
        let line = NOTE.split_once("\n\n").unwrap().1;
        let many = |count| format!("text\n\n{}", line.repeat(count));
        assert!(Note::read(many(SIGNATURES_MAX).as_bytes()).is_ok());
        assert_eq!(
            Note::read(many(SIGNATURES_MAX + 1).as_bytes()),
            Err(NoteError::TooManySignatures)
        );
        for text in ["", "\n", "a", "a\n\nb\n", "a\rb\n"] {
            assert_eq!(Note::new(text.to_owned()), Err(NoteError::Unsignable), "{text:?}");
        }
    }

    #[test]
    fn note_key_with_a_wrong_hash_is_rejected() {
        for text in [
            "",
            "a+b",
            &KEY.replace("530d903a", "530d903b"),
            &KEY.replace("foo", "fop"),
            &KEY.replace("AekyeRrm", "AukyeRrm"),
        ] {
            assert_eq!(NoteKey::read(text), Err(NoteKeyError), "{text}");
        }
    }
}
