//! Verifies records of removed history. The receipt key signs them, or the approval key if the retention
//! protects the history.

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::HistoryForgotten;
use actum_record::signer::KeyRole;

use crate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};

/// Reason why a record of removed history is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ForgottenProblem {
    /// The record is not a signed envelope.
    #[error("cannot read the record of removed history: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the record could not be determined.
    #[error("cannot verify the record of removed history: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the record.
    #[error("cannot accept the record of removed history: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid record of removed history.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies a `HISTORY_FORGOTTEN` entry. It must be signed by a key of the keyring that was valid at the time:
/// the approval key if the removal was approved, otherwise the result key.
///
/// # Errors
/// Returns [`ForgottenProblem`] if the entry is not valid.
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
