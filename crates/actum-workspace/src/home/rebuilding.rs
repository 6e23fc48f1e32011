//! The note that recovery changes the tree: stamps from then on may be its own.

use crate::disk::{Barrier, Disk, Epoch, Rename, Time};
use crate::error::{Doing, Result};
use crate::home::{Home, PRIVATE};

const REBUILDING: &[u8] = b"rebuilding";
const REBUILDING_NEW: &[u8] = b"rebuilding.new";
/// The size of the note in it, in bytes: when recovery began, and the epoch.
const REBUILD_NOTE: usize = size_of::<i64>() + 16;
/// How long a step of recovery may take behind the stamp of the note, in nanoseconds.
const REBUILD_SLACK: i64 = 10_000_000_000;

/// When a rebuild changed the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RebuildTime {
    /// When it began, by the clock that stamps files.
    pub(crate) began: Time,
    /// When it had surely ended; `None` where that is not known, since it was in another epoch.
    pub(crate) ended: Option<Time>,
}

impl RebuildTime {
    /// Whether the stamp may be of that recovery.
    pub(crate) fn holds(&self, stamp: Time) -> bool {
        stamp >= self.began && self.ended.is_none_or(|ended| stamp <= ended)
    }
}

impl<H> Home<H> {
    /// The time of a rebuild that did not come to its end.
    pub(crate) fn rebuild_time<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        epoch: Epoch,
    ) -> Result<Option<RebuildTime>> {
        let doing = || "look for an unfinished recovery".to_owned();
        let file = match disk.open_file(&self.state, REBUILDING) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            file => file.doing(doing)?,
        };
        let modified = disk.stat(&file).doing(doing)?.modified;
        let mut note = [0; REBUILD_NOTE];
        let read = disk.read_at(&file, &mut note, 0).doing(doing)?;
        let (began, noted_epoch) = note.split_at(size_of::<i64>());
        let began = began.first_chunk().map_or(modified, |began| Time(i64::from_le_bytes(*began)));
        // After a power cut the stamp of the note may be an older one.
        let ended = (read == note.len() && noted_epoch == epoch.0)
            .then(|| Time(modified.0.saturating_add(REBUILD_SLACK)));
        let began = if read == note.len() { began } else { modified };
        Ok(Some(RebuildTime { began, ended }))
    }

    /// Makes a durable note that recovery changes the tree from now on, unless there is one. Gives its stamp.
    pub(crate) fn begin_rebuild<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        epoch: Epoch,
    ) -> Result<Time> {
        let doing = || "note that recovery begins".to_owned();
        let began = match self.rebuild_time(disk, epoch)? {
            Some(RebuildTime { ended: Some(_), .. }) => return self.touch_rebuild(disk),
            Some(RebuildTime { began, ended: None }) => Some(began),
            None => None,
        };
        if disk.stat_at(&self.state, REBUILDING_NEW).doing(doing)?.is_some() {
            disk.unlink(&self.state, REBUILDING_NEW).doing(doing)?;
        }
        let file = disk.create(&self.state, REBUILDING_NEW, PRIVATE).doing(doing)?;
        // The clock that stamps files may be some milliseconds behind the other.
        let began = match began {
            Some(began) => began,
            None => disk.stat(&file).doing(doing)?.modified,
        };
        let note = [&began.0.to_le_bytes()[..], &epoch.0].concat();
        disk.write_at(&file, &note, 0).doing(doing)?;
        disk.sync(&file, Barrier::Rebuilding).doing(doing)?;
        disk.rename(&self.state, REBUILDING_NEW, &self.state, REBUILDING, Rename::Replace)
            .doing(doing)?;
        disk.sync(&self.state, Barrier::Rebuilding).doing(doing)?;
        Ok(disk.stat(&file).doing(doing)?.modified)
    }

    /// Moves the stamp of the note: recovery is about to change something. Gives the stamp.
    pub(crate) fn touch_rebuild<D: Disk<Handle = H>>(&self, disk: &D) -> Result<Time> {
        let doing = || "note that recovery goes on".to_owned();
        let file = disk.open_own(&self.state, REBUILDING).doing(doing)?;
        let mut byte = [0];
        disk.read_at(&file, &mut byte, 0).doing(doing)?;
        disk.write_at(&file, &byte, 0).doing(doing)?;
        Ok(disk.stat(&file).doing(doing)?.modified)
    }

    /// Takes the note away once the journal has forgotten what was rebuilt.
    pub(crate) fn end_rebuild<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "note that recovery has ended".to_owned();
        if disk.stat_at(&self.state, REBUILDING).doing(doing)?.is_none() {
            return Ok(());
        }
        disk.unlink(&self.state, REBUILDING).doing(doing)?;
        disk.sync(&self.state, Barrier::Rebuilding).doing(doing)
    }
}
