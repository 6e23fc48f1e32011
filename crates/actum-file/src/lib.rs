//! The File Executor: moves, copies and deletes regular files below base directories, under a lease (FE).
//!
//! A task manifest names one file and one capability. The host holds lock, keys and ledger, and publishes through the
//! transactional directory of each base directory; the bytes are read and written by a child process that owns nothing.
//! How a task ended is an [`ExecutionResult`], signed by the result key, which a kernel verifies with [`verify`].

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

/// Program name and version in results.
pub(crate) const ENGINE: &str = concat!("actum ", env!("CARGO_PKG_VERSION"));
