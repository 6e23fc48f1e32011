//! A key that takes the place of another, which says so itself.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyEntry, KeyProblem, Keyring};
use actum_record::ledger::KeyRotated;
use actum_record::signer::KeyId;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// A change of keys that the old key signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedRotation {
    /// What it says.
    pub rotation: KeyRotated,
}

/// Why a change of keys does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RotationProblem {
    /// It is no envelope.
    #[error("the change of keys cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Nobody is known to have signed it.
    #[error("the change of keys proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// The old key may not sign it, or not then.
    #[error("the change of keys does not count: {0}")]
    Key(#[from] KeyProblem),
    /// What was signed is something else.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
    /// Not the key that goes signed it.
    #[error("the key `{old}` goes, and it did not sign that")]
    NotTheOld {
        /// The key that goes.
        old: KeyId,
    },
    /// The key that comes does not have the name that follows from it and its role.
    #[error("the new key is not the one of the name `{new}` in the role of the old one")]
    Name {
        /// The name.
        new: KeyId,
    },
    /// A key cannot follow itself.
    #[error("the key `{old}` would take its own place")]
    Same {
        /// The key.
        old: KeyId,
    },
}

impl RotationProblem {
    /// The permanent name.
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

/// Checks a `KEY_ROTATED` entry: the old key is in the keyring and signed it within its time, and
/// old and new key are of one role. The new key need not be in the keyring.
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
    if *new != KeyId::of(*role, public) {
        return Err(RotationProblem::Name { new: new.clone() });
    }
    Ok(VerifiedRotation { rotation })
}
