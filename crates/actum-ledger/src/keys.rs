//! Private keys of an installation, and the keyring that lists them.
//!
//! ```text
//! HOME/keys/keyring.json     the public keys, what each signs and when (actum.keyring/1)
//! HOME/keys/ROLE/KEYID.pem   the private keys (PKCS#8), none of which is ever removed
//! ```
//!
//! A key is durable before the keyring names it, and the keyring before anything is signed. So the
//! keyring names every key that ever signed something, also after a power cut. A private key that
//! no keyring names signed nothing: its process was killed while it made the key.
//!
//! The approval key may be under a passphrase. All others sign unattended, so any process that can
//! read their files can use them. A new approval key that the passphrase of its predecessor did not
//! vouch for counts only after a day ([`Admission::AfterWait`]), in which it can be denied.

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

/// Roles that have a key from the beginning.
const ROLES: [KeyRole; 2] = [KeyRole::Result, KeyRole::Checkpoint];

/// Margin of an hour, in microseconds, by which a key also counts before and after its time. Runs
/// that are under way can end in it, and a correction of the clock does no harm.
pub const LEEWAY_MICROS: i64 = 3_600_000_000;

/// Waiting time of a new approval key that neither its predecessor nor a fresh installation vouches
/// for, in microseconds: a day, in which the operator can deny it.
pub const WAIT_MICROS: i64 = 24 * LEEWAY_MICROS;

/// Time at which a new key begins to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// Immediately, with [`LEEWAY_MICROS`] before for clocks that are set back.
    AtOnce,
    /// After [`WAIT_MICROS`], unless it is denied before ([`Keys::deny`]).
    AfterWait,
}

/// The keys of an installation. Private keys are read when they are asked for.
#[derive(Debug)]
pub struct Keys {
    home: LedgerHome,
    keyring: Keyring,
}

/// A private key in memory, wiped when its last copy goes.
#[derive(Clone)]
pub struct SigningKey {
    role: KeyRole,
    id: KeyId,
    key: Arc<ed25519_dalek::SigningKey>,
}

/// Compiles only while the key is wiped from memory when it is dropped.
const _: fn() = || {
    const fn wiped_when_dropped<T: zeroize::ZeroizeOnDrop>() {}
    wiped_when_dropped::<ed25519_dalek::SigningKey>();
};

/// The passphrases of a change of keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passphrases<'p> {
    /// Passphrase of the old key. Without it a passphrase-protected key cannot sign its own
    /// retirement.
    pub old: Option<&'p Passphrase>,
    /// Passphrase of the new key; without one only its permissions protect its file.
    pub new: Option<&'p Passphrase>,
}

/// Change of keys that a ledger must record.
#[derive(Debug)]
#[must_use]
pub struct Rotated {
    /// The key that signed until now.
    pub old: KeyId,
    /// Private half of the retired key, to sign its own retirement. `None` if the file is missing
    /// or locked, or if signatures of the key no longer count.
    pub signer: Option<SigningKey>,
    /// The key that signs from now on.
    pub new: KeyEntry,
    /// Reason why the change may not survive a power cut.
    pub unsynced: Option<HomeError>,
}

impl Keys {
    /// Opens the keys. In a home without keys, one is made for results and one for checkpoints; of
    /// several processes at once, only one makes them.
    ///
    /// # Errors
    /// [`KeyError`]. An unusable private key is reported by [`Keys::signer`].
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

    /// Opens the keys for reading: nothing is made, and a home without keys is `None`.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn open_existing(home: &LedgerHome) -> Result<Option<Self>, KeyError> {
        let Some(directory) = home.root().directory(DIRECTORY)? else { return Ok(None) };
        let keyring = read_keyring(&directory)?;
        Ok(Some(Self { home: home.clone(), keyring }))
    }

    /// Home that the keys are in.
    pub fn home(&self) -> &LedgerHome {
        &self.home
    }

    /// The public keys, as they were when they were opened or last changed from here.
    pub fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Returns the key that signs for a role at this moment: the newest that the keyring on the
    /// disk has, which may be newer than [`Keys::keyring`].
    ///
    /// # Errors
    /// [`KeyError`]: the key is missing or not sound, or it does not count at `now`, or it is
    /// protected by a passphrase.
    pub fn signer(&self, role: KeyRole, now: Timestamp) -> Result<SigningKey, KeyError> {
        let _settled = self.home.settled()?;
        self.usable(role, now, None)
    }

    /// Returns the signer of a passphrase-protected key. It takes about 100 ms.
    ///
    /// # Errors
    /// As [`Keys::signer`]; also if the passphrase is wrong, and if the key is not protected by
    /// one.
    pub fn unlock(
        &self,
        role: KeyRole,
        now: Timestamp,
        passphrase: &Passphrase,
    ) -> Result<SigningKey, KeyError> {
        let _settled = self.home.settled()?;
        self.usable(role, now, Some(passphrase))
    }

    /// Checks that a role has a usable key, without making or writing anything. A
    /// passphrase-protected key passes, since only the passphrase can show whether it opens.
    ///
    /// # Errors
    /// As [`Keys::signer`].
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

    /// Protection of the current key of a role, as its file says.
    ///
    /// # Errors
    /// [`KeyError`]: the key is missing, or it still waits, or its file is no key.
    pub fn protection(&self, role: KeyRole, now: Timestamp) -> Result<Protection, KeyError> {
        let directory = self.directory()?;
        let entry = current(&read_keyring(&directory)?, &directory, role, now)?;
        private::protection(&directory, &entry)
    }

    /// Returns true if the private half of a key is present, sound and without a passphrase. Keys
    /// that were rotated out count: they were made here.
    ///
    /// # Errors
    /// [`KeyError`] if the directory of keys cannot be used.
    pub fn holds(&self, id: &KeyId) -> Result<bool, KeyError> {
        let Some(entry) = self.keyring.keys().iter().find(|key| key.id == *id) else {
            return Ok(false);
        };
        let key = private::read_last(&self.directory()?, entry, None)?;
        Ok(key.is_some_and(|key| key.key_id() == *id))
    }

    /// Protection of any key of the keyring.
    ///
    /// # Errors
    /// As [`Keys::protection`].
    pub fn protection_of(&self, key: &KeyEntry) -> Result<Protection, KeyError> {
        private::protection(&self.directory()?, key)
    }

    /// Makes the first key of a role. A process that is killed meanwhile leaves either the old
    /// state or the new one.
    ///
    /// # Errors
    /// [`KeyError`]: the role has a key, or the passphrase is too short or not for this role.
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

    /// Makes a new key for a role, which replaces the newest one. The old one counts a little
    /// longer, for runs that are under way; its signatures stay valid.
    ///
    /// A process that is killed meanwhile leaves either the old state or the new one. The caller
    /// records the change in the ledger.
    ///
    /// # Errors
    /// [`KeyError`]: the clock is before the time of the old key, or others may reach its file, or
    /// the passphrase is wrong; as with [`Keys::make`], if the role has no key.
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
            // Any process of this user can open a key without a passphrase, so such a key vouches for nothing.
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

    /// Denies the key of a role that waits to be admitted: it never counts, and its predecessor
    /// stays in force. Returns the denied key.
    ///
    /// # Errors
    /// [`KeyError::NoneWaiting`]; others if the keyring cannot be read or written.
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

    /// Path of the keyring.
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

    /// Lends the secret of a lease key; `None` for a key of any other role.
    ///
    /// Biscuit signs a block with a key of its own type, which is made from the secret, so a
    /// [`Signer`] is not enough to grant a lease. Nothing else needs a secret, and no other role
    /// gives its own away.
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
    /// Prints the name alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({} {})", self.role, self.id)
    }
}

/// Makes the first keys, which appear all at once.
fn make(root: &Directory, now: Timestamp) -> Result<(), KeyError> {
    clear(root)?;
    let directory = root.directory_made(KEYS_NEW)?;
    let store = |role| NewKey::generate(role, None)?.store(&directory, now, Admission::AtOnce);
    let keys = ROLES.map(store);
    let keyring = Keyring::new(keys.into_iter().collect::<Result<_, _>>()?);
    directory.replace(KEYRING, &written(&keyring)?)?;
    Ok(root.rename(KEYS_NEW, DIRECTORY)?)
}

/// Removes unfinished keys of a killed process: no keyring names them.
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

/// Time until which the predecessor of `new` counts, for runs that are under way.
fn end_of_predecessor(new: &KeyEntry, now: Timestamp) -> Timestamp {
    let replaced = new.not_before.max(now);
    Timestamp::from_micros(replaced.micros().saturating_add(LEEWAY_MICROS))
}

/// Rejects work on a role while a new key of that role waits to be admitted.
fn check_not_waiting(keyring: &Keyring, role: KeyRole, now: Timestamp) -> Result<(), KeyError> {
    match keyring.waiting(role, now) {
        None => Ok(()),
        Some(KeyEntry { id, not_before, .. }) => {
            Err(KeyError::Waiting { role, id: id.clone(), from: *not_before })
        }
    }
}

/// Refuses one more key if the keyring is full.
fn check_room(keyring: &Keyring, directory: &Directory) -> Result<(), KeyError> {
    if keyring.keys().len() < KEYS_MAX {
        return Ok(());
    }
    Err(KeyError::TooMany { path: directory.path().join(KEYRING) })
}

/// Checks that a key counts now.
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
        // It was found by its role.
        Err(KeyProblem::Unknown { .. } | KeyProblem::OtherRole { .. }) => {
            Err(KeyError::NoKey { role, path: directory.path().join(KEYRING) })
        }
    }
}
