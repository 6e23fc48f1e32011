//! Index of the journal by path, by inode and by directory.

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

/// Image in the journal, identified by the indices of its run and entry and by its side.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageRef {
    pub(super) run: usize,
    pub(super) entry: usize,
    pub(super) side: Side,
}

/// Records in the journal about one path.
pub(super) struct PathRecord {
    /// Image that the path should have.
    pub(super) wanted: ImageRef,
    /// All images that the journal records for the path.
    pub(super) known: Vec<ImageRef>,
    /// Time at which the last run on the path ended, or `None` if it did not end.
    pub(super) ended: Option<Time>,
    /// True if the last run on the path was committed.
    pub(super) is_committed: bool,
    /// Time at which the last INTENT that includes the path was written.
    pub(super) announced: Time,
}

impl PathRecord {
    /// Returns the indices of the run and the entry that determine the wanted image of the path.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.wanted.run, self.wanted.entry)
    }
}

/// Records in the journal about one inode.
#[derive(Default)]
pub(super) struct InodeRecord {
    pub(super) images: Vec<ImageRef>,
    /// Time at which the INTENT of the last run that recorded the inode was written.
    pub(super) announced: Time,
    /// Time at which the last run that recorded the inode ended, or `None` if it did not end.
    pub(super) ended: Option<Time>,
    /// Time after the end of a run in which the run itself may still have updated the change time of the inode, in
    /// nanoseconds.
    pub(super) slack: i64,
}

impl<D: Disk> Rebuilder<'_, D> {
    pub(super) fn path_records(&self) -> BTreeMap<RelPath, PathRecord> {
        let mut records: BTreeMap<RelPath, PathRecord> = BTreeMap::new();
        for (run, logged) in self.runs.iter().enumerate() {
            let ended = logged.end.map(|end| end.time);
            let committed = logged.end.is_some_and(|end| end.outcome == Outcome::Committed);
            for (entry, Entry { path, .. }) in logged.intent.entries.iter().enumerate() {
                let image = |side| ImageRef { run, entry, side };
                // A run that was rolled back leaves the content that it found, whichever process wrote it.
                let wanted = image(if committed { Side::Post } else { Side::Pre });
                let record = records.entry(path.clone()).or_insert_with(|| PathRecord {
                    wanted,
                    known: Vec::new(),
                    ended,
                    is_committed: committed,
                    announced: logged.intent.time,
                });
                record.known.extend([image(Side::Pre), image(Side::Post)]);
                record.announced = logged.intent.time;
                (record.wanted, record.ended) = (wanted, ended);
                record.is_committed = committed;
                if logged.end.is_some_and(|end| end.outcome == Outcome::Failed)
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

    /// Returns all images of a path that are files.
    pub(super) fn known_files<'s>(
        &'s self,
        record: &'s PathRecord,
    ) -> impl Iterator<Item = (ImageRef, &'s FileImage)> {
        record.known.iter().filter_map(|&known| Some((known, self.image(known)?.file()?)))
    }

    /// Returns the recorded bytes of an image. If its run did not record them, they are taken from another image in
    /// `known` with the same digest.
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
            let Some(logged) = self.runs.get(image.run) else { continue };
            if let Some(bytes) = images.bytes(&logged.intent, image.entry, image.side, None)? {
                return Ok(Some(bytes));
            }
        }
        Ok(None)
    }
}

/// Indexes the images in the journal by inode number.
pub(super) fn inode_records(runs: &[LoggedRun]) -> HashMap<u64, InodeRecord> {
    let mut all: HashMap<u64, InodeRecord> = HashMap::new();
    for (run, LoggedRun { intent, end, .. }) in runs.iter().enumerate() {
        for (index, entry) in intent.entries.iter().enumerate() {
            for (side, image) in [(Side::Pre, &entry.pre), (Side::Post, &entry.post)] {
                let Some(file) = image.file() else { continue };
                let recorded = all.entry(file.inode).or_default();
                recorded.images.push(ImageRef { run, entry: index, side });
                // After its end, a run only removes second names of moved files and, if it was not committed, the files
                // that it had staged.
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

/// State of a directory just before a run changed names in it.
#[derive(Debug, Clone, Copy)]
pub(super) enum FoundDirectory {
    /// The directory existed, and was last changed at this time.
    ChangedAt(Time),
    /// There was no directory, because the last run at its path had removed it while it was empty.
    RemovedByRun,
    /// There was no directory although no run had removed it, or the journal does not record the state.
    Unknown,
}

/// Run that changed names in a directory.
#[derive(Debug, Clone, Copy)]
pub(super) struct DirectoryRun {
    /// Index of the run.
    pub(super) run: usize,
    pub(super) found: FoundDirectory,
    /// Time at which the run ended, or `None` if it did not end.
    pub(super) ended: Option<Time>,
}

/// Returns the runs that changed names in each directory, in order. The key of the root is `None`.
pub(super) fn directory_runs(runs: &[LoggedRun]) -> HashMap<Option<RelPath>, Vec<DirectoryRun>> {
    let mut all: HashMap<Option<RelPath>, Vec<DirectoryRun>> = HashMap::new();
    // Paths at which the last run left no directory.
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
