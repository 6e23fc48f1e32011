//! Removes what is of no use any more: displaced inodes, staged files of given-up runs, old
//! history.

use std::collections::BTreeSet;

use actum_core::RunId;

use crate::disk::{Disk, Kind};
use crate::error::{Doing, Result};
use crate::history::{self, RunRef};
use crate::home::Heap;
use crate::record::{Body, Side, keep_name};
use crate::workspace::Workspace;

/// Displaced inodes stay this long, in nanoseconds: ext4 without a journal makes files slowly just
/// after many were deleted.
const DISPLACED_AGE: i64 = 60_000_000_000;
/// The length of a run id, which names of kept images begin with.
const RUN_ID_LENGTH: usize = 12;

/// How much history stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GcOptions {
    /// How many runs stay at most.
    pub runs_max: usize,
    /// How many bytes of history and kept images stay at most.
    pub bytes_max: u64,
    /// Runs that stay whatever the limits say.
    pub protected: BTreeSet<RunId>,
    /// Only say what would be removed.
    pub dry_run: bool,
}

impl Default for GcOptions {
    /// 10,000 runs, 1 GiB.
    fn default() -> Self {
        Self { runs_max: 10_000, bytes_max: 1 << 30, protected: BTreeSet::new(), dry_run: false }
    }
}

/// What a collection removed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GcReport {
    /// Runs that can no longer be undone, oldest first.
    pub removed_runs: Vec<RunId>,
    /// Runs that stay.
    pub kept_runs: usize,
    /// Bytes of history and kept images that were given back.
    pub freed_bytes: u64,
    /// Bytes of history and kept images that stay.
    pub kept_bytes: u64,
    /// Displaced and orphaned files that were removed.
    pub removed_files: usize,
}

impl<D: Disk> Workspace<D> {
    /// Removes displaced files and the oldest history beyond the limits. Protected runs stay.
    ///
    /// # Errors
    /// `Busy` when another process is at work; `Io`.
    pub fn gc(&mut self, options: &GcOptions) -> Result<GcReport> {
        let _lock = self.lock(false, "gc")?;
        if !options.dry_run {
            // First what a full disk needs: it takes no space to give this back.
            self.sweep_forgotten()?;
        }
        self.checkpoint(None)?;
        let mut report = GcReport::default();
        let runs = history::list(&self.disk, &self.home.history)?;
        let mut sizes = Vec::with_capacity(runs.len());
        let mut needed = BTreeSet::new();
        for run in &runs {
            let (bytes, kept) = self.weight(run)?;
            report.kept_bytes += bytes;
            sizes.push((run, bytes, kept));
        }
        report.kept_runs = runs.len() + self.tail.len();
        for (run, bytes, kept) in sizes {
            let over = report.kept_runs > options.runs_max || report.kept_bytes > options.bytes_max;
            if !over || options.protected.contains(&run.run) {
                needed.extend(kept);
                continue;
            }
            if !options.dry_run {
                history::remove(&self.disk, &self.home.history, run)?;
            }
            report.removed_runs.push(run.run);
            report.kept_runs -= 1;
            report.kept_bytes -= bytes;
            report.freed_bytes += bytes;
        }
        if !options.dry_run {
            report.removed_files = self.sweep_keep(&needed)? + self.sweep_all()?;
        }
        Ok(report)
    }

    /// The bytes that a run in the history takes, and the kept images it needs.
    fn weight(&self, run: &RunRef) -> Result<(u64, Vec<Vec<u8>>)> {
        let mut bytes = history::size(&self.disk, &self.home.history, run)?;
        let Ok((intent, _)) = history::read(&self.disk, &self.home.history, run) else {
            return Ok((bytes, Vec::new())); // damaged: `actum show` says so
        };
        let mut names = Vec::new();
        for (index, entry) in intent.entries.iter().enumerate() {
            if entry.pre.file().is_some_and(|file| matches!(file.body, Body::Kept)) {
                let name = keep_name(intent.run, index, Side::Pre);
                let stat = self.disk.stat_at(&self.home.keep, &name);
                let size = stat.doing(|| "look at a kept image".to_owned())?;
                bytes = bytes.saturating_add(size.map_or(0, |stat| stat.size));
                names.push(name);
            }
        }
        Ok((bytes, names))
    }

    /// Removes kept images that no run in the history needs.
    fn sweep_keep(&self, needed: &BTreeSet<Vec<u8>>) -> Result<usize> {
        let mut removed = 0;
        // What belongs to a run in the history stays, even if its record cannot be read today.
        let runs: BTreeSet<_> = history::list(&self.disk, &self.home.history)?
            .into_iter()
            .map(|run| format!("{}.", run.run).into_bytes())
            .collect();
        for name in self.disk.list(&self.home.keep).doing(|| "list kept images".to_owned())? {
            let run = name.get(..=RUN_ID_LENGTH).unwrap_or_default();
            if !runs.contains(run) && !needed.contains(&name) && self.remove(&self.home.keep, &name)
            {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Removes what runs displaced that the journal has forgotten.
    fn sweep_forgotten(&self) -> Result<()> {
        let names = self.disk.list(&self.home.stage).doing(|| "list staged files".to_owned())?;
        let told: BTreeSet<_> =
            self.tail.iter().map(|run| format!("{}.", run.intent.run).into_bytes()).collect();
        for name in names
            .iter()
            .filter(|name| name.get(..=RUN_ID_LENGTH).is_none_or(|run| !told.contains(run)))
        {
            self.remove(&self.home.stage, name);
        }
        Ok(())
    }

    fn sweep_all(&self) -> Result<usize> {
        let names = self.disk.list(&self.home.stage).doing(|| "list staged files".to_owned())?;
        Ok(names.iter().filter(|name| self.remove(&self.home.stage, name)).count())
    }

    /// Removes displaced inodes that are old or too many. Best effort: what stays is found next
    /// time. `displaced` is what came since the last call.
    pub(crate) fn sweep_stage(&self, working: Option<RunId>, displaced: Heap) {
        if !self.home.is_sweep_due(&self.disk, displaced) {
            return;
        }
        let now = self.disk.now();
        let Ok(names) = self.disk.list(&self.home.stage) else { return };
        let working = working.map(|run| format!("{run}.").into_bytes());
        let mut young = Vec::new();
        let mut heap = Heap::default();
        for name in names {
            if working.as_ref().is_some_and(|run| name.starts_with(run)) {
                continue;
            }
            let Ok(Some(stat)) = self.disk.stat_at(&self.home.stage, &name) else { continue };
            // A second name of a live file shows in its link count, so it goes at once.
            let old = now.0.saturating_sub(stat.changed.0) > DISPLACED_AGE;
            if old || stat.links > 1 || stat.kind != Kind::File {
                self.remove(&self.home.stage, &name);
            } else {
                heap.files = heap.files.saturating_add(1);
                heap.bytes = heap.bytes.saturating_add(stat.size);
                young.push(name);
            }
        }
        for name in young.iter().filter(|_| heap.is_too_much()) {
            self.remove(&self.home.stage, name);
        }
    }

    /// Removes what a given-up run had staged.
    pub(crate) fn sweep_run(&self, run: RunId) {
        let run = format!("{run}.").into_bytes();
        for directory in [&self.home.stage, &self.home.keep] {
            let Ok(names) = self.disk.list(directory) else { continue };
            for name in names.iter().filter(|name| name.starts_with(&run)) {
                self.remove(directory, name);
            }
        }
    }

    /// Removes a file or an empty directory; what stays is found next time. A power cut may have
    /// made a directory of what was a file.
    fn remove(&self, directory: &D::Handle, name: &[u8]) -> bool {
        self.disk.unlink(directory, name).is_ok()
            || self.disk.remove_directory(directory, name).is_ok()
    }
}
