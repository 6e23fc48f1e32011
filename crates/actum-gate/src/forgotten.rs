//! Records of removed history, signed by the receipt key, or by the approval key if the retention protects it.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::HistoryForgotten;
use actum_record::signer::KeyRole;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Reason why a record of removed history does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgottenProblem {
    /// Not an envelope.
    #[error("the record of removed history cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the record of removed history proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the record of removed history does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a `HISTORY_FORGOTTEN` entry: a key of the keyring signed it and was valid at that time; the
/// approval key if it was approved.
///
/// # Errors
/// [`ForgottenProblem`].
pub fn verify_forgotten(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<HistoryForgotten, ForgottenProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let forgotten: HistoryForgotten = payload(
        &envelope,
        "record of removed history",
        HistoryForgotten::PAYLOAD_TYPE,
        HistoryForgotten::FORMAT,
    )?;
    let role = match forgotten.approved {
        Some(_) => KeyRole::Approval,
        None => KeyRole::Result,
    };
    counting(&signers, role, forgotten.time)?;
    Ok(forgotten)
}
