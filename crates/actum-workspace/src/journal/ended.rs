//! Runs that have ended but are not in the history yet.

use crate::journal::back::Back;
use crate::journal::record::{
    Body, End, Image, Intent, Outcome, Side, blocks_name, keep_name, stage_name,
};

/// Ended run, in the form in which it will be written to the history.
pub(crate) struct EndedRun {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: End,
    /// Names in the keep directory that an undo does not need. They are removed once the journal forgets the run.
    pub(crate) superfluous: Vec<Vec<u8>>,
    /// Names of large displaced files in the stage directory that the history can rebuild. They are removed once the
    /// journal forgets the run.
    pub(crate) displaced: Vec<Vec<u8>>,
    /// Number of bytes that are freed when the displaced files are removed.
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
            // The taken file is now at its path, where other programs can write to it.
            if let Some(Body::Taken(run, of)) = entry.post.file().map(|file| &file.body)
                && let Ok(of) = usize::try_from(*of)
                && end.outcome == Outcome::Committed
            {
                superfluous.push(keep_name(*run, of, Side::Pre));
            }
            // An undo moves a moved inode back, so the kept image is only a second name of the live file.
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
