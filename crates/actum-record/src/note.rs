//! Signed notes (C2SP `signed-note`): a text, and lines that sign it. Values only; what verifies a
//! signature is in `actum-gate`.

use actum_core::Digest;
use actum_core::digest::from_hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::signer::{PublicKey, Signature};

/// The longest note that is read, in bytes.
pub const NOTE_BYTES_MAX: usize = 1 << 20;
/// The most signatures a note has.
pub const SIGNATURES_MAX: usize = 100;
/// The number of Ed25519 among the algorithms of signed notes.
const ED25519: u8 = 1;
/// Beginning of a signature line: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// A text and its signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// Text that is signed; it ends with a line feed.
    pub text: String,
    /// Signatures in the order of the lines.
    pub signatures: Vec<NoteSignature>,
}

/// One line that signs a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteSignature {
    /// The name of the key.
    pub name: String,
    /// First bytes of a digest of the key, which distinguish keys of one name.
    pub key_hash: [u8; 4],
    /// The signature itself; of Ed25519 64 bytes.
    pub signature: Vec<u8>,
}

/// A text that is no signed note.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// The note is longer than [`NOTE_BYTES_MAX`].
    #[error("a note has {NOTE_BYTES_MAX} bytes at most")]
    TooLarge,
    /// A byte that belongs to no character, or a control character.
    #[error("a note is text without control characters")]
    NotText,
    /// The blank line between the text and the signatures is missing.
    #[error("a note is a text, a blank line, and lines that sign it")]
    NoSignatures,
    /// There are more than [`SIGNATURES_MAX`].
    #[error("a note has {SIGNATURES_MAX} signatures at most")]
    TooManySignatures,
    /// A line behind the blank one that signs nothing.
    #[error("signature line {line} has not the form `— name base64`")]
    Line {
        /// Number of the line, counted from 1.
        line: usize,
    },
    /// Error for a text that cannot be signed.
    #[error(
        "the text to sign must end with a line feed, and hold no blank line and no control character"
    )]
    Unsignable,
}

/// A key that verifies notes: its name and its public half.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteKey {
    /// The name: not empty, and without spaces and plus signs.
    pub name: String,
    /// The public key.
    pub key: PublicKey,
}

/// A text that is no key of signed notes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no Ed25519 key of signed notes: expected `name+hash+base64`")]
pub struct NoteKeyError;

impl Note {
    /// An unsigned note.
    ///
    /// # Errors
    /// `Unsignable`.
    pub fn new(text: String) -> Result<Self, NoteError> {
        let is_sound = text.ends_with('\n') && !text.contains("\n\n") && is_text(&text);
        if !is_sound || text == "\n" {
            return Err(NoteError::Unsignable);
        }
        Ok(Self { text, signatures: Vec::new() })
    }

    /// Adds a signature over [`Note::text`].
    #[must_use]
    pub fn signed(mut self, key: &NoteKey, signature: &Signature) -> Self {
        let (name, key_hash) = (key.name.clone(), key.hash());
        self.signatures.push(NoteSignature { name, key_hash, signature: signature.0.to_vec() });
        self
    }

    /// Reads a note.
    ///
    /// # Errors
    /// [`NoteError`], but not `Unsignable`.
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

    /// The whole note.
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
    /// The first four bytes of the digest of name, algorithm and key.
    pub fn hash(&self) -> [u8; 4] {
        let digest = Digest::of(&[self.name.as_bytes(), b"\n", &[ED25519], &self.key.0].concat());
        let [a, b, c, d, ..] = *digest.as_bytes();
        [a, b, c, d]
    }

    /// The text that stands for the key (a "vkey").
    pub fn to_text(&self) -> String {
        let hash: String = self.hash().iter().map(|byte| format!("{byte:02x}")).collect();
        let key = STANDARD.encode([&[ED25519][..], &self.key.0].concat());
        format!("{}+{hash}+{key}", self.name)
    }

    /// Reads such a text.
    ///
    /// # Errors
    /// [`NoteKeyError`], also where the hash in it is not that of the key.
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

    /// The example of the C2SP document.
    const NOTE: &str = "This is an example message.\n\n\u{2014} example.com/foo \
        Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
    const KEY: &str = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";

    #[test]
    fn the_published_example_is_read_and_written_alike() {
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
    fn another_text_is_refused() {
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
    fn a_key_whose_hash_is_not_its_own_is_refused() {
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
