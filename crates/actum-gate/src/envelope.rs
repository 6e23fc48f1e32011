//! Who signed an envelope (DSSE v1, `protocol.md`).

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

/// The most signatures of an envelope.
pub const SIGNATURES_MAX: usize = 16;
/// How often it is tried, at most, to find who made the signatures that name no key.
pub const TRIES_MAX: usize = 100;

/// Why nobody is known to have signed an envelope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignerProblem {
    /// It has more signatures than [`SIGNATURES_MAX`].
    #[error("it has {found} signatures, and {SIGNATURES_MAX} are the most that are checked")]
    TooManySignatures {
        /// How many.
        found: usize,
    },
    /// No signature is one of a key in the keyring.
    #[error("it is signed by no key of the keyring")]
    NoKnownKey,
    /// A signature is not the one of the key that it names.
    #[error(
        "the signature is not one of the key `{key}` over these bytes: one of them was changed"
    )]
    Wrong {
        /// The key.
        key: KeyId,
    },
}

impl SignerProblem {
    /// The permanent name.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::TooManySignatures { .. } => "TOO_MANY_SIGNATURES",
            Self::NoKnownKey => "SIGNER_UNKNOWN",
            Self::Wrong { .. } => "SIGNATURE_WRONG",
        }
    }
}

/// Why what was signed is not what it is taken for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PayloadProblem {
    /// It is something else.
    #[error("what was signed is no {noun}: its {what} is `{}` and not `{wanted}`", Cut(found.as_bytes(), 80))]
    Type {
        /// What it is taken for.
        noun: &'static str,
        /// Which of its types.
        what: &'static str,
        /// The type.
        found: String,
        /// What it should be.
        wanted: &'static str,
    },
    /// It is not JSON of which every reader has the same idea.
    #[error("the {noun} cannot be read: {source}")]
    Json {
        /// What it is taken for.
        noun: &'static str,
        /// Why.
        source: CanonicalError,
    },
    /// Fields of it are missing, too many, or of another kind.
    #[error("the {noun} cannot be read: {message}")]
    Schema {
        /// What it is taken for.
        noun: &'static str,
        /// Which, and how.
        message: String,
    },
}

/// What stands in an envelope whose signature was found sound: a document of a type, and of a format.
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

/// Reads the payload of an envelope whose signature was found sound: a document of a type that may have no field `format`.
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

/// The keys that signed an envelope, each once, in the order of the signatures; one at least.
/// Whether they count, for what was signed and when, is another question.
///
/// A signature that names a key which is not in the keyring is passed over. One that names a key in
/// it must be of that key. For one that names none, all keys are tried.
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

/// The first of these keys whose signature of the moment `at` counts for `role`.
///
/// # Errors
/// What is wrong with the first of them, where none counts.
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
