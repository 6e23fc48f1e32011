//! Index of the journal by path, inode and directory.

use std::collections::{BTreeMap, HashMap, HashSet};

use actum_core::RelPath;

use super::Rebuilder;
use crate::content::Bytes;
use crate::disk::{Disk, Time};
use crate::error::Result;
use crate::history::images::Images;
use crate::journal::record::{Body, Entry, FileImage, Image, Outcome, Side};
use crate::journal::runs::LoggedRun;
use crate::run::SWEEP_SLACK;

/// Image in the journal, by indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageRef {
    pub(super) run: usize,
    pub(super) entry: usize,
    pub(super) side: Side,
}

/// Records of the journal about one path.
pub(super) struct PathRecord {
    pub(super) wanted: ImageRef,
    pub(super) known: Vec<ImageRef>,
    /// Time at which the last run on the path ended; `None` if it did not.
    pub(super) ended: Option<Time>,
    /// True if that run was committed.
    pub(super) is_committed: bool,
    /// Time at which the last INTENT on the path was written.
    pub(super) announced: Time,
}

impl PathRecord {
    /// Returns run and entry, as indices, of the image that the path should hold.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.wanted.run, self.wanted.entry)
    }
}

/// Records of the journal about one inode.
#[derive(Default)]
pub(super) struct InodeRecord {
    pub(super) images: Vec<ImageRef>,
    /// Time at which the INTENT of the last run that recorded it was written.
    pub(super) announced: Time,
    /// Time at which that run ended; `None` if it did not.
    pub(super) ended: Option<Time>,
    /// Time after that end in which the run itself may still have moved the change stamp, in nanoseconds.
    pub(super) slack: i64,
}

impl<D: Disk> Rebuilder<'_, D> {
    pub(super) fn path_records(&self) -> BTreeMap<RelPath, PathRecord> {
        let mut records: BTreeMap<RelPath, PathRecord> = BTreeMap::new();
        for (run, told) in self.runs.iter().enumerate() {
            let ended = told.end.map(|end| end.time);
            let committed = told.end.is_some_and(|end| end.outcome == Outcome::Committed);
            for (entry, Entry { path, .. }) in told.intent.entries.iter().enumerate() {
                let image = |side| ImageRef { run, entry, side };
                // The content that a rolled back run found there stays, whichever process put it there.
                let wanted = image(if committed { Side::Post } else { Side::Pre });
                let record = records.entry(path.clone()).or_insert_with(|| PathRecord {
                    wanted,
                    known: Vec::new(),
                    ended,
                    is_committed: committed,
                    announced: told.intent.time,
                });
                record.known.extend([image(Side::Pre), image(Side::Post)]);
                record.announced = told.intent.time;
                (record.wanted, record.ended) = (wanted, ended);
                record.is_committed = committed;
                if told.end.is_some_and(|end| end.outcome == Outcome::Failed)
                    && self.workspace.blocked.contains_key(path)
                {
                    records.remove(path);
                }
            }
        }
        records
    }

    pub(super) fn entry(&self, image: ImageRef) -> Option<&Entry> {
        self.runs.get(image.run)?.intent.entries.get(image.entry)
    }

    pub(super) fn image(&self, image: ImageRef) -> Option<&Image> {
        let entry = self.entry(image)?;
        Some(match image.side {
            Side::Pre => &entry.pre,
            Side::Post => &entry.post,
        })
    }

    /// Returns the files among the known images of a path.
    pub(super) fn known_files<'s>(
        &'s self,
        record: &'s PathRecord,
    ) -> impl Iterator<Item = (ImageRef, &'s FileImage)> {
        record.known.iter().filter_map(|&known| Some((known, self.image(known)?.file()?)))
    }

    /// Returns the recorded bytes of an image. If its run did not write them, another image among `known` may have
    /// them.
    pub(super) fn bytes(
        &self,
        known: &[ImageRef],
        wanted: ImageRef,
    ) -> Result<Option<Bytes<D::Handle>>> {
        let Some(file) = self.image(wanted).and_then(Image::file) else { return Ok(None) };
        let images = Images { disk: &self.workspace.disk, home: &self.workspace.home };
        let same = known.iter().copied().filter(|&image| {
            self.image(image).and_then(Image::file).is_some_and(|same| same.digest == file.digest)
        });
        for image in std::iter::once(wanted).chain(same) {
            let Some(told) = self.runs.get(image.run) else { continue };
            if let Some(bytes) = images.bytes(&told.intent, image.entry, image.side, None)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// Returns the records of the journal about each inode, by its number.
pub(super) fn inode_records(runs: &[LoggedRun]) -> HashMap<u64, InodeRecord> {
    let mut all: HashMap<u64, InodeRecord> = HashMap::new();
    for (run, LoggedRun { intent, end, .. }) in runs.iter().enumerate() {
        for (index, entry) in intent.entries.iter().enumerate() {
            for (side, image) in [(Side::Pre, &entry.pre), (Side::Post, &entry.post)] {
                let Some(file) = image.file() else { continue };
                let recorded = all.entry(file.inode).or_default();
                recorded.images.push(ImageRef { run, entry: index, side });
                // After its end a run only removes the second names of moved files, and files that it had staged
                // without effect.
                let committed = end.is_some_and(|end| end.outcome == Outcome::Committed);
                let moved = matches!(file.body, Body::Moved(_));
                if recorded.announced != intent.time {
                    recorded.slack = 0;
                }
                if moved || !committed {
                    recorded.slack = SWEEP_SLACK;
                }
                recorded.announced = intent.time;
                recorded.ended = end.map(|end| end.time);
            }
        }
    }
    all
}

/// State of a directory when a run was about to change names in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum FoundDirectory {
    /// The directory, and the time at which it was last changed.
    ChangedAt(Time),
    /// No directory: the last run at its path had removed it, empty.
    RemovedByRun,
    /// No directory, although no run removed it; or the journal does not record it.
    Unknown,
}

/// Run that changed names in a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryRun {
    /// Index of the run.
    pub(super) run: usize,
    pub(super) found: FoundDirectory,
    /// Time at which the run ended; `None` if it did not.
    pub(super) ended: Option<Time>,
}

/// Returns the runs that changed names in each directory, in their order, `None` being the root.
pub(super) fn directory_runs(runs: &[LoggedRun]) -> HashMap<Option<RelPath>, Vec<DirectoryRun>> {
    let mut all: HashMap<Option<RelPath>, Vec<DirectoryRun>> = HashMap::new();
    // Paths where the last run left no directory.
    let mut without: HashSet<&RelPath> = HashSet::new();
    for (run, LoggedRun { intent, end, .. }) in runs.iter().enumerate() {
        for entry in intent.entries.iter().filter(|entry| entry.changes_names()) {
            let directory = entry.path.parent();
            let found = match (entry.directory_changed, &directory) {
                (Some(changed), _) => FoundDirectory::ChangedAt(changed),
                (None, Some(path)) if without.contains(path) => FoundDirectory::RemovedByRun,
                (None, _) => FoundDirectory::Unknown,
            };
            let runs = all.entry(directory).or_default();
            if runs.last().is_none_or(|last| last.run != run) {
                runs.push(DirectoryRun { run, found, ended: end.map(|end| end.time) });
            }
        }
        let is_committed = end.is_some_and(|end| end.outcome == Outcome::Committed);
        for entry in &intent.entries {
            let left = if is_committed { &entry.post } else { &entry.pre };
            if left.is_directory() {
                without.remove(&entry.path);
            } else {
                without.insert(&entry.path);
            }
        }
    }
    all
}
