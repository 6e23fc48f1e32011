//! Removes displaced inodes and what given-up runs had staged.

use std::collections::BTreeSet;

use actum_core::{FileMode, RunId};

use crate::disk::{Disk, Kind, Stat};
use crate::error::{Result, ResultExt};
use crate::history;
use crate::workspace::Workspace;

/// Note with the time of the last sweep of the stage directory, and the amount displaced since.
const SWEPT: &[u8] = b"swept";
/// Interval between sweeps of displaced files, in nanoseconds.
const SWEEP_INTERVAL: u64 = 60_000_000_000;
/// Age up to which displaced inodes remain, in nanoseconds: ext4 without a journal makes files slowly just after many
/// were deleted.
const DISPLACED_AGE: i64 = 60_000_000_000;
/// Number of displaced inodes that remain, however young.
const DISPLACED_FILES_MAX: u64 = 32_768;
/// Number of bytes of displaced inodes that remain.
const DISPLACED_BYTES_MAX: u64 = 256 << 20;

/// Length of a run id, with which names of kept images and staged files begin.
pub(crate) const RUN_ID_LENGTH: usize = 12;

/// Files and their bytes.
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

/// Returns true if a name is one of staged content ([`crate::transaction::Transaction::stage_name`]), which no rename
/// gives to anything else.
pub(crate) fn is_staged(name: &[u8]) -> bool {
    name.get(RUN_ID_LENGTH..).is_some_and(|rest| rest.starts_with(b".s"))
}

/// Depth to which a staged directory is removed.
const DEPTH_MAX: u32 = 16;

impl<D: Disk> Workspace<D> {
    /// Adds `displaced` to the noted amount. Returns true if the stage directory must be swept now, and notes the
    /// sweep: reading every displaced file costs too much to do it often.
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

    /// Removes displaced inodes that are old or too many. Best effort: what remains is found next time. `displaced` is
    /// the amount since the last call.
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
            // The link count shows a second name of a live file, so that name is removed at once.
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

    /// Removes names of interrupted runs that would be a second name of a live file: such names below `stage`, and kept
    /// images that belong to no run. None of the runs is under way, except `working`. Best effort: what remains is
    /// found next time.
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
        self.sweep_taken_files(); // their staged names are gone
    }

    /// Removes kept images of runs that are neither in the history nor in the journal, nor under way as `working`.
    pub(crate) fn sweep_keep(&self, working: Option<RunId>) -> Result<usize> {
        let mut removed = 0;
        // What belongs to a run in the history remains, even if its record cannot be read today.
        let runs: BTreeSet<_> = history::list(&self.disk, &self.home.history)?
            .into_iter()
            .map(|run| run.run)
            .chain(self.tail.iter().map(|run| run.intent.run))
            .chain(working)
            .chain(self.snapshot_runs()?)
            .map(|run| format!("{run}.").into_bytes())
            .collect();
        // The journal's runs may have taken images of runs that are in neither.
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

    /// Returns the number of names that the keep and stage directories have for a file.
    pub(crate) fn own_names(&self, file: &Stat) -> Result<u64> {
        Ok(self.names_in(&self.home.keep, file)? + self.names_in(&self.home.stage, file)?)
    }

    /// Returns true if a kept file has exactly one name in the keep directory, and all others in the stage directory.
    /// Any other name may belong to a live file or to the image of another run.
    pub(crate) fn has_one_kept_name(&self, file: &Stat) -> Result<bool> {
        let staged = self.names_in(&self.home.stage, file)?;
        Ok(staged + 1 == file.links && self.names_in(&self.home.keep, file)? == 1)
    }

    fn names_in(&self, directory: &D::Handle, file: &Stat) -> Result<u64> {
        let doing = || "look for the names of a kept image".to_owned();
        let mut names = 0;
        for name in self.disk.list(directory).doing(doing)? {
            let found = self.disk.stat_at(directory, &name).doing(doing)?;
            names += u64::from(found.is_some_and(|found| found.inode == file.inode));
        }
        Ok(names)
    }

    /// Removes the staged files of an abandoned run.
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

    /// Removes a file or an empty directory; what remains is found next time. A power cut may have made a directory of
    /// what was a file.
    pub(crate) fn remove(&self, directory: &D::Handle, name: &[u8]) -> bool {
        self.disk.unlink(directory, name).is_ok()
            || self.disk.remove_directory(directory, name).is_ok()
    }

    /// Removes staged content, and a staged directory with all that is in it. No other directory may be removed so: one
    /// that a run displaced holds files that are not the run's own.
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
