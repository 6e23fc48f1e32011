//! Verification of execution results, for a kernel (FE-14).

use actum_gate::envelope::{PayloadProblem, SignerProblem, counting, payload, signers};
use actum_record::dsse::{Envelope, EnvelopeError};
use actum_record::keyring::{KeyProblem, Keyring};
use actum_record::lease::TaskName;
use actum_record::signer::{KeyId, KeyRole};

use crate::manifest::FileCapability;
use crate::result::{ExecutionResult, Output, PAYLOAD_TYPE, TaskStatus, UndoMetadata};

/// Execution result that a result key of the keyring signed, within its time.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifiedResult {
    /// The result.
    pub result: ExecutionResult,
    /// Key that signed it.
    pub key: KeyId,
}

/// Reason why a result is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResultProblem {
    /// The bytes are no envelope.
    #[error("the result cannot be read: {0}")]
    Envelope(#[from] EnvelopeError),
    /// No known key signed it.
    #[error("the result proves nothing: {0}")]
    Signer(#[from] SignerProblem),
    /// The key may not sign results, or not then.
    #[error("the result does not count: {0}")]
    Key(#[from] KeyProblem),
    /// Another document was signed.
    #[error(transparent)]
    Payload(#[from] PayloadProblem),
    /// The result is of another task.
    #[error("the result is of the task `{}`, and not of `{}`", match found {
        Some(found) => found.as_str(),
        None => "(none)",
    }, expected.as_str())]
    OtherTask {
        /// Task that was expected.
        expected: TaskName,
        /// Task of the result.
        found: Option<TaskName>,
    },
    /// Its fields contradict each other.
    #[error("the result contradicts itself: {what}")]
    Inconsistent {
        /// Contradiction.
        what: &'static str,
    },
}

impl ResultProblem {
    /// The permanent name.
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

/// Verifies the result of `task`: a result key signed it, which counted then, and its fields fit together.
///
/// # Errors
/// [`ResultProblem`]
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

/// Verifies the result of any task.
///
/// # Errors
/// [`ResultProblem`] other than `OtherTask`.
pub fn verify_any(envelope: &[u8], keyring: &Keyring) -> Result<VerifiedResult, ResultProblem> {
    let envelope = Envelope::read(envelope)?;
    let signers = signers(&envelope, keyring)?;
    let result: ExecutionResult =
        payload(&envelope, "execution result", PAYLOAD_TYPE, ExecutionResult::FORMAT)?;
    let key = counting(&signers, KeyRole::Result, result.time)?.id.clone();
    check(&result)?;
    Ok(VerifiedResult { result, key })
}

/// Checks that the fields of a result fit together.
fn check(result: &ExecutionResult) -> Result<(), ResultProblem> {
    let wrong = |what| Err(ResultProblem::Inconsistent { what });
    let ExecutionResult { task_id, requested_task_id, capability_id, output, error_code, .. } =
        result;
    if task_id.is_some() && task_id != requested_task_id {
        return wrong("it binds another task than was asked for");
    }
    if result.time < result.requested {
        return wrong("it ended before it was requested");
    }
    match (result.status, output, error_code) {
        (TaskStatus::Success, Some(output), None) => {
            if task_id.as_ref() != Some(&output.task_id)
                || capability_id.as_deref() != Some(output.capability_id.as_str())
            {
                return wrong("its output is of another task or capability");
            }
            check_output(output)
        }
        (TaskStatus::Failed, None, Some(_)) if result.detail.is_some() => Ok(()),
        (TaskStatus::Failed | TaskStatus::Success, _, _) => {
            wrong("status, output and error code do not fit together")
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
            what: "paths and undo metadata are not those of the capability",
        }),
    }
}
