//! Execution result, the signed document that describes the outcome of a file task (FE-13 to FE-15).

use std::fmt;

use actum_core::canonical::{self, CanonicalError};
use actum_core::{Digest, RunId, Timestamp};
use actum_document::{Characters, Form, Member, ObjectSchema, Others, Text};
use actum_record::dsse::Envelope;
use actum_record::lease::{LeaseId, TaskName};
use actum_record::receipt::EntryRef;
use actum_record::signer::{SignError, Signer};
use serde::{Deserialize, Serialize};

use crate::manifest::{Asked, FileCapability};

/// Payload type of the envelope that contains an execution result.
pub const PAYLOAD_TYPE: &str = "application/vnd.actum.execution-result+json";

/// Outcome of a file task. Readers must accept unknown fields (D-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionResult {
    /// Format identifier, which is [`ExecutionResult::FORMAT`].
    pub format: String,
    /// Identifier of the task, or `None` if the request was rejected before its lease was found valid. In that case, the id is
    /// not reserved.
    pub task_id: Option<TaskName>,
    /// Identifier of the requested task, if the manifest contains one.
    pub requested_task_id: Option<TaskName>,
    /// Requested capability, if the manifest contains one.
    pub capability_id: Option<String>,
    /// Outcome of the task.
    pub status: TaskStatus,
    /// Effect of the task, or `None` if the task failed.
    pub output: Option<Output>,
    /// Error code, or `None` if the task succeeded.
    pub error_code: Option<ErrorCode>,
    /// Reason for the failure, or `None` if the task succeeded.
    pub detail: Option<Detail>,
    /// SHA-256 digest of the manifest bytes.
    pub manifest: Digest,
    /// Identifiers of the lease blocks. Empty if the lease was not found valid.
    pub lease: Vec<LeaseId>,
    /// Runs that made the change. For a move between base directories, the run of the destination comes first.
    pub runs: Vec<RunId>,
    /// Ledger entry that recorded the start of the task, or `None` if the task was not started.
    pub started: Option<EntryRef>,
    /// Time at which the request was received.
    pub requested: Timestamp,
    /// Time at which the task ended.
    pub time: Timestamp,
    /// Name and version of the program.
    pub engine: String,
}

/// Whether a file task succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskStatus {
    /// The task had its intended effect.
    Success,
    /// The task failed. It had no effect, unless the detail of the result says otherwise.
    Failed,
}

/// Error code of a failed file task (FE-15). There are no other codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The capability is not supported.
    UnsupportedCapability,
    /// The lease is missing, is invalid, or does not allow the task.
    InvalidLease,
    /// The lease has expired.
    LeaseExpired,
    /// The task failed for any other reason.
    ExecutionFailed,
    /// The task exceeded a quota.
    ResourceExhausted,
}

/// Output of a file task that succeeded (seed 001, 9.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Identifier of the task.
    pub task_id: TaskName,
    /// Capability that the task used.
    pub capability_id: FileCapability,
    /// Paths of the source and the destination.
    pub result_summary: ResultSummary,
    /// Data that is needed to undo the task.
    pub undo_metadata: UndoMetadata,
}

/// Normalised paths of a file task that succeeded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultSummary {
    /// Path of the source file.
    pub source: String,
    /// Path that was created, or `None` for a deletion.
    pub destination: Option<String>,
}

/// Data that is needed to undo a file task. It is the original path of a moved file, or the recovery reference of a deleted
/// file, and is empty for a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoMetadata {
    /// Path of a moved file before the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_path: Option<String>,
    /// Recovery reference of a deleted file, for `actum file restore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
}

/// Reason for the failure of a file task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Permanent reason code, which `actum explain` describes.
    pub reason: String,
    /// Description of the failure.
    pub message: String,
    /// State of the files after the failure.
    pub workspace: WorkspaceState,
}

/// State of the files after a failed file task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// The task changed no files.
    Unchanged,
    /// Every file that the task changed was restored.
    Restored,
    /// An operator must check the files.
    NeedsAttention,
}

/// Reason why an execution result could not be signed.
#[derive(Debug, thiserror::Error)]
pub enum SignResultError {
    /// The result cannot be represented as canonical JSON.
    #[error("cannot encode the result: {0}")]
    Form(#[from] CanonicalError),
    /// The result key could not sign the result.
    #[error(transparent)]
    Key(#[from] SignError),
}

impl ErrorCode {
    /// All error codes.
    pub const ALL: [Self; 5] = [
        Self::UnsupportedCapability,
        Self::InvalidLease,
        Self::LeaseExpired,
        Self::ExecutionFailed,
        Self::ResourceExhausted,
    ];

    /// Returns the code as it appears in a result.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnsupportedCapability => "UNSUPPORTED_CAPABILITY",
            Self::InvalidLease => "INVALID_LEASE",
            Self::LeaseExpired => "LEASE_EXPIRED",
            Self::ExecutionFailed => "EXECUTION_FAILED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl ExecutionResult {
    /// Format identifier of this version.
    pub const FORMAT: &str = "actum.execution-result/1";

    /// Creates the result of a request that failed before its lease was found valid. Such a result does not reserve the task id.
    pub fn refused(
        asked: &Asked,
        (code, detail): (ErrorCode, Detail),
        requested: Timestamp,
        time: Timestamp,
    ) -> Self {
        Self {
            format: Self::FORMAT.to_owned(),
            task_id: None,
            requested_task_id: asked.task.clone(),
            capability_id: asked.capability.clone(),
            status: TaskStatus::Failed,
            output: None,
            error_code: Some(code),
            detail: Some(detail),
            manifest: asked.digest,
            lease: Vec::new(),
            runs: Vec::new(),
            started: None,
            requested,
            time: time.max(requested),
            engine: crate::ENGINE.to_owned(),
        }
    }

    /// Signs the result with the result key, and returns the bytes of the envelope.
    ///
    /// # Errors
    /// Returns [`SignResultError`] if the result cannot be encoded or the key fails.
    pub fn sign(&self, signer: &dyn Signer) -> Result<Vec<u8>, SignResultError> {
        let payload = canonical::to_vec(self)?;
        Ok(Envelope::sign(PAYLOAD_TYPE, payload, signer)?.to_vec()?)
    }
}

const TEXT: Form = Form::Text(Text::any(1 << 20));
const SHA256: Form = Form::Text(Text::filled(128, Characters::Any));
const STATUSES: &[&str] = &["SUCCESS", "FAILED"];
const CODES: &[&str] = &[
    "UNSUPPORTED_CAPABILITY",
    "INVALID_LEASE",
    "LEASE_EXPIRED",
    "EXECUTION_FAILED",
    "RESOURCE_EXHAUSTED",
];
const STATES: &[&str] = &["unchanged", "restored", "needs_attention"];
const CAPABILITIES: &[&str] = &["FILE_MOVE", "FILE_COPY", "FILE_DELETE"];

pub(crate) static EXECUTION_RESULT: ObjectSchema = ObjectSchema {
    name: "an execution result",
    about: "Outcome of a file task: the payload of the signed envelope that `actum file run` prints. Readers must accept unknown members.",
    others: Others::PassedOver,
    members: &[
        Member::required(
            "format",
            Form::Word(&[ExecutionResult::FORMAT]),
            "Format identifier of the document.",
        ),
        Member::required(
            "task_id",
            Form::NullOr(&TEXT),
            "Identifier of the task, or null if the request was rejected before its lease was found valid.",
        ),
        Member::required(
            "requested_task_id",
            Form::NullOr(&TEXT),
            "Identifier of the requested task, if the manifest contains one.",
        ),
        Member::required(
            "capability_id",
            Form::NullOr(&TEXT),
            "Requested capability, if the manifest contains one.",
        ),
        Member::required("status", Form::Word(STATUSES), "Outcome of the task."),
        Member::required(
            "output",
            Form::NullOr(&Form::Object(&OUTPUT)),
            "Effect of the task, or null if the task failed.",
        ),
        Member::required(
            "error_code",
            Form::NullOr(&Form::Word(CODES)),
            "Error code of a failed task, or null if the task succeeded.",
        ),
        Member::required(
            "detail",
            Form::NullOr(&Form::Object(&DETAIL)),
            "Reason for the failure, or null if the task succeeded.",
        ),
        Member::required("manifest", SHA256, "SHA-256 digest of the manifest bytes."),
        Member::required(
            "lease",
            Form::Texts { of: Text::any(128), count_max: 64 },
            "Identifiers of the lease blocks. Empty if the lease was not found valid.",
        ),
        Member::required(
            "runs",
            Form::Texts { of: Text::any(128), count_max: 2 },
            "Runs that made the change. For a move between base directories, the run of the destination comes first.",
        ),
        Member::required(
            "started",
            Form::NullOr(&Form::AnyObject),
            "Ledger entry that recorded the start of the task, or null if the task was not started.",
        ),
        Member::required("requested", TEXT, "Time at which the request was received."),
        Member::required("time", TEXT, "Time at which the task ended."),
        Member::required("engine", TEXT, "Name and version of the program."),
    ],
};

static OUTPUT: ObjectSchema = ObjectSchema {
    name: "an output",
    about: "Effect of a file task that succeeded.",
    others: Others::PassedOver,
    members: &[
        Member::required("task_id", TEXT, "Identifier of the task."),
        Member::required(
            "capability_id",
            Form::Word(CAPABILITIES),
            "Capability that the task used.",
        ),
        Member::required(
            "result_summary",
            Form::Object(&SUMMARY),
            "Paths of the source and the destination.",
        ),
        Member::required(
            "undo_metadata",
            Form::Object(&UNDO),
            "Data that is needed to undo the task.",
        ),
    ],
};

static SUMMARY: ObjectSchema = ObjectSchema {
    name: "a result summary",
    about: "Normalised paths of a file task.",
    others: Others::PassedOver,
    members: &[
        Member::required("source", TEXT, "Path of the source file."),
        Member::required(
            "destination",
            Form::NullOr(&TEXT),
            "Path that was created, or null for FILE_DELETE.",
        ),
    ],
};

static UNDO: ObjectSchema = ObjectSchema {
    name: "undo metadata",
    about: "Data that is needed to undo a file task: `original_path` for FILE_MOVE, and `recovery` for FILE_DELETE.",
    others: Others::PassedOver,
    members: &[
        Member::optional("original_path", TEXT, "Path of a moved file before the move."),
        Member::optional(
            "recovery",
            TEXT,
            "Recovery reference of a deleted file, for `actum file restore`.",
        ),
    ],
};

static DETAIL: ObjectSchema = ObjectSchema {
    name: "a detail",
    about: "Reason for a failure.",
    others: Others::PassedOver,
    members: &[
        Member::required("reason", TEXT, "Permanent reason code, which `actum explain` describes."),
        Member::required("message", TEXT, "Description of the failure."),
        Member::required("workspace", Form::Word(STATES), "State of the files after the failure."),
    ],
};
