//! Errors of appending to and reading a ledger.

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

/// Reason why a ledger could not be used. It can be cloned for every waiting caller.
///
/// Its variants are the kinds of failure that every store has, so that a caller needs no knowledge
/// of the database; only [`File`](Self::File), [`NoFile`](Self::NoFile) and [`Gone`](Self::Gone)
/// are about stores in files.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LedgerError {
    /// The entry to append does not belong in the log.
    #[error("{refusal}")]
    Refused {
        /// Reason of the refusal.
        #[from]
        refusal: Refusal,
    },
    /// A file or directory of the ledger could not be reached.
    #[error("cannot {action} `{}`: {source}", path.display())]
    File {
        /// Attempted operation.
        action: &'static str,
        /// Path of the operation.
        path: PathBuf,
        /// Error of the system.
        source: Arc<io::Error>,
    },
    /// A link, a directory or another entry is in place of the ledger.
    #[error("`{}` is {found} and not a file of a ledger", path.display())]
    NoFile {
        /// Path of the file.
        path: PathBuf,
        /// Kind of the entry at the path.
        found: &'static str,
    },
    /// A database that no ledger is in.
    #[error("`{store}` is no ledger: {message}")]
    NoLedger {
        /// Name of the store.
        store: StoreName,
        /// Details from the store.
        message: String,
    },
    /// A later version of this program made it.
    #[error(
        "the ledger `{store}` has the schema {found}, and this program knows schemas up to {known}: use \
         the program that made it"
    )]
    NewerSchema {
        /// Name of the store.
        store: StoreName,
        /// Its schema.
        found: u32,
        /// The newest that is known.
        known: u32,
    },
    /// Another program keeps it locked.
    #[error("the ledger `{store}` is locked by another program, for more than {seconds} s")]
    Locked {
        /// Name of the store.
        store: StoreName,
        /// Time waited, in seconds.
        seconds: u64,
    },
    /// The file was removed or replaced while it was open.
    #[error(
        "the ledger `{}` was moved or removed, or another put in its place, while it was open",
        path.display()
    )]
    Gone {
        /// Former path of the store.
        path: PathBuf,
    },
    /// The file system is full.
    #[error("there is no space left for the ledger `{store}`")]
    Full {
        /// Name of the store.
        store: StoreName,
    },
    /// The store is readable but not writable.
    #[error("the ledger `{store}` cannot be written")]
    ReadOnly {
        /// Name of the store.
        store: StoreName,
    },
    /// The system failed while the append was made durable.
    #[error(
        "cannot tell whether the entries are in the ledger `{store}`: {source}; look for them before \
         anything is tried again"
    )]
    OutcomeUnknown {
        /// Name of the store.
        store: StoreName,
        /// Error of the store.
        source: StoreFault,
    },
    /// The database could not do it, for a reason that no other variant names.
    #[error("cannot {action} the ledger `{store}`: {source}")]
    Database {
        /// Attempted operation.
        action: &'static str,
        /// Store of the operation.
        store: StoreName,
        /// Error of the database.
        source: StoreFault,
    },
    /// Stored data contradicts itself.
    #[error("the ledger is damaged: {message}")]
    Damaged {
        /// The contradiction.
        message: String,
    },
    /// An entry that a workspace knows is missing, or is another.
    #[error(
        "the ledger `{origin}` does not hold entry {index} any more as a workspace was told of it (it has \
         {size} entries): it lost what was recorded, or was changed"
    )]
    Forgot {
        /// The name of the log.
        origin: String,
        /// Index of the entry, counted from 0.
        index: u64,
        /// Number of entries in the ledger.
        size: u64,
    },
    /// The home of the ledger cannot be used.
    #[error(transparent)]
    Home {
        /// Error of the home.
        source: Arc<HomeError>,
    },
    /// A key is missing or must not be used.
    #[error(transparent)]
    Key {
        /// Error of the key.
        source: Arc<KeyError>,
    },
    /// A checkpoint could not be signed.
    #[error("cannot sign a checkpoint of the ledger: {message}; its entries are as they were")]
    Checkpoint {
        /// The reason.
        message: String,
    },
    /// The thread of the writer cannot be started.
    #[error("the writer of the ledger cannot be started: {message}")]
    NoWriter {
        /// Error message of the system.
        message: String,
    },
    /// The writer is gone.
    #[error("the writer of the ledger has ended; whether the last request was heard is not known")]
    Stopped,
}

/// Name of a store in messages: the path of a database file, or the address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreName(Arc<str>);

/// Error of the library that a store is built on. Callers print it and decide nothing by it.
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

/// Reason why an entry cannot be appended at its index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The bytes are no entry of their kind.
    #[error(transparent)]
    NoEntry {
        /// Error in the bytes.
        #[from]
        source: EntryError,
    },
    /// A body or a document is too long.
    #[error("an entry and a document have {BODY_BYTES_MAX} bytes at most, and this has {bytes}")]
    TooLarge {
        /// Length in bytes.
        bytes: usize,
    },
    /// The log has as many bytes as it may have.
    #[error(
        "the ledger has {bytes} bytes, and the limit is {max}: it takes no new run, plan, action, lease, file task or agent step"
    )]
    LogFull {
        /// Size of the log in bytes.
        bytes: u64,
        /// The limit.
        max: u64,
    },
    /// Too many entries in one request.
    #[error("at most {REQUEST_ENTRIES_MAX} entries are appended at once, and these are {entries}")]
    TooMany {
        /// Number of entries in the request.
        entries: usize,
    },
    /// The first entry, and only that, is `LOG_STARTED`.
    #[error("`LOG_STARTED` is the first entry of a log and no other; this would be entry {index}")]
    Beginning {
        /// Index that the entry would have.
        index: u64,
    },
    /// The run was started before.
    #[error("the run {run} was started before, in entry {started}")]
    RunStarted {
        /// The run.
        run: RunId,
        /// Index of the entry that started it.
        started: u64,
    },
    /// The request had this attempt before.
    #[error("attempt {attempt} at the request `{request}` was made before, in entry {started}")]
    RequestStarted {
        /// The workspace.
        workspace: WorkspaceId,
        /// The key of the request.
        request: RequestKey,
        /// The attempt.
        attempt: u32,
        /// The run that made it.
        run: RunId,
        /// Index of the entry that started it.
        started: u64,
    },
    /// The run was never started.
    #[error("the run {run} has not been started, so it cannot end")]
    NotStarted {
        /// The run.
        run: RunId,
    },
    /// The run was started in another workspace.
    #[error(
        "the run {run} was started in the workspace {started_in} and cannot end in {workspace}"
    )]
    OtherWorkspace {
        /// The run.
        run: RunId,
        /// Workspace that it was started in.
        started_in: WorkspaceId,
        /// Workspace that the entry names.
        workspace: WorkspaceId,
    },
    /// The receipt names another entry as the beginning of its run.
    #[error(
        "the receipt of the run {run} names entry {index} with the hash {leaf} as its beginning, and it \
         began with entry {started}, of which the hash is {started_leaf}"
    )]
    OtherIntent {
        /// The run.
        run: RunId,
        /// The entry that the receipt names.
        index: u64,
        /// Its hash, as the receipt says.
        leaf: Digest,
        /// The entry that the run began with.
        started: u64,
        /// The hash of that.
        started_leaf: Digest,
    },
    /// The run has ended before.
    #[error("the run {run} has ended before, in entry {done}")]
    RunDone {
        /// The run.
        run: RunId,
        /// Index of the entry that ended it.
        done: u64,
    },
    /// A plan with that name was queued before.
    #[error("the plan {plan} was queued before, in entry {queued}")]
    PlanQueued {
        /// The plan.
        plan: RunId,
        /// Index of the entry that queued it.
        queued: u64,
    },
    /// No such plan was ever queued.
    #[error("the plan {plan} was never queued")]
    NoPlan {
        /// The plan.
        plan: RunId,
    },
    /// The plan is for another workspace.
    #[error("the plan {plan} is for the workspace {queued_in} and not for {workspace}")]
    OtherWorkspaceOfPlan {
        /// The plan.
        plan: RunId,
        /// Workspace that it is queued for.
        queued_in: WorkspaceId,
        /// The other.
        workspace: WorkspaceId,
    },
    /// The entry names another one as the one that it follows.
    #[error(
        "about the plan {plan} it names entry {index} with the hash {leaf}, and that is not the one which it \
         would follow"
    )]
    OtherEntryOfPlan {
        /// The plan.
        plan: RunId,
        /// The entry that it names.
        index: u64,
        /// The hash that it names.
        leaf: Digest,
    },
    /// The entry differs from the queued plan in its request, change or policy.
    #[error("it is not what was queued as the plan {plan}: request, change or policy are others")]
    OtherThanPlan {
        /// The plan.
        plan: RunId,
    },
    /// The plan was carried out before: an approval counts once.
    #[error("the plan {plan} was carried out before, in entry {started}: an approval counts once")]
    PlanStarted {
        /// The plan.
        plan: RunId,
        /// Index of the entry that started it.
        started: u64,
    },
    /// The plan cannot get that answer after its last one.
    #[error("the plan {plan} {}, so it cannot be {}", said(*before), answer.as_str())]
    PlanAnswered {
        /// The plan.
        plan: RunId,
        /// Last answer before this one.
        before: Option<Answer>,
        /// The new answer.
        answer: Answer,
    },
    /// The plan was not approved, or its approval was revoked.
    #[error("the plan {plan} {}, so it cannot be carried out", said(*before))]
    PlanNotApproved {
        /// The plan.
        plan: RunId,
        /// Last answer.
        before: Option<Answer>,
    },
    /// The catalog was changed meanwhile, or the entry was signed for another log or index.
    #[error(
        "the change of the catalog follows {} and not {}, which was the last: it was changed meanwhile, or this \
         was signed for another place",
        entry_of(*index), entry_of(*newest)
    )]
    OtherCatalog {
        /// The entry that it follows.
        index: Option<u64>,
        /// The last change of the catalog, which it must follow.
        newest: Option<u64>,
    },
    /// The entry names another one than an alert.
    #[error("it says that an alert was seen, and names {}, which raised none, or another", entry_of(*index))]
    NoAlert {
        /// The entry that it names.
        index: Option<u64>,
    },
    /// The lease was granted before.
    #[error("the lease {lease} was granted before, in entry {granted}")]
    LeaseGranted {
        /// Id of its first block.
        lease: LeaseId,
        /// Index of the entry that granted it.
        granted: u64,
    },
    /// No entry of this log grants the lease.
    #[error("the lease {lease} was not granted in this ledger, so nothing starts under it")]
    LeaseNotGranted {
        /// Id of its first block.
        lease: LeaseId,
    },
    /// A block of the lease is revoked.
    #[error("the lease {lease} was revoked, in entry {revoked}, so nothing starts under it")]
    LeaseRevoked {
        /// Id of the block.
        lease: LeaseId,
        /// Index of the entry that revoked it.
        revoked: u64,
    },
    /// The block was revoked before.
    #[error("the lease {lease} was revoked before, in entry {revoked}")]
    LeaseRevokedBefore {
        /// Id of the block.
        lease: LeaseId,
        /// Index of the entry that revoked it.
        revoked: u64,
    },
    /// A block of the lease has no use left.
    #[error("the lease {lease} is used up: {used} of {uses} uses")]
    LeaseUsedUp {
        /// Id of the block.
        lease: LeaseId,
        /// Number of uses so far.
        used: u64,
        /// Most uses of it.
        uses: u64,
    },
    /// The file task was started before.
    #[error("the file task `{}` was started before, in entry {started}", task.as_str())]
    FileTaskStarted {
        /// Id of the task.
        task: TaskName,
        /// Index of the entry that started it.
        started: u64,
    },
    /// The file task has ended before.
    #[error("the file task `{}` has ended before, in entry {ended}", task.as_str())]
    FileTaskEnded {
        /// Id of the task.
        task: TaskName,
        /// Index of the entry that ended it.
        ended: u64,
    },
    /// The result names another entry as the start of its task.
    #[error(
        "the result of the file task `{}` names {} as its start, and that is {}",
        task.as_str(), entry_of(*index), entry_of(*started)
    )]
    OtherStartOfFileTask {
        /// Id of the task.
        task: TaskName,
        /// The entry that the result names.
        index: Option<u64>,
        /// The entry that it started with.
        started: Option<u64>,
    },
    /// The rules of the agent core refuse the entry.
    #[error(transparent)]
    Agent(#[from] AgentRefusal),
    /// A document that the entry names is missing.
    #[error("the document {digest}, which the entry names, is not in the ledger")]
    BlobMissing {
        /// Name of the document.
        digest: Digest,
    },
    /// The request has a document that the entry does not name.
    #[error("the document {digest} came along, and the entry does not name it")]
    BlobUnnamed {
        /// Name of the document.
        digest: Digest,
    },
}

/// Last answer to a plan, for messages.
fn said(answer: Option<Answer>) -> String {
    answer.map_or("has no answer yet".to_owned(), |answer| format!("was {}", answer.as_str()))
}

/// An entry by its place.
fn entry_of(index: Option<u64>) -> String {
    index.map_or("nothing".to_owned(), |index| format!("entry {index}"))
}

impl LedgerError {
    /// Returns true if nothing was recorded for certain. If false, the entries may be in the
    /// ledger.
    pub fn is_outcome_known(&self) -> bool {
        !matches!(self, Self::OutcomeUnknown { .. } | Self::Stopped)
    }

    /// Returns the error of a damaged entry.
    pub fn entry(index: u64, message: &dyn fmt::Display) -> Self {
        Self::Damaged { message: format!("entry {index}: {message}") }
    }

    /// Reason of the refusal, if the entry was refused.
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
