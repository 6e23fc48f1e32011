//! Signed confirmation proofs: an approval key or a host key signs them (AEC-5).

use actum_core::Timestamp;
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use serde_json::Value;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Payload type of the envelope of a signed confirmation proof.
pub const CONFIRMATION_PAYLOAD_TYPE: &str = "application/vnd.actum.confirmation-proof+json";
/// Format of the payload.
const FORMAT: &str = "actum.confirmation-proof/1";

/// Reason why a signed confirmation proof does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmationProblem {
    /// Not an envelope.
    #[error("the confirmation proof cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the confirmation proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the confirmation does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a signed confirmation proof: an approval key or a host key of the keyring signed it and was valid
/// at the time `at`. Returns the bytes of the proof, and the key.
///
/// # Errors
/// [`ConfirmationProblem`]
pub fn verify_confirmation(
    envelope: &[u8],
    keyring: &Keyring,
    at: Timestamp,
) -> Result<(Vec<u8>, KeyId), ConfirmationProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let _: Value = payload(&envelope, "confirmation proof", CONFIRMATION_PAYLOAD_TYPE, FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, at);
    let key = key.or_else(|problem| counting(&signers, KeyRole::Host, at).map_err(|_| problem))?;
    let key = key.id.clone();
    Ok((envelope.payload, key))
}
