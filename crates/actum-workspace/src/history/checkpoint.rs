//! Journal checkpoints, which move ended runs into the history so that the journal can reuse their space.

use actum_core::RunId;

use crate::disk::{Barrier, Disk};
use crate::error::{Result, ResultExt};
use crate::history;
use crate::history::sweep::Amount;
use crate::journal::ended::EndedRun;
use crate::workspace::Workspace;

impl<D: Disk> Workspace<D> {
    /// Moves ended runs into the history, makes everything durable, and removes them from the journal. Does nothing if
    /// the journal is empty. Staged files of `working`, the run in progress, are kept.
    pub(crate) fn checkpoint(&mut self, working: Option<RunId>) -> Result<()> {
        if self.tail.is_empty() && self.journal.tail_bytes() == 0 {
            return Ok(());
        }
        self.checkpoint_always(working)
    }

    /// Makes a checkpoint even if the journal contains no run, so that the current epoch is written to the journal's
    /// head.
    pub(crate) fn checkpoint_always(&mut self, working: Option<RunId>) -> Result<()> {
        for EndedRun { sequence, intent, end, .. } in &self.tail {
            history::write(&self.disk, &self.home.history, *sequence, intent, end)?;
        }
        let forgotten = self
            .disk
            .sync_all(&self.home.state, Barrier::Checkpoint)
            .and_then(|()| self.journal.forget(&self.disk, self.epoch));
        if let Err(error) = forgotten.doing(|| "move past runs into the history".to_owned()) {
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
            // If a name cannot be removed now, `gc` or the next sweep of the stage directory will remove it.
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
