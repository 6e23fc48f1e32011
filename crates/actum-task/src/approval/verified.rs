//! Verification of a signed task approval (EX-1, D-3).

use actum_gate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};

use super::TaskApproval;

/// Approval signed by an approval key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedTaskApproval {
    /// Content of the approval.
    pub approval: TaskApproval,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why a task approval does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalError {
    /// Not an envelope.
    #[error("the approval of the task cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the approval of the task proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the approval of the task does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Older format that does not name the change.
    #[error(
        "the approval of the task is of an older format (`{}`), which does not name the approved change; approve the plan \
         again with `actum plan approve`",
        TaskApproval::FORMAT_WITHOUT_CHANGE
    )]
    WithoutChange,
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Verifies the signature of a task approval: an approval key of the keyring signed it and was valid at that
/// time. [`TaskApproval::check`] checks whether the approval is for the task about to run.
///
/// # Errors
/// [`TaskApprovalError`].
pub fn verify_task_approval(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedTaskApproval, TaskApprovalError> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let read =
        payload(&envelope, "approval of a task", TaskApproval::PAYLOAD_TYPE, TaskApproval::FORMAT);
    let approval: TaskApproval = match read {
        Err(PayloadProblem::Type { found, .. }) if found == TaskApproval::FORMAT_WITHOUT_CHANGE => {
            return Err(TaskApprovalError::WithoutChange);
        }
        read => read?,
    };
    let key = counting(&signers, KeyRole::Approval, approval.time)?.id.clone();
    Ok(VerifiedTaskApproval { approval, key })
}
