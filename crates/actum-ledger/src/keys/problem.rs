//! Why there is no key to sign with, and what to do about it.

use std::io;
use std::path::PathBuf;

use actum_core::Timestamp;
use actum_record::keyring::{KEYS_MAX, KeyringError};
use actum_record::signer::{KeyId, KeyRole};

use super::passphrase::PASSPHRASE_CHARACTERS_MIN;
use crate::home::{HomeError, Shown};

/// Why there is no key to sign with.
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
    /// Keys are there, and what tells of them is not.
    #[error(
        "the keyring `{}` is missing, and the keys beside it cannot be told from others without it; \
         put it back from a backup or from what `actum key export` wrote",
        Shown(path)
    )]
    NoKeyring {
        /// Where it should be.
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
        /// What is wrong with it.
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
    /// There is a key, and it would not sign any more.
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
        /// When it begins to count.
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
        /// Where it should be.
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
        "cannot use `{}`: it is not the {role} key `{id}` that the keyring tells of; put that back \
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
    /// The file is protected in a way that is not ours.
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
    /// The key must sign while nobody is there to give a passphrase.
    #[error("cannot protect a {role} key by a passphrase: it signs while nobody is there")]
    Unattended {
        /// Its role.
        role: KeyRole,
    },
    /// It could be guessed.
    #[error(
        "cannot make a key: the passphrase has fewer than {PASSPHRASE_CHARACTERS_MIN} characters"
    )]
    ShortPassphrase,
    /// The clock stands before the key was made.
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
        /// What the clock says.
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
        /// What the clock says.
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
        /// Why.
        source: io::Error,
    },
    /// It has no text.
    #[error("cannot make a key: the {what} cannot be written down")]
    Unwritable {
        /// What.
        what: &'static str,
    },
}
