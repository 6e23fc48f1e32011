//! Results of file tasks, signed by the key of receipts (FE-14).

use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::ledger::FileTaskEnded;
use actum_record::signer::{KeyId, KeyRole};

use crate::envelope::{PayloadProblem, SignerProblem, counting, signed_payload, signers};

/// Result of a file task signed by a result key of the keyring, at a time when the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedFileTask {
    /// Part of the result that a ledger reads.
    pub ended: FileTaskEnded,
    /// Signed bytes, the whole `ExecutionResult`.
    pub payload: Vec<u8>,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why the result of a file task does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileTaskProblem {
    /// Not an envelope.
    #[error("the result of the file task cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known signer.
    #[error("the result of the file task proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// Signer without the right role, or outside the validity of the key.
    #[error("the result of the file task does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Signed payload of another kind.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
}

impl FileTaskProblem {
    /// Returns the permanent name of the problem.
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

/// Verifies a `FILE_TASK_ENDED` entry: a result key of the keyring signed it and was valid when the task ended.
///
/// # Errors
/// [`FileTaskProblem`].
pub fn verify_file_task_ended(
    envelope: &[u8],
    keyring: &Keyring,
) -> Result<VerifiedFileTask, FileTaskProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let ended: FileTaskEnded =
        signed_payload(&envelope, "result of a file task", FileTaskEnded::PAYLOAD_TYPE, None)?;
    let key = counting(&signers, KeyRole::Result, ended.time)?.id.clone();
    Ok(VerifiedFileTask { ended, payload: envelope.payload, key })
}
