//! Verifies changes of the action catalog, which an approval key signs (AA-13).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::CatalogChanged;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Change of the action catalog that was signed by an approval key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedChange {
    /// Content of the catalog change.
    pub changed: CatalogChanged,
    /// Key that signed the change.
    pub key: KeyId,
}

/// Reason why a change of the action catalog is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogProblem {
    /// The catalog change is not a signed envelope.
    #[error("cannot read the catalog change: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the catalog change could not be determined.
    #[error("cannot verify the catalog change: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the change.
    #[error("cannot accept the catalog change: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid catalog change.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl CatalogProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_)
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "CATALOG_CHANGE_MALFORMED"
            }
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => crate::key_reason(problem),
            Self::Payload(PayloadProblem::Type { .. }) => "CATALOG_CHANGE_OF_ANOTHER_TYPE",
        }
    }
}

/// Verifies a `CATALOG_CHANGED` entry. An approval key of the keyring must have signed it and must have been valid at the
/// time of the change. The reader of the ledger must check the snapshot, and the reference to the preceding change.
///
/// # Errors
/// Returns [`CatalogProblem`] if the entry is not valid.
pub fn verify_change(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedChange, CatalogProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let changed: CatalogChanged =
        payload(&envelope, "catalog change", CatalogChanged::PAYLOAD_TYPE, CatalogChanged::FORMAT)?;
    let key = counting(&signers, KeyRole::Approval, changed.time)?.id.clone();
    Ok(VerifiedChange { changed, key })
}
