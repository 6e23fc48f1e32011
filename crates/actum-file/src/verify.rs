//! Verifies signed execution results on behalf of a kernel (FE-14).

use actum_gate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::lease::TaskName;
use actum_record::signer::{KeyId, KeyRole};

use crate::manifest::FileCapability;
use crate::result::{ExecutionResult, Output, PAYLOAD_TYPE, TaskStatus, UndoMetadata};

/// Execution result that was signed by a result key of the keyring while the key was valid.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedResult {
    /// Content of the result.
    pub result: ExecutionResult,
    /// Key that signed the result.
    pub key: KeyId,
}

/// Reason why an execution result is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultProblem {
    /// The result is not a signed envelope.
    #[error("cannot read the result: {0}")]
    Envelope(#[from] EnvelopeError),
    /// The signers of the result could not be determined.
    #[error("cannot verify the result: {0}")]
    Signer(#[from] SignerProblem),
    /// The signing key has another role, or was not valid at the time of the result.
    #[error("cannot accept the result: {0}")]
    Key(#[from] KeyProblem),
    /// The signed payload is not a valid execution result.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
    /// The result belongs to a different task.
    #[error("the result belongs to the task `{}` instead of `{}`", match found {
        Some(found) => found.as_str(),
        None => "(none)",
    }, expected.as_str())]
    OtherTask {
        /// Name of the task whose result was expected.
        expected: TaskName,
        /// Name of the task in the result, if the result has one.
        found: Option<TaskName>,
    },
    /// The fields of the result contradict each other.
    #[error("the result is inconsistent: {what}")]
    Inconsistent {
        /// Description of the contradiction.
        what: &'static str,
    },
}

impl ResultProblem {
    /// Returns the permanent reason code of the problem.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Signer(problem) => problem.reason(),
            Self::Key(problem) => actum_gate::key_reason(problem),
            Self::Envelope(_)
            | Self::Payload(_)
            | Self::OtherTask { .. }
            | Self::Inconsistent { .. } => "RESULT_INVALID",
        }
    }
}

/// Verifies the result of `task`. A result key of the keyring must have signed it while the key was valid, and its
/// fields must be consistent.
///
/// # Errors
/// Returns [`ResultProblem`] if the result is not valid or belongs to a different task.
pub fn verify(
    envelope: &[u8],
    keyring: &Keyring,
    task: &TaskName,
) -> Result<VerifiedResult, ResultProblem> {
    let verified = verify_any(envelope, keyring)?;
    let found = verified.result.requested_task_id.clone();
    match found.as_ref() == Some(task) {
        true => Ok(verified),
        false => Err(ResultProblem::OtherTask { expected: task.clone(), found }),
    }
}

/// Verifies a result like [`verify`], but accepts the result of any task.
///
/// # Errors
/// Returns any [`ResultProblem`] except `OtherTask`.
pub fn verify_any(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedResult, ResultProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let result: ExecutionResult =
        payload(&envelope, "execution result", PAYLOAD_TYPE, ExecutionResult::FORMAT)?;
    let key = counting(&signers, KeyRole::Result, result.time)?.id.clone();
    check(&result)?;
    Ok(VerifiedResult { result, key })
}

/// Checks that the fields of a result are consistent with each other.
fn check(result: &ExecutionResult) -> Result<(), ResultProblem> {
    let wrong = |what| Err(ResultProblem::Inconsistent { what });
    let ExecutionResult { task_id, requested_task_id, capability_id, output, error_code, .. } =
        result;
    if task_id.is_some() && task_id != requested_task_id {
        return wrong("its task differs from the requested one");
    }
    if result.time < result.requested {
        return wrong("the task ended before it was requested");
    }
    match (result.status, output, error_code) {
        (TaskStatus::Success, Some(output), None) => {
            if task_id.as_ref() != Some(&output.task_id)
                || capability_id.as_deref() != Some(output.capability_id.as_str())
            {
                return wrong("its output belongs to a different task or capability");
            }
            check_output(output)
        }
        (TaskStatus::Failed, None, Some(_)) if result.detail.is_some() => Ok(()),
        (TaskStatus::Failed | TaskStatus::Success, _, _) => {
            wrong("its status, output and error code do not match")
        }
    }
}

fn check_output(output: &Output) -> Result<(), ResultProblem> {
    let UndoMetadata { original_path, recovery } = &output.undo_metadata;
    let summary = &output.result_summary;
    let fits = match output.capability_id {
        FileCapability::FileMove => {
            original_path.as_ref() == Some(&summary.source)
                && recovery.is_none()
                && summary.destination.is_some()
        }
        FileCapability::FileCopy => {
            original_path.is_none() && recovery.is_none() && summary.destination.is_some()
        }
        FileCapability::FileDelete => {
            original_path.is_none() && recovery.is_some() && summary.destination.is_none()
        }
    };
    match fits {
        true => Ok(()),
        false => Err(ResultProblem::Inconsistent {
            what: "its paths and undo metadata do not match its capability",
        }),
    }
}
