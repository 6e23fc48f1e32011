//! Exit codes of the `actum` program, and their mapping from errors.

use std::process::ExitCode;

use actum_core::Status;
use actum_ledger::{HomeError, KeyError};
use actum_workspace::{Error, ErrorKind, State};

use actum::reason::{self, Reason};

/// Exit code of an `actum` command. The numbers are stable: a new meaning always gets a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The command completed successfully.
    Success,
    /// The request was rejected before anything was changed.
    Refused,
    /// The command line is invalid. clap exits with the same number.
    Usage,
    /// Changes were rolled back, and the workspace is as it was before.
    RolledBack,
    /// The outcome is uncertain or could not be rolled back, so the user must check the workspace.
    NeedsAttention,
    /// Another process is using the workspace.
    InUse,
    /// The change was queued, and needs approval before it can be applied.
    Queued,
    /// Exit code of the command that actum ran, or of `actum sandbox run` if it could not start the command.
    Passed(u8),
}

impl Exit {
    /// Exit codes that actum itself returns.
    const ALL: [Self; 7] = [
        Self::Success,
        Self::Refused,
        Self::Usage,
        Self::RolledBack,
        Self::NeedsAttention,
        Self::InUse,
        Self::Queued,
    ];

    /// Returns the exit code for a workspace error. A damaged or missing journal needs attention even though this command
    /// changed nothing, because the outcome of earlier runs is unknown.
    pub(crate) fn after(error: &Error) -> Self {
        match (&error.kind, error.state) {
            (_, State::Published | State::NeedsAttention) => Self::NeedsAttention,
            (_, State::Restored) => Self::RolledBack,
            (ErrorKind::Busy { .. }, State::Unchanged) => Self::InUse,
            (ErrorKind::Damaged { .. } | ErrorKind::JournalMissing, State::Unchanged) => {
                Self::NeedsAttention
            }
            (_, State::Unchanged | State::Forgotten { .. }) => Self::Refused,
        }
    }

    /// Returns the exit code for any engine error.
    pub(crate) fn from_error(error: &actum::Error) -> Self {
        if let actum::Error::Workspace(error) = error {
            return Self::after(error);
        }
        Self::after_engine(error)
    }

    /// Returns the exit code for an engine error other than a workspace error.
    pub(crate) fn after_engine(error: &actum::Error) -> Self {
        match error.workspace() {
            State::Published | State::NeedsAttention => Self::NeedsAttention,
            State::Restored => Self::RolledBack,
            State::Unchanged | State::Forgotten { .. } => {
                let reason = reason::of_engine(error);
                if reason == Reason::NeedsApproval {
                    return Self::Queued;
                }
                // As with a damaged journal, the outcome is uncertain, so the user must check it.
                let waits = matches!(
                    reason,
                    Reason::LedgerDamaged | Reason::OutcomeUnknown | Reason::CatalogUnproven
                );
                let is_unsynced = matches!(
                    error,
                    actum::Error::Home(HomeError::Unsynced { .. })
                        | actum::Error::Key(KeyError::Home(HomeError::Unsynced { .. }))
                );
                if waits || is_unsynced { Self::NeedsAttention } else { Self::Refused }
            }
        }
    }

    /// Returns the outcome status for JSON documents, whose values are frozen (D-1).
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Success | Self::Passed(0) => Status::Succeeded,
            Self::Refused | Self::Usage | Self::InUse | Self::Passed(_) => Status::Rejected,
            Self::RolledBack => Status::Reverted,
            Self::Queued => Status::Queued,
            Self::NeedsAttention => Status::Failed,
        }
    }

    /// Formats the table of exit codes for the help text.
    pub(crate) fn table() -> String {
        let rows = Self::ALL.map(|exit| format!("  {}  {}\n", exit.code(), exit.meaning()));
        format!("Exit codes:\n{}", rows.concat())
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::RolledBack => 3,
            Self::NeedsAttention => 4,
            Self::InUse => 5,
            Self::Queued => 6,
            Self::Passed(code) => code,
        }
    }

    fn meaning(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Refused => "refused: nothing was changed",
            Self::Usage => "invalid command line: nothing was changed",
            Self::RolledBack => "rolled back: the workspace is as it was before",
            Self::NeedsAttention => "needs attention: `actum status` reports what to check",
            Self::InUse => "in use: another process is using the workspace; nothing was changed",
            Self::Queued => "queued: approval required; nothing was changed",
            Self::Passed(_) => "exit code of the command",
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_are_numbered_from_zero() {
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 5, 6]);
    }

    /// D-1
    #[test]
    fn workspace_state_determines_exit_code_and_status() {
        let cases = [
            (ErrorKind::NotAWorkspace, State::Unchanged, Exit::Refused, Status::Rejected),
            (ErrorKind::Busy { holder: None }, State::Unchanged, Exit::InUse, Status::Rejected),
            (ErrorKind::Poisoned, State::Restored, Exit::RolledBack, Status::Reverted),
            (ErrorKind::Poisoned, State::Published, Exit::NeedsAttention, Status::Failed),
            (ErrorKind::Poisoned, State::NeedsAttention, Exit::NeedsAttention, Status::Failed),
            (
                ErrorKind::Damaged { offset: 0, what: "a test" },
                State::Unchanged,
                Exit::NeedsAttention,
                Status::Failed,
            ),
        ];
        for (kind, state, exit, status) in cases {
            let found = Exit::after(&Error { state, ..Error::from(kind) });
            assert_eq!((found, found.status()), (exit, status));
        }
    }
}
