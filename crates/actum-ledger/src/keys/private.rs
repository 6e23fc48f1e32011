//! Files that contain private keys.

use actum_core::Timestamp;
use actum_record::keyring::KeyEntry;
use actum_record::signer::{KeyId, KeyRole, Signer};
use serde::Serialize;
use zeroize::Zeroizing;

use super::passphrase::Passphrase;
use super::pem::{self, Content, Unreadable};
use super::{Admission, KeyError, SigningKey, sealed};
use crate::home::{Directory, random};

/// Maximum size of a private key file in bytes. Files written by actum have 119 bytes, or 290 with a passphrase.
const PEM_BYTES_MAX: usize = 4096;

/// Protection of a private key against use by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// A passphrase, which has to be entered for every use.
    Passphrase,
    /// Only the permissions of the key file.
    FilePermissions,
}

/// New private key that has not been written to a file yet.
pub(super) struct NewKey {
    key: SigningKey,
    text: Zeroizing<String>,
}

impl NewKey {
    /// Generates a private key. With a passphrase this takes about 100 ms, so no lock should be held in the meantime.
    pub(super) fn generate(
        role: KeyRole,
        passphrase: Option<&Passphrase>,
    ) -> Result<Self, KeyError> {
        if passphrase.is_some() && !may_wait(role) {
            return Err(KeyError::Unattended { role });
        }
        if passphrase.is_some_and(|passphrase| !passphrase.is_long_enough()) {
            return Err(KeyError::ShortPassphrase);
        }
        let random = || random().map_err(|source| KeyError::NoRandomness { source });
        let seed = random()?;
        let text = match passphrase {
            Some(passphrase) => sealed::write(&seed, passphrase, &*random()?),
            None => pem::write(&seed),
        };
        let text = text.ok_or(KeyError::Unwritable { what: "key" })?;
        let key = ed25519_dalek::SigningKey::from_bytes(&seed);
        Ok(Self { key: SigningKey::new(role, key), text })
    }

    /// Writes the key durably to its file, and returns its entry for the keyring.
    pub(super) fn store(
        self,
        directory: &Directory,
        now: Timestamp,
        admission: Admission,
    ) -> Result<KeyEntry, KeyError> {
        let Self { key, text } = self;
        let keys = directory.directory_made(key.role().as_str())?;
        keys.create(&file_name(&key.id), text.as_bytes())?;
        keys.sync()?;
        directory.sync()?;
        Ok(KeyEntry {
            id: key.key_id(),
            role: key.role(),
            public: key.public_key(),
            not_before: admission.not_before(now),
            not_after: None,
            revoked: None,
            unproven: admission == Admission::AfterWait,
        })
    }
}

/// Returns whether a key of the role may have a passphrase, because the operator is present whenever it signs. Keys of
/// the other roles sign without user interaction.
pub(super) fn may_wait(role: KeyRole) -> bool {
    match role {
        KeyRole::Approval | KeyRole::Lease | KeyRole::Host => true,
        KeyRole::Result | KeyRole::Checkpoint => false,
    }
}

/// Reads a private key. A passphrase must be given if the key has one, and must not be given otherwise.
pub(super) fn read(
    directory: &Directory,
    entry: &KeyEntry,
    passphrase: Option<&Passphrase>,
) -> Result<SigningKey, KeyError> {
    let content = content(directory, entry)?;
    let KeyEntry { id, role, .. } = entry.clone();
    let path = directory.path().join(role.as_str()).join(file_name(&id));
    let key = match (content, passphrase) {
        (Content::Open(key), None) => key,
        (Content::Open(_), Some(_)) => return Err(KeyError::Unprotected { role, id, path }),
        (Content::Sealed(_), None) => return Err(KeyError::Locked { role, id, path }),
        (Content::Sealed(sealed), Some(passphrase)) => match sealed.open(passphrase) {
            Some(key) => key,
            None => return Err(KeyError::WrongPassphrase { role, id, path }),
        },
    };
    let key = SigningKey::new(role, key);
    if key.public_key() != entry.public {
        return Err(KeyError::OtherKey { role, id, path });
    }
    Ok(key)
}

/// Reads a private key like [`read`], but returns `None` if the key is missing, damaged or locked. A wrong passphrase is
/// still an error.
pub(super) fn read_last(
    directory: &Directory,
    entry: &KeyEntry,
    passphrase: Option<&Passphrase>,
) -> Result<Option<SigningKey>, KeyError> {
    match read(directory, entry, passphrase) {
        Ok(key) => Ok(Some(key)),
        Err(
            KeyError::NoFile { .. }
            | KeyError::Malformed { .. }
            | KeyError::OtherKey { .. }
            | KeyError::OtherProtection { .. }
            | KeyError::Locked { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns how a key file is protected.
pub(super) fn protection(directory: &Directory, entry: &KeyEntry) -> Result<Protection, KeyError> {
    content(directory, entry).map(|content| match content {
        Content::Open(_) => Protection::FilePermissions,
        Content::Sealed(_) => Protection::Passphrase,
    })
}

fn content(directory: &Directory, entry: &KeyEntry) -> Result<Content, KeyError> {
    let KeyEntry { id, role, .. } = entry.clone();
    let name = file_name(&id);
    let path = directory.path().join(role.as_str()).join(&name);
    let text = match directory.directory(role.as_str())? {
        Some(keys) => keys.read(&name, PEM_BYTES_MAX)?,
        None => None,
    };
    match text.as_deref().map(|text| pem::read(text)) {
        Some(Ok(content)) => Ok(content),
        Some(Err(Unreadable::Malformed)) => Err(KeyError::Malformed { role, path }),
        Some(Err(Unreadable::Scheme)) => Err(KeyError::OtherProtection { role, path }),
        None => Err(KeyError::NoFile { role, id, path }),
    }
}

fn file_name(id: &KeyId) -> String {
    format!("{id}.pem")
}
