//! Keys of an installation: lists, new keys, denied keys, rotations, and public keys for verifiers.

use actum_core::Timestamp;
use actum_record::keyring::KeyEntry;
use actum_record::ledger::TenantId;
use actum_record::signer::{KeyId, KeyRole, PublicKey};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::document::{Document, DocumentType};
use crate::value;

pub(crate) const DOCUMENTS: &[DocumentType] = &[
    DocumentType::new::<Keys>(),
    DocumentType::new::<KeyMade>(),
    DocumentType::new::<KeyDenied>(),
    DocumentType::new::<Rotation>(),
    DocumentType::new::<Keyring>(),
    DocumentType::new::<ExportedKey>(),
];

/// Result of `actum key list`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Keys {
    /// Absolute path of the directory with ledgers and keys. Escaped if it is not UTF-8.
    pub home: String,
    /// Keys by role, newest first within each role.
    pub keys: Vec<ListedKey>,
}

/// Key and its current state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedKey {
    /// Public part of the key and its validity period.
    #[serde(flatten)]
    pub key: Key,
    /// Whether this key currently signs for its role.
    pub current: bool,
    /// Whether the key is waiting to be admitted. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Protection of the private key, or `null` if its file is missing.
    pub protection: Option<Protection>,
    /// Reason why the current key cannot sign, or `null` if it can.
    pub problem: Option<String>,
}

/// Public part of a key and the period in which its signatures are valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Id of the key.
    #[schemars(with = "value::KeyId")]
    pub id: KeyId,
    /// Purpose of the key.
    #[schemars(with = "value::KeyRole")]
    pub role: KeyRole,
    /// Public key.
    #[schemars(with = "value::PublicKey")]
    pub public: PublicKey,
    /// Time from which signatures of the key are valid.
    #[schemars(with = "value::Time")]
    pub not_before: Timestamp,
    /// Time until which signatures of the key are valid, or `null` if it has no end.
    #[schemars(with = "Option<value::Time>")]
    pub not_after: Option<Timestamp>,
    /// Time at which the key was revoked and its signatures became invalid, or `null` if it was not revoked.
    #[schemars(with = "Option<value::Time>")]
    pub revoked: Option<Timestamp>,
    /// Whether the key was admitted only because its waiting period ended, without proof of its creator. Absent if `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unproven: bool,
}

impl From<KeyEntry> for Key {
    fn from(key: KeyEntry) -> Self {
        let KeyEntry { id, role, public, not_before, not_after, revoked, unproven } = key;
        Self { id, role, public, not_before, not_after, revoked, unproven }
    }
}

/// Protection of a private key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// A passphrase, which has to be entered for every use.
    Passphrase,
    /// Only the permissions of the key file.
    FilePermissions,
}

/// Result of `actum key make`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyMade {
    /// New key. If it has to wait until `not_before`, the field `unproven` is present and true.
    pub new: Key,
    /// Protection of the private key.
    pub protection: Protection,
}

/// Result of `actum key deny`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyDenied {
    /// Denied key, in its state before it was denied.
    pub denied: Key,
}

/// Result of `actum key rotate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rotation {
    /// Id of the key that was replaced.
    #[schemars(with = "value::KeyId")]
    pub old: KeyId,
    /// New key.
    pub new: Key,
    /// Tenants whose ledgers recorded the rotation.
    #[schemars(with = "Vec<value::TenantId>")]
    pub recorded: Vec<TenantId>,
    /// Tenants whose ledgers did not record the rotation. If there are any, the command exits with code 4, but the new key is still
    /// used.
    pub unrecorded: Vec<Unrecorded>,
}

/// Ledger that could not record a key rotation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unrecorded {
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Permanent reason code.
    pub reason: String,
    /// Reason as a sentence.
    pub message: String,
}

/// Public keys that a verifier trusts. `actum key export` always prints this document, even without `--json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Keyring {
    /// Keys by role, oldest first within each role.
    pub keys: Vec<Key>,
}

/// Result of `actum key export` with `--pem` or `--vkey`. It has either `pem` or `vkey`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedKey {
    /// Id of the key.
    #[schemars(with = "value::KeyId")]
    pub id: KeyId,
    /// Purpose of the key.
    #[schemars(with = "value::KeyRole")]
    pub role: KeyRole,
    /// Public key in PEM format, with a trailing newline. Absent with `--vkey`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pem: Option<String>,
    /// Public key in the verifier key format of C2SP signed notes, with a trailing newline. Absent with `--pem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vkey: Option<String>,
}

/// Keyring that was used for a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedKeyring {
    /// Path of the keyring file. Escaped if it is not UTF-8.
    pub file: String,
    /// Origin of the path.
    pub source: KeyringSource,
}

/// Origin of the path of a keyring file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyringSource {
    /// The path was passed as an argument of the command.
    Argument,
    /// The file belongs to the user's own directory with ledgers and keys.
    Home,
}

impl Document for Keys {
    const FORMAT: &'static str = "actum.keys/1";
}

impl Document for KeyMade {
    const FORMAT: &'static str = "actum.key-made/1";
}

impl Document for KeyDenied {
    const FORMAT: &'static str = "actum.key-denied/1";
}

impl Document for Rotation {
    const FORMAT: &'static str = "actum.rotation/1";
}

impl Document for Keyring {
    const FORMAT: &'static str = "actum.keyring/1";
}

impl Document for ExportedKey {
    const FORMAT: &'static str = "actum.key/1";
}
