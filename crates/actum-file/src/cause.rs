//! Causes of failures, and their codes of the closed set (FE-15).

use actum::reason::{self, Reason};
use actum_ledger::LedgerError;
use actum_workspace::{ErrorKind, State};

use crate::base::{LocateError, OpenError};
use crate::manifest::ManifestError;
use crate::ports::LeaseRefusal;
use crate::result::{Detail, ErrorCode, WorkspaceState};
use crate::worker_error::WorkerError;

/// Cause of the failure of a file task.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// The manifest is rejected.
    #[error(transparent)]
    Manifest(#[from] ManifestError),
    /// The lease does not allow the task.
    #[error(transparent)]
    Lease(#[from] LeaseRefusal),
    /// A path lies in no base directory.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// A base directory cannot be used.
    #[error("the base directory `{}` cannot be used: {source}", actum_core::path::Quoted(base.as_bytes()))]
    Base {
        /// Its path.
        base: String,
        /// Error.
        source: OpenError,
    },
    /// The task id is bound to another manifest.
    #[error("the task id stands for another manifest")]
    IdTaken,
    /// Another process carries out the task.
    #[error("another process is carrying out this task")]
    UnderWay,
    /// The task was started, and how it ended is not known yet.
    #[error(
        "the task was started, and how it ended is not known: a base directory of it cannot be used now, or is another workspace"
    )]
    Unsettled,
    /// The process of the task was ended before its change lasted.
    #[error("the process of the task was ended; no effect of it lasts")]
    Interrupted,
    /// The worker failed.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The worker read other bytes than the host.
    #[error("the process that reads the bytes read others than the host")]
    OtherBytes,
    /// The change is not the one of the manifest.
    #[error("the change would not be the one that the manifest asks for")]
    OtherChange,
    /// The engine refused or failed.
    #[error(transparent)]
    Engine(#[from] actum::Error),
    /// The files that the run of an earlier process left are neither as before nor as after it.
    #[error("the change is neither made nor undone; an operator has to look at the files")]
    Unknown,
    /// The half of a move that was published could not be undone.
    #[error("the move failed ({cause}), and its destination could not be removed: {source}")]
    NotUndone {
        /// Cause.
        cause: Box<Self>,
        /// Error of the undo.
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
    /// Code of the closed set. This is the only table of codes.
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
            | Self::UnderWay
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

    /// Returns true if the task stays open, and the next request settles it. Then only the journal
    /// of a base directory has the end of a run, or a published destination still has to be undone.
    pub(crate) fn is_open(&self) -> bool {
        if let Self::NotUndone { source, .. } = self {
            return is_transient(source);
        }
        let Self::Engine(error) = self else { return false };
        matches!(error, actum::Error::Unsettled { .. })
            || matches!(error.workspace(), State::Published | State::NeedsAttention)
    }

    /// Permanent name.
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
            Self::UnderWay | Self::Unsettled => Reason::TaskUnderWay,
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

    /// State of the files.
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
            | Self::UnderWay
            | Self::Worker(_)
            | Self::OtherBytes
            | Self::OtherChange => WorkspaceState::Unchanged,
        }
    }

    /// Detail of a result.
    pub fn detail(&self) -> Detail {
        Detail {
            reason: self.reason().to_owned(),
            message: self.to_string(),
            workspace: self.workspace(),
        }
    }
}

/// An undo that failed with this error can succeed later: the machine failed (a full disk, for
/// example), and nothing at the path is in its way.
pub(crate) fn is_transient(error: &actum::Error) -> bool {
    if let actum::Error::Workspace(error) = error {
        return matches!(error.kind, ErrorKind::Io { .. } | ErrorKind::Busy { .. });
    }
    matches!(error, actum::Error::Ledger { .. })
}
