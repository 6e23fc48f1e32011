//! What the journal says about a path, an inode and a directory.

use std::collections::{BTreeMap, HashMap};

use actum_core::RelPath;

use super::Rebuilder;
use crate::disk::{Disk, Time};
use crate::error::Result;
use crate::history::images::Images;
use crate::journal::record::{Body, Entry, FileImage, Image, Outcome, Side};
use crate::journal::runs::LoggedRun;
use crate::run::SWEEP_SLACK;
use crate::transaction::node::Bytes;

/// One image in the journal, by indices.
#[derive(Debug, Clone, Copy)]
pub(super) struct ImageRef {
    pub(super) run: usize,
    pub(super) entry: usize,
    pub(super) side: Side,
}

/// All that the journal says about one path.
pub(super) struct PathRecord {
    pub(super) wanted: ImageRef,
    pub(super) known: Vec<ImageRef>,
    /// When the last run on the path ended; `None` where nobody ended it.
    pub(super) ended: Option<Time>,
    /// When the last INTENT on the path was written.
    pub(super) announced: Time,
}

/// All that the journal says about one inode.
#[derive(Default)]
pub(super) struct InodeRecord {
    pub(super) images: Vec<ImageRef>,
    /// When the INTENT of the last run that recorded it was written.
    pub(super) announced: Time,
    /// When that run ended; `None` where nobody ended it.
    pub(super) ended: Option<Time>,
    /// How long after that end the run itself may still have moved the change stamp, in
    /// nanoseconds.
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
                // What a run that was taken back found there stands, whoever put it there.
                let wanted = image(if committed { Side::Post } else { Side::Pre });
                let record = records.entry(path.clone()).or_insert_with(|| PathRecord {
                    wanted,
                    known: Vec::new(),
                    ended,
                    announced: told.intent.time,
                });
                record.known.extend([image(Side::Pre), image(Side::Post)]);
                record.announced = told.intent.time;
                (record.wanted, record.ended) = (wanted, ended);
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

    /// The files among the known images of a path.
    pub(super) fn known_files<'s>(
        &'s self,
        record: &'s PathRecord,
    ) -> impl Iterator<Item = (ImageRef, &'s FileImage)> {
        record.known.iter().filter_map(|&known| Some((known, self.image(known)?.file()?)))
    }

    /// The recorded bytes of an image; one that its run did not write may be another's among
    /// `known`.
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

/// What the journal says about each inode, by its number.
pub(super) fn inode_records(runs: &[LoggedRun]) -> HashMap<u64, InodeRecord> {
    let mut all: HashMap<u64, InodeRecord> = HashMap::new();
    for (run, LoggedRun { intent, end, .. }) in runs.iter().enumerate() {
        for (index, entry) in intent.entries.iter().enumerate() {
            for (side, image) in [(Side::Pre, &entry.pre), (Side::Post, &entry.post)] {
                let Some(file) = image.file() else { continue };
                let recorded = all.entry(file.inode).or_default();
                recorded.images.push(ImageRef { run, entry: index, side });
                // After its end a run only removes the second names of moved files, and what it had
                // staged in vain.
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

pub(super) fn changed_directories(runs: &[LoggedRun]) -> HashMap<Option<RelPath>, Option<Time>> {
    let mut changed = HashMap::new();
    for LoggedRun { intent, end, .. } in runs {
        for entry in &intent.entries {
            changed.insert(entry.path.parent(), end.map(|end| end.time));
        }
    }
    changed
}
