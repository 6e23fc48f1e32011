//! Private keys of an installation, and the keyring that lists their public keys.
//!
//! ```text
//! HOME/keys/keyring.json     public keys, with their roles and validity periods (actum.keyring/1)
//! HOME/keys/ROLE/KEYID.pem   private keys (PKCS#8), which are never removed
//! ```
//!
//! A private key is made durable before the keyring lists it, and the keyring before anything is signed with the key. Even
//! after a power cut, the keyring therefore lists every key that has ever signed something. A private key that is not in
//! the keyring has signed nothing, because the process that made it was killed before it finished.
//!
//! Keys of the operator, such as the approval key, may have a passphrase. The other keys sign without user interaction, so
//! any process that can read their files can use them. If a new approval key is made without the passphrase of its
//! predecessor, it becomes valid only after a day ([`Admission::AfterWait`]), during which the operator can deny it.

mod passphrase;
mod pem;
mod private;
mod problem;
mod sealed;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use actum_core::Timestamp;
use actum_record::keyring::{
    KEYRING_BYTES_MAX, KEYRING_FILE as KEYRING, KEYS_DIRECTORY as DIRECTORY, KEYS_MAX, KeyEntry,
    KeyProblem, Keyring,
};
use actum_record::signer::{KeyId, KeyRole, PublicKey, SignError, Signature, Signer};
use ed25519_dalek::Signer as _;

use crate::home::{Directory, HomeError, KEYS_NEW, LedgerHome};
pub use passphrase::{
    PASSPHRASE_BYTES_MAX, PASSPHRASE_CHARACTERS_MIN, Passphrase, PassphraseError,
};
pub use pem::{is_public as is_public_pem, public as public_pem};
use private::NewKey;
pub use private::Protection;
pub use problem::KeyError;

/// Roles for which every installation has a key from the beginning.
const ROLES: [KeyRole; 2] = [KeyRole::Result, KeyRole::Checkpoint];

/// Margin of one hour, in microseconds, by which the validity period of a key is extended at both ends. It allows runs in
/// progress to end with the old key, and tolerates corrections of the clock.
pub const LEEWAY_MICROS: i64 = 3_600_000_000;

/// Waiting period of one day, in microseconds, before a new key becomes valid that was made neither with the passphrase of
/// its predecessor nor in a fresh installation. The operator can deny the key during this time.
pub const WAIT_MICROS: i64 = 24 * LEEWAY_MICROS;

/// Time from which a new key is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The key is valid immediately, and for [`LEEWAY_MICROS`] before that in case the clock is set back.
    AtOnce,
    /// The key becomes valid after [`WAIT_MICROS`], unless it is denied before ([`Keys::deny`]).
    AfterWait,
}

/// Keys of an installation. Private keys are read from their files only when they are needed.
#[derive(Debug)]
pub struct Keys {
    home: LedgerHome,
    keyring: Keyring,
}

/// Private key in memory, which is wiped when its last clone is dropped.
#[derive(Clone)]
pub struct SigningKey {
    role: KeyRole,
    id: KeyId,
    key: Arc<ed25519_dalek::SigningKey>,
}

/// Compile-time check that a signing key is wiped from memory when it is dropped.
const _: fn() = || {
    const fn wiped_when_dropped<T: zeroize::ZeroizeOnDrop>() {}
    wiped_when_dropped::<ed25519_dalek::SigningKey>();
};

/// Passphrases for a key rotation.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passphrases<'p> {
    /// Passphrase of the old key. Without it, a passphrase-protected key cannot sign its own retirement.
    pub old: Option<&'p Passphrase>,
    /// Passphrase for the new key. Without one, the key is only protected by the permissions of its file.
    pub new: Option<&'p Passphrase>,
}

/// Completed key rotation, which the caller must record in every ledger.
#[derive(Debug)]
#[must_use]
pub struct Rotated {
    /// Id of the key that was replaced.
    pub old: KeyId,
    /// Private key that was replaced, with which its retirement can be signed. `None` if the key is missing, locked or no
    /// longer valid, or if no passphrase proved that the operator requested the rotation.
    pub signer: Option<SigningKey>,
    /// Key that is used from now on.
    pub new: KeyEntry,
    /// Error of the final sync, because of which the rotation may be lost in a power cut.
    pub unsynced: Option<HomeError>,
}

impl Keys {
    /// Opens the keys of a home. If there are none, makes a key for results and one for checkpoints.
    ///
    /// If several processes do this concurrently, only one of them makes the keys.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the keyring cannot be used or the keys cannot be made. Unusable private keys are not
    /// detected here, but by [`Keys::signer`].
    pub fn open(home: &LedgerHome, now: Timestamp) -> Result<Self, KeyError> {
        drop(home.settled()?);
        if let Some(keys) = Self::open_existing(home)? {
            return Ok(keys);
        }
        home.change(|root| match root.directory(DIRECTORY)? {
            Some(_) => Ok(()),
            None => make(root, now),
        })?;
        Self::open_existing(home)?.ok_or_else(|| KeyError::Gone { home: home.path().to_owned() })
    }

    /// Opens the existing keys of a home, without making any. Returns `None` if there are none.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the keyring cannot be used.
    pub fn open_existing(home: &LedgerHome) -> Result<Option<Self>, KeyError> {
        let Some(directory) = home.root().directory(DIRECTORY)? else { return Ok(None) };
        let keyring = read_keyring(&directory)?;
        Ok(Some(Self { home: home.clone(), keyring }))
    }

    /// Returns the home that contains the keys.
    pub fn home(&self) -> &LedgerHome {
        &self.home
    }

    /// Returns the keyring as it was when it was opened or last changed through this value.
    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Returns the current private key for a role, according to the keyring on disk, which may be newer than
    /// [`Keys::keyring`].
    ///
    /// # Errors
    /// Returns [`KeyError`] if the key is missing, damaged, not valid at `now` or protected by a passphrase.
    pub fn signer(&self, role: KeyRole, now: Timestamp) -> Result<SigningKey, KeyError> {
        let _settled = self.home.settled()?;
        self.usable(role, now, None)
    }

    /// Returns the current private key for a role if it is protected by a passphrase. Decrypting it takes about 100 ms.
    ///
    /// # Errors
    /// Returns [`KeyError`] in the same cases as [`Keys::signer`], and also if the passphrase is wrong or if the key is not
    /// protected by one.
    pub fn unlock(
        &self,
        role: KeyRole,
        now: Timestamp,
        passphrase: &Passphrase,
    ) -> Result<SigningKey, KeyError> {
        let _settled = self.home.settled()?;
        self.usable(role, now, Some(passphrase))
    }

    /// Checks that a role has a usable key, without writing anything.
    ///
    /// A passphrase-protected key of the operator passes the check, because it cannot be decrypted without the passphrase.
    ///
    /// # Errors
    /// Returns [`KeyError`] in the same cases as [`Keys::signer`].
    pub fn check(&self, role: KeyRole, now: Timestamp) -> Result<(), KeyError> {
        match self.usable(role, now, None) {
            Err(KeyError::Locked { role, .. }) if private::may_wait(role) => Ok(()),
            usable => usable.map(drop),
        }
    }

    fn usable(
        &self,
        role: KeyRole,
        now: Timestamp,
        passphrase: Option<&Passphrase>,
    ) -> Result<SigningKey, KeyError> {
        let directory = self.directory()?;
        let entry = current(&read_keyring(&directory)?, &directory, role, now)?;
        check(&entry, &directory, now)?;
        private::read(&directory, &entry, passphrase)
    }

    /// Returns how the file of the current key for a role is protected.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the key is missing, is still waiting to be admitted, or if its file is not a valid key.
    pub fn protection(&self, role: KeyRole, now: Timestamp) -> Result<Protection, KeyError> {
        let directory = self.directory()?;
        let entry = current(&read_keyring(&directory)?, &directory, role, now)?;
        private::protection(&directory, &entry)
    }

    /// Returns whether the private key with this id is present, undamaged and without a passphrase. This includes keys that
    /// have been replaced, because they were made in this installation, too.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the directory of keys cannot be used.
    pub fn holds(&self, id: &KeyId) -> Result<bool, KeyError> {
        let Some(entry) = self.keyring.keys().iter().find(|key| key.id == *id) else {
            return Ok(false);
        };
        let key = private::read_last(&self.directory()?, entry, None)?;
        Ok(key.is_some_and(|key| key.key_id() == *id))
    }

    /// Returns how the file of any key in the keyring is protected.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the key file is missing or is not a valid key.
    pub fn protection_of(&self, key: &KeyEntry) -> Result<Protection, KeyError> {
        private::protection(&self.directory()?, key)
    }

    /// Makes the first key for a role. If the process is killed in the meantime, either the old or the new state is left.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the role already has a key, if the passphrase is too short, or if keys for this role must
    /// not have a passphrase.
    pub fn make(
        &mut self,
        role: KeyRole,
        now: Timestamp,
        passphrase: Option<&Passphrase>,
        admission: Admission,
    ) -> Result<KeyEntry, KeyError> {
        let made = NewKey::generate(role, passphrase)?;
        let (new, keyring) = self.home.change(|_| {
            let directory = self.directory()?;
            let keyring = read_keyring(&directory)?;
            if let Some(KeyEntry { id, .. }) = keyring.current(role, now) {
                return Err(KeyError::Exists { role, id: id.clone() });
            }
            check_not_waiting(&keyring, role, now)?;
            check_room(&keyring, &directory)?;
            let new = made.store(&directory, now, admission)?;
            let keyring = Keyring::new([keyring.keys(), std::slice::from_ref(&new)].concat());
            directory.replace(KEYRING, &written(&keyring)?)?;
            Ok((new, keyring))
        })?;
        self.keyring = keyring;
        Ok(new)
    }

    /// Makes a new key for a role, which replaces the current one.
    ///
    /// The old key stays valid for [`LEEWAY_MICROS`], so that runs in progress can end. Its signatures remain valid. If the
    /// process is killed in the meantime, either the old or the new state is left. The caller must record the rotation in
    /// the ledgers.
    ///
    /// # Errors
    /// Returns [`KeyError`] if the role has no key, if the old key is not valid yet, or if other users have access to its
    /// file. It is also returned if a passphrase is wrong, too short, or not allowed for this role.
    pub fn rotate(
        &mut self,
        role: KeyRole,
        now: Timestamp,
        passphrases: Passphrases<'_>,
    ) -> Result<Rotated, KeyError> {
        let made = NewKey::generate(role, passphrases.new)?;
        let ((rotated, keyring), unsynced) = self.home.change_and_sync(|_| {
            let directory = self.directory()?;
            let keyring = read_keyring(&directory)?;
            check_not_waiting(&keyring, role, now)?;
            let old = current(&keyring, &directory, role, now)?;
            let signer = match check(&old, &directory, now) {
                Ok(()) => private::read_last(&directory, &old, passphrases.old)?,
                Err(KeyError::Expired { .. } | KeyError::Revoked { .. }) => None,
                Err(error) => return Err(error),
            };
            check_room(&keyring, &directory)?;
            // Any process of this user can read a key without a passphrase, so such a key does not prove that the operator
            // requested the rotation.
            let is_proven =
                !private::may_wait(role) || (signer.is_some() && passphrases.old.is_some());
            let admission = if is_proven { Admission::AtOnce } else { Admission::AfterWait };
            let signer = signer.filter(|_| is_proven);
            let mut new = made.store(&directory, now, admission)?;
            new.unproven |= old.unproven;
            let until = end_of_predecessor(&new, now);
            let mut keys = keyring.keys().to_vec();
            for key in keys.iter_mut().filter(|key| key.id == old.id) {
                key.not_after = Some(key.not_after.map_or(until, |earlier| earlier.min(until)));
            }
            keys.push(new.clone());
            let keyring = Keyring::new(keys);
            directory.replace(KEYRING, &written(&keyring)?)?;
            Ok::<_, KeyError>(((old.id, signer, new), keyring))
        })?;
        self.keyring = keyring;
        let (old, signer, new) = rotated;
        Ok(Rotated { old, signer, new, unsynced })
    }

    /// Denies the key for a role that is waiting to be admitted, and returns it.
    ///
    /// The denied key never becomes valid, and its predecessor stays in use.
    ///
    /// # Errors
    /// Returns [`KeyError::NoneWaiting`] if no key is waiting, or another error if the keyring cannot be read or written.
    pub fn deny(&mut self, role: KeyRole, now: Timestamp) -> Result<KeyEntry, KeyError> {
        let (denied, keyring) = self.home.change(|_| {
            let directory = self.directory()?;
            let keyring = read_keyring(&directory)?;
            let waiting = keyring.waiting(role, now).cloned();
            let waiting = waiting.ok_or(KeyError::NoneWaiting { role })?;
            let until = end_of_predecessor(&waiting, now);
            let mut keys = keyring.keys().to_vec();
            for key in keys.iter_mut().filter(|key| key.role == role) {
                if key.id == waiting.id {
                    key.revoked = Some(now);
                } else if key.not_after == Some(until) {
                    key.not_after = None;
                }
            }
            let keyring = Keyring::new(keys);
            directory.replace(KEYRING, &written(&keyring)?)?;
            Ok::<_, KeyError>((waiting, keyring))
        })?;
        self.keyring = keyring;
        Ok(denied)
    }

    /// Returns the path of the keyring.
    pub fn keyring_path(&self) -> PathBuf {
        self.home.path().join(DIRECTORY).join(KEYRING)
    }

    fn directory(&self) -> Result<Directory, KeyError> {
        let gone = || KeyError::Gone { home: self.home.path().to_owned() };
        self.home.root().directory(DIRECTORY)?.ok_or_else(gone)
    }
}

impl Admission {
    fn not_before(self, now: Timestamp) -> Timestamp {
        match self {
            Self::AtOnce => Timestamp::from_micros(now.micros().saturating_sub(LEEWAY_MICROS)),
            Self::AfterWait => Timestamp::from_micros(now.micros().saturating_add(WAIT_MICROS)),
        }
    }
}

impl SigningKey {
    fn new(role: KeyRole, key: ed25519_dalek::SigningKey) -> Self {
        let id = KeyId::new(role, &PublicKey(key.verifying_key().to_bytes()));
        Self { role, id, key: Arc::new(key) }
    }

    /// Calls a function with the secret bytes of a lease key. Returns `None` for keys of all other roles.
    ///
    /// Biscuit signs blocks with its own key type, which has to be created from the secret, so a [`Signer`] is not
    /// sufficient for granting a lease. Nothing else needs access to a secret, so keys of other roles never reveal theirs.
    pub fn with_secret<T>(&self, use_secret: impl FnOnce(&[u8; 32]) -> T) -> Option<T> {
        match self.role {
            KeyRole::Lease => Some(use_secret(self.key.as_bytes())),
            KeyRole::Result | KeyRole::Checkpoint | KeyRole::Approval | KeyRole::Host => None,
        }
    }
}

impl Signer for SigningKey {
    fn role(&self) -> KeyRole {
        self.role
    }

    fn public_key(&self) -> PublicKey {
        PublicKey(self.key.verifying_key().to_bytes())
    }

    fn sign(&self, message: &[u8]) -> Result<Signature, SignError> {
        Ok(Signature(self.key.sign(message).to_bytes()))
    }

    fn key_id(&self) -> KeyId {
        self.id.clone()
    }
}

impl fmt::Debug for SigningKey {
    /// Prints only the role and the id, so that the secret cannot leak into logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({} {})", self.role, self.id)
    }
}

/// Makes the first keys of an installation, and moves them into place atomically.
fn make(root: &Directory, now: Timestamp) -> Result<(), KeyError> {
    clear(root)?;
    let directory = root.directory_made(KEYS_NEW)?;
    let store = |role| NewKey::generate(role, None)?.store(&directory, now, Admission::AtOnce);
    let keys = ROLES.map(store);
    let keyring = Keyring::new(keys.into_iter().collect::<Result<_, _>>()?);
    directory.replace(KEYRING, &written(&keyring)?)?;
    Ok(root.rename(KEYS_NEW, DIRECTORY)?)
}

/// Removes unfinished keys that a killed process left behind. No keyring lists them.
fn clear(root: &Directory) -> Result<(), HomeError> {
    let Some(directory) = root.directory(KEYS_NEW)? else { return Ok(()) };
    for role in KeyRole::ALL {
        if let Some(keys) = directory.directory(role.as_str())? {
            keys.names()?.iter().try_for_each(|name| keys.remove(name))?;
            directory.remove_directory(role.as_str())?;
        }
    }
    directory.names()?.iter().try_for_each(|name| directory.remove(name))?;
    root.remove_directory(KEYS_NEW)
}

fn read_keyring(directory: &Directory) -> Result<Keyring, KeyError> {
    let path = || directory.path().join(KEYRING);
    let bytes = directory.read(KEYRING, KEYRING_BYTES_MAX)?;
    let bytes = bytes.ok_or_else(|| KeyError::NoKeyring { path: path() })?;
    Keyring::read(&bytes).map_err(|source| KeyError::Keyring { path: path(), source })
}

fn written(keyring: &Keyring) -> Result<Vec<u8>, KeyError> {
    keyring.to_vec().map_err(|_| KeyError::Unwritable { what: "keyring" })
}

fn current(
    keyring: &Keyring,
    directory: &Directory,
    role: KeyRole,
    now: Timestamp,
) -> Result<KeyEntry, KeyError> {
    if let Some(current) = keyring.current(role, now) {
        return Ok(current.clone());
    }
    check_not_waiting(keyring, role, now)?;
    Err(KeyError::NoKey { role, path: directory.path().join(KEYRING) })
}

/// Returns the time until which the predecessor of `new` stays valid, so that runs in progress can end.
fn end_of_predecessor(new: &KeyEntry, now: Timestamp) -> Timestamp {
    let replaced = new.not_before.max(now);
    Timestamp::from_micros(replaced.micros().saturating_add(LEEWAY_MICROS))
}

/// Returns an error if a new key for the role is waiting to be admitted.
fn check_not_waiting(keyring: &Keyring, role: KeyRole, now: Timestamp) -> Result<(), KeyError> {
    match keyring.waiting(role, now) {
        None => Ok(()),
        Some(KeyEntry { id, not_before, .. }) => {
            Err(KeyError::Waiting { role, id: id.clone(), from: *not_before })
        }
    }
}

/// Returns an error if the keyring has no room for another key.
fn check_room(keyring: &Keyring, directory: &Directory) -> Result<(), KeyError> {
    if keyring.keys().len() < KEYS_MAX {
        return Ok(());
    }
    Err(KeyError::TooMany { path: directory.path().join(KEYRING) })
}

/// Checks that a key is valid at `now`.
fn check(key: &KeyEntry, directory: &Directory, now: Timestamp) -> Result<(), KeyError> {
    let role = key.role;
    match key.check(role, now) {
        Ok(()) => Ok(()),
        Err(KeyProblem::TooEarly { id, from, .. }) => {
            Err(KeyError::TooEarly { role, id, from, now })
        }
        Err(KeyProblem::Expired { id, until, .. }) => {
            Err(KeyError::Expired { role, id, until, now })
        }
        Err(KeyProblem::Revoked { id, since }) => Err(KeyError::Revoked { role, id, since }),
        // The key was looked up by its role, so these cases do not occur.
        Err(KeyProblem::Unknown { .. } | KeyProblem::OtherRole { .. }) => {
            Err(KeyError::NoKey { role, path: directory.path().join(KEYRING) })
        }
    }
}
