//! The note `.actum/rebuilding`: while recovery changes the tree, timestamps may be its own.

use crate::disk::{Barrier, Disk, Epoch, Rename, Time};
use crate::error::{Doing, Result};
use crate::home::{Home, PRIVATE};

const REBUILDING: &[u8] = b"rebuilding";
const REBUILDING_NEW: &[u8] = b"rebuilding.new";
/// Size of the note in bytes: the start of the recovery in nanoseconds (little-endian), and the epoch.
const REBUILD_NOTE: usize = size_of::<i64>() + 16;
/// The longest time between the timestamp of the note and the end of the step that follows it, in nanoseconds.
const REBUILD_SLACK: i64 = 10_000_000_000;

/// The period in which a recovery changed the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RebuildTime {
    /// When it began, by the clock that stamps files.
    pub(crate) began: Time,
    /// The latest possible end; `None` if the recovery ran in another epoch, where the note may have lost its timestamp.
    pub(crate) ended: Option<Time>,
}

impl RebuildTime {
    /// Whether the recovery may have set this timestamp.
    pub(crate) fn holds(&self, stamp: Time) -> bool {
        stamp >= self.began && self.ended.is_none_or(|ended| stamp <= ended)
    }
}

impl<H> Home<H> {
    /// Returns the period of a recovery that did not finish.
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
        // After a power cut the file may have an older timestamp.
        let ended = (read == note.len() && noted_epoch == epoch.0)
            .then(|| Time(modified.0.saturating_add(REBUILD_SLACK)));
        let began = if read == note.len() { began } else { modified };
        Ok(Some(RebuildTime { began, ended }))
    }

    /// Writes a durable note that recovery starts to change the tree, unless one exists. Returns its timestamp.
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

    /// Updates the timestamp of the note before a step. Returns it.
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
