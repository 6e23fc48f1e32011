//! Verifies the signers of an envelope and reads its payload (DSSE v1, `protocol.md`).

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

/// Maximum number of signatures on an envelope.
pub const SIGNATURES_MAX: usize = 16;
/// Maximum number of keys tried, per envelope, for signatures that do not name their key.
pub const TRIES_MAX: usize = 100;

/// Reason why the signers of an envelope could not be determined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignerProblem {
    /// The envelope has more signatures than [`SIGNATURES_MAX`].
    #[error("it has {found} signatures, but at most {SIGNATURES_MAX} are allowed")]
    TooManySignatures {
        /// Number of signatures.
        found: usize,
    },
    /// No signature was made by a key in the keyring.
    #[error("none of its signatures is by a key in the keyring")]
    NoKnownKey,
    /// A signature does not match the key that it names.
    #[error(
        "the signature does not match the key `{key}` and the signed bytes: one of them was changed"
    )]
    Wrong {
        /// Key that the signature names.
        key: KeyId,
    },
}

impl SignerProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooManySignatures { .. } => "TOO_MANY_SIGNATURES",
            Self::NoKnownKey => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
        }
    }
}

/// Reason why a signed payload is not the expected document.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadProblem {
    /// The payload has a different type or format.
    #[error("the signed document is not the expected {noun}: its {what} is `{}`, not `{wanted}`", Cut(found.as_bytes(), 80))]
    Type {
        /// Kind of document that was expected.
        noun: &'static str,
        /// Name of the field that differs.
        what: &'static str,
        /// Value of the field.
        found: String,
        /// Value that was expected.
        wanted: &'static str,
    },
    /// The payload is not JSON, or is JSON that parsers interpret differently.
    #[error("cannot read the {noun}: {source}")]
    Json {
        /// Kind of document that was expected.
        noun: &'static str,
        /// Cause of the error.
        source: CanonicalError,
    },
    /// A field is missing, unknown or of the wrong type.
    #[error("cannot read the {noun}: {message}")]
    Schema {
        /// Kind of document that was expected.
        noun: &'static str,
        /// Description of the invalid field.
        message: String,
    },
}

/// Reads the payload of an envelope with a verified signature as a document of the given type and format.
///
/// # Errors
/// Returns [`PayloadProblem`] if the payload is a different or an invalid document.
pub fn payload<T: DeserializeOwned>(
    envelope: &Envelope,
    noun: &'static str,
    payload_type: &'static str,
    format: &'static str,
) -> Result<T, PayloadProblem> {
    signed_payload(envelope, noun, payload_type, Some(format))
}

/// Reads the payload of an envelope with a verified signature as a document of the given type. The `format`
/// field is checked only if `format` is given.
///
/// # Errors
/// Returns [`PayloadProblem`] if the payload is a different or an invalid document.
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

/// Returns the keys that signed an envelope, without duplicates and in the order of the signatures. There is at
/// least one. The caller must check that a key is valid for the payload and its time.
///
/// A signature that names a key outside the keyring is ignored, and one that names a key in the keyring must
/// match that key. For a signature that names no key, all keys are tried.
///
/// # Errors
/// Returns [`SignerProblem`] if a signature is wrong or no signer is known.
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

/// Returns the first key whose signatures are valid for `role` at the time `at`.
///
/// # Errors
/// Returns the problem of the first key if none is valid.
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
