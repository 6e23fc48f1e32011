//! Garbage collection, which removes history beyond the limits and files that earlier runs displaced.

use std::collections::{BTreeMap, BTreeSet};

use actum_core::{Digest, RunId};

use crate::disk::{Disk, Time};
use crate::error::{Result, ResultExt, State};
use crate::history::sweep::RUN_ID_LENGTH;
use crate::history::{self, RunRef};
use crate::journal::back::Back;
use crate::journal::ended::EndedRun;
use crate::journal::record::{Body, Intent, Outcome, Side, blocks_name, keep_name};
use crate::workspace::Workspace;

/// Limits that decide which history a garbage collection keeps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcOptions {
    /// Maximum number of runs to keep.
    pub runs_max: usize,
    /// Maximum size of the history and the kept images, in bytes.
    pub bytes_max: u64,
    /// Runs that are kept even if they exceed the limits.
    pub protected: BTreeSet<RunId>,
    /// Number of newest runs that are kept even if they exceed the limits.
    pub retained_runs: u64,
    /// Time from which on runs are kept even if they exceed the limits. A run is compared by its start time.
    pub retained_since: Option<Time>,
    /// Runs that may be removed, or `None` if any run may be removed.
    pub only: Option<BTreeSet<RunId>>,
    /// True if the collection only reports the runs that it would remove, without removing anything.
    pub dry_run: bool,
}

impl Default for GcOptions {
    /// Returns options that keep up to 10,000 runs and 1 GiB.
    fn default() -> Self {
        Self {
            runs_max: 10_000,
            bytes_max: 1 << 30,
            protected: BTreeSet::new(),
            retained_runs: 0,
            retained_since: None,
            only: None,
            dry_run: false,
        }
    }
}

/// Result of a garbage collection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GcReport {
    /// Runs that were removed, or would be in a dry run, oldest first. They can no longer be undone.
    pub removed_runs: Vec<RunId>,
    /// Runs that exceed the limits but were kept, oldest first. Either the retention settings protect them, or another
    /// run needs their images.
    pub retained_runs: Vec<RunId>,
    /// Number of runs that are left after the collection.
    pub kept_runs: usize,
    /// Size of the history and the kept images that were removed, in bytes.
    pub freed_bytes: u64,
    /// Size of the history and the kept images that are left, in bytes.
    pub kept_bytes: u64,
    /// Number of displaced and orphaned files that were removed.
    pub removed_files: usize,
}

/// Result of handing the images of a run over to other runs that lack them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Transfer {
    Done,
    /// The run must be kept, because bytes that another run lacks can only be rebuilt from it.
    Needed,
}

/// Run that is considered for removal, with its size and its start time.
struct Weighed<'r> {
    run: RunId,
    bytes: u64,
    time: Option<Time>,
    /// History file of the run, or `None` if the run is still only in the journal.
    file: Option<&'r RunRef>,
}

impl<D: Disk> Workspace<D> {
    /// Removes displaced files, and the oldest runs until the history is within the limits. Protected and retained runs
    /// are kept. A dry run removes nothing and needs no disk space, but like any other collection, it first recovers an
    /// interrupted run.
    ///
    /// # Errors
    /// `Busy` if another process holds the workspace; `Io`.
    pub fn gc(&mut self, options: &GcOptions) -> Result<GcReport> {
        let _lock = self.lock(false, "gc")?;
        let mut report = GcReport::default();
        let collected = self.collect(options, &mut report);
        let runs = report.removed_runs.len();
        match collected {
            Err(error) if error.state == State::Unchanged && runs > 0 && !options.dry_run => {
                Err(error
                    .leaving(State::Forgotten { runs: u32::try_from(runs).unwrap_or(u32::MAX) }))
            }
            collected => collected.map(|()| report),
        }
    }

    fn collect(&mut self, options: &GcOptions, report: &mut GcReport) -> Result<()> {
        if !options.dry_run {
            let removed = self.home.remove_unfinished_copy(&self.disk);
            removed.doing(|| "remove an unfinished copy of a file in `.actum`".to_owned())?;
            // First remove files to free some space, because the disk may be full and a checkpoint needs space.
            report.removed_files += self.sweep_forgotten()?;
            self.prune(options, report)?;
            report.removed_files += self.sweep_keep(None)?;
            self.checkpoint(None)?;
        }
        self.prune(options, report)?;
        if !options.dry_run {
            report.removed_files += self.sweep_keep(None)? + self.sweep_forgotten()?;
            report.removed_files += self.sweep_superfluous()?;
        }
        Ok(())
    }

    /// Removes the oldest runs until the history is within the limits. Only a dry run reports runs that are still in
    /// the journal as removed. A real collection skips them until a checkpoint has moved them into the history.
    fn prune(&self, options: &GcOptions, report: &mut GcReport) -> Result<()> {
        let runs = history::list(&self.disk, &self.home.history)?;
        let mut found = Vec::with_capacity(runs.len() + self.tail.len());
        for run in &runs {
            let (bytes, time) = self.weight(run)?;
            found.push(Weighed { run: run.run, bytes, time, file: Some(run) });
        }
        for EndedRun { sequence, intent, end, .. } in &self.tail {
            let bytes = history::size_once_written(*sequence, intent, end);
            let bytes = bytes.saturating_add(self.kept_bytes(intent)?);
            let (run, time) = (intent.run, Some(intent.time));
            found.push(Weighed { run, bytes, time, file: None });
        }
        let mut missing = match options.dry_run {
            true => BTreeMap::new(),
            false => self.missing_images(&runs)?,
        };
        report.kept_bytes = found.iter().map(|run| run.bytes).sum();
        report.kept_runs = found.len();
        report.retained_runs.clear();
        let (mut left_runs, mut left_bytes) = (report.kept_runs, report.kept_bytes);
        let newest = usize::try_from(options.retained_runs).unwrap_or(usize::MAX);
        let retained_from = found.len().saturating_sub(newest);
        for (index, Weighed { run, bytes, time, file }) in found.into_iter().enumerate() {
            let over = left_runs > options.runs_max || left_bytes > options.bytes_max;
            let may_go = options.only.as_ref().is_none_or(|only| only.contains(&run));
            if !over || !may_go || options.protected.contains(&run) {
                continue;
            }
            let is_young = options.retained_since.zip(time).is_some_and(|(since, at)| at >= since);
            // A retained run is also subtracted here, so that no newer run is removed in its place.
            left_runs -= 1;
            left_bytes -= bytes;
            if index >= retained_from || is_young {
                report.retained_runs.push(run);
                continue;
            }
            match file {
                Some(file) if !options.dry_run => {
                    if self.transfer_images(file, &mut missing)? == Transfer::Needed {
                        report.retained_runs.push(run);
                        continue;
                    }
                    history::remove(&self.disk, &self.home.history, file)?;
                }
                None if !options.dry_run => continue,
                Some(_) | None => {}
            }
            report.removed_runs.push(run);
            report.kept_runs -= 1;
            report.kept_bytes -= bytes;
            report.freed_bytes += bytes;
        }
        Ok(())
    }

    /// Returns the kept images that undoing a run requires but that are missing, grouped by digest. On a full disk, an
    /// undo publishes the kept files themselves, and a later redo keeps the same bytes under a name of its own.
    fn missing_images(&self, runs: &[RunRef]) -> Result<BTreeMap<Digest, Vec<Vec<u8>>>> {
        let mut missing: BTreeMap<Digest, Vec<Vec<u8>>> = BTreeMap::new();
        for run in runs.iter().filter(|run| run.outcome == Outcome::Committed) {
            let Ok((intent, _)) = history::read(&self.disk, &self.home.history, run) else {
                continue; // `actum show` reports the damaged record
            };
            for (name, digest) in kept_images(&intent) {
                if self.kept_size(&name)?.is_none() {
                    missing.entry(digest).or_default().push(name);
                }
            }
        }
        Ok(missing)
    }

    /// Saves the kept images of a run that is about to be removed if other runs lack the same bytes: links them to the
    /// names that those runs expect. If such bytes can only be rebuilt from the run's block deltas, nothing is linked
    /// and the run must be kept.
    fn transfer_images(
        &self,
        run: &RunRef,
        missing: &mut BTreeMap<Digest, Vec<Vec<u8>>>,
    ) -> Result<Transfer> {
        let Ok((intent, _)) = history::read(&self.disk, &self.home.history, run) else {
            return Ok(Transfer::Done);
        };
        let with_blocks = intent.entries.iter().filter(|entry| entry.back == Some(Back::Blocks));
        let mut before = with_blocks.filter_map(|entry| entry.pre.file());
        if before.any(|file| missing.get(&file.digest).is_some_and(|names| !names.is_empty())) {
            return Ok(Transfer::Needed);
        }
        for (name, digest) in kept_images(&intent) {
            // The run is about to be removed, so its own missing images no longer matter.
            missing.values_mut().for_each(|names| names.retain(|to| *to != name));
            if self.kept_size(&name)?.is_none() {
                continue;
            }
            for to in missing.remove(&digest).unwrap_or_default() {
                let keep = &self.home.keep;
                let linked = self.disk.link(keep, &name, keep, &to);
                linked.doing(|| "link an image that another run needs".to_owned())?;
            }
        }
        Ok(Transfer::Done)
    }

    /// Returns the size of a kept image, or `None` if it does not exist.
    fn kept_size(&self, name: &[u8]) -> Result<Option<u64>> {
        let stat = self.disk.stat_at(&self.home.keep, name);
        Ok(stat.doing(|| "check the size of a kept image".to_owned())?.map(|stat| stat.size))
    }

    /// Returns the size of a run in the history, including its kept images, and its start time if its record is
    /// readable.
    fn weight(&self, run: &RunRef) -> Result<(u64, Option<Time>)> {
        let bytes = history::size(&self.disk, &self.home.history, run)?;
        let Ok((intent, _)) = history::read(&self.disk, &self.home.history, run) else {
            return Ok((bytes, None)); // `actum show` reports the damaged record
        };
        Ok((bytes.saturating_add(self.kept_bytes(&intent)?), Some(intent.time)))
    }

    /// Returns the total size of the images and block deltas that are kept for a run.
    fn kept_bytes(&self, intent: &Intent) -> Result<u64> {
        let mut bytes: u64 = 0;
        let images = kept_images(intent).into_iter().map(|(name, _)| name);
        for name in images.chain(block_deltas(intent)) {
            bytes = bytes.saturating_add(self.kept_size(&name)?.unwrap_or(0));
        }
        Ok(bytes)
    }

    /// Removes whole images that runs in the history no longer need. A process that is killed right after a checkpoint
    /// leaves such images behind. The caller has just made a checkpoint, so the journal contains no runs.
    fn sweep_superfluous(&self) -> Result<usize> {
        let kept = self.disk.list(&self.home.keep).doing(|| "list kept images".to_owned())?;
        let kept: BTreeSet<_> = kept.into_iter().collect();
        let mut superfluous = Vec::new();
        for run in history::list(&self.disk, &self.home.history)? {
            let prefix = format!("{}.", run.run).into_bytes();
            let names = kept.range(prefix.clone()..);
            let names: Vec<_> = names.take_while(|name| name.starts_with(&prefix)).collect();
            if !names.iter().any(|name| !name.ends_with(b".blocks")) {
                continue;
            }
            let Ok((intent, _)) = history::read(&self.disk, &self.home.history, &run) else {
                continue; // `actum show` reports the damaged record
            };
            superfluous.extend(names.iter().filter(|name| name.ends_with(b".post")).copied());
            for index in block_deltas_at(&intent) {
                let whole = kept.get(&keep_name(run.run, index, Side::Pre));
                let blocks = kept.get(&blocks_name(run.run, index));
                superfluous.extend(whole.filter(|_| blocks.is_some()));
            }
        }
        let removed = superfluous.into_iter().filter(|name| self.remove(&self.home.keep, name));
        Ok(removed.count())
    }

    /// Removes displaced files of all runs that are no longer in the journal. After a checkpoint, no run is in the
    /// journal.
    fn sweep_forgotten(&self) -> Result<usize> {
        let names = self.disk.list(&self.home.stage).doing(|| "list staged files".to_owned())?;
        let in_journal: BTreeSet<_> =
            self.tail.iter().map(|run| format!("{}.", run.intent.run).into_bytes()).collect();
        let is_forgotten = |name: &&Vec<u8>| {
            name.get(..=RUN_ID_LENGTH).is_none_or(|run| !in_journal.contains(run))
        };
        let forgotten = names.iter().filter(is_forgotten);
        Ok(forgotten.filter(|name| self.remove_staged(name)).count())
    }
}

/// Returns the name and digest of each pre-image of a run that is stored in the keep directory.
fn kept_images(intent: &Intent) -> Vec<(Vec<u8>, Digest)> {
    let mut images = Vec::new();
    for (index, entry) in intent.entries.iter().enumerate() {
        if let Some(file) = entry.pre.file().filter(|file| matches!(file.body, Body::Kept)) {
            images.push((keep_name(intent.run, index, Side::Pre), file.digest));
        }
    }
    images
}

/// Returns the indices of the run's entries that have a block delta.
fn block_deltas_at(intent: &Intent) -> impl Iterator<Item = usize> {
    let entries = intent.entries.iter().enumerate();
    entries.filter(|(_, entry)| entry.back == Some(Back::Blocks)).map(|(index, _)| index)
}

/// Returns the names of a run's block deltas in the keep directory.
fn block_deltas(intent: &Intent) -> impl Iterator<Item = Vec<u8>> {
    block_deltas_at(intent).map(|index| blocks_name(intent.run, index))
}
