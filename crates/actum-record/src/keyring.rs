//! Keyrings, which list public keys with their roles and validity periods. A verifier obtains a keyring once and then trusts
//! it.

use std::collections::BTreeSet;

use actum_core::Timestamp;
use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use serde::{Deserialize, Serialize};

use crate::signer::{KeyId, KeyRole, PublicKey};

/// Maximum size of a keyring, in bytes.
pub const KEYRING_BYTES_MAX: usize = 1 << 20;
/// Name of the directory with the keys, inside the directory of ledgers and keys (`ACTUM_HOME`).
pub const KEYS_DIRECTORY: &str = "keys";
/// File name of the keyring in [`KEYS_DIRECTORY`].
pub const KEYRING_FILE: &str = "keyring.json";
/// Number of bytes at the start of a file that [`Keyring::is_named_in`] searches.
pub const KEYRING_BEGINNING_BYTES: usize = 4096;
/// Maximum number of keys in a keyring.
pub const KEYS_MAX: usize = 1000;

/// Public keys of an installation. Keys with the same role are ordered from oldest to newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyring {
    format: String,
    keys: Vec<KeyEntry>,
}

/// Public key in a keyring, with its role and validity period.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// Id of the key, which is derived from its role and its public key.
    pub id: KeyId,
    /// Role of the key, which determines what it may sign.
    pub role: KeyRole,
    /// Public key itself.
    pub public: PublicKey,
    /// Start of the validity period. Signatures made earlier are not valid.
    pub not_before: Timestamp,
    /// End of the validity period, or `None` if it has no end yet.
    pub not_after: Option<Timestamp>,
    /// Time at which the key was revoked, for example because it was compromised. Once a key is revoked, none of its signatures is
    /// valid, not even an earlier one.
    pub revoked: Option<Timestamp>,
    /// Whether the key was admitted only because its waiting period ended, without proof from its predecessor or from a fresh
    /// installation.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
}

/// Error for bytes that are not a valid keyring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The keyring is longer than [`KEYRING_BYTES_MAX`] or has more keys than [`KEYS_MAX`].
    #[error("a keyring may have at most {KEYRING_BYTES_MAX} bytes and {KEYS_MAX} keys")]
    TooLarge,
    /// The text is not JSON, or is JSON that parsers interpret differently.
    #[error(transparent)]
    Json(#[from] CanonicalError),
    /// A field is missing, unknown or of the wrong type.
    #[error("not a keyring: {message}")]
    Schema {
        /// Description of the problem, including the name of the field.
        message: String,
    },
    /// The keyring has a different format, probably because a newer version of actum wrote it.
    #[error(
        "the keyring has the format `{}`, but this program only supports `{}`",
        Cut(found.as_bytes(), 80),
        Keyring::FORMAT
    )]
    Format {
        /// Format that the keyring states.
        found: String,
    },
    /// The id of a key does not match its role and public key.
    #[error("the key `{id}` does not match its id, so the keyring was modified")]
    Name {
        /// Id that the keyring states for the key.
        id: KeyId,
    },
    /// The keyring lists the same key twice.
    #[error("the keyring lists the key `{id}` twice")]
    Twice {
        /// Id of the duplicate key.
        id: KeyId,
    },
}

/// Reason why a key cannot be used to accept a signature.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// The keyring does not contain the key.
    #[error("the keyring does not contain the key `{id}`")]
    Unknown {
        /// Id of the missing key.
        id: String,
    },
    /// The key has a different role, so it may not sign this kind of document.
    #[error("the key `{id}` has the role `{role}`, but the role `{wanted}` is required")]
    OtherRole {
        /// Id of the key.
        id: KeyId,
        /// Role of the key.
        role: KeyRole,
        /// Role that the signature requires.
        wanted: KeyRole,
    },
    /// The signature was made before the validity period of the key.
    #[error("the key `{id}` is valid from {from}, but the signature is dated {at}")]
    TooEarly {
        /// Id of the key.
        id: KeyId,
        /// Start of the key's validity period.
        from: Timestamp,
        /// Time of the signature.
        at: Timestamp,
    },
    /// The signature was made after the validity period of the key.
    #[error("the key `{id}` was valid until {until}, but the signature is dated {at}")]
    Expired {
        /// Id of the key.
        id: KeyId,
        /// End of the key's validity period.
        until: Timestamp,
        /// Time of the signature.
        at: Timestamp,
    },
    /// The key was revoked.
    #[error("the key `{id}` was revoked at {since}")]
    Revoked {
        /// Id of the key.
        id: KeyId,
        /// Time at which the key was revoked.
        since: Timestamp,
    },
}

impl Keyring {
    /// Value of the `format` field of a keyring.
    pub const FORMAT: &str = "actum.keyring/1";

    /// Whether a file with this content looks like a keyring of any version. This check is cheaper than [`Self::read`] and also
    /// accepts damaged keyrings and those of newer versions of actum, so it can recognise any directory that contains keys.
    pub fn is_named_in(content: &[u8]) -> bool {
        let format = Self::FORMAT.as_bytes();
        let family = format.strip_suffix(b"1").unwrap_or(format);
        let beginning = content.get(..KEYRING_BEGINNING_BYTES).unwrap_or(content);
        beginning.windows(family.len()).any(|found| found == family)
    }

    /// Creates a keyring. Keys with the same role must be ordered from oldest to newest.
    pub fn new(keys: Vec<KeyEntry>) -> Self {
        Self { format: Self::FORMAT.to_owned(), keys }
    }

    /// Returns all keys. Those with the same role are ordered from oldest to newest.
    pub fn keys(&self) -> &[KeyEntry] {
        &self.keys
    }

    /// Reads a keyring and checks that the id of each key matches the key. Does not check whether a public key is a valid point
    /// of the curve, because that is done when a signature is verified.
    ///
    /// # Errors
    /// Returns [`KeyringError`] if the bytes are not a valid keyring.
    pub fn read(bytes: &[u8]) -> Result<Self, KeyringError> {
        if bytes.len() > KEYRING_BYTES_MAX {
            return Err(KeyringError::TooLarge);
        }
        let shape = |message: String| KeyringError::Schema { message };
        let value = canonical::read(bytes)?;
        let format = value.get("format").and_then(serde_json::Value::as_str);
        match format {
            Some(Self::FORMAT) => {}
            Some(found) => return Err(KeyringError::Format { found: found.to_owned() }),
            None => return Err(shape("the field `format` is missing".to_owned())),
        }
        let read: Self =
            serde_json::from_value(value).map_err(|error| shape(canonical::describe(&error)))?;
        if read.keys.len() > KEYS_MAX {
            return Err(KeyringError::TooLarge);
        }
        let mut seen = BTreeSet::new();
        for key in &read.keys {
            if key.id != KeyId::new(key.role, &key.public) {
                return Err(KeyringError::Name { id: key.id.clone() });
            }
            if !seen.insert(&key.id) {
                return Err(KeyringError::Twice { id: key.id.clone() });
            }
        }
        Ok(read)
    }

    /// Serializes the keyring as canonical JSON.
    ///
    /// # Errors
    /// Returns [`CanonicalError`] if the keyring cannot be serialized. This never happens, because it contains no numbers.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// Returns the newest key of a role, even if it is not valid.
    pub fn newest(&self, role: KeyRole) -> Option<&KeyEntry> {
        self.keys.iter().rev().find(|key| key.role == role)
    }

    /// Returns the key that signs for a role at the time `now`. This is the newest key of the role, ignoring unproven keys that
    /// are still in their waiting period or were revoked. The key may have expired, which [`KeyEntry::check`] detects.
    pub fn current(&self, role: KeyRole, now: Timestamp) -> Option<&KeyEntry> {
        let of_role = self.keys.iter().rev().filter(|key| key.role == role);
        of_role
            .into_iter()
            .find(|key| !key.unproven || (key.revoked.is_none() && key.not_before <= now))
    }

    /// Returns the unproven key of a role that is still in its waiting period at the time `now`, if there is one.
    pub fn waiting(&self, role: KeyRole, now: Timestamp) -> Option<&KeyEntry> {
        let of_role = self.keys.iter().rev().filter(|key| key.role == role);
        of_role
            .into_iter()
            .find(|key| key.unproven && key.revoked.is_none() && now < key.not_before)
    }

    /// Returns the key with this id if its signatures made at the time `at` are valid for `role`.
    ///
    /// # Errors
    /// Returns [`KeyProblem`] if the key is unknown or may not be used.
    pub fn valid(&self, id: &str, role: KeyRole, at: Timestamp) -> Result<&KeyEntry, KeyProblem> {
        let key = self.keys.iter().find(|key| key.id.as_str() == id);
        let key = key.ok_or_else(|| KeyProblem::Unknown { id: id.to_owned() })?;
        key.check(role, at)?;
        Ok(key)
    }
}

impl KeyEntry {
    /// Checks that a signature made with this key at the time `at` is valid for `role`.
    ///
    /// # Errors
    /// Returns [`KeyProblem`] if the key has a different role, was revoked, or was not valid at that time.
    pub fn check(&self, role: KeyRole, at: Timestamp) -> Result<(), KeyProblem> {
        let id = self.id.clone();
        if self.role != role {
            return Err(KeyProblem::OtherRole { id, role: self.role, wanted: role });
        }
        if let Some(since) = self.revoked {
            return Err(KeyProblem::Revoked { id, since });
        }
        if at < self.not_before {
            return Err(KeyProblem::TooEarly { id, from: self.not_before, at });
        }
        match self.not_after.filter(|&until| at > until) {
            Some(until) => Err(KeyProblem::Expired { id, until, at }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn key(role: KeyRole, byte: u8) -> KeyEntry {
        let public = PublicKey([byte; 32]);
        let id = KeyId::new(role, &public);
        KeyEntry {
            id,
            role,
            public,
            not_before: at(10),
            not_after: Some(at(20)),
            revoked: None,
            unproven: false,
        }
    }

    #[test]
    fn keyring_round_trips() {
        let keyring = Keyring::new(vec![key(KeyRole::Result, 1), key(KeyRole::Checkpoint, 2)]);
        let bytes = keyring.to_vec().unwrap();
        assert_eq!(Keyring::read(&bytes), Ok(keyring));
    }

    #[test]
    fn key_is_valid_for_its_role_within_its_period() {
        let mut key = key(KeyRole::Result, 1);
        for (micros, counts) in [(9, false), (10, true), (20, true), (21, false)] {
            assert_eq!(key.check(KeyRole::Result, at(micros)).is_ok(), counts, "{micros}");
        }
        assert!(matches!(
            key.check(KeyRole::Lease, at(15)),
            Err(KeyProblem::OtherRole { wanted: KeyRole::Lease, .. })
        ));
        key.revoked = Some(at(19));
        assert!(matches!(key.check(KeyRole::Result, at(15)), Err(KeyProblem::Revoked { .. })));
    }

    /// AA-5: an unproven key signs after its waiting period, unless it was revoked.
    #[test]
    fn unproven_key_signs_after_its_waiting_period_unless_revoked() {
        let old = KeyEntry { not_after: None, ..key(KeyRole::Approval, 1) };
        let unproven = KeyEntry {
            not_before: at(30),
            not_after: None,
            unproven: true,
            ..key(KeyRole::Approval, 2)
        };
        let keyring = Keyring::new(vec![old.clone(), unproven.clone()]);
        let role = KeyRole::Approval;
        assert_eq!(keyring.current(role, at(29)), Some(&old));
        assert_eq!(keyring.waiting(role, at(29)), Some(&unproven));
        assert_eq!(keyring.current(role, at(30)), Some(&unproven));
        assert_eq!(keyring.waiting(role, at(30)), None);
        let denied = KeyEntry { revoked: Some(at(20)), ..unproven };
        let keyring = Keyring::new(vec![old.clone(), denied]);
        assert_eq!(keyring.current(role, at(31)), Some(&old));
        assert_eq!(keyring.waiting(role, at(29)), None);
    }

    #[test]
    fn tampered_keyring_is_rejected() {
        let entry = key(KeyRole::Result, 1);
        let other = PublicKey([3; 32]);
        let swapped = KeyEntry { public: other, ..entry.clone() };
        let renamed = KeyEntry { role: KeyRole::Lease, ..entry.clone() };
        for keys in [vec![swapped], vec![renamed]] {
            let bytes = Keyring::new(keys).to_vec().unwrap();
            assert!(matches!(Keyring::read(&bytes), Err(KeyringError::Name { .. })));
        }
        let twice = Keyring::new(vec![entry.clone(), entry]).to_vec().unwrap();
        assert!(matches!(Keyring::read(&twice), Err(KeyringError::Twice { .. })));
        for text in ["", "{}", "[]", r#"{"format":"actum.keyring/2","keys":[]}"#] {
            assert!(Keyring::read(text.as_bytes()).is_err(), "{text}");
        }
        let many: Vec<_> = (0..=KEYS_MAX)
            .map(|number| {
                let mut public = [0; 32];
                public[..8].copy_from_slice(&number.to_le_bytes());
                let public = PublicKey(public);
                KeyEntry {
                    id: KeyId::new(KeyRole::Result, &public),
                    public,
                    ..key(KeyRole::Result, 1)
                }
            })
            .collect();
        assert!(Keyring::read(&Keyring::new(many[1..].to_vec()).to_vec().unwrap()).is_ok());
        let bytes = Keyring::new(many).to_vec().unwrap();
        assert_eq!(Keyring::read(&bytes), Err(KeyringError::TooLarge));
    }
}
