//! Verifies waivers of the SLO gate, which an approval key signs (AEC-17).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::SloWaived;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// SLO gate waiver that was signed by an approval key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedSloWaiver {
    /// Content of the waiver.
    pub waived: SloWaived,
    /// Key that signed the waiver.
    pub key: KeyId,
}

/// Reason why an SLO gate waiver is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SloWaiverProblem {
    /// The waiver is not a signed envelope.
    #[error("cannot read the SLO gate waiver: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the waiver could not be determined.
    #[error("cannot verify the SLO gate waiver: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the waiver.
    #[error("cannot accept the SLO gate waiver: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid waiver.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl SloWaiverProblem {
    /// Returns the permanent reason code of the problem.
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

/// Verifies an `SLO_WAIVED` entry. An approval key of the keyring must have signed it and must have been valid
/// at the time of the waiver. The caller must check whether the waiver is still in force.
///
/// # Errors
/// Returns [`SloWaiverProblem`] if the waiver is not valid.
pub fn verify_slo_waived(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedSloWaiver, SloWaiverProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let waived: SloWaived =
        payload(&envelope, "SLO gate waiver", SloWaived::PAYLOAD_TYPE, SloWaived::FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, waived.time)?.id.clone();
    Ok(VerifiedSloWaiver { waived, key })
}
