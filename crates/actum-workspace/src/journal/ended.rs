//! Ended runs that the history does not hold yet.

use crate::journal::back::Back;
use crate::journal::record::{
    Body, End, Image, Intent, Outcome, Side, blocks_name, keep_name, stage_name,
};

/// Run that ended, in the form in which it goes into the history.
pub(crate) struct EndedRun {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: End,
    /// Names in the keep directory that undo does not need. They remain until the journal forgets the run.
    pub(crate) superfluous: Vec<Vec<u8>>,
    /// Names in the stage directory of displaced large files for which the history has a way back. They remain as long.
    pub(crate) displaced: Vec<Vec<u8>>,
    /// Number of bytes that are freed when these names are removed.
    pub(crate) held_bytes: u64,
}

impl EndedRun {
    pub(crate) fn new(sequence: u64, intent: Intent, end: End) -> Self {
        let (mut superfluous, mut displaced, mut held_bytes) = (Vec::new(), Vec::new(), 0u64);
        let moved = intent.moved();
        for (index, entry) in intent.entries.iter().enumerate() {
            let kept =
                |image: &Image| image.file().is_some_and(|file| matches!(file.body, Body::Kept));
            if kept(&entry.post) {
                superfluous.push(keep_name(intent.run, index, Side::Post));
            }
            // The file is at its path again, where a program may write into it.
            if let Some(Body::Taken(run, of)) = entry.post.file().map(|file| &file.body)
                && let Ok(of) = usize::try_from(*of)
                && end.outcome == Outcome::Committed
            {
                superfluous.push(keep_name(*run, of, Side::Pre));
            }
            // A moved inode moves back; its kept image is a second name of the live file.
            let needed = entry.back.is_none()
                && !moved.contains(&index)
                && end.outcome == Outcome::Committed;
            if kept(&entry.pre) && !needed {
                superfluous.push(keep_name(intent.run, index, Side::Pre));
            }
            if end.outcome != Outcome::Committed {
                if entry.back == Some(Back::Blocks) {
                    superfluous.push(blocks_name(intent.run, index));
                }
            } else if let (Some(pre), true) = (entry.pre.file(), kept(&entry.pre) && !needed)
                && !moved.contains(&index)
            {
                displaced.push(stage_name(intent.run, index));
                held_bytes = held_bytes.saturating_add(pre.size);
            }
        }
        Self { sequence, intent: intent.into_history(), end, superfluous, displaced, held_bytes }
    }
}
