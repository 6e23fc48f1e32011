//! Locks a workspace and recovers it: reads what other processes wrote, and rolls back what a killed process left
//! unfinished.

pub(crate) mod rebuild;
pub(crate) mod set_aside;

use actum_core::{RelPath, RunId};

use crate::disk::{Barrier, Disk};
use crate::error::{ErrorKind, Result, ResultExt, State};
use crate::home::{Lock, Named};
use crate::journal::Scan;
use crate::journal::ended::EndedRun;
use crate::journal::record::Outcome;
use crate::journal::runs::{LoggedRun, RunReader};
use crate::recovery_report::Recovery;
use crate::run::Announced;
use crate::run::rollback::roll_back;
use crate::tree::Tree;
use crate::workspace::Workspace;

impl<D: Disk> Workspace<D> {
    /// Takes the workspace lock, and reads what other handles and processes have written.
    pub(crate) fn lock(&mut self, wait: bool, why: &str) -> Result<Lock<D>> {
        if self.poisoned {
            return Err(ErrorKind::Poisoned.into());
        }
        let lock = self.home.lock(&self.disk, wait, why)?;
        self.catch_up()?;
        Ok(lock)
    }

    /// Reads what other processes have written to the journal. Performs a recovery if a run is unfinished, or if the
    /// file system may have lost writes. The caller must hold the lock.
    pub(crate) fn catch_up(&mut self) -> Result<()> {
        let named = self.home.compare_journal(&self.disk, &self.journal)?;
        if named == Named::Shared {
            self.home.copy_shared_files(&self.disk)?;
        }
        match named {
            Named::Open { has_coarse_timestamps } => {
                self.has_coarse_timestamps = has_coarse_timestamps
            }
            Named::Another | Named::Shared => {
                self.journal = self.home.journal(&self.disk)?;
                self.loaded = false;
            }
        }
        self.blocked = self.home.read_blocked(&self.disk)?;
        if self.loaded && !self.journal.is_stale(&self.disk)? {
            return Ok(());
        }
        let (logged, torn) = self.read_runs()?;
        self.read_bytes = self.journal.tail_bytes();
        let other_epoch = self.journal.epoch() != self.epoch;
        let unfinished = logged.last().is_some_and(|run| run.end.is_none());
        if other_epoch || unfinished || torn {
            self.recover(logged, other_epoch)?;
        } else {
            let last = logged.last();
            if let Some(last) = last
                && self.home.durable_end(&self.disk) != Some(last.last)
            {
                // An adopted run has no end record, and its only record is longer than one.
                let rewritten = match last.last == last.sequence {
                    true => self.journal.rewrite_tail(&self.disk),
                    false => self.journal.rewrite_end(&self.disk),
                };
                rewritten.doing(|| "make the end of the journal durable".to_owned())?;
            }
            self.tail = logged.into_iter().filter_map(ended_run).collect();
        }
        self.loaded = true;
        Ok(())
    }

    /// Reads the runs in the journal. Also returns true if a torn record follows them.
    fn read_runs(&mut self) -> Result<(Vec<LoggedRun>, bool)> {
        let scan = Scan::new(self.journal.epoch(), self.epoch);
        let reader = match scan {
            Scan::Tail => RunReader::without_post_bytes(),
            Scan::Everything => RunReader::with_post_bytes(),
        };
        reader.read_all(&mut self.journal, &self.disk, scan)
    }

    fn recover(&mut self, mut logged: Vec<LoggedRun>, other_epoch: bool) -> Result<()> {
        let attention = |error: crate::error::Error| error.leaving(State::NeedsAttention);
        self.journal
            .rewrite_tail(&self.disk)
            .doing(|| "rewrite the journal before the recovery".to_owned())
            .map_err(attention)?;
        let mut report = Recovery::default();
        let (mut foreign, mut refused) = (Vec::new(), Vec::new());
        if other_epoch {
            let rebuilt = self.rebuild(&logged).map_err(attention)?;
            report.rewritten = rebuilt.rewritten;
            report.saved = rebuilt.saved;
            foreign = rebuilt.foreign;
            refused = rebuilt.refused;
            foreign.extend(refused.iter().map(|(place, _)| *place));
        } else if let Some(LoggedRun { intent, end: None, .. }) = logged.last() {
            let tree = Tree::new(&self.disk, &self.home.root);
            let last = logged.len() - 1;
            let left = roll_back(&tree, &self.home, intent).map_err(attention)?;
            foreign = left.indices().into_iter().map(|index| (last, index)).collect();
            let refusals = left.refused.into_iter();
            refused = refusals.map(|(index, reason)| ((last, index), reason)).collect();
        }
        for (run, logged) in logged.iter().enumerate() {
            let indices: Vec<_> =
                foreign.iter().filter(|(of, _)| *of == run).map(|&(_, index)| index).collect();
            if !indices.is_empty() {
                self.set_lost_aside(&logged.intent, &indices).map_err(attention)?;
                for index in indices {
                    let Some(entry) = logged.intent.entries.get(index) else { continue };
                    let reason = refused.iter().find(|(of, _)| *of == (run, index));
                    match reason {
                        Some((_, reason)) => {
                            report.refused.push((entry.path.clone(), reason.clone()));
                        }
                        None => report.foreign.push(entry.path.clone()),
                    }
                }
            }
        }
        let unfinished = logged.pop_if(|run| run.end.is_none());
        self.tail = logged.into_iter().filter_map(ended_run).collect();
        if let Some(unfinished) = unfinished {
            let digest = unfinished.digest();
            let LoggedRun { sequence, intent, .. } = unfinished;
            report.unfinished = Some(intent.run);
            let outcome = if report.left_nothing() { Outcome::RolledBack } else { Outcome::Failed };
            self.end(Announced { sequence, digest, intent }, outcome).map_err(attention)?;
        }
        self.checkpoint_always(None).map_err(attention)?;
        self.home.end_rebuild(&self.disk).map_err(attention)?;
        if !report.is_quiet() {
            self.recovery = Some(report);
        }
        Ok(())
    }

    /// Unblocks a path that the user has resolved, so that runs can change it again. Returns the run that left it
    /// blocked.
    ///
    /// # Errors
    /// `NotBlocked` if the path is not blocked; `Busy` if another process holds the workspace; `Poisoned`, `Damaged`,
    /// `Io`.
    pub fn resolve(&mut self, path: &RelPath) -> Result<RunId> {
        let _lock = self.lock(false, "resolve")?;
        // While the run is in the journal, a recovery after a restart could undo the user's changes to the path.
        self.checkpoint(None)?;
        let run = self
            .blocked
            .remove(path)
            .ok_or_else(|| ErrorKind::NotBlocked { path: path.clone() })?;
        self.home.write_blocked(&self.disk, &self.blocked)?;
        self.disk
            .sync(&self.home.state, Barrier::Lost)
            .doing(|| "record that the path is resolved".to_owned())
            .map_err(|error| error.leaving(State::NeedsAttention))?;
        Ok(run)
    }
}

fn ended_run(logged: LoggedRun) -> Option<EndedRun> {
    logged.end.map(|end| EndedRun::new(logged.sequence, logged.intent, end))
}
