//! Error of an action, and the frozen status that it maps to (AA-2).

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

/// Error that ended an action.
#[derive(Debug)]
pub(super) enum ActionError {
    /// Ended with a status that the result reports.
    Ended {
        status: Status,
        reason: Reason,
        message: String,
        /// Engine error behind it, if any.
        error: Option<Box<Error>>,
    },
    /// Waits for an approval.
    Queued(Waiting),
    /// A check rejected the staged change. A repair may fix it.
    Unverified(Box<Error>),
    /// A check of `verify.js` rejected the staged change. A repair may fix it.
    PackageUnverified { check: String },
    /// The required records could not be written, so no result exists.
    Broken(Box<Error>),
}

/// Queued action.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) plan: RunId,
    pub(super) tier: RiskTier,
    pub(super) expires: Timestamp,
    pub(super) error: Box<Error>,
}

impl ActionError {
    /// Rejected by a gate, or by a check before the gates.
    pub(super) fn rejected(reason: Reason, message: impl Display) -> Self {
        let message = format!("{message}; nothing was changed");
        Self::Ended { status: Status::Rejected, reason, message, error: None }
    }

    /// Begun, and rolled back completely.
    pub(super) fn reverted(reason: Reason, message: impl Display) -> Self {
        let message = format!("{message}; nothing was changed");
        Self::Ended { status: Status::Reverted, reason, message, error: None }
    }

    /// Interrupted by the requester.
    pub(super) fn interrupted() -> Self {
        Self::reverted(Reason::Interrupted, "it was asked to stop")
    }

    /// The input does not have the form that the action requires.
    pub(super) fn input(what: impl Display) -> Self {
        let what = what.to_string();
        let what = Harmless(what.as_bytes());
        Self::rejected(
            Reason::ActionInputInvalid,
            format!("the action cannot use its input: {what}"),
        )
    }

    /// The text is not a command that can be run without a shell.
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

/// Returns the action status for an engine error; `None` where the outcome could not be recorded either.
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
        | Error::Untold { .. }
        | Error::Ledger { .. }
        | Error::Record { .. } => return None,
        // An unreliable catalog allows no action.
        Error::Catalog(_) => Status::Rejected,
        Error::Workspace(error) => of_workspace(error),
        // The change was made, or its state is unknown.
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

/// Maps a workspace error to a status. A change that is refused because of the request itself is rejected. One that
/// does not fit the current files has failed without a trace, and is reverted.
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
