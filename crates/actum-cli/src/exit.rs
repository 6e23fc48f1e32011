//! Exit codes of the program, all of them.

use std::process::ExitCode;

use actum_core::Status;
use actum_ledger::{HomeError, KeyError};
use actum_workspace::{Error, ErrorKind, State};

use actum::reason::{self, Reason};

/// Exit code. The numbers are frozen; a new meaning gets a new number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The request is done.
    Success,
    /// The request was refused before anything was changed.
    Refused,
    /// The command line is wrong; clap uses this number, too.
    Usage,
    /// Changes were rolled back, and all is as before.
    TakenBack,
    /// The user must check the workspace.
    NeedsAttention,
    /// Another process holds the workspace.
    InUse,
    /// The change needs approval first.
    Queued,
    /// Exit code of a command, or of `actum sandbox run` where the command was not started.
    Passed(u8),
}

impl Exit {
    /// Exit codes of actum itself.
    const ALL: [Self; 7] = [
        Self::Success,
        Self::Refused,
        Self::Usage,
        Self::TakenBack,
        Self::NeedsAttention,
        Self::InUse,
        Self::Queued,
    ];

    /// Returns the code for an error of the workspace. A damaged or missing journal counts as needing attention though
    /// this command changed nothing: the result of earlier runs is unknown.
    pub(crate) fn after(error: &Error) -> Self {
        match (&error.kind, error.state) {
            (_, State::Published | State::NeedsAttention) => Self::NeedsAttention,
            (_, State::Restored) => Self::TakenBack,
            (ErrorKind::Busy { .. }, State::Unchanged) => Self::InUse,
            (ErrorKind::Damaged { .. } | ErrorKind::JournalMissing, State::Unchanged) => {
                Self::NeedsAttention
            }
            (_, State::Unchanged | State::Forgotten { .. }) => Self::Refused,
        }
    }

    /// Returns the code for any error of the engine.
    pub(crate) fn from_error(error: &actum::Error) -> Self {
        if let actum::Error::Workspace(error) = error {
            return Self::after(error);
        }
        Self::after_engine(error)
    }

    /// Returns the code for an engine error that is not a workspace error.
    pub(crate) fn after_engine(error: &actum::Error) -> Self {
        match error.workspace() {
            State::Published | State::NeedsAttention => Self::NeedsAttention,
            State::Restored => Self::TakenBack,
            State::Unchanged | State::Forgotten { .. } => {
                let reason = reason::of_engine(error);
                if reason == Reason::NeedsApproval {
                    return Self::Queued;
                }
                // The user must check, as for a damaged journal.
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

    /// Returns the outcome as a frozen status (D-1).
    pub(crate) fn status(self) -> Status {
        match self {
            Self::Success | Self::Passed(0) => Status::Succeeded,
            Self::Refused | Self::Usage | Self::InUse | Self::Passed(_) => Status::Rejected,
            Self::TakenBack => Status::Reverted,
            Self::Queued => Status::Queued,
            Self::NeedsAttention => Status::Failed,
        }
    }

    /// Returns the table of exit codes for the help.
    pub(crate) fn table() -> String {
        let rows = Self::ALL.map(|exit| format!("  {}  {}\n", exit.code(), exit.meaning()));
        format!("Exit codes:\n{}", rows.concat())
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Refused => 1,
            Self::Usage => 2,
            Self::TakenBack => 3,
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
            Self::Usage => "wrong command line: nothing was changed",
            Self::TakenBack => "taken back: the workspace is as before",
            Self::NeedsAttention => "needs attention: `actum status` reports what to check",
            Self::InUse => "in use: another process is at work, nothing was changed",
            Self::Queued => "queued: approval required; nothing was changed",
            Self::Passed(_) => "that of the command",
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
    fn the_numbers_count_up_from_zero() {
        assert_eq!(Exit::ALL.map(Exit::code), [0, 1, 2, 3, 4, 5, 6]);
    }

    /// D-1
    #[test]
    fn the_state_of_the_workspace_decides_code_and_status() {
        let cases = [
            (ErrorKind::NotAWorkspace, State::Unchanged, Exit::Refused, Status::Rejected),
            (ErrorKind::Busy { holder: None }, State::Unchanged, Exit::InUse, Status::Rejected),
            (ErrorKind::Poisoned, State::Restored, Exit::TakenBack, Status::Reverted),
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
