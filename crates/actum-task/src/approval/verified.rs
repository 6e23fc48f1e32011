//! What an operator signed to let a task go (EX-1, D-3).

use actum_gate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::signer::{KeyId, KeyRole};

use super::TaskApproval;

/// An approval that an approval key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedTaskApproval {
    /// What it says.
    pub approval: TaskApproval,
    /// The key that signed it.
    pub key: KeyId,
}

/// Why an approval of a task does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskApprovalError {
    /// It is no envelope.
    #[error("the approval of the task cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// Nobody is known to have signed it.
    #[error("the approval of the task proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Those who signed it may not, or not then.
    #[error("the approval of the task does not count: {0}")]
    Key(#[from] KeyProblem),
    /// It is of a format that names no change.
    #[error(
        "the approval of the task is of an older format (`{}`), which does not name the approved change; approve the plan \
         again with `actum plan approve`",
        TaskApproval::FORMAT_WITHOUT_CHANGE
    )]
    WithoutChange,
    /// What was signed is something else.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

/// Checks the signed approval of a task: an approval key of the keyring signed it, which counted when it was given.
/// Whether it is about the task that is about to run, [`TaskApproval::check`] says.
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
