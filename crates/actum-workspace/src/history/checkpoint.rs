//! The checkpoint of the journal: what has ended goes into the history, and the journal forgets it.

use actum_core::RunId;

use crate::disk::{Barrier, Disk};
use crate::error::{Doing, Result};
use crate::history;
use crate::history::sweep::Amount;
use crate::journal::record::{Body, End, Image, Intent, Outcome, Side, keep_name};
use crate::workspace::Workspace;

/// A run that ended, in the form in which it goes into the history.
pub(crate) struct EndedRun {
    pub(crate) sequence: u64,
    pub(crate) intent: Intent,
    pub(crate) end: End,
    /// Names in the keep directory that undo does not need. They stay until the journal forgets the run.
    pub(crate) superfluous: Vec<Vec<u8>>,
}

impl EndedRun {
    pub(crate) fn new(sequence: u64, intent: Intent, end: End) -> Self {
        let mut superfluous = Vec::new();
        let moved = intent.moved();
        for (index, entry) in intent.entries.iter().enumerate() {
            let kept =
                |image: &Image| image.file().is_some_and(|file| matches!(file.body, Body::Kept));
            if kept(&entry.post) {
                superfluous.push(keep_name(intent.run, index, Side::Post));
            }
            // It is at its path again, where a program may write into it.
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
        }
        Self { sequence, intent: intent.into_history(), end, superfluous }
    }
}

impl<D: Disk> Workspace<D> {
    /// Puts ended runs into the history, makes everything durable, and lets the journal forget
    /// them. `working` is the run under way, whose staged files stay.
    pub(crate) fn checkpoint(&mut self, working: Option<RunId>) -> Result<()> {
        if self.tail.is_empty() && self.journal.tail_bytes() == 0 {
            return Ok(());
        }
        self.checkpoint_always(working)
    }

    /// The same even where the journal holds no run, so that its head tells of this epoch.
    pub(crate) fn checkpoint_always(&mut self, working: Option<RunId>) -> Result<()> {
        for EndedRun { sequence, intent, end, .. } in &self.tail {
            history::write(&self.disk, &self.home.history, *sequence, intent, end)?;
        }
        let forgotten = self
            .disk
            .sync_all(&self.home.state, Barrier::Checkpoint)
            .and_then(|()| self.journal.forget(&self.disk, self.epoch));
        if let Err(error) = forgotten.doing(|| "put past runs into the history".to_owned()) {
            self.poisoned = true;
            return Err(error);
        }
        self.read_bytes = 0;
        let mut displaced = Amount::default();
        for EndedRun { intent, superfluous, .. } in self.tail.drain(..) {
            let changed = intent.entries.iter().filter(|entry| !entry.only_attributes());
            for file in changed.filter_map(|entry| entry.pre.file()) {
                displaced.add(file.size);
            }
            for name in superfluous {
                // A name that stays is found again by `gc`.
                drop(self.disk.unlink(&self.home.keep, &name));
            }
        }
        self.sweep_stage(working, displaced);
        Ok(())
    }
}
