//! The note `.actum/rebuilding`, which records the periods in which recoveries changed the tree. Timestamps from these
//! periods may have been set by a recovery itself.
//!
//! ```text
//! u64   sequence number of the first record of the journal to which the note belongs
//! i64   start of an attempt at recovery, in nanoseconds     \  repeated for each attempt,
//! i64   start of the last step of it, in nanoseconds        /  all little-endian
//! ```

use std::cell::Cell;

use crate::disk::{Barrier, Disk, Rename, Time};
use crate::error::{Result, ResultExt};
use crate::home::{Home, PRIVATE};

const REBUILDING: &[u8] = b"rebuilding";
const REBUILDING_NEW: &[u8] = b"rebuilding.new";
const WORD: usize = 8;
/// Maximum time from the recorded start of a recovery step to its last change, in nanoseconds. Half of it is an
/// allowance for a start that has not been synced yet.
const SLACK: i64 = 10_000_000_000;
/// Maximum number of recovery attempts in a note; a further attempt extends the last one.
const ATTEMPTS_MAX: usize = 64;

/// Period in which a recovery changed the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RebuildTime {
    /// Start of the period, by the clock that the file system uses for timestamps.
    pub(crate) began: Time,
    /// Latest possible end of the period, or `None` while the recovery is in progress.
    pub(crate) ended: Option<Time>,
}

/// Open note of the recovery that is in progress.
pub(crate) struct RebuildNote<H> {
    file: H,
    /// Offset of the start of the last step in the file, in bytes.
    place: u64,
    /// Latest start of a step that is durable.
    synced: Cell<Time>,
    pub(crate) began: Time,
}

impl RebuildTime {
    /// Returns true if the recovery may have set this timestamp.
    pub(crate) fn holds(&self, stamp: Time) -> bool {
        stamp >= self.began && self.ended.is_none_or(|ended| stamp <= ended)
    }
}

impl<H> RebuildNote<H> {
    /// Records that another step of the recovery starts now.
    pub(crate) fn touch<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "record the progress of the recovery".to_owned();
        let now = disk.now();
        disk.write_at(&self.file, &now.0.to_le_bytes(), self.place).doing(doing)?;
        if now.0.saturating_sub(self.synced.get().0) > SLACK / 2 {
            disk.sync_data(&self.file, Barrier::Rebuilding).doing(doing)?;
            self.synced.set(now);
        }
        Ok(())
    }
}

impl<H> Home<H> {
    /// Returns the periods of earlier recoveries that did not finish. `first` is the number of the journal's first
    /// record; a note that belongs to another journal is ignored.
    pub(crate) fn rebuild_times<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        first: u64,
    ) -> Result<Vec<RebuildTime>> {
        let doing = || "check for an unfinished recovery".to_owned();
        let file = match disk.open_file(&self.state, REBUILDING) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.doing(doing)?,
        };
        let mut note = [0; WORD * (1 + 2 * ATTEMPTS_MAX)];
        let read = disk.read_at(&file, &mut note, 0).doing(doing)?;
        let (words, rest) = note.get(..read).unwrap_or_default().as_chunks::<WORD>();
        let Some((of, attempts)) = words.split_first().filter(|_| rest.is_empty()) else {
            // An earlier version of actum wrote this note, so only its timestamp shows when the recovery began.
            let began = disk.stat(&file).doing(doing)?.modified;
            return Ok(vec![RebuildTime { began, ended: None }]);
        };
        if u64::from_le_bytes(*of) != first {
            return Ok(Vec::new());
        }
        let (attempts, _) = attempts.as_chunks::<2>();
        let period = |[began, step]: &[[u8; WORD]; 2]| RebuildTime {
            began: Time(i64::from_le_bytes(*began)),
            ended: Some(Time(i64::from_le_bytes(*step).saturating_add(SLACK))),
        };
        Ok(attempts.iter().map(period).collect())
    }

    /// Durably records that a recovery starts to change the tree. The periods `before` of earlier attempts stay
    /// recorded.
    pub(crate) fn begin_rebuild<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        first: u64,
        before: &[RebuildTime],
    ) -> Result<RebuildNote<H>> {
        let doing = || "record the start of the recovery".to_owned();
        if disk.stat_at(&self.state, REBUILDING_NEW).doing(doing)?.is_some() {
            disk.unlink(&self.state, REBUILDING_NEW).doing(doing)?;
        }
        let file = disk.create(&self.state, REBUILDING_NEW, PRIVATE).doing(doing)?;
        // Take the time from a new file, because timestamps of files may lag some milliseconds behind `Disk::now`.
        let began = disk.stat(&file).doing(doing)?.modified;
        let now = disk.now();
        let mut attempts: Vec<(Time, Time)> = before
            .iter()
            .map(|it| (it.began, it.ended.map_or(now, |ended| Time(ended.0.saturating_sub(SLACK)))))
            .collect();
        match attempts.last_mut() {
            Some(last) if before.len() >= ATTEMPTS_MAX => last.1 = now,
            Some(_) | None => attempts.push((began, now)),
        }
        let mut note = first.to_le_bytes().to_vec();
        for (began, step) in &attempts {
            note.extend(began.0.to_le_bytes());
            note.extend(step.0.to_le_bytes());
        }
        let place = u64::try_from(note.len().saturating_sub(WORD)).unwrap_or(u64::MAX);
        disk.write_at(&file, &note, 0).doing(doing)?;
        disk.sync(&file, Barrier::Rebuilding).doing(doing)?;
        disk.rename(&self.state, REBUILDING_NEW, &self.state, REBUILDING, Rename::Replace)
            .doing(doing)?;
        disk.sync(&self.state, Barrier::Rebuilding).doing(doing)?;
        Ok(RebuildNote { file, place, synced: Cell::new(now), began })
    }

    /// Removes the note once the journal has forgotten the runs that were rebuilt.
    pub(crate) fn end_rebuild<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "record the end of the recovery".to_owned();
        if disk.stat_at(&self.state, REBUILDING).doing(doing)?.is_none() {
            return Ok(());
        }
        disk.unlink(&self.state, REBUILDING).doing(doing)?;
        disk.sync(&self.state, Barrier::Rebuilding).doing(doing)
    }
}
