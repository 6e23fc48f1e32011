//! Outcome of a run, from its own process or from the journal.

use actum_core::{Status, Timestamp};
use actum_record::receipt::{ExternalEnd, SettledBy};
use actum_workspace::{Ending, ErrorKind, State};

use crate::reason::Reason;

/// Outcome of a run, for its receipt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) status: Status,
    pub(crate) reason: Option<Reason>,
    pub(crate) at: Timestamp,
    pub(crate) settled_by: SettledBy,
}

impl Outcome {
    /// Creates the outcome of a run that its own process committed.
    pub(crate) fn committed(at: Timestamp) -> Self {
        Self { status: Status::Succeeded, reason: None, at, settled_by: SettledBy::Run }
    }

    /// Creates the outcome of a run that its own process could not commit. `None` if only the journal knows it, once
    /// it is read again.
    pub(crate) fn failed(error: &actum_workspace::Error, at: Timestamp) -> Option<Self> {
        let status = settled_status(error.state)?;
        let is_conflict = matches!(error.kind, ErrorKind::Conflict { .. });
        let reason = if is_conflict { Reason::ChangedMeanwhile } else { Reason::SystemError };
        Some(Self { status, reason: Some(reason), at, settled_by: SettledBy::Run })
    }

    /// Returns the end of external pipelines that the run did not report: they start once its change is committed.
    pub(crate) fn external_end(&self) -> ExternalEnd {
        match (self.status, self.settled_by) {
            (Status::Succeeded | Status::Failed, SettledBy::Recovery) => ExternalEnd::Unknown,
            (_, SettledBy::Run | SettledBy::Recovery) => ExternalEnd::NotStarted,
        }
    }

    /// Creates the outcome of a run that began at `started` and whose process is gone. `is_taken_back` means that
    /// this process just rolled it back, so it was interrupted.
    pub(crate) fn from_journal(ending: Ending, started: Timestamp, is_taken_back: bool) -> Self {
        use actum_workspace::Outcome::{Committed, Failed, RolledBack};
        let (status, reason) = match ending {
            Ending::Ended(Committed, _) => (Status::Succeeded, None),
            Ending::Ended(RolledBack, _) if is_taken_back => {
                (Status::Reverted, Some(Reason::Interrupted))
            }
            // The reason was known only to the process of the run.
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

/// Returns the status of a run that failed and left the workspace in this state. `None` if only the journal, once it
/// is read again, shows if the change lasts.
pub(crate) fn settled_status(state: State) -> Option<Status> {
    match state {
        State::Unchanged | State::Forgotten { .. } => Some(Status::Rejected),
        State::Restored => Some(Status::Reverted),
        State::Published | State::NeedsAttention => None,
    }
}
