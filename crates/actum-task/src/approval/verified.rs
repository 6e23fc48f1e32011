//! Verifies the signature of a task approval (EX-1, D-3).

use actum_gate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};

use super::TaskApproval;

/// Approval with a valid signature by an approval key of the keyring.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedTaskApproval {
    /// Content of the approval.
    pub approval: TaskApproval,
    /// Id of the key that signed the approval.
    pub key: KeyId,
}

/// Reason why a task approval is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalError {
    /// The file is not a DSSE envelope.
    #[error("cannot read the task approval: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No key of the keyring signed the approval.
    #[error("cannot verify the task approval: {0}")]
    Signer(#[from] SignerProblem),
    /// The key that signed the approval has a different role or was not valid at the time.
    #[error("the task approval is invalid: {0}")]
    Key(#[from] KeyProblem),
    /// The approval has an older format, which does not state the approved change.
    #[error(
        "the task approval has an older format (`{}`), which does not state the approved change; approve the plan again \
         with `actum plan approve`",
        TaskApproval::FORMAT_WITHOUT_CHANGE
    )]
    WithoutChange,
    /// The signed payload is a different kind of document.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies that an approval key of the keyring signed a task approval, and that the key was valid at the time of the
/// approval. Use [`TaskApproval::check`] to check whether the approval applies to the task that is about to run.
///
/// # Errors
/// Returns [`TaskApprovalError`] if the approval is invalid.
pub fn verify_task_approval(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedTaskApproval, TaskApprovalError> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let read =
        payload(&envelope, "task approval", TaskApproval::PAYLOAD_TYPE, TaskApproval::FORMAT);
    let approval: TaskApproval = match read {
        Err(PayloadProblem::Type { found, .. }) if found == TaskApproval::FORMAT_WITHOUT_CHANGE => {
            return Err(TaskApprovalError::WithoutChange);
        }
        read => read?,
    };
    let key = counting(&signers, KeyRole::Approval, approval.time)?.id.clone();
    Ok(VerifiedTaskApproval { approval, key })
}
