//! Action feedback: records the start and the outcome of each action in the ledger, and searches recorded outcomes
//! (AA-5, AA-13).

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

/// Number of ledger entries fetched per lookup.
const ENTRIES: u64 = 256;

/// Recorded outcome of an action, with its position in the ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// Index of the ledger entry that records the outcome.
    pub index: u64,
    /// Parsed content of the ledger entry.
    pub ended: ActionEnded,
}

/// Filter for recorded action outcomes. A field that is `None` matches every outcome.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Action name that must match.
    pub action: Option<ActionName>,
    /// Action status that must match.
    pub status: Option<Status>,
}

impl Feedback {
    /// Returns up to `count` matching outcomes, newest first. Reads the ledger only as far back as necessary.
    ///
    /// # Errors
    /// Returns [`LedgerError::Damaged`] if an entry was modified, or another [`LedgerError`] if reading fails.
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

    /// Reads and parses the `ACTION_ENDED` entry at this index.
    fn read(log: &dyn Log, index: u64) -> Result<Self, LedgerError> {
        let ended = serde_json::from_slice(&log.sound_entry(index)?.body);
        let ended: ActionEnded =
            ended.map_err(|error| LedgerError::entry(index, &describe(&error)))?;
        match ended.format == ActionEnded::FORMAT {
            true => Ok(Self { index, ended }),
            false => Err(LedgerError::entry(index, &"it does not record the outcome of an action")),
        }
    }
}

/// Creates the ledger entry that records the start of an action.
pub(crate) fn begins(started: &ActionStarted) -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(started)?;
    Ok(NewEntry { kind: EntryKind::ActionStarted, body, blobs: Vec::new() })
}

/// Returns the rollback attempt to report for an action with this status.
///
/// Changes become visible only when they are published, so dropping unpublished changes is a successful rollback.
pub(crate) fn rollback(status: Status, is_begun: bool) -> Attempt {
    match status {
        Status::Reverted => Attempt { attempted: true, ok: true },
        Status::Failed => Attempt { attempted: is_begun, ok: false },
        Status::Rejected => Attempt { attempted: is_begun, ok: is_begun },
        Status::Succeeded | Status::Queued => Attempt::default(),
    }
}

impl FeedbackError {
    /// Converts the error for a caller that records the outcome of another process's action.
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
    /// Records the start of an action, which must happen before any part of the action runs. If the action was approved,
    /// this also uses up the approval.
    ///
    /// # Errors
    /// Returns `Ledger` if the approval is no longer valid, or `Record`. The action must not run after an error.
    pub fn append_action_started(&self, started: &ActionStarted) -> Result<EntryRef> {
        self.append_start(vec![begins(started)?])
    }

    /// Appends all entries that mark the start of an action. The entry of the action itself must be the last one.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::append_action_started`].
    pub(crate) fn append_start(&self, entries: Vec<NewEntry>) -> Result<EntryRef> {
        let appended = self.ledger.append(entries).wait()?;
        self.entry(&appended)
    }

    /// Records the outcome of an action together with the entries of its companion, and returns the index of the action's
    /// entry. The companion also receives the time that was spent in commands, in milliseconds.
    ///
    /// # Errors
    /// Returns the same errors as [`Self::append_feedback`].
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

    /// Durably records the outcome of an action, and returns the index of the entry.
    ///
    /// # Errors
    /// Returns [`FeedbackError`] if the entry cannot be recorded. The effects of the action are kept even then.
    pub fn append_feedback(&self, ended: &ActionEnded) -> Result<u64, FeedbackError> {
        let body = canonical::to_vec(ended)?;
        let entry = NewEntry { kind: EntryKind::ActionEnded, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        let first = appended.first().ok_or(LedgerError::Stopped)?;
        Ok(first.index)
    }
}
