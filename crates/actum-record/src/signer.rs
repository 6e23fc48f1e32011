//! Signing: keys by their role, and the port behind which a private key stays.

use std::fmt;
use std::str::FromStr;

use actum_core::Digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Role of a key, which limits what it may sign. One key has one role, so that a signature for one
/// purpose is never one for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRole {
    /// Leases that allow an agent to act.
    Lease,
    /// Receipts: how a run ended.
    Result,
    /// The state of the ledger.
    Checkpoint,
    /// Answers of an approver.
    Approval,
    /// Assertions of a host: whose a goal of an agent is, and what the user answered.
    Host,
}

impl KeyRole {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Lease, Self::Result, Self::Checkpoint, Self::Approval, Self::Host];

    /// The word for it in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lease => "lease",
            Self::Result => "result",
            Self::Checkpoint => "checkpoint",
            Self::Approval => "approval",
            Self::Host => "host",
        }
    }
}

impl fmt::Display for KeyRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An Ed25519 public key (RFC 8032), written as base64 of its 32 bytes. It may be no point of the
/// curve; who verifies finds out.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey(pub [u8; 32]);

/// A text that is no public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no Ed25519 public key: expected 32 bytes in base64")]
pub struct PublicKeyError;

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(self.0))
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for PublicKey {
    type Err = PublicKeyError;

    fn from_str(text: &str) -> Result<Self, PublicKeyError> {
        let bytes = STANDARD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or(PublicKeyError)
    }
}

impl From<PublicKey> for String {
    fn from(key: PublicKey) -> Self {
        key.to_string()
    }
}

impl TryFrom<String> for PublicKey {
    type Error = PublicKeyError;

    fn try_from(text: String) -> Result<Self, PublicKeyError> {
        text.parse()
    }
}

/// Names a key: the first 16 hexadecimal characters of a digest of its role and its public half.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// The name of a key.
    pub fn new(role: KeyRole, key: &PublicKey) -> Self {
        let digest = Digest::tagged("actum/key/v1", &[role.as_str().as_bytes(), &key.0]);
        Self(digest.to_string().chars().take(16).collect())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An Ed25519 signature (RFC 8032).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// Error of a signature that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign with the {role} key {key}: {message}")]
pub struct SignError {
    /// The role of the key.
    pub role: KeyRole,
    /// The key.
    pub key: KeyId,
    /// Reason.
    pub message: String,
}

/// A private key, wherever it is kept.
pub trait Signer {
    /// Returns the role of the key.
    fn role(&self) -> KeyRole;

    /// Its public half.
    fn public_key(&self) -> PublicKey;

    /// Signs a message.
    ///
    /// # Errors
    /// [`SignError`] where the key cannot be reached.
    fn sign(&self, message: &[u8]) -> Result<Signature, SignError>;

    /// Its name.
    fn key_id(&self) -> KeyId {
        KeyId::new(self.role(), &self.public_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_another_name_in_another_role() {
        let key = PublicKey([7; 32]);
        let names: std::collections::BTreeSet<KeyId> =
            KeyRole::ALL.iter().map(|&role| KeyId::new(role, &key)).collect();
        assert_eq!(names.len(), KeyRole::ALL.len());
        assert!(names.iter().all(|name| name.as_str().len() == 16));
    }

    #[test]
    fn a_public_key_survives_being_written_and_read() {
        let key = PublicKey([9; 32]);
        assert_eq!(key.to_string().parse(), Ok(key));
        for text in ["", "AAAA", "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk", "é"] {
            assert_eq!(text.parse::<PublicKey>(), Err(PublicKeyError), "{text}");
        }
    }
}
