//! Checkpoint of the journal: ended runs go into the history, and the journal forgets them.

use actum_core::RunId;

use crate::disk::{Barrier, Disk};
use crate::error::{Result, ResultExt};
use crate::history;
use crate::history::sweep::Amount;
use crate::journal::ended::EndedRun;
use crate::workspace::Workspace;

impl<D: Disk> Workspace<D> {
    /// Moves ended runs into the history, makes everything durable, and lets the journal forget them. The staged files
    /// of `working`, the run under way, remain.
    pub(crate) fn checkpoint(&mut self, working: Option<RunId>) -> Result<()> {
        if self.tail.is_empty() && self.journal.tail_bytes() == 0 {
            return Ok(());
        }
        self.checkpoint_always(working)
    }

    /// Makes a checkpoint even where the journal holds no run, so that its head states this epoch.
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
        for ended in self.tail.drain(..) {
            let EndedRun { intent, superfluous, displaced: large, held_bytes, .. } = ended;
            let changed = intent.entries.iter().filter(|entry| !entry.only_attributes());
            for file in changed.filter_map(|entry| entry.pre.file()) {
                displaced.add(file.size);
            }
            displaced.bytes = displaced.bytes.saturating_sub(held_bytes);
            // A remaining name is found again by `gc`, and by the next sweep of the stage directory.
            for name in superfluous {
                drop(self.disk.unlink(&self.home.keep, &name));
            }
            for name in large {
                drop(self.disk.unlink(&self.home.stage, &name));
            }
        }
        self.sweep_stage(working, displaced);
        Ok(())
    }
}
