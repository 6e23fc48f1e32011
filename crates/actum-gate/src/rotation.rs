//! Replacement of a key by another, signed by the replaced key.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::ledger::KeyRotated;
use actum_record::signer::KeyId;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Change of keys signed by the old key, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedRotation {
    /// Content of the change.
    pub rotation: KeyRotated,
}

/// Reason why a change of keys does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationProblem {
    /// Not an envelope.
    #[error("the change of keys cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the change of keys proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Old key without the right to sign it, or outside its validity.
    #[error("the change of keys does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
    /// Signature by a key other than the old one.
    #[error("the change of keys is not signed by the old key `{old}`")]
    NotTheOld {
        /// Old key.
        old: KeyId,
    },
    /// New key whose name does not follow from it and its role.
    #[error("the name `{new}` of the new key does not match its public key and role")]
    Name {
        /// Name of the new key.
        new: KeyId,
    },
    /// Replacement of a key by itself.
    #[error("the key `{old}` cannot replace itself")]
    Same {
        /// Key.
        old: KeyId,
    },
}

impl RotationProblem {
    /// Returns the permanent name of the problem.
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

/// Verifies a `KEY_ROTATED` entry: the old key is in the keyring and signed it while it was valid, and both
/// keys have the same role. The new key need not be in the keyring.
///
/// # Errors
/// [`RotationProblem`].
pub fn verify_rotation(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedRotation, RotationProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let rotation: KeyRotated =
        payload(&envelope, "change of keys", KeyRotated::PAYLOAD_TYPE, KeyRotated::FORMAT)?;
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
