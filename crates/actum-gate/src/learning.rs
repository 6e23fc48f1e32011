//! Verifies learning tables of the Finder, which an approval key signs (AEC-20).

use actum_core::Timestamp;
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};
use serde_json::Value;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Payload type of the envelope of a signed learning table.
pub const LEARNING_PAYLOAD_TYPE: &str = "application/vnd.actum.finder-learning+json";
/// Value of the payload's `format` field.
const FORMAT: &str = "actum.finder-learning/1";

/// Reason why a signed learning table is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LearningProblem {
    /// The learning table is not a signed envelope.
    #[error("cannot read the signed learning table: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the learning table could not be determined.
    #[error("cannot verify the signature of the learning table: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or is no longer valid.
    #[error("cannot accept the signature of the learning table: {0}")]
    Key(#[from] KeyProblem),
    /// The signing key was replaced. A replaced key stays valid for a short time so that work in progress can
    /// finish, but it is not accepted for learning tables.
    #[error("the learning table was signed with the key `{id}`, which has been replaced")]
    Retired {
        /// Key that was replaced.
        id: KeyId,
    },
    /// The signed payload is not a valid learning table.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a signed learning table, and returns its bytes with the key that signed it. A table does not state
/// when it was signed, so only the approval key that is in force at `now` is accepted.
///
/// # Errors
/// Returns [`LearningProblem`] if the table is not valid.
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
