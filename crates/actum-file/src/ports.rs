//! Ports of the host: the leases that it accepts, and the log of file tasks.
//!
//! `actum-lease` and the ledger's entries of file tasks are behind them, so that this crate knows
//! neither Biscuit nor a projection.

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
    /// Checks that the lease allows this at `now`. It is called once when a request comes in, and
    /// again just before its change is published.
    ///
    /// # Errors
    /// [`LeaseRefusal`]
    fn check(&self, need: &LeaseNeed<'_>, now: Timestamp) -> Result<LeaseFacts, LeaseRefusal>;
}

/// Need of a file task for a lease.
#[derive(Debug, Clone)]
pub struct LeaseNeed<'n> {
    /// Capability.
    pub capability: FileCapability,
    /// Task.
    pub task: &'n TaskName,
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Its file.
    pub source: &'n FilePath,
    /// Path that it makes.
    pub destination: Option<&'n FilePath>,
    /// Actor that asks.
    pub actor: &'n Actor,
    /// The start of the task is recorded, which counted as a use of the lease.
    pub is_started: bool,
}

/// Lease that allows a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseFacts {
    /// The lease, with its state in the ledger.
    pub lease: RequestLease,
}

/// Reason why a lease does not allow a task.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeaseRefusal {
    /// The lease is missing, unsound, revoked, used up, not valid yet, or does not allow this.
    #[error("{message}")]
    Invalid {
        /// Permanent name.
        reason: &'static str,
        /// Sentence.
        message: String,
    },
    /// A quota of it would be exceeded.
    #[error("{message}")]
    Exhausted {
        /// Permanent name.
        reason: &'static str,
        /// Sentence.
        message: String,
    },
    /// The lease has expired.
    #[error("{message}")]
    Expired {
        /// Permanent name.
        reason: &'static str,
        /// Sentence.
        message: String,
    },
}

/// Log of file tasks: a task id is started once, and ended once.
pub trait TaskLog {
    /// Finds a task by its id.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn find(&self, task: &TaskName) -> Result<Option<LoggedTask>, LedgerError>;

    /// Lists the tasks that were started and not ended.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn open(&self) -> Result<Vec<TaskStart>, LedgerError>;

    /// Lists the deletions that ended in success: their recovery references stay valid.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn deletions(&self) -> Result<Vec<TaskStart>, LedgerError>;

    /// Starts a task under the lease of these signed blocks. Returns the entries that record it;
    /// they are appended together with the intent of its first run.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn start(&self, start: &TaskStart, blocks: &[u8]) -> Result<Vec<NewEntry>, LedgerError>;

    /// Records the signed result of a task, durably. It was started, or failed after its lease was
    /// found valid.
    ///
    /// # Errors
    /// [`LedgerError`], also if the task was ended before.
    fn end(&self, task: &TaskName, envelope: &[u8]) -> Result<(), LedgerError>;

    /// Records the signed refusal of a request that binds no task id.
    ///
    /// # Errors
    /// [`LedgerError`]
    fn refuse(&self, envelope: &[u8]) -> Result<(), LedgerError>;
}

/// Task in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedTask {
    /// Digest of its manifest.
    pub manifest: Digest,
    /// Its start, if it was started.
    pub start: Option<TaskStart>,
    /// Entry of its start.
    pub started: Option<EntryRef>,
    /// Its signed result, if it has ended.
    pub result: Option<Vec<u8>>,
}

/// Start of a task. It is recorded before the first change, and is all that recovery needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskStart {
    /// Time of the start.
    pub time: Timestamp,
    /// Id.
    pub task: TaskName,
    /// Digest of the manifest.
    pub manifest: Digest,
    /// Capability.
    pub capability: FileCapability,
    /// File.
    pub source: FilePath,
    /// Path that is made.
    pub destination: Option<FilePath>,
    /// Lease.
    pub lease: LeaseRecord,
    /// Base directories: that of the source, and that of the destination if it is another one.
    pub roots: Vec<TaskRoot>,
    /// Actor that asked.
    pub actor: Actor,
}

/// Base directory that a task changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRoot {
    /// Workspace.
    pub workspace: WorkspaceId,
    /// Its path.
    pub root: String,
    /// Run that makes the change there.
    pub run: RunId,
}
