//! Public keys, what each may sign, and when. A verifier gets a keyring once, and trusts it.

use std::collections::BTreeSet;

use actum_core::Timestamp;
use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use serde::{Deserialize, Serialize};

use crate::signer::{KeyId, KeyRole, PublicKey};

/// The longest keyring that is read, in bytes.
pub const KEYRING_BYTES_MAX: usize = 1 << 20;
/// Directory of the keys in a home of ledgers and keys.
pub const KEYS_DIRECTORY: &str = "keys";
/// Keyring in that directory.
pub const KEYRING_FILE: &str = "keyring.json";
/// Bytes of a file that [`Keyring::is_named_in`] looks at.
pub const KEYRING_BEGINNING_BYTES: usize = 4096;
/// The most keys in a keyring.
pub const KEYS_MAX: usize = 1000;

/// The public keys of an installation, the oldest of each role first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keyring {
    format: String,
    keys: Vec<KeyEntry>,
}

/// One key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyEntry {
    /// Its name.
    pub id: KeyId,
    /// Role of the key.
    pub role: KeyRole,
    /// Its public half.
    pub public: PublicKey,
    /// From when on its signatures count.
    pub not_before: Timestamp,
    /// Until when they count; without it there is no end yet.
    pub not_after: Option<Timestamp>,
    /// Time at which it was found to be in other hands. From then on none of its signatures counts.
    pub revoked: Option<Timestamp>,
    /// Admitted by waiting alone: neither its predecessor nor a fresh installation vouched for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
}

/// Bytes that are no keyring.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyringError {
    /// The keyring is longer than [`KEYRING_BYTES_MAX`] or has more keys than [`KEYS_MAX`].
    #[error("a keyring has {KEYRING_BYTES_MAX} bytes and {KEYS_MAX} keys at most")]
    TooLarge,
    /// The text is not JSON that every reader understands alike.
    #[error(transparent)]
    Json(#[from] CanonicalError),
    /// Fields are missing, too many, or of another kind.
    #[error("it is no keyring: {message}")]
    Schema {
        /// Name of the field, and its problem.
        message: String,
    },
    /// A later version of this program wrote it.
    #[error(
        "its format is `{}`, and this program reads `{}`",
        Cut(found.as_bytes(), 80),
        Keyring::FORMAT
    )]
    Format {
        /// Its format.
        found: String,
    },
    /// A key does not have the name that follows from it.
    #[error("the key `{id}` is not the one of that name; it was changed")]
    Name {
        /// The name.
        id: KeyId,
    },
    /// A key is in it twice.
    #[error("the key `{id}` is in it twice")]
    Twice {
        /// The name.
        id: KeyId,
    },
}

/// Reason why a key does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyProblem {
    /// No such key.
    #[error("no key `{id}` is in the keyring")]
    Unknown {
        /// The name.
        id: String,
    },
    /// The key is for something else.
    #[error("the key `{id}` signs for the role `{role}`, and not for `{wanted}`")]
    OtherRole {
        /// The name.
        id: KeyId,
        /// Role of the key.
        role: KeyRole,
        /// Role that signed.
        wanted: KeyRole,
    },
    /// The moment is before its time.
    #[error("the key `{id}` counts from {from} on, and this is of {at}")]
    TooEarly {
        /// The name.
        id: KeyId,
        /// Its beginning.
        from: Timestamp,
        /// The moment.
        at: Timestamp,
    },
    /// The moment is after its time.
    #[error("the key `{id}` counted until {until}, and this is of {at}")]
    Expired {
        /// The name.
        id: KeyId,
        /// Its end.
        until: Timestamp,
        /// The moment.
        at: Timestamp,
    },
    /// The key is in other hands.
    #[error("the key `{id}` was revoked at {since}")]
    Revoked {
        /// The name.
        id: KeyId,
        /// Since when that is known.
        since: Timestamp,
    },
}

impl Keyring {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.keyring/1";

    /// Returns true if a file that begins so is a keyring of any version, sound or not. Cheaper than [`Self::read`], and
    /// true for more: it finds a home of keys, also of a newer version of this program.
    pub fn is_named_in(content: &[u8]) -> bool {
        let format = Self::FORMAT.as_bytes();
        let family = format.strip_suffix(b"1").unwrap_or(format);
        let beginning = content.get(..KEYRING_BEGINNING_BYTES).unwrap_or(content);
        beginning.windows(family.len()).any(|found| found == family)
    }

    /// A keyring of these keys.
    pub fn new(keys: Vec<KeyEntry>) -> Self {
        Self { format: Self::FORMAT.to_owned(), keys }
    }

    /// The keys.
    pub fn keys(&self) -> &[KeyEntry] {
        &self.keys
    }

    /// Reads a keyring. It checks that a key has its own name; a verifier finds out whether the key
    /// is a point of the curve.
    ///
    /// # Errors
    /// [`KeyringError`].
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
            None => return Err(shape("it has no `format`".to_owned())),
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

    /// The canonical JSON of the keyring.
    ///
    /// # Errors
    /// [`CanonicalError`], which texts alone never lead to.
    pub fn to_vec(&self) -> Result<Vec<u8>, CanonicalError> {
        canonical::to_vec(self)
    }

    /// The newest key of a role, whether it counts or not.
    pub fn newest(&self, role: KeyRole) -> Option<&KeyEntry> {
        self.keys.iter().rev().find(|key| key.role == role)
    }

    /// Returns the key that signs for a role at `now`: the newest one, except for unproven keys that still
    /// wait or were revoked. Whether it has expired is left to [`KeyEntry::check`].
    pub fn current(&self, role: KeyRole, now: Timestamp) -> Option<&KeyEntry> {
        let of_role = self.keys.iter().rev().filter(|key| key.role == role);
        of_role
            .into_iter()
            .find(|key| !key.unproven || (key.revoked.is_none() && key.not_before <= now))
    }

    /// Unproven key of a role that has not been admitted yet at `now`.
    pub fn waiting(&self, role: KeyRole, now: Timestamp) -> Option<&KeyEntry> {
        let of_role = self.keys.iter().rev().filter(|key| key.role == role);
        of_role
            .into_iter()
            .find(|key| key.unproven && key.revoked.is_none() && now < key.not_before)
    }

    /// The key of that name, if its signatures of the moment `at` count for `role`.
    ///
    /// # Errors
    /// [`KeyProblem`].
    pub fn valid(&self, id: &str, role: KeyRole, at: Timestamp) -> Result<&KeyEntry, KeyProblem> {
        let key = self.keys.iter().find(|key| key.id.as_str() == id);
        let key = key.ok_or_else(|| KeyProblem::Unknown { id: id.to_owned() })?;
        key.check(role, at)?;
        Ok(key)
    }
}

impl KeyEntry {
    /// Checks that its signatures of the moment `at` count for `role`.
    ///
    /// # Errors
    /// [`KeyProblem`].
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
    fn a_keyring_survives_being_written_and_read() {
        let keyring = Keyring::new(vec![key(KeyRole::Result, 1), key(KeyRole::Checkpoint, 2)]);
        let bytes = keyring.to_vec().unwrap();
        assert_eq!(Keyring::read(&bytes), Ok(keyring));
    }

    #[test]
    fn a_key_counts_for_its_role_within_its_time() {
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

    /// AA-5
    #[test]
    fn an_unproven_key_signs_once_it_has_waited_unless_it_was_revoked() {
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
    fn a_keyring_that_was_changed_is_refused() {
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
