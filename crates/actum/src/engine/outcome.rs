//! Determines the outcome of a run, either in its own process or later from the journal.

use actum_core::{Status, Timestamp};
use actum_record::receipt::{ExternalEnd, SettledBy};
use actum_workspace::{Ending, ErrorKind, State};

use crate::reason::Reason;

/// Outcome of a run, as its receipt records it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) reason: Option<Reason>,
    pub(crate) at: Timestamp,
    pub(crate) settled_by: SettledBy,
}

impl Outcome {
    /// Creates the outcome of a run that was committed by its own process.
    pub(crate) fn committed(at: Timestamp) -> Self {
        Self { status: Status::Succeeded, reason: None, at, settled_by: SettledBy::Run }
    }

    /// Creates the outcome of a run that its own process could not commit. Returns `None` if the outcome is unknown
    /// until the journal is read again.
    pub(crate) fn failed(error: &actum_workspace::Error, at: Timestamp) -> Option<Self> {
        let status = settled_status(error.state)?;
        let is_conflict = matches!(error.kind, ErrorKind::Conflict { .. });
        let reason = if is_conflict { Reason::ChangedMeanwhile } else { Reason::SystemError };
        Some(Self { status, reason: Some(reason), at, settled_by: SettledBy::Run })
    }

    /// Returns how external pipelines ended if the run did not report them. Pipelines start only after the change is
    /// committed, so those of a run that a recovery settled may have run.
    pub(crate) fn external_end(&self) -> ExternalEnd {
        match (self.status, self.settled_by) {
            (Status::Succeeded | Status::Failed, SettledBy::Recovery) => ExternalEnd::Unknown,
            (_, SettledBy::Run | SettledBy::Recovery) => ExternalEnd::NotStarted,
        }
    }

    /// Creates the outcome of a run whose process no longer exists, from its ending in the journal. `is_rolled_back` is
    /// true if the run was interrupted and this process has just rolled it back.
    pub(crate) fn from_journal(ending: Ending, started: Timestamp, is_rolled_back: bool) -> Self {
        use actum_workspace::Outcome::{Committed, Failed, RolledBack};
        let (status, reason) = match ending {
            Ending::Ended(Committed, _) => (Status::Succeeded, None),
            Ending::Ended(RolledBack, _) if is_rolled_back => {
                (Status::Reverted, Some(Reason::Interrupted))
            }
            // The reason for the rollback was known only to the process of the run.
            Ending::Ended(RolledBack, _) => (Status::Reverted, Some(Reason::ReasonNotRecorded)),
            Ending::Ended(Failed, _) => (Status::Failed, Some(Reason::ChangedMeanwhile)),
            Ending::NeverBegan => (Status::Rejected, Some(Reason::Interrupted)),
            Ending::Unknown => (Status::Failed, Some(Reason::OutcomeUnknown)),
        };
        let at = match ending {
            Ending::Ended(_, time) => Timestamp::from_micros(time.0 / 1000).max(started),
            Ending::NeverBegan | Ending::Unknown => started,
        };
        Self { status, reason, at, settled_by: SettledBy::Recovery }
    }
}

/// Returns the status of a failed run that left the workspace in the given state. Returns `None` if it is unknown
/// whether the change was made until the journal is read again.
pub(crate) fn settled_status(state: State) -> Option<Status> {
    match state {
        State::Unchanged | State::Forgotten { .. } => Some(Status::Rejected),
        State::Restored => Some(Status::Reverted),
        State::Published | State::NeedsAttention => None,
    }
}
