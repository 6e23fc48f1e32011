//! What became of actions: written to the ledger when one begins and when it has ended, and found again there
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

/// How many entries are looked up at once.
const ENTRIES: u64 = 256;

/// How an action ended, and where that stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feedback {
    /// The index of its entry.
    pub index: u64,
    /// What that says.
    pub ended: ActionEnded,
}

/// Which feedback is wanted: what says nothing leaves nothing out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Wanted {
    /// Of this action alone.
    pub action: Option<ActionName>,
    /// Of those that ended so.
    pub status: Option<Status>,
}

impl Feedback {
    /// The newest feedback that is wanted, at most `count`, the newest first. The ledger is looked through as far
    /// as it has to be.
    ///
    /// # Errors
    /// [`LedgerError`]; `Damaged` where an entry is not what it was.
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

/// The entry that an action begins.
pub(crate) fn begins(started: &ActionStarted) -> Result<NewEntry, CanonicalError> {
    let body = canonical::to_vec(started)?;
    Ok(NewEntry { kind: EntryKind::ActionStarted, body, blobs: Vec::new() })
}

/// Whether what an action had begun was rolled back. All of it happens where nobody sees it, so to drop it is to put the
/// workspace back.
pub(crate) fn rollback(status: Status, is_begun: bool) -> Attempt {
    match status {
        Status::Reverted => Attempt { attempted: true, ok: true },
        Status::Failed => Attempt { attempted: is_begun, ok: false },
        Status::Rejected => Attempt { attempted: is_begun, ok: is_begun },
        Status::Succeeded | Status::Queued => Attempt::default(),
    }
}

impl FeedbackError {
    /// The same where it is no action of this process.
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
    /// Records that an action begins, before anything of it runs. Where a person agreed to that, the approval is used
    /// up by it.
    ///
    /// # Errors
    /// `Ledger` where no such approval counts any more; `Record`. Nothing may be run then.
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

    /// Records how an action ended, with the entries of its companion, which is given the time in commands in
    /// milliseconds. Returns the index of its entry.
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

    /// Records how an action ended, which is durable then. The entry's index is given.
    ///
    /// # Errors
    /// [`FeedbackError`]: what the action did stays as it is.
    pub fn append_feedback(&self, ended: &ActionEnded) -> Result<u64, FeedbackError> {
        let body = canonical::to_vec(ended)?;
        let entry = NewEntry { kind: EntryKind::ActionEnded, body, blobs: Vec::new() };
        let appended = self.ledger.append(vec![entry]).wait()?;
        let first = appended.first().ok_or(LedgerError::Stopped)?;
        Ok(first.index)
    }
}
