//! Keys: those of an installation, new ones, denied ones, and their public halves for verifiers.

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
    /// Directory of ledgers and keys, as an absolute path. Escaped where its bytes are not UTF-8.
    pub home: String,
    /// The keys, the newest of each role first.
    pub keys: Vec<ListedKey>,
}

/// Key with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedKey {
    /// The key.
    #[serde(flatten)]
    pub key: Key,
    /// True if this is the key that signs for its role.
    pub current: bool,
    /// True if the key waits to be admitted. Absent where it is `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
    /// Protection of the private half; `null` where its file is missing.
    pub protection: Option<Protection>,
    /// Reason why the current key cannot sign, else `null`.
    pub problem: Option<String>,
}

/// Public half of a key, and the time in which its signatures count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Key {
    /// Id of the key.
    #[schemars(with = "value::KeyId")]
    pub id: KeyId,
    /// Purpose of the key.
    #[schemars(with = "value::KeyRole")]
    pub role: KeyRole,
    /// Public half.
    #[schemars(with = "value::PublicKey")]
    pub public: PublicKey,
    /// Time from which its signatures count.
    #[schemars(with = "value::Time")]
    pub not_before: Timestamp,
    /// Time until which its signatures count; `null` where no end is set.
    #[schemars(with = "Option<value::Time>")]
    pub not_after: Option<Timestamp>,
    /// Time of the revocation, from which no signature of the key counts; `null` where it was not revoked.
    #[schemars(with = "Option<value::Time>")]
    pub revoked: Option<Timestamp>,
    /// True if the key was admitted by waiting alone. Absent where it is `false`.
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
    /// A passphrase, which each use takes.
    Passphrase,
    /// The permissions of the file alone.
    FilePermissions,
}

/// Result of `actum key make`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyMade {
    /// The new key. `unproven` is present, and true, where it waits until `not_before`.
    pub new: Key,
    /// Protection of its private half.
    pub protection: Protection,
}

/// Result of `actum key deny`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KeyDenied {
    /// The denied key, as it was while it waited.
    pub denied: Key,
}

/// Result of `actum key rotate`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rotation {
    /// Id of the key that signed until now.
    #[schemars(with = "value::KeyId")]
    pub old: KeyId,
    /// The new key.
    pub new: Key,
    /// Tenants whose ledgers record the change.
    #[schemars(with = "Vec<value::TenantId>")]
    pub recorded: Vec<TenantId>,
    /// Tenants whose ledgers do not record the change. The command then ends with code 4; the new key signs all the same.
    pub unrecorded: Vec<Unrecorded>,
}

/// Ledger that does not record a change of keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unrecorded {
    /// Tenant of the ledger.
    #[schemars(with = "value::TenantId")]
    pub tenant: TenantId,
    /// Permanent name of the reason.
    pub reason: String,
    /// The reason as a sentence.
    pub message: String,
}

/// Public keys that a verifier trusts: result of `actum key export`, with `--json` or without.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Keyring {
    /// The keys, the oldest of each role first.
    pub keys: Vec<Key>,
}

/// Result of `actum key export` with `--pem` or `--vkey`: has `pem` or `vkey`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ExportedKey {
    /// Id of the key.
    #[schemars(with = "value::KeyId")]
    pub id: KeyId,
    /// Purpose of the key.
    #[schemars(with = "value::KeyRole")]
    pub role: KeyRole,
    /// Public key in PEM, with a newline at the end. Absent with `--vkey`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pem: Option<String>,
    /// Verifier key of signed notes (C2SP), with a newline at the end. Absent with `--pem`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vkey: Option<String>,
}

/// Keyring that a verification rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedKeyring {
    /// File of the keyring. Escaped where its bytes are not UTF-8.
    pub file: String,
    /// Origin of the file name.
    pub source: KeyringSource,
}

/// Origin of the name of a keyring file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeyringSource {
    /// An argument of the command.
    Argument,
    /// The user's own directory of ledgers and keys.
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
