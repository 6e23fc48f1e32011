//! Verifies key rotations, in which a key signs its own replacement.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::ledger::KeyRotated;
use actum_record::signer::KeyId;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Key rotation that was signed by the old key while that key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedRotation {
    /// Content of the rotation.
    pub rotation: KeyRotated,
}

/// Reason why a key rotation is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationProblem {
    /// The rotation is not a signed envelope.
    #[error("cannot read the key rotation: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the rotation could not be determined.
    #[error("cannot verify the key rotation: {0}")]
    Signer(#[from] SignerProblem),
    /// The old key has another role, or was not valid at the time of the rotation.
    #[error("cannot accept the key rotation: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid key rotation.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
    /// The rotation is not signed by the old key.
    #[error("the key rotation is not signed by the old key `{old}`")]
    NotTheOld {
        /// Id of the old key.
        old: KeyId,
    },
    /// The id of the new key does not match its public key and role.
    #[error("the id `{new}` of the new key does not match its public key and role")]
    Name {
        /// Id of the new key.
        new: KeyId,
    },
    /// The old and the new key are the same.
    #[error("the key `{old}` cannot replace itself")]
    Same {
        /// Id of the key.
        old: KeyId,
    },
}

impl RotationProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_)
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "ROTATION_MALFORMED"
            }
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => crate::key_reason(problem),
            Self::Payload(PayloadProblem::Type { .. }) => "ROTATION_OF_ANOTHER_TYPE",
            Self::NotTheOld { .. } => "ROTATION_NOT_BY_THE_OLD_KEY",
            Self::Name { .. } | Self::Same { .. } => "ROTATION_INCONSISTENT",
        }
    }
}

/// Verifies a `KEY_ROTATED` entry. The old key must be in the keyring and must have signed the entry while it
/// was valid, and both keys must have the same role. The new key does not have to be in the keyring.
///
/// # Errors
/// Returns [`RotationProblem`] if the rotation is not valid.
pub fn verify_rotation(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedRotation, RotationProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let rotation: KeyRotated =
        payload(&envelope, "key rotation", KeyRotated::PAYLOAD_TYPE, KeyRotated::FORMAT)?;
    let KeyRotated { role, old, new, public, time, .. } = &rotation;
    let signed: Vec<&KeyEntry> = signers.into_iter().filter(|key| key.id == *old).collect();
    if signed.is_empty() {
        return Err(RotationProblem::NotTheOld { old: old.clone() });
    }
    counting(&signed, *role, *time)?;
    if old == new {
        return Err(RotationProblem::Same { old: old.clone() });
    }
    if *new != KeyId::new(*role, public) {
        return Err(RotationProblem::Name { new: new.clone() });
    }
    Ok(VerifiedRotation { rotation })
}
