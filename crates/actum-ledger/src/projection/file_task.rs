//! Projection of file tasks: started once, ended once, and an id that is never used again (FE-11).

use actum_core::Digest;
use actum_record::ledger::{EntryFacts, FileTaskEvent};

use crate::error::Refusal;
use crate::log::FileTaskRow;

/// A file task, and the hash of the entry that it started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFileTask {
    /// Its entries.
    pub row: FileTaskRow,
    /// Hash of its `FILE_TASK_STARTED`.
    pub started_leaf: Option<Digest>,
}

/// Computes a file task after the entry `index` with the hash `leaf`, which does `event` with it.
///
/// # Errors
/// [`Refusal`] if the entry cannot follow.
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
