//! Verifies confirmation proofs, which an approval key or a host key signs (AEC-5).

use actum_core::Timestamp;
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use serde_json::Value;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Payload type of the envelope around a signed confirmation proof.
pub const CONFIRMATION_PAYLOAD_TYPE: &str = "application/vnd.actum.confirmation-proof+json";
/// Value of the payload's `format` field.
const FORMAT: &str = "actum.confirmation-proof/1";

/// Reason why a signed confirmation proof is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfirmationProblem {
    /// The confirmation proof is not a signed envelope.
    #[error("cannot read the confirmation proof: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the confirmation proof could not be determined.
    #[error("cannot verify the confirmation proof: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or is not valid at the given time.
    #[error("cannot accept the confirmation proof: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid confirmation proof.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a signed confirmation proof, and returns its bytes with the key that signed it. The key must be an approval
/// key or a host key of the keyring that is valid at the time `at`.
///
/// # Errors
/// Returns [`ConfirmationProblem`] if the proof is not valid.
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
