//! Causes of failed file tasks, and the error code for each of them (FE-15).

use actum::reason::{self, Reason};
use actum_ledger::LedgerError;
use actum_workspace::{ErrorKind, State};

use crate::base::{LocateError, OpenError};
use crate::manifest::ManifestError;
use crate::ports::LeaseRefusal;
use crate::result::{Detail, ErrorCode, WorkspaceState};
use crate::worker_error::WorkerError;

/// Cause of a failed file task.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The manifest is invalid.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The lease does not allow the task.
    #[error(transparent)]
    Lease(#[from] LeaseRefusal),
    /// A path of the task is not below any base directory, or must not be changed.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// A base directory cannot be used.
    #[error("cannot use the base directory `{}`: {source}", actum_core::path::Quoted(base.as_bytes()))]
    Base {
        /// Path of the base directory.
        base: String,
        /// Error from opening its engine.
        source: OpenError,
    },
    /// The task id was already used for a different manifest.
    #[error("the task id is already in use for a different manifest")]
    IdTaken,
    /// Another process is carrying out the task.
    #[error("another process is carrying out this task")]
    InProgress,
    /// The task was started, but its outcome is not known yet.
    #[error(
        "the task was started, but its outcome is unknown because one of its base directories is unavailable or is now a \
         different workspace"
    )]
    Unsettled,
    /// The process of the task ended before its change was complete.
    #[error("the process of the task ended early, and no effect of it remains")]
    Interrupted,
    /// The byte worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The byte worker read different bytes than the host.
    #[error("the worker process and the host read different bytes from the file")]
    OtherBytes,
    /// The staged change differs from the change that the manifest requests.
    #[error("the change would differ from the one that the manifest requests")]
    OtherChange,
    /// The engine rejected the change or failed.
    #[error(transparent)]
    Engine(#[from] actum::Error),
    /// An earlier process left the files in a state that is neither the old nor the new one.
    #[error("the change is neither complete nor undone; an operator must check the files")]
    Unknown,
    /// A move between two base directories failed after its destination was published, and the destination could not be removed.
    #[error("the move failed ({cause}), and its destination could not be removed: {source}")]
    NotUndone {
        /// Reason why the move failed.
        cause: Box<Self>,
        /// Error from removing the destination.
        source: Box<actum::Error>,
    },
}

impl From<actum_workspace::Error> for Cause {
    fn from(error: actum_workspace::Error) -> Self {
        Self::Engine(error.into())
    }
}

impl From<LedgerError> for Cause {
    fn from(error: LedgerError) -> Self {
        Self::Engine(error.into())
    }
}

impl Cause {
    /// Returns the error code of the cause. No other code maps causes to error codes.
    pub fn code(&self) -> ErrorCode {
        if let Self::Engine(error) = self
            && let Some(refusal) = LeaseRefusal::in_error(error)
        {
            return Self::Lease(refusal).code();
        }
        match self {
            Self::Manifest(ManifestError::Unsupported { .. }) => ErrorCode::UnsupportedCapability,
            Self::Lease(LeaseRefusal::Invalid { .. }) => ErrorCode::InvalidLease,
            Self::Lease(LeaseRefusal::Expired { .. }) => ErrorCode::LeaseExpired,
            Self::Lease(LeaseRefusal::Exhausted { .. })
            | Self::Worker(WorkerError::Exceeded { .. }) => ErrorCode::ResourceExhausted,
            Self::Manifest(ManifestError::Document(_) | ManifestError::Irreversible { .. })
            | Self::Locate(_)
            | Self::Base { .. }
            | Self::IdTaken
            | Self::InProgress
            | Self::Unsettled
            | Self::Interrupted
            | Self::Worker(
                WorkerError::Cancelled | WorkerError::System { .. } | WorkerError::Failed { .. },
            )
            | Self::OtherBytes
            | Self::OtherChange
            | Self::Engine(_)
            | Self::Unknown
            | Self::NotUndone { .. } => ErrorCode::ExecutionFailed,
        }
    }

    /// Checks whether the task must stay open, so that the next request settles it. This is the case if only the journal of a
    /// base directory knows the outcome of a run, or if a published destination must still be undone.
    pub(crate) fn is_open(&self) -> bool {
        if let Self::NotUndone { source, .. } = self {
            return is_transient(source);
        }
        let Self::Engine(error) = self else { return false };
        matches!(error, actum::Error::Unsettled { .. })
            || matches!(error.workspace(), State::Published | State::NeedsAttention)
    }

    /// Returns the permanent reason code of the cause.
    pub fn reason(&self) -> &'static str {
        let reason = match self {
            Self::Lease(
                LeaseRefusal::Invalid { reason, .. }
                | LeaseRefusal::Exhausted { reason, .. }
                | LeaseRefusal::Expired { reason, .. },
            ) => return reason,
            Self::Manifest(ManifestError::Unsupported { .. }) => Reason::UnsupportedCapability,
            Self::Manifest(ManifestError::Document(_)) => Reason::TaskManifestInvalid,
            Self::Manifest(ManifestError::Irreversible { .. }) => Reason::DeleteIrreversible,
            Self::Locate(LocateError::Outside { .. }) => Reason::OutsideBaseDirectories,
            Self::Locate(LocateError::Path(_)) => Reason::PathRefused,
            Self::Base { .. } => Reason::BaseDirectoryUnusable,
            Self::IdTaken => Reason::TaskIdTaken,
            Self::InProgress | Self::Unsettled => Reason::TaskUnderWay,
            Self::Interrupted => Reason::Interrupted,
            Self::Worker(WorkerError::Exceeded { .. }) => Reason::QuotaExceeded,
            Self::Worker(WorkerError::Cancelled) => Reason::Cancelled,
            Self::Worker(WorkerError::System { .. } | WorkerError::Failed { .. })
            | Self::OtherBytes => Reason::FileWorkerFailed,
            Self::OtherChange => Reason::PathRefused,
            Self::Unknown => Reason::OutcomeUnknown,
            Self::Engine(error) => reason::of_engine(error),
            Self::NotUndone { source, .. } => reason::of_engine(source),
        };
        reason.name()
    }

    /// Returns the state of the files after the failure.
    pub fn workspace(&self) -> WorkspaceState {
        match self {
            Self::Engine(error) => match error.workspace() {
                State::Unchanged | State::Forgotten { .. } => WorkspaceState::Unchanged,
                State::Restored => WorkspaceState::Restored,
                State::Published | State::NeedsAttention => WorkspaceState::NeedsAttention,
            },
            Self::NotUndone { .. } | Self::Unknown | Self::Unsettled => {
                WorkspaceState::NeedsAttention
            }
            Self::Interrupted => WorkspaceState::Restored,
            Self::Manifest(_)
            | Self::Lease(_)
            | Self::Locate(_)
            | Self::Base { .. }
            | Self::IdTaken
            | Self::InProgress
            | Self::Worker(_)
            | Self::OtherBytes
            | Self::OtherChange => WorkspaceState::Unchanged,
        }
    }

    /// Returns the details of the failure, for an execution result.
    pub fn detail(&self) -> Detail {
        Detail {
            reason: self.reason().to_owned(),
            message: self.to_string(),
            workspace: self.workspace(),
        }
    }
}

/// Checks whether an undo that failed with this error can succeed later. It can if the cause is temporary, such as a full disk,
/// and not the state of the path.
pub(crate) fn is_transient(error: &actum::Error) -> bool {
    if let actum::Error::Workspace(error) = error {
        return matches!(error.kind, ErrorKind::Io { .. } | ErrorKind::Busy { .. });
    }
    matches!(error, actum::Error::Ledger { .. })
}
