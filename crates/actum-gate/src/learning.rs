//! Learning tables of the Finder, signed by an approval key (AEC-20).

use actum_core::Timestamp;
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use serde_json::Value;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Payload type of the envelope of a signed learning table.
pub const LEARNING_PAYLOAD_TYPE: &str = "application/vnd.actum.finder-learning+json";
/// Format of the payload.
const FORMAT: &str = "actum.finder-learning/1";

/// Reason why a signed learning table does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearningProblem {
    /// Not an envelope.
    #[error("the learning table is not signed: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the signature of the learning table proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or whose key is no longer valid.
    #[error("the signature of the learning table does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signer whose key was replaced by another one. A replaced key stays valid a little longer, for work in
    /// progress.
    #[error("the key `{id}` that signed the learning table was replaced by another one")]
    Retired {
        /// Replaced key.
        id: KeyId,
    },
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a signed learning table: the approval key of the keyring that is in force `now` signed it. A
/// table has no time of its own, so only the key that would sign it now is accepted. Returns the bytes of the
/// table, and the key.
///
/// # Errors
/// [`LearningProblem`]
pub fn verify_learning(
    envelope: &[u8],
    keyring: &Keyring,
    now: Timestamp,
) -> Result<(Vec<u8>, KeyId), LearningProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let _: Value = payload(&envelope, "learning table", LEARNING_PAYLOAD_TYPE, FORMAT)?;
    let role = KeyRole::Approval;
    let current = keyring.current(role, now);
    let current = signers.iter().find(|key| current.is_some_and(|current| current.id == key.id));
    let Some(key) = current else {
        let id = counting(&signers, role, now)?.id.clone();
        return Err(LearningProblem::Retired { id });
    };
    key.check(role, now)?;
    Ok((envelope.payload, key.id.clone()))
}
