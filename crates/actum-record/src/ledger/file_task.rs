//! Ledger entries that record the start and the end of file tasks (FE-11, FE-14).

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Actor, TenantId, WorkspaceId};
use crate::lease::{Capability, LeaseRecord, TaskName};
use crate::receipt::EntryRef;

/// Maximum number of base directories that a file task changes. A move between directories changes the source and the
/// destination.
pub const FILE_TASK_ROOTS_MAX: usize = 2;

/// Entry that records the start of a file task. It is durable before the task changes any file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTaskStarted {
    /// Format of the entry, which is always [`FileTaskStarted::FORMAT`].
    pub format: String,
    /// Time at which the task started.
    pub time: Timestamp,
    /// Tenant whose ledger contains the entry.
    pub tenant: TenantId,
    /// Id of the task. A task with this id can be started only once.
    pub task: TaskName,
    /// Digest of the task manifest.
    pub manifest: Digest,
    /// Capability that the task requires.
    pub capability: Capability,
    /// Normalised path of the source file.
    pub source: String,
    /// Normalised path that the task creates, or `None` for a deletion.
    pub destination: Option<String>,
    /// Lease under which the task is performed.
    pub lease: LeaseRecord,
    /// Base directories that the task changes, at least one and at most [`FILE_TASK_ROOTS_MAX`].
    pub roots: Vec<FileTaskRoot>,
    /// Actor that requested the task.
    pub actor: Actor,
    /// Name and version of the program that wrote the entry.
    pub engine: String,
}

/// Base directory that a file task changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTaskRoot {
    /// Workspace of the base directory.
    pub workspace: WorkspaceId,
    /// Path of the base directory, escaped if it is not UTF-8.
    pub root: String,
    /// Run that changes files in the base directory.
    pub run: RunId,
}

/// Fields of an `ExecutionResult` that the ledger needs. The entire result is the payload of an envelope signed by the result
/// key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTaskEnded {
    /// Id of the task, or `None` if the request was refused before its lease was verified. Such a request does not claim an id.
    #[serde(deserialize_with = "present")]
    pub task_id: Option<TaskName>,
    /// `FILE_TASK_STARTED` entry of the task, if the task was started.
    #[serde(deserialize_with = "present")]
    pub started: Option<EntryRef>,
    /// Time at which the task ended.
    pub time: Timestamp,
}

impl FileTaskStarted {
    /// Value of the `format` field.
    pub const FORMAT: &str = "actum.file-task-started/1";
}

impl FileTaskEnded {
    /// Payload type of the signed envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.execution-result+json";
}

/// Deserializes a field that may be null but must not be missing.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
