//! Execution result: how a file task ended, signed by the result key (FE-13 to FE-15).

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

/// Payload type of the envelope.
pub const PAYLOAD_TYPE: &str = "application/vnd.actum.execution-result+json";

/// Result of a file task. Readers tolerate more fields (D-4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExecutionResult {
    /// [`ExecutionResult::FORMAT`].
    pub format: String,
    /// Task that this is the result of. It is null if the request was refused before its lease was
    /// found valid, which binds no id.
    pub task_id: Option<TaskName>,
    /// Requested task, if the manifest named one.
    pub requested_task_id: Option<TaskName>,
    /// Capability that was asked for.
    pub capability_id: Option<String>,
    /// Status of the task.
    pub status: TaskStatus,
    /// Effect; null if the task failed.
    pub output: Option<Output>,
    /// Code of the closed set; null if the task succeeded.
    pub error_code: Option<ErrorCode>,
    /// Reason of a failure.
    pub detail: Option<Detail>,
    /// SHA-256 of the bytes of the manifest.
    pub manifest: Digest,
    /// Ids of the blocks of the lease; empty if none was found valid.
    pub lease: Vec<LeaseId>,
    /// Runs that made the change, that of the destination first.
    pub runs: Vec<RunId>,
    /// Entry that recorded the start of the task, if it was started.
    pub started: Option<EntryRef>,
    /// Time at which the request was received.
    pub requested: Timestamp,
    /// Time at which it ended.
    pub time: Timestamp,
    /// Program.
    pub engine: String,
}

/// Status of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum TaskStatus {
    /// The effect was made.
    Success,
    /// No effect lasts, unless the detail says otherwise.
    Failed,
}

/// Error code of the closed set (FE-15).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorCode {
    /// The capability is not one of the three.
    UnsupportedCapability,
    /// The lease is missing, unsound, or does not allow the task.
    InvalidLease,
    /// The lease has expired.
    LeaseExpired,
    /// The task could not be carried out.
    ExecutionFailed,
    /// A quota was exceeded.
    ResourceExhausted,
}

/// Output of a task that succeeded (seed 001, 9.1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// Task.
    pub task_id: TaskName,
    /// Capability.
    pub capability_id: FileCapability,
    /// Paths.
    pub result_summary: ResultSummary,
    /// Data that undoes it.
    pub undo_metadata: UndoMetadata,
}

/// Paths of a task that succeeded, normalised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultSummary {
    /// File.
    pub source: String,
    /// Path that was made; null for a deletion.
    pub destination: Option<String>,
}

/// Data that undoes a task: the original path of a moved file, the recovery reference of a deleted
/// one, nothing for a copy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoMetadata {
    /// Original path of a moved file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_path: Option<String>,
    /// Reference that `actum file restore` takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<String>,
}

/// Reason of a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Detail {
    /// Permanent name, which `actum explain` knows.
    pub reason: String,
    /// Sentence.
    pub message: String,
    /// State of the files.
    pub workspace: WorkspaceState,
}

/// State of the files after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkspaceState {
    /// Nothing was changed.
    Unchanged,
    /// All changed files are as before.
    Restored,
    /// An operator has to look at it.
    NeedsAttention,
}

/// Result that could not be signed.
#[derive(Debug, thiserror::Error)]
pub enum SignResultError {
    /// The result has no exact form.
    #[error("cannot write the result: {0}")]
    Form(#[from] CanonicalError),
    /// The key failed.
    #[error(transparent)]
    Key(#[from] SignError),
}

impl ErrorCode {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::UnsupportedCapability,
        Self::InvalidLease,
        Self::LeaseExpired,
        Self::ExecutionFailed,
        Self::ResourceExhausted,
    ];

    /// The code.
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
    /// The value of `format`.
    pub const FORMAT: &str = "actum.execution-result/1";

    /// Makes the result of a request that failed before its lease was found valid, so that it binds no id.
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

    /// Signs it with the result key; returns the bytes of the envelope.
    ///
    /// # Errors
    /// [`SignResultError`]
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
    about: "How a file task ended: the payload of the signed envelope that `actum file run` prints. Readers tolerate members that are not listed.",
    others: Others::PassedOver,
    members: &[
        Member::required("format", Form::Word(&[ExecutionResult::FORMAT]), "Format."),
        Member::required(
            "task_id",
            Form::NullOr(&TEXT),
            "Task. It is null where the request was refused before its lease was found valid.",
        ),
        Member::required(
            "requested_task_id",
            Form::NullOr(&TEXT),
            "Task that was asked for, where the manifest named one.",
        ),
        Member::required("capability_id", Form::NullOr(&TEXT), "Capability that was asked for."),
        Member::required("status", Form::Word(STATUSES), "How it ended."),
        Member::required(
            "output",
            Form::NullOr(&Form::Object(&OUTPUT)),
            "Effect of a task that succeeded.",
        ),
        Member::required(
            "error_code",
            Form::NullOr(&Form::Word(CODES)),
            "Code of a task that failed.",
        ),
        Member::required(
            "detail",
            Form::NullOr(&Form::Object(&DETAIL)),
            "Reason of a task that failed.",
        ),
        Member::required("manifest", SHA256, "SHA-256 of the bytes of the manifest."),
        Member::required(
            "lease",
            Form::Texts { of: Text::any(128), count_max: 64 },
            "Ids of the blocks of the lease.",
        ),
        Member::required(
            "runs",
            Form::Texts { of: Text::any(128), count_max: 2 },
            "Runs that made the change.",
        ),
        Member::required(
            "started",
            Form::NullOr(&Form::AnyObject),
            "Entry of the ledger that recorded the start.",
        ),
        Member::required("requested", TEXT, "When the request was received."),
        Member::required("time", TEXT, "When it ended."),
        Member::required("engine", TEXT, "Program."),
    ],
};

static OUTPUT: ObjectSchema = ObjectSchema {
    name: "an output",
    about: "Effect of a file task.",
    others: Others::PassedOver,
    members: &[
        Member::required("task_id", TEXT, "Task."),
        Member::required("capability_id", Form::Word(CAPABILITIES), "Capability."),
        Member::required("result_summary", Form::Object(&SUMMARY), "Paths."),
        Member::required("undo_metadata", Form::Object(&UNDO), "What undoes it."),
    ],
};

static SUMMARY: ObjectSchema = ObjectSchema {
    name: "a result summary",
    about: "Paths of a file task, normalised.",
    others: Others::PassedOver,
    members: &[
        Member::required("source", TEXT, "File."),
        Member::required("destination", Form::NullOr(&TEXT), "Path that was made."),
    ],
};

static UNDO: ObjectSchema = ObjectSchema {
    name: "undo metadata",
    about: "What undoes a file task: `original_path` of FILE_MOVE, `recovery` of FILE_DELETE.",
    others: Others::PassedOver,
    members: &[
        Member::optional("original_path", TEXT, "Where a moved file was."),
        Member::optional("recovery", TEXT, "Reference that `actum file restore` takes."),
    ],
};

static DETAIL: ObjectSchema = ObjectSchema {
    name: "a detail",
    about: "Reason of a failure.",
    others: Others::PassedOver,
    members: &[
        Member::required("reason", TEXT, "Permanent name, which `actum explain` knows."),
        Member::required("message", TEXT, "Sentence."),
        Member::required("workspace", Form::Word(STATES), "State of the files."),
    ],
};
