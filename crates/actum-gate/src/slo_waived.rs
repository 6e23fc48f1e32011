//! Waivers of the SLO gate, signed by an approval key (AEC-17).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::SloWaived;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Waiver that an approval key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSloWaiver {
    /// Waiver.
    pub waived: SloWaived,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why a waiver of the SLO gate does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SloWaiverProblem {
    /// Not an envelope.
    #[error("the waiver of the SLO gate cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the waiver of the SLO gate proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the waiver of the SLO gate does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl SloWaiverProblem {
    /// Returns the permanent name of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_)
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "SLO_WAIVER_MALFORMED"
            }
            Self::Signer(source) => source.reason(),
            Self::Key(source) => crate::key_reason(source),
            Self::Payload(PayloadProblem::Type { .. }) => "SLO_WAIVER_OF_ANOTHER_TYPE",
        }
    }
}

/// Verifies an `SLO_WAIVED` entry: an approval key of the keyring signed it and was valid at the time of the
/// waiver. Its reader checks whether the waiver is in force.
///
/// # Errors
/// [`SloWaiverProblem`].
pub fn verify_slo_waived(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedSloWaiver, SloWaiverProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let waived: SloWaived =
        payload(&envelope, "waiver of the SLO gate", SloWaived::PAYLOAD_TYPE, SloWaived::FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, waived.time)?.id.clone();
    Ok(VerifiedSloWaiver { waived, key })
}
