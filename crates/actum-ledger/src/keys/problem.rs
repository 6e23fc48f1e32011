//! Reasons why no key can sign, with remedies.

use std::io;
use std::path::PathBuf;

use actum_core::Timestamp;
use actum_record::keyring::{KEYS_MAX, KeyringError};
use actum_record::signer::{KeyId, KeyRole};

use super::passphrase::PASSPHRASE_CHARACTERS_MIN;
use crate::home::{HomeError, Shown};

/// Reason why no key can sign.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The home, or a file in it, is not as it should be.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The keys went away while they were in use.
    #[error("the keys in `{}` are gone; put them back from a backup", Shown(home))]
    Gone {
        /// The home.
        home: PathBuf,
    },
    /// Keys exist, but the keyring that lists them is missing.
    #[error(
        "the keyring `{}` is missing, and the keys beside it cannot be distinguished from others without it; \
         put it back from a backup or from what `actum key export` wrote",
        Shown(path)
    )]
    NoKeyring {
        /// Expected path of the keyring.
        path: PathBuf,
    },
    /// The keyring cannot be believed.
    #[error(
        "cannot use the keyring `{}`: {source}; put it back from a backup or from what `actum key \
         export` wrote",
        Shown(path)
    )]
    Keyring {
        /// The keyring.
        path: PathBuf,
        /// Error in the keyring.
        source: KeyringError,
    },
    /// The keyring has no key of the role.
    #[error(
        "no key of the keyring `{}` signs for the role `{role}`; make one with `actum key make {role}`",
        Shown(path)
    )]
    NoKey {
        /// The role.
        role: KeyRole,
        /// The keyring.
        path: PathBuf,
    },
    /// A key that no longer signs is present.
    #[error(
        "the {role} key `{id}` is there already; `actum key rotate {role}` makes one that takes its \
         place"
    )]
    Exists {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
    },
    /// A new key of the role waits to be admitted.
    #[error(
        "the new {role} key `{id}` counts from {from} on, because no passphrase of an earlier one vouched for it; \
         `actum key deny {role}` rejects it"
    )]
    Waiting {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Time at which it begins to count.
        from: Timestamp,
    },
    /// No key of the role waits to be admitted.
    #[error("no {role} key waits to be admitted")]
    NoneWaiting {
        /// The role.
        role: KeyRole,
    },
    /// The keyring is full.
    #[error("the keyring `{}` has {KEYS_MAX} keys, and takes no more", Shown(path))]
    TooMany {
        /// The keyring.
        path: PathBuf,
    },
    /// The private key is gone.
    #[error(
        "the {role} key `{id}` is missing: there is no `{}`; put it back from a backup, or make a new \
         one with `actum key rotate {role}`",
        Shown(path)
    )]
    NoFile {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Expected path of the key.
        path: PathBuf,
    },
    /// The file is no private key.
    #[error(
        "cannot read the {role} key `{}`: it is no Ed25519 key in PEM (PKCS#8), or is damaged; put it \
         back from a backup, or make a new one with `actum key rotate {role}`",
        Shown(path)
    )]
    Malformed {
        /// Its role.
        role: KeyRole,
        /// The file.
        path: PathBuf,
    },
    /// The file is another key than the keyring says.
    #[error(
        "cannot use `{}`: it is not the {role} key `{id}` that the keyring names; put that back \
         from a backup, or make a new one with `actum key rotate {role}`",
        Shown(path)
    )]
    OtherKey {
        /// Its role.
        role: KeyRole,
        /// The name in the keyring.
        id: KeyId,
        /// The file.
        path: PathBuf,
    },
    /// The file is protected by another scheme than ours.
    #[error(
        "cannot use the {role} key `{}`: what protects it is not scrypt with AES-256-CBC, or costs more \
         than 256 MiB; protect it so, or put it back from a backup",
        Shown(path)
    )]
    OtherProtection {
        /// Its role.
        role: KeyRole,
        /// The file.
        path: PathBuf,
    },
    /// A passphrase protects the key, and none was given.
    #[error(
        "cannot use the {role} key `{id}`: `{}` is protected by a passphrase, and none was given",
        Shown(path)
    )]
    Locked {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Its file.
        path: PathBuf,
    },
    /// The passphrase is another one, or the file is damaged.
    #[error(
        "cannot open the {role} key `{id}`: the passphrase is wrong, or `{}` is damaged; if the passphrase is lost, \
         `actum key rotate {role} --old-passphrase-lost` makes a new key",
        Shown(path)
    )]
    WrongPassphrase {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Its file.
        path: PathBuf,
    },
    /// No passphrase protects the key, and one was given.
    #[error("cannot use the {role} key `{id}` with a passphrase: none protects `{}`", Shown(path))]
    Unprotected {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Its file.
        path: PathBuf,
    },
    /// The key must sign unattended, so no user can give a passphrase.
    #[error("cannot protect a {role} key by a passphrase: it signs while nobody is there")]
    Unattended {
        /// Its role.
        role: KeyRole,
    },
    /// The passphrase could be guessed.
    #[error(
        "cannot make a key: the passphrase has fewer than {PASSPHRASE_CHARACTERS_MIN} characters"
    )]
    ShortPassphrase,
    /// The clock is before the time at which the key was made.
    #[error(
        "the {role} key `{id}` counts from {from} on, and the clock says that it is {now}: set the \
         clock right"
    )]
    TooEarly {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Its beginning.
        from: Timestamp,
        /// Time of the clock.
        now: Timestamp,
    },
    /// The key counts no longer.
    #[error(
        "the {role} key `{id}` counted until {until}, and it is {now}: make a new one with `actum key \
         rotate {role}`"
    )]
    Expired {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Its end.
        until: Timestamp,
        /// Time of the clock.
        now: Timestamp,
    },
    /// The key is in other hands.
    #[error(
        "the {role} key `{id}` was revoked at {since}: make a new one with `actum key rotate {role}`"
    )]
    Revoked {
        /// Its role.
        role: KeyRole,
        /// Its name.
        id: KeyId,
        /// Since when that is known.
        since: Timestamp,
    },
    /// The kernel gave no random bytes.
    #[error("cannot make a key: the system gave no random bytes: {source}")]
    NoRandomness {
        /// Error of the system.
        source: io::Error,
    },
    /// The item has no text form.
    #[error("cannot make a key: the {what} cannot be written down")]
    Unwritable {
        /// Name of the item.
        what: &'static str,
    },
}
