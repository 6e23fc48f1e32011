//! Entries about file tasks: started, and ended (FE-11, FE-14).

use actum_core::{Digest, RunId, Timestamp};
use serde::{Deserialize, Deserializer, Serialize};

use super::{Actor, TenantId, WorkspaceId};
use crate::lease::{Capability, LeaseRecord, TaskName};
use crate::receipt::EntryRef;

/// Most base directories that one file task changes: the one that it moves from, and the one that it moves to.
pub const FILE_TASK_ROOTS_MAX: usize = 2;

/// A file task is about to change files. The entry is durable before the first change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTaskStarted {
    /// [`FileTaskStarted::FORMAT`].
    pub format: String,
    /// Time of the start.
    pub time: Timestamp,
    /// Tenant whose ledger it is in.
    pub tenant: TenantId,
    /// Id of the task, which starts once.
    pub task: TaskName,
    /// Digest of the task manifest.
    pub manifest: Digest,
    /// Capability that it uses.
    pub capability: Capability,
    /// Path of the file, normalised.
    pub source: String,
    /// Path that is made, normalised; none of a deletion.
    pub destination: Option<String>,
    /// Lease that it is done under.
    pub lease: LeaseRecord,
    /// Base directories that it changes: one, or [`FILE_TASK_ROOTS_MAX`].
    pub roots: Vec<FileTaskRoot>,
    /// Actor that requested it.
    pub actor: Actor,
    /// Program.
    pub engine: String,
}

/// A base directory that a file task changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileTaskRoot {
    /// Workspace there.
    pub workspace: WorkspaceId,
    /// Its path, escaped where the bytes are not UTF-8.
    pub root: String,
    /// Run that makes the change there.
    pub run: RunId,
}

/// Part of an `ExecutionResult` that a ledger reads. The result key signed the whole of it as the payload of an envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileTaskEnded {
    /// Id of the task; none of a request that was refused before its lease was found valid, which binds no id.
    #[serde(deserialize_with = "present")]
    pub task_id: Option<TaskName>,
    /// `FILE_TASK_STARTED` of the task, where it was started.
    #[serde(deserialize_with = "present")]
    pub started: Option<EntryRef>,
    /// Time of the end.
    pub time: Timestamp,
}

impl FileTaskStarted {
    /// The value of `format`.
    pub const FORMAT: &str = "actum.file-task-started/1";
}

impl FileTaskEnded {
    /// The payload type of the envelope.
    pub const PAYLOAD_TYPE: &str = "application/vnd.actum.execution-result+json";
}

/// Reads a field that can be null and cannot be missing.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}
