//! Errors that end an action, and how they map to the frozen statuses (AA-2).

use std::fmt::Display;

use actum_core::path::Harmless;
use actum_core::{RiskTier, RunId, Status, Timestamp};
use actum_edit::EditError;
use actum_gate::CommandLineError;
use actum_workspace::ErrorKind;

use crate::command::CommandError;
use crate::companion::ActionRefusal;
use crate::engine::outcome::settled_status;
use crate::error::Error;
use crate::reason::{self, Reason};

/// Reason why an action did not succeed.
#[derive(Debug)]
pub(super) enum ActionError {
    /// The action ended with a status other than `succeeded`, which the result reports.
    Ended {
        status: Status,
        reason: Reason,
        message: String,
        /// Engine error that caused this status, if any.
        error: Option<Box<Error>>,
    },
    /// The action needs an approval and was queued.
    Queued(Waiting),
    /// A check command rejected the staged change. The repair command may still fix it.
    Unverified(Box<Error>),
    /// A check in the package's `verify.js` rejected the staged change. The repair command may still fix it.
    PackageUnverified { check: String },
    /// The records of the action could not be written, so it has no result.
    Broken(Box<Error>),
}

/// Action that was queued until it is approved.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) plan: RunId,
    pub(super) tier: RiskTier,
    pub(super) expires: Timestamp,
    pub(super) error: Box<Error>,
}

impl ActionError {
    /// Creates the error for an action that was rejected before it had any effect.
    pub(super) fn rejected(reason: Reason, message: impl Display) -> Self {
        let message = format!("{message}; nothing was changed");
        Self::Ended { status: Status::Rejected, reason, message, error: None }
    }

    /// Creates the error for an action that had begun and was rolled back completely.
    pub(super) fn reverted(reason: Reason, message: impl Display) -> Self {
        let message = format!("{message}; nothing was changed");
        Self::Ended { status: Status::Reverted, reason, message, error: None }
    }

    /// Creates the error for an action that was asked to stop.
    pub(super) fn interrupted() -> Self {
        Self::reverted(Reason::Interrupted, "the action was interrupted")
    }

    /// Creates the error for an input that does not match the action's schema.
    pub(super) fn input(what: impl Display) -> Self {
        let what = what.to_string();
        let what = Harmless(what.as_bytes());
        Self::rejected(Reason::ActionInputInvalid, format!("invalid input for the action: {what}"))
    }

    /// Creates the error for a text that cannot be run as a command without a shell.
    pub(super) fn unusable_command(place: &str, error: &CommandLineError) -> Self {
        Self::rejected(Reason::CommandUnusable, format!("`{place}` cannot be run: {error}"))
    }
}

impl From<ActionRefusal> for ActionError {
    fn from(refusal: ActionRefusal) -> Self {
        match refusal {
            ActionRefusal::Refused { reason, message } => Self::rejected(reason, message),
            ActionRefusal::Engine(error) => error.into(),
        }
    }
}

impl From<Error> for ActionError {
    fn from(error: Error) -> Self {
        if let Error::Queued { plan, tier, expires, .. } = error {
            return Self::Queued(Waiting { plan, tier, expires, error: Box::new(error) });
        }
        match status(&error) {
            Some(_) if matches!(error, Error::Unverified { .. }) => {
                Self::Unverified(Box::new(error))
            }
            Some(status) => {
                let (reason, message) = (reason::of_engine(&error), error.with_state());
                Self::Ended { status, reason, message, error: Some(Box::new(error)) }
            }
            None => Self::Broken(Box::new(error)),
        }
    }
}

/// Maps an engine error to the status of its action. Returns `None` for errors after which no outcome can be recorded.
fn status(error: &Error) -> Option<Status> {
    Some(match error {
        Error::Home(_)
        | Error::HomeInside { .. }
        | Error::HomeAround { .. }
        | Error::WorkspaceWithin { .. }
        | Error::RepositoryWithin { .. }
        | Error::BoundElsewhere { .. }
        | Error::ConfigurationElsewhere { .. }
        | Error::Key(_)
        | Error::Sign(_)
        | Error::Output(_)
        | Error::OutcomeNotRecorded { .. }
        | Error::Ledger { .. }
        | Error::Record { .. } => return None,
        // Without a trustworthy catalog, no action is allowed.
        Error::Catalog(_) => Status::Rejected,
        Error::Workspace(error) => of_workspace(error),
        // The run has ended, but has no receipt. It failed unless its change is known to be rolled back.
        Error::Unsettled { state, .. } => {
            settled_status(*state).map_or(Status::Failed, |_| Status::Reverted)
        }
        Error::OutcomeUnknown { .. } => Status::Failed,
        Error::RequestKeyTaken { .. }
        | Error::WorkspaceIsACopy { .. }
        | Error::OnlyOthersRuns { .. }
        | Error::RecoveredFirst { .. }
        | Error::Retained { .. }
        | Error::Forgotten(_)
        | Error::NoAction
        | Error::Lease(_)
        | Error::Grant(_)
        | Error::Policy(_)
        | Error::Denied { .. }
        | Error::ApprovalRequired { .. }
        | Error::Rollback(_)
        | Error::Queue(_) => Status::Rejected,
        Error::Queued { .. } => Status::Queued,
        Error::Unverified { .. } | Error::NothingToChange => Status::Reverted,
        Error::Command(error) => match error {
            CommandError::Unsatisfiable(_) | CommandError::Unseen(_) | CommandError::NoRunner => {
                Status::Rejected
            }
            CommandError::Line(_)
            | CommandError::NoText(_)
            | CommandError::NotFound { .. }
            | CommandError::Spawn(_)
            | CommandError::Wait(_)
            | CommandError::Layer(_)
            | CommandError::Staged(_)
            | CommandError::Interrupted
            | CommandError::Unkept(_) => Status::Reverted,
        },
    })
}

/// Maps a workspace error to the status of its action.
///
/// If nothing was changed, the status is `rejected` for a fault of the request itself, and `reverted` for a change that
/// does not apply to the current files.
fn of_workspace(error: &actum_workspace::Error) -> Status {
    match settled_status(error.state) {
        Some(Status::Rejected) => {}
        settled => return settled.unwrap_or(Status::Failed),
    }
    match error.kind {
        ErrorKind::Path { .. }
        | ErrorKind::Scope { .. }
        | ErrorKind::Budget { .. }
        | ErrorKind::TooLarge { .. }
        | ErrorKind::NoSnapshot
        | ErrorKind::SnapshotTooLarge { .. }
        | ErrorKind::Edit { source: EditError::TooMuch { .. }, .. }
        | ErrorKind::ChangeSet { .. }
        | ErrorKind::HardLink { .. }
        | ErrorKind::Blocked { .. }
        | ErrorKind::Busy { .. }
        | ErrorKind::NotAWorkspace
        | ErrorKind::NewerFormat { .. } => Status::Rejected,
        ErrorKind::Damaged { .. }
        | ErrorKind::JournalMissing
        | ErrorKind::State { .. }
        | ErrorKind::DamagedHistory { .. }
        | ErrorKind::Poisoned => Status::Failed,
        ErrorKind::Hunk { .. }
        | ErrorKind::Edit { .. }
        | ErrorKind::TooLargeToSearch { .. }
        | ErrorKind::Expected { .. }
        | ErrorKind::Missing { .. }
        | ErrorKind::Exists { .. }
        | ErrorKind::NotAFile { .. }
        | ErrorKind::LinkTarget { .. }
        | ErrorKind::Component { .. }
        | ErrorKind::UnderAFile { .. }
        | ErrorKind::OtherFileSystem { .. }
        | ErrorKind::Private { .. }
        | ErrorKind::Attributes { .. }
        | ErrorKind::Conflict { .. }
        | ErrorKind::NotBlocked { .. }
        | ErrorKind::ChangedSince { .. }
        | ErrorKind::AlreadyUndone { .. }
        | ErrorKind::AsBefore { .. }
        | ErrorKind::NoRunToUndo { .. }
        | ErrorKind::RunsReversed { .. }
        | ErrorKind::NoRunToRedo { .. }
        | ErrorKind::InEffect { .. }
        | ErrorKind::NothingToUndo { .. }
        | ErrorKind::UnknownRun { .. }
        | ErrorKind::LostImage { .. }
        | ErrorKind::JournalSound
        | ErrorKind::Io { .. } => Status::Reverted,
    }
}
