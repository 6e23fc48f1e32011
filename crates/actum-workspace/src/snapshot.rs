//! Snapshots of files that another program is about to change. What a snapshot holds is the state before a run whose files
//! that program publishes ([`Transaction::adopt`](crate::Transaction::adopt)).
//!
//! A snapshot is one file in `.actum/snapshots`, named after its id and a run id of its own, and framed like an intent. Contents
//! that are too large for it are copies in the keep directory, under that run id. It is not synced: after a power cut it may be
//! gone or torn, and then there is no such snapshot.

use actum_core::{Digest, FileMode, RelPath, RunId};
use serde::{Deserialize, Serialize};

use crate::change::Extent;
use crate::content::{Bytes, INLINE_BYTES_MAX};
use crate::digest_while_reading::copy_file;
use crate::disk::{Disk, Time};
use crate::error::{Doing, ErrorKind, Result};
use crate::journal::record::{
    Body, Entry, FileImage, Image, Intent, Record, RunKind, Side, keep_name,
};
use crate::journal::sector::{Framed, frame, unframe};
use crate::transaction::Transaction;
use crate::transaction::node::{Node, Post, Pre, PreFile};
use crate::transaction::stage::INLINE_TOTAL_MAX;
use crate::tree::read_whole;
use crate::workspace::Workspace;

const DIRECTORY: &[u8] = b"snapshots";
/// Snapshots that are kept at most. The oldest make room.
const SNAPSHOTS_MAX: usize = 256;
/// How long a snapshot is kept, in nanoseconds: a day.
const AGE_MAX: i64 = 24 * 3_600_000_000_000;
/// Bytes that one snapshot copies at most, where the file system cannot share them.
const COPIED_BYTES_MAX: u64 = 512 << 20;
/// Bytes of the file of a snapshot at most: images, paths and attributes.
const FILE_BYTES_MAX: u64 = 2 * INLINE_TOTAL_MAX;
/// Sequence number of the record in the file.
const SEQUENCE: u64 = 1;

/// Id of a snapshot: a digest of what names it outside of the workspace, such as the id of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(Digest);

impl SnapshotId {
    /// Id of the snapshot with this name.
    pub fn of(name: &str) -> Self {
        Self(Digest::tagged("actum/snapshot/v1", &[name.as_bytes()]))
    }

    /// The digest.
    pub fn digest(&self) -> Digest {
        self.0
    }
}

/// File of a snapshot, by what its name says.
struct SnapshotFile {
    id: Digest,
    run: RunId,
}

impl SnapshotFile {
    fn name(&self) -> Vec<u8> {
        format!("{}.{}", self.id, self.run).into_bytes()
    }

    fn parse(name: &[u8]) -> Option<Self> {
        let (id, run) = std::str::from_utf8(name).ok()?.split_once('.')?;
        Some(Self { id: id.parse().ok()?, run: run.parse().ok()? })
    }
}

/// A snapshot as it was read, in the form of an intent whose entries have the state before.
pub(crate) struct Snapshot {
    pub(crate) intent: Intent,
}

impl<D: Disk> Transaction<'_, D> {
    /// Keeps what all paths of the steps so far hold on the disk, under `id`, in place of an earlier snapshot of that id. The steps
    /// themselves are not kept, and no file of the workspace is touched. Snapshots that are older than a day go, and the
    /// oldest beyond 256.
    ///
    /// # Errors
    /// `SnapshotTooLarge` where the contents beyond 16 MiB have more than 512 MiB and the file system cannot share them; `Io`.
    pub fn take_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        let workspace = &*self.workspace;
        let disk = &workspace.disk;
        let doing = || "take a snapshot".to_owned();
        let directory = match disk.open_directory(&workspace.home.state, DIRECTORY) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let mode = FileMode::PRIVATE_DIRECTORY;
                disk.make_directory(&workspace.home.state, DIRECTORY, mode).doing(doing)?;
                disk.open_directory(&workspace.home.state, DIRECTORY).doing(doing)?
            }
            opened => opened.doing(doing)?,
        };
        workspace.remove_snapshots(&directory, id)?;
        let run = RunId::from_random(disk.random().doing(doing)?);
        let written = self.write_snapshot(&directory, &SnapshotFile { id: id.0, run });
        if written.is_err() {
            self.workspace.sweep_run(run); // a full disk has better uses for it
        }
        written
    }

    fn write_snapshot(&self, directory: &D::Handle, to: &SnapshotFile) -> Result<()> {
        let disk = &self.workspace.disk;
        let doing = || "take a snapshot".to_owned();
        let mut room = Room { inline: INLINE_TOTAL_MAX, copied: COPIED_BYTES_MAX };
        let mut entries = Vec::with_capacity(self.nodes.len());
        // A directory that is there and stays is only looked at on the way.
        let is_kept = |node: &Node<D::Handle>| {
            !matches!((&node.pre, &node.post), (Pre::Directory(_), Post::Directory(_)))
        };
        let kept = self.nodes.iter().filter(|(_, node)| is_kept(node));
        for (index, (path, node)) in kept.enumerate() {
            let pre = match &node.pre {
                Pre::Absent => Image::Absent,
                Pre::Directory(attributes) => Image::Directory(attributes.clone()),
                Pre::File(file) => {
                    self.image_of(path, file, &keep_name(to.run, index, Side::Pre), &mut room)?
                }
            };
            let (path, post, extent) = (path.clone(), Image::Absent, Extent::NOTHING);
            let (edited_from, back, directory_changed) = (None, None, None);
            entries.push(Entry { path, pre, post, extent, edited_from, back, directory_changed });
        }
        let intent = Intent {
            run: to.run,
            kind: RunKind::Apply,
            time: disk.now(),
            epoch: self.workspace.epoch,
            label: self.label.clone(),
            entries,
        };
        let (encoded, bodies) = intent.encode();
        let head = Record::head(&encoded);
        let pieces: Vec<&[u8]> = [head.as_slice(), &encoded].into_iter().chain(bodies).collect();
        let file = disk.create(directory, &to.name(), FileMode::PRIVATE).doing(doing)?;
        let written = disk.write_at(&file, &frame(SEQUENCE, &pieces), 0);
        if written.is_err() {
            drop(disk.unlink(directory, &to.name())); // a full disk has better uses for it
        }
        written.doing(doing)
    }

    /// Image of a file, whose bytes are in it, or copied to `kept` in the keep directory.
    fn image_of(
        &self,
        path: &RelPath,
        file: &PreFile<D::Handle>,
        kept: &[u8],
        room: &mut Room,
    ) -> Result<Image> {
        let size = file.stat.size;
        let body = match &file.bytes {
            Bytes::Memory(bytes) if size <= room.inline.min(INLINE_BYTES_MAX as u64) => {
                room.inline -= size;
                Body::Inline(std::sync::Arc::clone(bytes))
            }
            bytes @ (Bytes::Memory(_) | Bytes::File(..)) => {
                self.copy_to_keep(path, (file, bytes), kept, room)?;
                Body::Kept
            }
        };
        Ok(Image::File(FileImage {
            attributes: file.attributes.clone(),
            size,
            digest: file.digest,
            inode: file.stat.inode,
            body,
        }))
    }

    fn copy_to_keep(
        &self,
        path: &RelPath,
        (file, bytes): (&PreFile<D::Handle>, &Bytes<D::Handle>),
        kept: &[u8],
        room: &mut Room,
    ) -> Result<()> {
        let Workspace { disk, home, .. } = &*self.workspace;
        let doing = || format!("keep a copy of `{path}`");
        let copy = disk.create(&home.keep, kept, FileMode::PRIVATE).doing(doing)?;
        let handle = match bytes {
            Bytes::Memory(bytes) => return disk.write_at(&copy, bytes, 0).doing(doing),
            Bytes::File(handle, _) => handle,
        };
        if disk.clone_content(handle, &copy).doing(doing)? {
            let now = disk.stat(handle).doing(doing)?;
            if (now.changed, now.size) == (file.stat.changed, file.stat.size) {
                return Ok(());
            }
        } else {
            let bytes = file.stat.size;
            let Some(left) = room.copied.checked_sub(bytes) else {
                return Err(ErrorKind::SnapshotTooLarge { bytes, max: COPIED_BYTES_MAX }.into());
            };
            room.copied = left;
            if copy_file(disk, handle, &copy).doing(doing)? == file.digest {
                return Ok(());
            }
        }
        let detail = "its content changed while it was copied";
        Err(ErrorKind::Conflict { path: path.clone(), detail }.into())
    }
}

/// Bytes that a snapshot may still hold, in its file and beside it.
struct Room {
    inline: u64,
    copied: u64,
}

impl<D: Disk> Workspace<D> {
    /// Removes a snapshot that is not needed any more, if there is one.
    ///
    /// # Errors
    /// `Busy`, `Poisoned`; `Io`, and those of recovery.
    pub fn drop_snapshot(&mut self, id: SnapshotId) -> Result<()> {
        let _lock = self.lock(true, "drop a snapshot")?;
        self.remove_snapshot(id)
    }

    /// The same where the lock is held.
    pub(crate) fn remove_snapshot(&self, id: SnapshotId) -> Result<()> {
        let Some(directory) = self.snapshots()? else { return Ok(()) };
        for file in self.snapshot_files(&directory)? {
            if file.id == id.0 {
                self.remove(&directory, &file.name());
                self.sweep_run(file.run);
            }
        }
        Ok(())
    }

    /// Run ids of the snapshots, under which contents are kept.
    pub(crate) fn snapshot_runs(&self) -> Result<Vec<RunId>> {
        let Some(directory) = self.snapshots()? else { return Ok(Vec::new()) };
        Ok(self.snapshot_files(&directory)?.into_iter().map(|file| file.run).collect())
    }

    /// Reads a snapshot. One that is torn counts as none.
    ///
    /// # Errors
    /// `NoSnapshot`, `Io`.
    pub(crate) fn read_snapshot(&self, id: SnapshotId) -> Result<Snapshot> {
        let doing = || "read a snapshot".to_owned();
        let missing = || ErrorKind::NoSnapshot;
        let directory = self.snapshots()?.ok_or_else(missing)?;
        let files = self.snapshot_files(&directory)?;
        let found = files.into_iter().find(|file| file.id == id.0).ok_or_else(missing)?;
        let file = self.disk.open_file(&directory, &found.name()).doing(doing)?;
        let size = self.disk.stat(&file).doing(doing)?.size.min(FILE_BYTES_MAX);
        let framed = read_whole(&self.disk, &file, size).doing(doing)?;
        let mut record = Vec::new();
        match unframe(&framed, SEQUENCE, &mut record) {
            Framed::Whole(_) => {}
            Framed::Missing | Framed::Torn | Framed::Damaged(_) => return Err(missing().into()),
        }
        match Record::decode(&record) {
            Ok(Record::Intent(intent)) if intent.run == found.run => Ok(Snapshot { intent }),
            Ok(Record::Intent(_) | Record::End(_) | Record::Adopted(_)) | Err(_) => {
                Err(missing().into())
            }
        }
    }

    /// The directory of snapshots, where there is one.
    fn snapshots(&self) -> Result<Option<D::Handle>> {
        match self.disk.open_directory(&self.home.state, DIRECTORY) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            opened => opened.doing(|| "open `.actum/snapshots`".to_owned()).map(Some),
        }
    }

    fn snapshot_files(&self, directory: &D::Handle) -> Result<Vec<SnapshotFile>> {
        let names = self.disk.list(directory).doing(|| "list snapshots".to_owned())?;
        Ok(names.iter().filter_map(|name| SnapshotFile::parse(name)).collect())
    }

    /// Removes earlier snapshots of `id`, those that are too old, and the oldest where there are too many.
    fn remove_snapshots(&self, directory: &D::Handle, id: SnapshotId) -> Result<()> {
        let oldest = self.disk.now().0.saturating_sub(AGE_MAX);
        let mut files: Vec<(Time, SnapshotFile)> = Vec::new();
        for file in self.snapshot_files(directory)? {
            let stat = self.disk.stat_at(directory, &file.name());
            let stat = stat.doing(|| "look at a snapshot".to_owned())?;
            files.extend(stat.map(|stat| (stat.modified, file)));
        }
        files.sort_by_key(|(modified, _)| *modified);
        let too_many = (files.len() + 1).saturating_sub(SNAPSHOTS_MAX);
        for (index, (modified, file)) in files.into_iter().enumerate() {
            if file.id == id.0 || modified.0 < oldest || index < too_many {
                self.remove(directory, &file.name());
                self.sweep_run(file.run);
            }
        }
        Ok(())
    }
}
