//! Removes displaced inodes, and files that abandoned runs had staged.

use std::collections::BTreeSet;

use actum_core::{FileMode, RunId};

use crate::disk::{Disk, Kind, Stat};
use crate::error::{Result, ResultExt};
use crate::history;
use crate::workspace::Workspace;

/// Name of the file that stores the time of the last sweep of the stage directory, and the amount displaced since then.
const SWEPT: &[u8] = b"swept";
/// Interval between sweeps of displaced files, in nanoseconds.
const SWEEP_INTERVAL: u64 = 60_000_000_000;
/// Age after which displaced inodes are removed, in nanoseconds. They are not removed earlier, because ext4 without a
/// journal creates files slowly for a while after many were deleted.
const DISPLACED_AGE: i64 = 60_000_000_000;
/// Maximum number of displaced inodes; if there are more, even recent ones are removed.
const DISPLACED_FILES_MAX: u64 = 32_768;
/// Maximum total size of displaced inodes in bytes; if it is exceeded, even recent ones are removed.
const DISPLACED_BYTES_MAX: u64 = 256 << 20;

/// Length of the run id with which the names of kept images and staged files begin.
pub(crate) const RUN_ID_LENGTH: usize = 12;

/// Number of files and their total size in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Amount {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
}

impl Amount {
    pub(crate) fn add(&mut self, bytes: u64) {
        self.files = self.files.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn is_too_much(self) -> bool {
        self.files > DISPLACED_FILES_MAX || self.bytes > DISPLACED_BYTES_MAX
    }
}

/// Returns true if a name in the stage directory is that of staged content
/// ([`crate::transaction::Transaction::stage_name`]). No rename gives such a name to any other object.
pub(crate) fn is_staged(name: &[u8]) -> bool {
    name.get(RUN_ID_LENGTH..).is_some_and(|rest| rest.starts_with(b".s"))
}

/// Maximum depth of a staged directory that is removed with its content.
const DEPTH_MAX: u32 = 16;

impl<D: Disk> Workspace<D> {
    /// Adds `displaced` to the stored amount, and returns true if the stage directory should be swept now. If so, the
    /// time of this sweep is stored. Sweeps are limited, because each one has to examine every displaced file.
    fn takes_turn(&self, displaced: Amount) -> bool {
        let (disk, state) = (&self.disk, &self.home.state);
        let note = || {
            let mut last = [0; 24];
            let file = match disk.open_own(state, SWEPT) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    disk.create(state, SWEPT, FileMode::PRIVATE)?
                }
                file => file?,
            };
            disk.read_at(&file, &mut last, 0)?;
            let [swept, files, bytes] = last.as_chunks::<8>().0 else { return Ok(true) };
            let now = disk.now().0;
            let amount = Amount {
                files: u64::from_le_bytes(*files).saturating_add(displaced.files),
                bytes: u64::from_le_bytes(*bytes).saturating_add(displaced.bytes),
            };
            let age = now.saturating_sub(i64::from_le_bytes(*swept)).unsigned_abs();
            let due = age >= SWEEP_INTERVAL || amount.is_too_much();
            let (swept, amount) =
                if due { (now.to_le_bytes(), Amount::default()) } else { (*swept, amount) };
            let note = [swept, amount.files.to_le_bytes(), amount.bytes.to_le_bytes()].concat();
            disk.write_at(&file, &note, 0)?;
            Ok::<_, std::io::Error>(due)
        };
        note().unwrap_or(true)
    }

    /// Removes displaced inodes that are old, and all of them if there are too many. `displaced` is the amount
    /// displaced since the last call. Files that cannot be removed are left for the next sweep.
    pub(crate) fn sweep_stage(&self, working: Option<RunId>, displaced: Amount) {
        if !self.takes_turn(displaced) {
            return;
        }
        let now = self.disk.now();
        let Ok(names) = self.disk.list(&self.home.stage) else { return };
        let working = working.map(|run| format!("{run}.").into_bytes());
        let mut young = Vec::new();
        let mut amount = Amount::default();
        for name in names {
            if working.as_ref().is_some_and(|run| name.starts_with(run)) {
                continue;
            }
            let Ok(Some(stat)) = self.disk.stat_at(&self.home.stage, &name) else { continue };
            // A link count above 1 shows that the name is a second name of a live file, so it is removed immediately.
            let old = now.0.saturating_sub(stat.changed.0) > DISPLACED_AGE;
            if old || stat.links > 1 || stat.kind != Kind::File {
                self.remove_staged(&name);
            } else {
                amount.add(stat.size);
                young.push(name);
            }
        }
        for name in young.iter().filter(|_| amount.is_too_much()) {
            self.remove(&self.home.stage, name);
        }
    }

    /// Removes names left by interrupted runs that would be second names of live files. These are names in the stage
    /// directory, and kept images that belong to no run. No run other than `working` may be in progress. Names that
    /// cannot be removed are left for the next sweep.
    pub(crate) fn sweep_second_names(&self, working: RunId) {
        drop(self.sweep_keep(Some(working)));
        let Ok(names) = self.disk.list(&self.home.stage) else { return };
        let working = format!("{working}.").into_bytes();
        for name in names.iter().filter(|name| !name.starts_with(&working)) {
            let found = self.disk.stat_at(&self.home.stage, name);
            if found.is_ok_and(|found| found.is_some_and(|stat| stat.links > 1)) {
                self.remove(&self.home.stage, name);
            }
        }
        self.sweep_taken_files(); // after their staged names were removed
    }

    /// Removes kept images that belong to no known run. Images of runs in the history, in the journal and in snapshots
    /// are kept, and so are those of `working`, the run in progress. Returns the number of removed images.
    pub(crate) fn sweep_keep(&self, working: Option<RunId>) -> Result<usize> {
        let mut removed = 0;
        // Images of a run in the history are kept even if its record is currently unreadable.
        let runs: BTreeSet<_> = history::list(&self.disk, &self.home.history)?
            .into_iter()
            .map(|run| run.run)
            .chain(self.tail.iter().map(|run| run.intent.run))
            .chain(working)
            .chain(self.snapshot_runs()?)
            .map(|run| format!("{run}.").into_bytes())
            .collect();
        // Runs in the journal may have taken images of runs that are no longer recorded anywhere.
        let needed: BTreeSet<_> = self.tail.iter().flat_map(|run| &run.superfluous).collect();
        for name in self.disk.list(&self.home.keep).doing(|| "list kept images".to_owned())? {
            let run = name.get(..=RUN_ID_LENGTH).unwrap_or_default();
            if !runs.contains(run) && !needed.contains(&name) && self.remove(&self.home.keep, &name)
            {
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Returns the number of names that a file has in the keep and stage directories.
    pub(crate) fn own_names(&self, file: &Stat) -> Result<u64> {
        Ok(self.names_in(&self.home.keep, file)? + self.names_in(&self.home.stage, file)?)
    }

    /// Returns true if a kept file has exactly one name in the keep directory, and all its other names are in the stage
    /// directory. Any other name may belong to a live file or to the image of another run.
    pub(crate) fn has_one_kept_name(&self, file: &Stat) -> Result<bool> {
        let staged = self.names_in(&self.home.stage, file)?;
        Ok(staged + 1 == file.links && self.names_in(&self.home.keep, file)? == 1)
    }

    fn names_in(&self, directory: &D::Handle, file: &Stat) -> Result<u64> {
        let doing = || "count the names of a kept image".to_owned();
        let mut names = 0;
        for name in self.disk.list(directory).doing(doing)? {
            let found = self.disk.stat_at(directory, &name).doing(doing)?;
            names += u64::from(found.is_some_and(|found| found.inode == file.inode));
        }
        Ok(names)
    }

    /// Removes the staged files and kept images of an abandoned run.
    pub(crate) fn sweep_run(&self, run: RunId) {
        let run = format!("{run}.").into_bytes();
        let names = |directory| self.disk.list(directory).unwrap_or_default().into_iter();
        for name in names(&self.home.stage).filter(|name| name.starts_with(&run)) {
            self.remove_staged(&name);
        }
        for name in names(&self.home.keep).filter(|name| name.starts_with(&run)) {
            self.remove(&self.home.keep, &name);
        }
    }

    /// Removes a file or an empty directory, and returns true on success. Otherwise, the next sweep tries again. Both
    /// kinds are tried, because a power cut can turn a file into a directory.
    pub(crate) fn remove(&self, directory: &D::Handle, name: &[u8]) -> bool {
        self.disk.unlink(directory, name).is_ok()
            || self.disk.remove_directory(directory, name).is_ok()
    }

    /// Removes a staged file, or a staged directory with its content. Any other directory is only removed if it is
    /// empty, because a directory displaced by a run can contain files of other programs.
    pub(crate) fn remove_staged(&self, name: &[u8]) -> bool {
        match is_staged(name) {
            true => self.remove_below(&self.home.stage, name, DEPTH_MAX),
            false => self.remove(&self.home.stage, name),
        }
    }

    fn remove_below(&self, directory: &D::Handle, name: &[u8], depth: u32) -> bool {
        let disk = &self.disk;
        if disk.unlink(directory, name).is_ok() || disk.remove_directory(directory, name).is_ok() {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        let Ok(inside) = disk.open_directory(directory, name) else { return false };
        for name in disk.list(&inside).unwrap_or_default() {
            self.remove_below(&inside, &name, depth);
        }
        disk.remove_directory(directory, name).is_ok()
    }
}
