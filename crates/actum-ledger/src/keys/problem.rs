//! Errors of signing keys, with suggestions on how to fix them.

use std::io;
use std::path::PathBuf;

use actum_core::Timestamp;
use actum_record::keyring::{KEYS_MAX, KeyringError};
use actum_record::signer::{KeyId, KeyRole};

use super::passphrase::PASSPHRASE_CHARACTERS_MIN;
use crate::home::{HomeError, Shown};

/// Reason why a signing key cannot be used, made or replaced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The home, or a file in it, cannot be used.
    #[error(transparent)]
    Home(#[from] HomeError),
    /// The keys were removed while they were in use.
    #[error("the keys in `{}` no longer exist; restore them from a backup", Shown(home))]
    Gone {
        /// Path of the home.
        home: PathBuf,
    },
    /// Keys exist, but the keyring that lists them is missing.
    #[error(
        "the keyring `{}` is missing, so the keys next to it cannot be identified; restore it from a backup or \
         from the output of `actum key export`",
        Shown(path)
    )]
    NoKeyring {
        /// Expected path of the keyring.
        path: PathBuf,
    },
    /// The keyring is invalid, so it cannot be trusted.
    #[error(
        "cannot use the keyring `{}`: {source}; restore it from a backup or from the output of `actum key \
         export`",
        Shown(path)
    )]
    Keyring {
        /// Path of the keyring.
        path: PathBuf,
        /// Error found while reading the keyring.
        source: KeyringError,
    },
    /// The keyring has no key for the role.
    #[error(
        "the keyring `{}` has no key for the role `{role}`; make one with `actum key make {role}`",
        Shown(path)
    )]
    NoKey {
        /// Role for which a key is required.
        role: KeyRole,
        /// Path of the keyring.
        path: PathBuf,
    },
    /// A first key cannot be made, because the role already has one.
    #[error("the {role} key `{id}` already exists; use `actum key rotate {role}` to replace it")]
    Exists {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
    },
    /// A new key for the role is still waiting to be admitted.
    #[error(
        "the new {role} key `{id}` is not valid before {from}, because it was made without the passphrase of an \
         earlier key; `actum key deny {role}` rejects it"
    )]
    Waiting {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Time from which the key is valid.
        from: Timestamp,
    },
    /// No key for the role is waiting to be admitted.
    #[error("no {role} key is waiting to be admitted")]
    NoneWaiting {
        /// Role of the key to be denied.
        role: KeyRole,
    },
    /// The keyring already has the maximum number of keys.
    #[error("the keyring `{}` already has the maximum of {KEYS_MAX} keys", Shown(path))]
    TooMany {
        /// Path of the keyring.
        path: PathBuf,
    },
    /// The private key file is missing.
    #[error(
        "the {role} key `{id}` is missing: `{}` does not exist; restore it from a backup, or make a new \
         one with `actum key rotate {role}`",
        Shown(path)
    )]
    NoFile {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Expected path of the key file.
        path: PathBuf,
    },
    /// The file does not contain a valid private key.
    #[error(
        "cannot read the {role} key `{}`: it is not a valid Ed25519 key in PEM format (PKCS#8); restore it \
         from a backup, or make a new one with `actum key rotate {role}`",
        Shown(path)
    )]
    Malformed {
        /// Role of the key.
        role: KeyRole,
        /// Path of the key file.
        path: PathBuf,
    },
    /// The file contains a different key from the one that the keyring lists.
    #[error(
        "cannot use `{}`: it is not the {role} key `{id}` that the keyring lists; restore that key from a \
         backup, or make a new one with `actum key rotate {role}`",
        Shown(path)
    )]
    OtherKey {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key in the keyring.
        id: KeyId,
        /// Path of the key file.
        path: PathBuf,
    },
    /// The key file is encrypted with an unsupported scheme or at too high a cost.
    #[error(
        "cannot use the {role} key `{}`: it must be encrypted with scrypt and AES-256-CBC, at a cost of at \
         most 256 MiB; encrypt it again, or restore it from a backup",
        Shown(path)
    )]
    OtherProtection {
        /// Role of the key.
        role: KeyRole,
        /// Path of the key file.
        path: PathBuf,
    },
    /// The key is protected by a passphrase, but none was given.
    #[error(
        "cannot use the {role} key `{id}`: `{}` is protected by a passphrase, but none was given",
        Shown(path)
    )]
    Locked {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Path of the key file.
        path: PathBuf,
    },
    /// The passphrase is wrong, or the key file is damaged. The two cases cannot be distinguished.
    #[error(
        "cannot unlock the {role} key `{id}`: the passphrase is wrong, or `{}` is damaged; if the passphrase is lost, \
         make a new key with `actum key rotate {role} --old-passphrase-lost`",
        Shown(path)
    )]
    WrongPassphrase {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Path of the key file.
        path: PathBuf,
    },
    /// A passphrase was given, but the key is not protected by one.
    #[error(
        "cannot use the {role} key `{id}` with a passphrase: `{}` is not protected by one",
        Shown(path)
    )]
    Unprotected {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Path of the key file.
        path: PathBuf,
    },
    /// A key for this role must not have a passphrase, because it has to sign without user interaction.
    #[error(
        "cannot protect a {role} key with a passphrase: it has to sign without user interaction"
    )]
    Unattended {
        /// Role of the key.
        role: KeyRole,
    },
    /// The passphrase for a new key is too short.
    #[error(
        "cannot make a key: the passphrase has fewer than {PASSPHRASE_CHARACTERS_MIN} characters"
    )]
    ShortPassphrase,
    /// According to the clock, the key is not valid yet, which means that the clock was set back.
    #[error(
        "the {role} key `{id}` is not valid before {from}, but the clock says that it is {now}; correct the \
         clock"
    )]
    TooEarly {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Time from which the key is valid.
        from: Timestamp,
        /// Current time according to the clock.
        now: Timestamp,
    },
    /// The validity period of the key has ended.
    #[error(
        "the {role} key `{id}` was valid until {until}, and it is now {now}; make a new one with `actum key \
         rotate {role}`"
    )]
    Expired {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Time until which the key was valid.
        until: Timestamp,
        /// Current time according to the clock.
        now: Timestamp,
    },
    /// The key was revoked, so none of its signatures is valid any longer.
    #[error(
        "the {role} key `{id}` was revoked at {since}; make a new one with `actum key rotate {role}`"
    )]
    Revoked {
        /// Role of the key.
        role: KeyRole,
        /// Id of the key.
        id: KeyId,
        /// Time at which the key was revoked.
        since: Timestamp,
    },
    /// The kernel did not provide random bytes for a new key.
    #[error("cannot make a key: failed to get random bytes from the system: {source}")]
    NoRandomness {
        /// Error returned by the operating system.
        source: io::Error,
    },
    /// The new key or the keyring could not be encoded.
    #[error("cannot make a key: the {what} cannot be encoded")]
    Unwritable {
        /// Item that could not be encoded, either `key` or `keyring`.
        what: &'static str,
    },
}
