//! Change of the action catalog, signed by an approval key (AA-13).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::CatalogChanged;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Change of the catalog signed by an approval key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedChange {
    /// Content of the change.
    pub changed: CatalogChanged,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why a change of the catalog does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogProblem {
    /// Not an envelope.
    #[error("the change of the catalog cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the change of the catalog proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the change of the catalog does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl CatalogProblem {
    /// Returns the permanent name of the problem.
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

/// Verifies a `CATALOG_CHANGED` entry: an approval key of the keyring signed it and was valid at that time.
/// The reader of the ledger checks its snapshot, and that it comes after the entry that it follows.
///
/// # Errors
/// [`CatalogProblem`].
pub fn verify_change(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedChange, CatalogProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let changed: CatalogChanged = payload(
        &envelope,
        "change of the catalog",
        CatalogChanged::PAYLOAD_TYPE,
        CatalogChanged::FORMAT,
    )?;
    let key = counting(&signers, KeyRole::Approval, changed.time)?.id.clone();
    Ok(VerifiedChange { changed, key })
}
