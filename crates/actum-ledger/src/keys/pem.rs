//! Reads and writes Ed25519 keys (RFC 8410) as PKCS#8 (RFC 5958) in PEM format (RFC 7468), which other programs can use,
//! too. Every buffer that held a private key is wiped.

use actum_record::signer::PublicKey;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::SigningKey;
use pkcs8::PrivateKeyInfoRef;
use pkcs8::der::pem::LineEnding;
use pkcs8::der::{Decode, SecretDocument};
use zeroize::Zeroizing;

use super::sealed::{self, Sealed};

const LABEL: &str = "PRIVATE KEY";
/// Length in bytes of an encoded private key without its public key.
pub(super) const DER_BYTES: usize = 48;
/// DER prefix of a private key: version 1, the algorithm Ed25519, and the headers of two nested octet strings. The 32
/// bytes of the seed follow.
const HEAD: [u8; 16] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20";

/// DER prefix of a public key: the algorithm Ed25519 and the header of a bit string. The 32 bytes of the key follow.
const PUBLIC_HEAD: [u8; 12] = *b"\x30\x2a\x30\x05\x06\x03\x2b\x65\x70\x03\x21\x00";

/// Formats a public key as `SubjectPublicKeyInfo` (RFC 8410) in PEM format, which other programs can read.
pub fn public(key: &PublicKey) -> String {
    let der = STANDARD.encode([&PUBLIC_HEAD[..], &key.0].concat());
    format!("-----BEGIN PUBLIC KEY-----\n{der}\n-----END PUBLIC KEY-----\n")
}

/// Returns whether a file contains exactly a public key in the form that [`public`] produces.
pub fn is_public(bytes: &[u8]) -> bool {
    let key = || {
        let text = std::str::from_utf8(bytes).ok()?;
        let der = STANDARD.decode(text.lines().nth(1)?).ok()?;
        let key: [u8; 32] = der.strip_prefix(&PUBLIC_HEAD)?.try_into().ok()?;
        Some(PublicKey(key))
    };
    key().is_some_and(|key| public(&key).as_bytes() == bytes)
}

/// Content of a private key file, which may be protected by a passphrase.
pub(super) enum Content {
    /// Key without a passphrase, which any process that can read the file can use.
    Open(SigningKey),
    /// Key that is encrypted with a passphrase.
    Sealed(Sealed),
}

/// Reason why no private key can be read from a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// The text is not a private key, or is damaged.
    Malformed,
    /// The key is encrypted with an unsupported scheme, or decrypting it would exceed the cost limit.
    Scheme,
}

/// Formats a private key as PEM. The public key is omitted, because older programs do not expect it.
pub(super) fn write(seed: &[u8; 32]) -> Option<Zeroizing<String>> {
    SecretDocument::try_from(&der(seed)?[..]).ok()?.to_pem(LABEL, LineEnding::LF).ok()
}

pub(super) fn der(seed: &[u8; 32]) -> Option<Zeroizing<[u8; DER_BYTES]>> {
    let mut der = Zeroizing::new([0; DER_BYTES]);
    let (head, rest) = der.split_at_mut_checked(HEAD.len())?;
    head.copy_from_slice(&HEAD);
    rest.copy_from_slice(seed);
    Some(der)
}

/// Parses a private key from PEM, with or without its public key.
pub(super) fn read(text: &[u8]) -> Result<Content, Unreadable> {
    let text = std::str::from_utf8(text).map_err(|_| Unreadable::Malformed)?;
    let (label, document) = SecretDocument::from_pem(text).map_err(|_| Unreadable::Malformed)?;
    match label {
        LABEL => read_der(document.as_bytes()).map(Content::Open).ok_or(Unreadable::Malformed),
        sealed::LABEL => Sealed::read(document.as_bytes()).map(Content::Sealed),
        _ => Err(Unreadable::Malformed),
    }
}

pub(super) fn read_der(der: &[u8]) -> Option<SigningKey> {
    let info = PrivateKeyInfoRef::from_der(der).ok()?;
    if info.algorithm != ed25519_dalek::ed25519::pkcs8::ALGORITHM_ID {
        return None;
    }
    let (head, seed) = info.private_key.as_bytes().split_first_chunk::<2>()?;
    let seed: &[u8; 32] = seed.try_into().ok().filter(|_| head == b"\x04\x20")?;
    Some(SigningKey::from_bytes(seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// First private key in RFC 8410, section 10.3. Its seed is [`SEED`].
    const PUBLISHED: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    const SEED: &str = "d4ee72dbf913584ad5b6d8f1f769f8ad3afe7c28cbf1d4fbe097a88f44755842";
    /// Second private key in RFC 8410, section 10.3, which also contains the public key.
    const WITH_PUBLIC: &str = "-----BEGIN PRIVATE KEY-----\n\
        MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\n\
        Z9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PRIVATE KEY-----\n";

    /// Public key in RFC 8410, section 10.1.
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn published_public_key_is_written_identically() {
        let key = read(PUBLISHED.as_bytes()).unwrap().verifying_key().to_bytes();
        assert_eq!(public(&PublicKey(key)), PUBLIC);
    }

    /// Parses a private key that has no passphrase.
    fn read(text: &[u8]) -> Option<SigningKey> {
        match super::read(text) {
            Ok(Content::Open(key)) => Some(key),
            Ok(Content::Sealed(_)) | Err(_) => None,
        }
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn published_private_key_round_trips() {
        let key = read(PUBLISHED.as_bytes()).unwrap();
        assert_eq!(hex(&key.to_bytes()), SEED);
        assert_eq!(write(&key.to_bytes()).unwrap().as_str(), PUBLISHED);
    }

    #[test]
    fn private_key_with_embedded_public_key_is_read() {
        assert_eq!(read(WITH_PUBLIC.as_bytes()).map(|key| hex(&key.to_bytes())), Some(SEED.into()));
    }

    #[test]
    fn invalid_pem_text_is_rejected() {
        for (from, to) in [
            ("PRIVATE KEY", "EC PRIVATE KEY"),
            ("PRIVATE KEY", "PUBLIC KEY"),
            ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
            ("MC4CAQAwBQYDK2Vw", "MC4CAQAwBQYDK2Vu"), // X25519
            ("BCIEIN", "BCIFIN"),
            ("VhC\n", "Vh\n"),
            ("-----END", "----END"),
        ] {
            let text = PUBLISHED.replace(from, to);
            assert_ne!(text, PUBLISHED, "{from}");
            assert!(read(text.as_bytes()).is_none(), "{text}");
        }
        for text in [&b""[..], b"\xff", b"-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n"]
        {
            assert!(read(text).is_none());
        }
    }
}
