//! Signers and payload of an envelope (DSSE v1, `protocol.md`).

use std::collections::BTreeSet;

use actum_core::Timestamp;
use actum_core::canonical::{self, CanonicalError};
use actum_core::path::Cut;
use actum_record::dsse::{Envelope, EnvelopeSignature};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use serde::de::DeserializeOwned;

use crate::document::format_of;
use crate::signature;

/// Maximum number of signatures of an envelope.
pub const SIGNATURES_MAX: usize = 16;
/// Maximum number of attempts to find the signers of signatures that name no key.
pub const TRIES_MAX: usize = 100;

/// Reason why an envelope has no known signer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignerProblem {
    /// More signatures than [`SIGNATURES_MAX`].
    #[error("it has {found} signatures, but at most {SIGNATURES_MAX} are checked")]
    TooManySignatures {
        /// Number of signatures.
        found: usize,
    },
    /// No signature by a key of the keyring.
    #[error("it is signed by no key of the keyring")]
    NoKnownKey,
    /// Signature that does not match the key that it names.
    #[error(
        "the signature is not one of the key `{key}` over these bytes: one of them was changed"
    )]
    Wrong {
        /// Key.
        key: KeyId,
    },
}

impl SignerProblem {
    /// Returns the permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooManySignatures { .. } => "TOO_MANY_SIGNATURES",
            Self::NoKnownKey => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
        }
    }
}

/// Reason why a signed payload is not of the expected kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadProblem {
    /// Payload of another type.
    #[error("what was signed is no {noun}: its {what} is `{}` and not `{wanted}`", Cut(found.as_bytes(), 80))]
    Type {
        /// Expected kind of document.
        noun: &'static str,
        /// Name of the type field.
        what: &'static str,
        /// Type found.
        found: String,
        /// Expected type.
        wanted: &'static str,
    },
    /// Not JSON, or JSON that readers interpret differently.
    #[error("the {noun} cannot be read: {source}")]
    Json {
        /// Expected kind of document.
        noun: &'static str,
        /// Cause.
        source: CanonicalError,
    },
    /// Fields that are missing, unknown or of another type.
    #[error("the {noun} cannot be read: {message}")]
    Schema {
        /// Expected kind of document.
        noun: &'static str,
        /// Description of the fields.
        message: String,
    },
}

/// Reads the payload of an envelope whose signature was verified: a document of this type and format.
///
/// # Errors
/// [`PayloadProblem`].
pub fn payload<T: DeserializeOwned>(
    envelope: &Envelope,
    noun: &'static str,
    payload_type: &'static str,
    format: &'static str,
) -> Result<T, PayloadProblem> {
    signed_payload(envelope, noun, payload_type, Some(format))
}

/// Reads the payload of an envelope whose signature was verified: a document of this type, whose `format` is
/// optional.
///
/// # Errors
/// [`PayloadProblem`].
pub(crate) fn signed_payload<T: DeserializeOwned>(
    envelope: &Envelope,
    noun: &'static str,
    payload_type: &'static str,
    format: Option<&'static str>,
) -> Result<T, PayloadProblem> {
    let is = |what: &'static str, found: &str, wanted: &'static str| match found == wanted {
        true => Ok(()),
        false => Err(PayloadProblem::Type { noun, what, found: found.to_owned(), wanted }),
    };
    is("payload type", &envelope.payload_type, payload_type)?;
    let value = canonical::read(&envelope.payload);
    let value = value.map_err(|source| PayloadProblem::Json { noun, source })?;
    format.map_or(Ok(()), |format| is("format", format_of(&value), format))?;
    let shape = |error| PayloadProblem::Schema { noun, message: canonical::describe(&error) };
    serde_json::from_value(value).map_err(shape)
}

/// Returns the keys that signed an envelope: at least one, each once, in the order of the signatures. The
/// caller checks whether they are valid for this payload and time.
///
/// A signature that names a key outside the keyring is ignored. One that names a key of the keyring must be
/// of that key. If it names none, all keys are tried.
///
/// # Errors
/// [`SignerProblem`].
pub fn signers<'k>(
    envelope: &Envelope,
    keyring: &'k Keyring,
) -> Result<Vec<&'k KeyEntry>, SignerProblem> {
    let found = envelope.signatures.len();
    if found > SIGNATURES_MAX {
        return Err(SignerProblem::TooManySignatures { found });
    }
    let message = envelope.signed_bytes();
    let mut tries = TRIES_MAX;
    let mut signers: Vec<&KeyEntry> = Vec::new();
    let mut seen = BTreeSet::new();
    for EnvelopeSignature { key_id, signature } in &envelope.signatures {
        let is_of = |key: &KeyEntry| signature::verify(&key.public, &message, signature).is_ok();
        let signer = if key_id.is_empty() {
            let tried = keyring.keys().iter().rev().take(tries);
            tried.inspect(|_| tries -= 1).find(|key| is_of(key))
        } else {
            let named = keyring.keys().iter().find(|key| key.id.as_str() == key_id);
            if let Some(key) = named.filter(|key| !is_of(key)) {
                return Err(SignerProblem::Wrong { key: key.id.clone() });
            }
            named
        };
        signers.extend(signer.filter(|key| seen.insert(&key.id)));
    }
    if signers.is_empty() { Err(SignerProblem::NoKnownKey) } else { Ok(signers) }
}

/// Returns the first of these keys whose signature at the moment `at` is valid for `role`.
///
/// # Errors
/// The problem of the first key, if none is valid.
pub fn counting<'k>(
    signers: &[&'k KeyEntry],
    role: KeyRole,
    at: Timestamp,
) -> Result<&'k KeyEntry, KeyProblem> {
    let mut first = None;
    for key in signers {
        match key.check(role, at) {
            Ok(()) => return Ok(key),
            Err(problem) => first = first.or(Some(problem)),
        }
    }
    Err(first.unwrap_or_else(|| KeyProblem::Unknown { id: String::new() }))
}
