//! A change of the catalog of actions, signed by an approval key (AA-13).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::CatalogChanged;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// A change of the catalog that an approval key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedChange {
    /// What it says.
    pub changed: CatalogChanged,
    /// The key that signed it.
    pub key: KeyId,
}

/// Why a change of the catalog does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CatalogProblem {
    /// It is no envelope.
    #[error("the change of the catalog cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Nobody is known to have signed it.
    #[error("the change of the catalog proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Those who signed it may not, or not then.
    #[error("the change of the catalog does not count: {0}")]
    Key(#[from] KeyProblem),
    /// What was signed is something else.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl CatalogProblem {
    /// The permanent name.
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

/// Checks a `CATALOG_CHANGED` entry: an approval key of the keyring signed it, which counted when it was made.
/// Whether it stands behind the entry that it follows, and what its snapshot says, is for who holds the ledger to
/// tell.
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
