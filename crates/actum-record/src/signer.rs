//! Signing keys with their roles, and the [`Signer`] trait, which signs without exposing the private key.

use std::fmt;
use std::str::FromStr;

use actum_core::Digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

/// Role of a key, which limits what it may sign. Each key has exactly one role, so a signature made for one purpose is never
/// valid for another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRole {
    /// Signs leases, which allow an agent to act.
    Lease,
    /// Signs receipts, which state the outcome of a run.
    Result,
    /// Signs checkpoints, which state the size and root of the ledger.
    Checkpoint,
    /// Signs the answers of an approver.
    Approval,
    /// Signs the assertions of a host about the user of an agent's goal and the user's answers.
    Host,
}

impl KeyRole {
    /// All roles.
    pub const ALL: [Self; 5] =
        [Self::Lease, Self::Result, Self::Checkpoint, Self::Approval, Self::Host];

    /// Returns the name of the role in files and on the command line.
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

/// Ed25519 public key (RFC 8032), written as the base64 of its 32 bytes. The key may not be a valid point of the curve, which
/// is detected only when a signature is verified.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PublicKey(pub [u8; 32]);

/// Error for a text that is not a public key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an Ed25519 public key: expected 32 bytes in base64")]
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

/// Id of a key, which consists of the first 16 hexadecimal characters of a digest of its role and its public key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl KeyId {
    /// Derives the id of a key from its role and its public key.
    pub fn new(role: KeyRole, key: &PublicKey) -> Self {
        let digest = Digest::tagged("actum/key/v1", &[role.as_str().as_bytes(), &key.0]);
        Self(digest.to_string().chars().take(16).collect())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Ed25519 signature (RFC 8032).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// Error for a signature that could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot sign with the {role} key {key}: {message}")]
pub struct SignError {
    /// Role of the key.
    pub role: KeyRole,
    /// Id of the key.
    pub key: KeyId,
    /// Reason why the key could not sign.
    pub message: String,
}

/// Private key that can sign messages, regardless of where it is stored.
pub trait Signer {
    /// Returns the role of the key.
    fn role(&self) -> KeyRole;

    /// Returns the public key.
    fn public_key(&self) -> PublicKey;

    /// Signs a message.
    ///
    /// # Errors
    /// Returns [`SignError`] if the private key is not accessible.
    fn sign(&self, message: &[u8]) -> Result<Signature, SignError>;

    /// Returns the id of the key.
    fn key_id(&self) -> KeyId {
        KeyId::new(self.role(), &self.public_key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn key_id_differs_by_role() {
        let key = PublicKey([7; 32]);
        let names: std::collections::BTreeSet<KeyId> =
            KeyRole::ALL.iter().map(|&role| KeyId::new(role, &key)).collect();
        assert_eq!(names.len(), KeyRole::ALL.len());
        assert!(names.iter().all(|name| name.as_str().len() == 16));
    }

    #[test]
    fn public_key_round_trips() {
        let key = PublicKey([9; 32]);
        assert_eq!(key.to_string().parse(), Ok(key));
        for text in ["", "AAAA", "CQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQkJCQk", "é"] {
            assert_eq!(text.parse::<PublicKey>(), Err(PublicKeyError), "{text}");
        }
    }
}
