//! Interfaces through which the host checks leases and accesses the log of file tasks.
//!
//! They keep `actum-lease` and the ledger out of the host, so that it depends on neither Biscuit nor the tables of the ledger.

use actum::RequestLease;
use actum_core::{Digest, RunId, Timestamp};
use actum_ledger::{LedgerError, NewEntry};
use actum_record::lease::{LeaseRecord, TaskName};
use actum_record::ledger::{Actor, WorkspaceId};
use actum_record::receipt::EntryRef;

use crate::manifest::FileCapability;
use crate::path::FilePath;

/// Checks the lease that came with a request.
pub trait LeaseCheck {
    /// Checks that the lease allows a file task at the time `now`. This is called once when a request is received, and again just
    /// before its change is published.
    ///
    /// # Errors
    /// Returns [`LeaseRefusal`] if the lease does not allow the task.
    fn check(&self, need: &LeaseNeed<'_>, now: Timestamp) -> Result<LeaseFacts, LeaseRefusal>;
}

/// Facts about a file task that its lease must allow.
#[derive(Debug, Clone)]
pub struct LeaseNeed<'n> {
    /// Capability that the task requires.
    pub capability: FileCapability,
    /// Identifier of the task.
    pub task: &'n TaskName,
    /// SHA-256 digest of the manifest.
    pub manifest: Digest,
    /// Path of the source file.
    pub source: &'n FilePath,
    /// Path that the task creates, if any.
    pub destination: Option<&'n FilePath>,
    /// Actor that requests the task.
    pub actor: &'n Actor,
    /// Whether the start of the task has already been recorded, and thus counted as a use of the lease.
    pub is_started: bool,
}

/// Lease that allows a file task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseFacts {
    /// Lease, together with its state in the ledger.
    pub lease: RequestLease,
}

/// Reason why a lease does not allow a file task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseRefusal {
    /// The lease is missing, invalid, revoked, used up or not valid yet, or does not allow this task.
    #[error("{message}")]
    Invalid {
        /// Permanent reason code.
        reason: &'static str,
        /// Error message.
        message: String,
    },
    /// The task would exceed a quota of the lease.
    #[error("{message}")]
    Exhausted {
        /// Permanent reason code.
        reason: &'static str,
        /// Error message.
        message: String,
    },
    /// The lease has expired.
    #[error("{message}")]
    Expired {
        /// Permanent reason code.
        reason: &'static str,
        /// Error message.
        message: String,
    },
}

/// Log of file tasks, in which each task id is started and ended at most once.
pub trait TaskLog {
    /// Finds a task by its id.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the log cannot be read.
    fn find(&self, task: &TaskName) -> Result<Option<LoggedTask>, LedgerError>;

    /// Lists the tasks that were started but have not ended.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the log cannot be read.
    fn open(&self) -> Result<Vec<TaskStart>, LedgerError>;

    /// Lists the deletions that succeeded, whose recovery references must stay valid.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the log cannot be read.
    fn deletions(&self) -> Result<Vec<TaskStart>, LedgerError>;

    /// Returns the entries that record the start of a task, whose lease consists of the signed `blocks`. The caller appends the
    /// entries together with the intent of the first run.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the start cannot be encoded.
    fn start(&self, start: &TaskStart, blocks: &[u8]) -> Result<Vec<NewEntry>, LedgerError>;

    /// Durably records the signed result of a task, which either was started or failed after its lease was found valid.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the result cannot be recorded, or if the task has already ended.
    fn end(&self, task: &TaskName, envelope: &[u8]) -> Result<(), LedgerError>;

    /// Records the signed refusal of a request, which does not reserve its task id.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the refusal cannot be recorded.
    fn refuse(&self, envelope: &[u8]) -> Result<(), LedgerError>;
}

/// File task in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedTask {
    /// SHA-256 digest of the manifest.
    pub manifest: Digest,
    /// Start of the task, or `None` if it was not started.
    pub start: Option<TaskStart>,
    /// Ledger entry that records the start.
    pub started: Option<EntryRef>,
    /// Signed result, or `None` if the task has not ended.
    pub result: Option<Vec<u8>>,
}

/// Start of a file task. It is recorded before the first change, and contains everything that recovery needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStart {
    /// Time at which the task started.
    pub time: Timestamp,
    /// Identifier of the task.
    pub task: TaskName,
    /// SHA-256 digest of the manifest.
    pub manifest: Digest,
    /// Capability that the task uses.
    pub capability: FileCapability,
    /// Path of the source file.
    pub source: FilePath,
    /// Path that the task creates, if any.
    pub destination: Option<FilePath>,
    /// Lease that allows the task.
    pub lease: LeaseRecord,
    /// Base directory of the source, followed by that of the destination if the task changes two base directories.
    pub roots: Vec<TaskRoot>,
    /// Actor that requested the task.
    pub actor: Actor,
}

/// Base directory that a file task changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRoot {
    /// Identifier of the workspace in the base directory.
    pub workspace: WorkspaceId,
    /// Path of the base directory.
    pub root: String,
    /// Run that makes the change in the base directory.
    pub run: RunId,
}
