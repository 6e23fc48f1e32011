//! Note `.actum/rebuilding`: while recovery changes the tree, timestamps may be its own.
//!
//! ```text
//! u64   number of the first record of the journal; a note of another journal has no meaning
//! i64   start of a recovery, in nanoseconds      \  once for each attempt,
//! i64   start of its last step, in nanoseconds   /  all little-endian
//! ```

use std::cell::Cell;

use crate::disk::{Barrier, Disk, Rename, Time};
use crate::error::{Result, ResultExt};
use crate::home::{Home, PRIVATE};

const REBUILDING: &[u8] = b"rebuilding";
const REBUILDING_NEW: &[u8] = b"rebuilding.new";
const WORD: usize = 8;
/// Maximum time between the start of a step and its last change, in nanoseconds; half of it for a step that is not
/// synced yet.
const SLACK: i64 = 10_000_000_000;
/// Number of attempts that a note holds; a further one extends the last.
const ATTEMPTS_MAX: usize = 64;

/// Period in which a recovery changed the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RebuildTime {
    /// Time at which it began, by the clock that stamps files.
    pub(crate) began: Time,
    /// The latest possible end; `None` while it is under way.
    pub(crate) ended: Option<Time>,
}

/// Open note of a recovery that is under way.
pub(crate) struct RebuildNote<H> {
    file: H,
    /// Offset of the start of the last step in the file, in bytes.
    place: u64,
    /// The start of a step that is durable.
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
    /// Records that a step of the recovery starts now.
    pub(crate) fn touch<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "note that recovery goes on".to_owned();
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
    /// Returns the periods of recoveries of a journal whose first record has this number, and that did not finish.
    pub(crate) fn rebuild_times<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        first: u64,
    ) -> Result<Vec<RebuildTime>> {
        let doing = || "look for an unfinished recovery".to_owned();
        let file = match disk.open_file(&self.state, REBUILDING) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file.doing(doing)?,
        };
        let mut note = [0; WORD * (1 + 2 * ATTEMPTS_MAX)];
        let read = disk.read_at(&file, &mut note, 0).doing(doing)?;
        let (words, rest) = note.get(..read).unwrap_or_default().as_chunks::<WORD>();
        let Some((of, attempts)) = words.split_first().filter(|_| rest.is_empty()) else {
            // Written by an earlier version: only its timestamp shows when recovery began.
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

    /// Writes a durable note that recovery starts to change the tree, after those of the attempts `before`.
    pub(crate) fn begin_rebuild<D: Disk<Handle = H>>(
        &self,
        disk: &D,
        first: u64,
        before: &[RebuildTime],
    ) -> Result<RebuildNote<H>> {
        let doing = || "note that recovery begins".to_owned();
        if disk.stat_at(&self.state, REBUILDING_NEW).doing(doing)?.is_some() {
            disk.unlink(&self.state, REBUILDING_NEW).doing(doing)?;
        }
        let file = disk.create(&self.state, REBUILDING_NEW, PRIVATE).doing(doing)?;
        // The clock that stamps files may be some milliseconds behind the other one.
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

    /// Removes the note once the journal has forgotten what was rebuilt.
    pub(crate) fn end_rebuild<D: Disk<Handle = H>>(&self, disk: &D) -> Result<()> {
        let doing = || "note that recovery has ended".to_owned();
        if disk.stat_at(&self.state, REBUILDING).doing(doing)?.is_none() {
            return Ok(());
        }
        disk.unlink(&self.state, REBUILDING).doing(doing)?;
        disk.sync(&self.state, Barrier::Rebuilding).doing(doing)
    }
}
