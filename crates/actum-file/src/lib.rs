//! File Executor, which moves, copies and deletes regular files below base directories under a lease (FE).
//!
//! A task manifest names one file and one capability. The host holds the lock, the keys and the ledger, and publishes changes
//! through the workspace of each base directory. A sandboxed child process, which has no access to any of these, reads and
//! writes the bytes. The outcome of a task is an [`ExecutionResult`], which is signed with the result key and which a kernel
//! verifies with [`verify`].

mod base;
mod cause;
mod host;
mod ledger_log;
mod manifest;
mod part;
mod path;
mod ports;
mod presented_lease;
mod quota;
mod recovery;
mod result;
#[cfg(target_os = "linux")]
pub mod sandboxed;
mod schemas;
mod verify;
mod worker;
mod worker_error;

pub use base::{
    BASE_DIRECTORIES_MAX, BaseDirectories, BaseDirectoriesError, LocateError, Located, OpenError,
};
pub use cause::Cause;
pub use host::{FileTaskEnd, Host, HostError, Settled};
pub use ledger_log::LedgerLog;
pub use manifest::{Asked, FileCapability, FileWork, MANIFEST_BYTES_MAX, Manifest, ManifestError};
pub use path::{FilePath, FilePathError, FilePathProblem};
pub use ports::{
    LeaseCheck, LeaseFacts, LeaseNeed, LeaseRefusal, LoggedTask, TaskLog, TaskRoot, TaskStart,
};
pub use presented_lease::PresentedLease;
pub use quota::{Bounds, WALL_MS_DEFAULT};
pub use recovery::{RecoveryError, RecoveryReference, RecoveryReferenceError, pinned_runs};
pub use result::{
    Detail, ErrorCode, ExecutionResult, Output, PAYLOAD_TYPE, ResultSummary, SignResultError,
    TaskStatus, UndoMetadata, WorkspaceState,
};
pub use schemas::schemas;
pub use verify::{ResultProblem, VerifiedResult, verify, verify_any};
pub use worker::{ByteWorker, InProcess};
pub use worker_error::{Quota, WorkerError};

/// Name and version of the program, as recorded in results.
pub(crate) const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));
