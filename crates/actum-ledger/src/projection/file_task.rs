//! Projection of file tasks. Each task starts once and ends once, and its id is never reused (FE-11).

use actum_core::Digest;
use actum_record::ledger::{EntryFacts, FileTaskEvent};

use crate::error::Refusal;
use crate::log::FileTaskRow;

/// State of a file task, and the hash of the entry that started it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFileTask {
    /// State of the file task, computed from its entries.
    pub row: FileTaskRow,
    /// Hash of the `FILE_TASK_STARTED` entry, or `None` if the task never started.
    pub started_leaf: Option<Digest>,
}

/// Computes the state of a file task after the entry at `index` with the hash `leaf`, which records `event`.
///
/// # Errors
/// Returns [`Refusal`] if the entry is not allowed after the previous ones.
pub(crate) fn after(
    before: Option<&KnownFileTask>,
    event: &FileTaskEvent,
    facts: &EntryFacts,
    (index, leaf): (u64, Digest),
) -> Result<KnownFileTask, Refusal> {
    let task = event.task().clone();
    let started = before.and_then(|known| known.row.started.zip(known.started_leaf));
    if let Some(ended) = before.and_then(|known| known.row.ended) {
        return Err(Refusal::FileTaskEnded { task, ended });
    }
    match (event, started) {
        (FileTaskEvent::Started { .. }, None) => {
            let row = FileTaskRow { task, started: Some(index), ended: None };
            Ok(KnownFileTask { row, started_leaf: Some(leaf) })
        }
        (FileTaskEvent::Started { .. }, Some((started, _))) => {
            Err(Refusal::FileTaskStarted { task, started })
        }
        (FileTaskEvent::Ended { .. }, started) if facts.follows == started => {
            let (started, started_leaf) = started.unzip();
            let row = FileTaskRow { task, started, ended: Some(index) };
            Ok(KnownFileTask { row, started_leaf })
        }
        (FileTaskEvent::Ended { .. }, started) => {
            let (index, started) = (facts.follows.unzip().0, started.unzip().0);
            Err(Refusal::OtherStartOfFileTask { task, index, started })
        }
    }
}
