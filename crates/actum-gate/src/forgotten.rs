//! Removed history, signed by the key of receipts, or by the approval key where the retention keeps it.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::HistoryForgotten;
use actum_record::signer::KeyRole;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Why a record of removed history does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgottenProblem {
    /// It is no envelope.
    #[error("the record of removed history cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known key signed it.
    #[error("the record of removed history proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// The keys that signed it may not, or not at its time.
    #[error("the record of removed history does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Another document was signed.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Checks a `HISTORY_FORGOTTEN` entry: a key of the keyring signed it that counted at its time, the approval key
/// where it was approved.
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
