//! Errors returned when a ledger is read or appended to.

mod agent;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use actum_core::{Digest, RunId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{Answer, EntryError, RequestKey, WorkspaceId};

use crate::home::HomeError;
use crate::keys::KeyError;
use crate::limits::{BODY_BYTES_MAX, REQUEST_ENTRIES_MAX};
pub use agent::AgentRefusal;

/// Reason why a ledger could not be used. The error is cloneable, so that one failure can be reported to every waiting
/// caller.
///
/// The variants describe failures that any kind of store can have, so callers do not need to know the database behind
/// it. Only [`File`](Self::File), [`NoFile`](Self::NoFile) and [`Gone`](Self::Gone) are specific to stores in files.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The entry is not allowed at this point of the log.
    #[error("{refusal}")]
    Refused {
        /// Rule that the entry violates.
        #[from]
        refusal: Refusal,
    },
    /// A system call on a file or directory of the ledger failed.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// Operation that failed, as a verb for the message.
        action: &'static str,
        /// File or directory on which the operation failed.
        path: PathBuf,
        /// Error returned by the operating system.
        source: Arc<io::Error>,
    },
    /// A symbolic link, a directory or another kind of entry was found where a ledger file is expected.
    #[error("`{}` is not a ledger file: found {found}", path.display())]
    NoFile {
        /// Expected path of the ledger file.
        path: PathBuf,
        /// Kind of the entry that was found at the path.
        found: &'static str,
    },
    /// The store exists, but does not contain a ledger.
    #[error("`{store}` is not a ledger: {message}")]
    NoLedger {
        /// Path or address of the store.
        store: StoreName,
        /// Explanation of how the store differs from a ledger.
        message: String,
    },
    /// The ledger was created by a later version of actum, and its schema is unknown to this one.
    #[error(
        "the ledger `{store}` has schema version {found}, but this version of actum supports only versions up to \
         {known}: use a newer version of actum"
    )]
    NewerSchema {
        /// Path or address of the store.
        store: StoreName,
        /// Schema version of the ledger.
        found: u32,
        /// Newest schema version that this version of actum supports.
        known: u32,
    },
    /// Another program kept the ledger locked until the wait timed out.
    #[error("the ledger `{store}` has been locked by another program for more than {seconds} s")]
    Locked {
        /// Path or address of the store.
        store: StoreName,
        /// Time that was spent waiting for the lock, in seconds.
        seconds: u64,
    },
    /// The ledger file was removed or replaced while it was open.
    #[error(
        "the ledger `{}` was moved, removed or replaced while it was open",
        path.display()
    )]
    Gone {
        /// Path at which the ledger was opened.
        path: PathBuf,
    },
    /// The file system of the ledger is full.
    #[error("there is no space left for the ledger `{store}`")]
    Full {
        /// Path or address of the store.
        store: StoreName,
    },
    /// The ledger can be read, but not written to.
    #[error("the ledger `{store}` is not writable")]
    ReadOnly {
        /// Path or address of the store.
        store: StoreName,
    },
    /// The system reported an error while an append was being made durable, so the entries may or may not be recorded.
    #[error(
        "it is unknown whether the entries are in the ledger `{store}`: {source}; check the ledger before \
         you try again"
    )]
    OutcomeUnknown {
        /// Path or address of the store.
        store: StoreName,
        /// Error returned by the library of the store.
        source: StoreFault,
    },
    /// The database reported an error that no other variant describes.
    #[error("cannot {action} the ledger `{store}`: {source}")]
    Database {
        /// Operation that failed, as a verb for the message.
        action: &'static str,
        /// Store on which the operation failed.
        store: StoreName,
        /// Error returned by the database library.
        source: StoreFault,
    },
    /// The stored data is inconsistent.
    #[error("the ledger is damaged: {message}")]
    Damaged {
        /// Description of the inconsistency.
        message: String,
    },
    /// An entry that a workspace relies on is missing from the ledger or has different content.
    #[error(
        "the ledger `{origin}` no longer contains entry {index} as a workspace recorded it (it has {size} entries); \
         entries were lost or changed"
    )]
    Forgot {
        /// Name of the log.
        origin: String,
        /// Index of the missing or changed entry, counted from 0.
        index: u64,
        /// Number of entries that the ledger contains now.
        size: u64,
    },
    /// The home directory of ledgers and keys cannot be used.
    #[error(transparent)]
    Home {
        /// Reason why the home cannot be used.
        source: Arc<HomeError>,
    },
    /// A signing key is missing or must not be used.
    #[error(transparent)]
    Key {
        /// Reason why the key cannot be used.
        source: Arc<KeyError>,
    },
    /// A checkpoint of the log could not be signed. The entries of the log are not affected.
    #[error("cannot sign a checkpoint of the ledger: {message}; its entries were not changed")]
    Checkpoint {
        /// Reason why no checkpoint was signed.
        message: String,
    },
    /// The thread that writes to the ledger could not be started.
    #[error("cannot start the writer thread of the ledger: {message}")]
    NoWriter {
        /// Error message from the operating system.
        message: String,
    },
    /// The writer thread ended without answering, so the last request may or may not have been executed.
    #[error(
        "the writer thread of the ledger has ended; it is unknown whether the last request was executed"
    )]
    Stopped,
}

/// Name of a store for messages, which is either the path of a database file or the address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreName(Arc<str>);

/// Error of the library that a store is built on. Callers only print it and never base a decision on it.
pub type StoreFault = Arc<dyn Error + Send + Sync>;

impl From<&str> for StoreName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl From<&Path> for StoreName {
    fn from(path: &Path) -> Self {
        Self(path.to_string_lossy().into())
    }
}

impl fmt::Display for StoreName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Rule that prevents an entry from being appended to the log at its index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes are not a valid entry of the stated kind.
    #[error(transparent)]
    NoEntry {
        /// Error found while parsing the bytes.
        #[from]
        source: EntryError,
    },
    /// The body of the entry or one of its documents is too long.
    #[error(
        "an entry or a document may be at most {BODY_BYTES_MAX} bytes, but this one has {bytes}"
    )]
    TooLarge {
        /// Length of the body or document in bytes.
        bytes: usize,
    },
    /// The log has reached its size limit, so it accepts no entry that starts something new.
    #[error(
        "the ledger has {bytes} bytes and its limit is {max}; no new run, plan, action, lease, file task or agent step can \
         start"
    )]
    LogFull {
        /// Current size of the log in bytes.
        bytes: u64,
        /// Maximum size of the log in bytes.
        max: u64,
    },
    /// The request contains too many entries.
    #[error(
        "a request may append at most {REQUEST_ENTRIES_MAX} entries, but this one has {entries}"
    )]
    TooMany {
        /// Number of entries in the request.
        entries: usize,
    },
    /// The first entry of the log is not a `LOG_STARTED`, or a later entry is one.
    #[error(
        "`LOG_STARTED` must be the first entry of a log and cannot occur again; this would be entry {index}"
    )]
    Beginning {
        /// Index that the entry would get.
        index: u64,
    },
    /// The run has already been started.
    #[error("run {run} was already started in entry {started}")]
    RunStarted {
        /// Run that the entry belongs to.
        run: RunId,
        /// Index of the entry that recorded the earlier start.
        started: u64,
    },
    /// Another run has already made this attempt at the request.
    #[error("attempt {attempt} at the request `{request}` was already started in entry {started}")]
    RequestStarted {
        /// Workspace in which the request was made.
        workspace: WorkspaceId,
        /// Idempotency key of the request.
        request: RequestKey,
        /// Number of the attempt.
        attempt: u32,
        /// Run that made the attempt.
        run: RunId,
        /// Index of the entry that recorded the earlier start.
        started: u64,
    },
    /// The entry ends a run that was never started.
    #[error("run {run} was never started, so it cannot end")]
    NotStarted {
        /// Run that the entry belongs to.
        run: RunId,
    },
    /// The entry ends the run in a different workspace from the one in which it was started.
    #[error(
        "run {run} was started in workspace {started_in}, so it cannot end in workspace {workspace}"
    )]
    OtherWorkspace {
        /// Run that the entry belongs to.
        run: RunId,
        /// Workspace in which the run was started.
        started_in: WorkspaceId,
        /// Workspace in which the entry would end the run.
        workspace: WorkspaceId,
    },
    /// The receipt refers to the wrong entry as the start of its run.
    #[error(
        "the receipt of run {run} refers to entry {index} with hash {leaf} as the start of the run, but the run \
         started in entry {started} with hash {started_leaf}"
    )]
    OtherIntent {
        /// Run that the entry belongs to.
        run: RunId,
        /// Index of the entry to which the receipt refers.
        index: u64,
        /// Hash of that entry according to the receipt.
        leaf: Digest,
        /// Index of the entry that started the run.
        started: u64,
        /// Hash of the entry that started the run.
        started_leaf: Digest,
    },
    /// The run has already ended.
    #[error("run {run} already ended in entry {done}")]
    RunDone {
        /// Run that the entry belongs to.
        run: RunId,
        /// Index of the entry that ended the run.
        done: u64,
    },
    /// The plan has already been queued.
    #[error("plan {plan} was already queued in entry {queued}")]
    PlanQueued {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Index of the entry that queued the plan.
        queued: u64,
    },
    /// The entry refers to a plan that was never queued.
    #[error("plan {plan} was never queued")]
    NoPlan {
        /// Plan that the entry belongs to.
        plan: RunId,
    },
    /// The plan was queued for a different workspace.
    #[error("plan {plan} is for workspace {queued_in}, not for workspace {workspace}")]
    OtherWorkspaceOfPlan {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Workspace for which the plan was queued.
        queued_in: WorkspaceId,
        /// Workspace named by the entry.
        workspace: WorkspaceId,
    },
    /// The entry does not refer to the latest entry about the plan, on which it has to build.
    #[error(
        "the entry about plan {plan} refers to entry {index} with hash {leaf}, which is not the entry that it has to \
         follow"
    )]
    OtherEntryOfPlan {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Index of the entry to which it refers.
        index: u64,
        /// Hash of that entry according to the new one.
        leaf: Digest,
    },
    /// The request, the change or the policy of the entry is not the one of the queued plan.
    #[error(
        "the request, the change or the policy differs from the one that was queued as plan {plan}"
    )]
    OtherThanPlan {
        /// Plan that the entry belongs to.
        plan: RunId,
    },
    /// The plan has already been carried out, which used up its approval.
    #[error(
        "plan {plan} was already carried out in entry {started}; an approval can be used only once"
    )]
    PlanStarted {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Index of the entry that recorded the earlier start.
        started: u64,
    },
    /// The answer is not possible after the previous answer to the plan.
    #[error("plan {plan} {}, so it cannot be {}", describe_answer(*before), answer.as_str())]
    PlanAnswered {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Previous answer to the plan, if any.
        before: Option<Answer>,
        /// Answer that was given now.
        answer: Answer,
    },
    /// The plan is not approved, or its approval was revoked, so it cannot be carried out.
    #[error("plan {plan} {}, so it cannot be carried out", describe_answer(*before))]
    PlanNotApproved {
        /// Plan that the entry belongs to.
        plan: RunId,
        /// Latest answer to the plan, if any.
        before: Option<Answer>,
    },
    /// The catalog change was not made on top of the latest one. Either the catalog has changed in the meantime, or the
    /// entry was signed for a different log or index.
    #[error(
        "the catalog change follows {} instead of the latest change, {}; the catalog has changed in the meantime, or \
         this change was signed for another position",
        entry_of(*index), entry_of(*newest)
    )]
    OtherCatalog {
        /// Index of the entry that the change follows.
        index: Option<u64>,
        /// Index of the latest catalog change, which the new one has to follow.
        newest: Option<u64>,
    },
    /// An `ALERT_SEEN` entry does not refer to an entry that raised an alert, or states the wrong hash for it.
    #[error(
        "an `ALERT_SEEN` entry must refer to an alert by index and hash, but this one refers to {}",
        entry_of(*index)
    )]
    NoAlert {
        /// Index of the entry to which it refers.
        index: Option<u64>,
    },
    /// The lease has already been granted.
    #[error("lease {lease} was already granted in entry {granted}")]
    LeaseGranted {
        /// Id of the first block of the lease.
        lease: LeaseId,
        /// Index of the entry that granted the lease.
        granted: u64,
    },
    /// The lease was not granted in this log, so it cannot be used.
    #[error("lease {lease} was not granted in this ledger, so it cannot be used")]
    LeaseNotGranted {
        /// Id of the first block of the lease.
        lease: LeaseId,
    },
    /// A block of the lease is revoked, so it cannot be used.
    #[error("lease {lease} was revoked in entry {revoked}, so it cannot be used")]
    LeaseRevoked {
        /// Id of the revoked block.
        lease: LeaseId,
        /// Index of the entry that revoked the block.
        revoked: u64,
    },
    /// The block has already been revoked.
    #[error("lease {lease} was already revoked in entry {revoked}")]
    LeaseRevokedBefore {
        /// Id of the revoked block.
        lease: LeaseId,
        /// Index of the entry that revoked the block earlier.
        revoked: u64,
    },
    /// A block of the lease has reached its maximum number of uses.
    #[error("lease {lease} is used up ({used} of {uses} uses)")]
    LeaseUsedUp {
        /// Id of the block that is used up.
        lease: LeaseId,
        /// Number of times the block has been used.
        used: u64,
        /// Maximum number of times the block may be used.
        uses: u64,
    },
    /// The file task has already been started.
    #[error("file task `{}` was already started in entry {started}", task.as_str())]
    FileTaskStarted {
        /// Id of the file task.
        task: TaskName,
        /// Index of the entry that recorded the earlier start.
        started: u64,
    },
    /// The file task has already ended.
    #[error("file task `{}` already ended in entry {ended}", task.as_str())]
    FileTaskEnded {
        /// Id of the file task.
        task: TaskName,
        /// Index of the entry that ended the task.
        ended: u64,
    },
    /// The result of a file task refers to the wrong entry as the start of the task.
    #[error(
        "the result of file task `{}` refers to {} as its start instead of {}",
        task.as_str(), entry_of(*index), entry_of(*started)
    )]
    OtherStartOfFileTask {
        /// Id of the file task.
        task: TaskName,
        /// Index of the entry to which the result refers.
        index: Option<u64>,
        /// Index of the entry that started the task.
        started: Option<u64>,
    },
    /// The entry violates a rule of the Agent Execution Core.
    #[error(transparent)]
    Agent(#[from] AgentRefusal),
    /// A document that the entry refers to is neither in the request nor in the ledger.
    #[error("the ledger does not contain document {digest}, which the entry refers to")]
    BlobMissing {
        /// Digest of the document.
        digest: Digest,
    },
    /// The request includes a document that its entry does not refer to.
    #[error("the request includes document {digest}, but its entry does not refer to it")]
    BlobUnnamed {
        /// Digest of the document.
        digest: Digest,
    },
}

/// Formats the last answer to a plan as a predicate for error messages, such as "was approved".
fn describe_answer(answer: Option<Answer>) -> String {
    answer.map_or("has not been answered".to_owned(), |answer| format!("was {}", answer.as_str()))
}

/// Formats a reference to an entry for error messages, or "no entry" if there is none.
fn entry_of(index: Option<u64>) -> String {
    index.map_or("no entry".to_owned(), |index| format!("entry {index}"))
}

impl LedgerError {
    /// Returns whether it is certain that nothing was recorded. If not, the entries may be in the ledger.
    pub fn is_outcome_known(&self) -> bool {
        !matches!(self, Self::OutcomeUnknown { .. } | Self::Stopped)
    }

    /// Creates the error for a damaged entry.
    pub fn entry(index: u64, message: &dyn fmt::Display) -> Self {
        Self::Damaged { message: format!("entry {index}: {message}") }
    }

    /// Returns the violated rule if the error is [`LedgerError::Refused`].
    pub fn refusal(&self) -> Option<&Refusal> {
        if let Self::Refused { refusal } = self { Some(refusal) } else { None }
    }
}

impl From<HomeError> for LedgerError {
    fn from(error: HomeError) -> Self {
        Self::Home { source: Arc::new(error) }
    }
}

impl From<KeyError> for LedgerError {
    fn from(error: KeyError) -> Self {
        Self::Key { source: Arc::new(error) }
    }
}
