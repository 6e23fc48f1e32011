//! Feedback of actions: recorded in the ledger at their start and end, and found again there (AA-5, AA-13).

mod resume;

use actum_action::ResultEnvelope;
use actum_core::canonical::{self, CanonicalError, describe};
use actum_core::{ActionName, Status};
use actum_ledger::{LedgerError, Log, NewEntry};
use actum_record::ledger::{ActionEnded, ActionStarted, Attempt, EntryKind};
use actum_record::merkle::leaf_hash;
use actum_record::receipt::EntryRef;

use crate::companion::{ActionCompanion, ActionEnd};
use crate::error::{Error, Result};
use crate::records::Records;

pub use crate::error::FeedbackError;
pub use resume::cut_off_actions;

/// Number of entries that one lookup reads.
const ENTRIES: u64 = 256;

/// End of an action, with its place in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// Index of the entry.
    pub index: u64,
    /// Content of the entry.
    pub ended: ActionEnded,
}

/// Filter for feedback. An empty field matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Name of the action.
    pub action: Option<ActionName>,
    /// Status of the action.
    pub status: Option<Status>,
}

impl Feedback {
    /// Returns the newest matching feedback, at most `count`, the newest first. Reads the ledger only as far back as
    /// needed.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` if an entry has changed.
    pub fn newest(log: &dyn Log, wanted: &Wanted, count: usize) -> Result<Vec<Self>, LedgerError> {
        let (mut found, mut before) = (Vec::new(), None);
        while found.len() < count {
            let some = log.newest_of_kind(EntryKind::ActionEnded, before, ENTRIES)?;
            let Some(last) = some.last() else { break };
            before = Some(*last);
            for index in some {
                let feedback = Self::read(log, index)?;
                if wanted.takes(&feedback.ended) {
                    found.push(feedback);
                }
                if found.len() == count {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Reads one entry.
    fn read(log: &dyn Log, index: u64) -> Result<Self, LedgerError> {
        let ended = serde_json::from_slice(&log.sound_entry(index)?.body);
        let ended: ActionEnded =
            ended.map_err(|error| LedgerError::entry(index, &describe(&error)))?;
        match ended.format == ActionEnded::FORMAT {
            true => Ok(Self { index, ended }),
            false => Err(LedgerError::entry(index, &"it does not say how an action ended")),
        }
    }
}

/// Creates the entry for the start of an action.
pub(crate) fn begins(started: &ActionStarted) -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(started)?;
    Ok(NewEntry { kind: EntryKind::ActionStarted, body, blobs: Vec::new() })
}

/// Reports the roll back of a started action. Its changes are not visible before they are published, so dropping
/// them restores the workspace.
pub(crate) fn rollback(status: Status, is_begun: bool) -> Attempt {
    match status {
        Status::Reverted => Attempt { attempted: true, ok: true },
        Status::Failed => Attempt { attempted: is_begun, ok: false },
        Status::Rejected => Attempt { attempted: is_begun, ok: is_begun },
        Status::Succeeded | Status::Queued => Attempt::default(),
    }
}

impl FeedbackError {
    /// Converts the error for an action of another process.
    fn into_error(self) -> Error {
        match self {
            Self::Ledger(source) => source.into(),
            Self::Record(error) => error.into(),
        }
    }
}

impl Wanted {
    fn takes(&self, ended: &ActionEnded) -> bool {
        self.action.as_ref().is_none_or(|action| *action == ended.action_type)
            && self.status.is_none_or(|status| status == ended.status)
    }
}

impl Records {
    /// Records the start of an action, before any part of it runs. If an approval allowed it, this uses the approval.
    ///
    /// # Errors
    /// `Ledger` if no such approval counts any longer; `Record`. Nothing may run then.
    pub fn append_action_started(&self, started: &ActionStarted) -> Result<EntryRef> {
        self.append_start(vec![begins(started)?])
    }

    /// Records the entries with which an action begins, its own last.
    ///
    /// # Errors
    /// As [`Self::append_action_started`].
    pub(crate) fn append_start(&self, entries: Vec<NewEntry>) -> Result<EntryRef> {
        let appended = self.ledger.append(entries).wait()?;
        self.entry(&appended)
    }

    /// Records the end of an action, with the entries of its companion. The companion gets the time in commands in
    /// milliseconds. Returns the index of the action's entry.
    ///
    /// # Errors
    /// As [`Self::append_feedback`].
    pub(crate) fn append_end(
        &self,
        ended: &ActionEnded,
        envelope: &ResultEnvelope,
        companion: Option<(Box<dyn ActionCompanion>, u64)>,
    ) -> Result<u64, FeedbackError> {
        let Some((mut companion, command_ms)) = companion else {
            return self.append_feedback(ended);
        };
        let body = canonical::to_vec(ended)?;
        let leaf = leaf_hash(&body);
        let mut entries = vec![NewEntry { kind: EntryKind::ActionEnded, body, blobs: Vec::new() }];
        entries.extend(companion.end(&ActionEnd { ended, leaf, envelope, command_ms })?);
        let appended = self.ledger.append(entries).wait()?;
        Ok(appended.first().ok_or(LedgerError::Stopped)?.index)
    }

    /// Records the end of an action durably. Returns the index of the entry.
    ///
    /// # Errors
    /// [`FeedbackError`]: the effects of the action remain.
    pub fn append_feedback(&self, ended: &ActionEnded) -> Result<u64, FeedbackError> {
        let body = canonical::to_vec(ended)?;
        let entry = NewEntry { kind: EntryKind::ActionEnded, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        let first = appended.first().ok_or(LedgerError::Stopped)?;
        Ok(first.index)
    }
}
