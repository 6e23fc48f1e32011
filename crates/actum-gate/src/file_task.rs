//! Verifies results of file tasks, which the result key signs (FE-14).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::FileTaskEnded;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, signed_payload, signers};

/// Result of a file task, signed by a result key of the keyring that was valid at the time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedFileTask {
    /// Fields of the result that a ledger reads.
    pub ended: FileTaskEnded,
    /// Signed bytes of the entire `ExecutionResult`.
    pub payload: Vec<u8>,
    /// Key that signed the result.
    pub key: KeyId,
}

/// Reason why the result of a file task is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileTaskProblem {
    /// The result is not a signed envelope.
    #[error("cannot read the result of the file task: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the result could not be determined.
    #[error("cannot verify the result of the file task: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the result.
    #[error("cannot accept the result of the file task: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid result of a file task.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl FileTaskProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Envelope(_)
            | Self::Payload(PayloadProblem::Json { .. } | PayloadProblem::Schema { .. }) => {
                "FILE_TASK_RESULT_MALFORMED"
            }
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => crate::key_reason(problem),
            Self::Payload(PayloadProblem::Type { .. }) => "FILE_TASK_RESULT_OF_ANOTHER_TYPE",
        }
    }
}

/// Verifies a `FILE_TASK_ENDED` entry. A result key of the keyring must have signed it and must have been valid
/// when the task ended.
///
/// # Errors
/// Returns [`FileTaskProblem`] if the entry is not valid.
pub fn verify_file_task_ended(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedFileTask, FileTaskProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let ended: FileTaskEnded =
        signed_payload(&envelope, "file task result", FileTaskEnded::PAYLOAD_TYPE, None)?;
    let key = counting(&signers, KeyRole::Result, ended.time)?.id.clone();
    Ok(VerifiedFileTask { ended, payload: envelope.payload, key })
}
