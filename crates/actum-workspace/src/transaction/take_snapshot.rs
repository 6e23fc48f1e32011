//! Creation of a snapshot from the paths of a transaction.

use std::sync::Arc;

use actum_core::{FileMode, RelPath, RunId};

use crate::change::Extent;
use crate::content::{Bytes, INLINE_BYTES_MAX, Opened};
use crate::digest_while_reading::copy_file;
use crate::disk::Disk;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::record::{
    Body, Entry, FileImage, Image, Intent, Record, RunKind, Side, keep_name,
};
use crate::journal::sector::frame;
use crate::snapshot::{DIRECTORY, SEQUENCE, SnapshotFile, SnapshotId};
use crate::transaction::Transaction;
use crate::transaction::node::{Node, Post, Pre, PreFile};
use crate::transaction::stage::INLINE_TOTAL_MAX;
use crate::workspace::Workspace;

/// Maximum number of bytes that a snapshot copies if the file system cannot share them.
const COPIED_BYTES_MAX: u64 = 512 << 20;

impl<D: Disk> Transaction<'_, D> {
    /// Saves the current on-disk content of all paths of the steps so far under `id`, replacing an earlier snapshot
    /// with that id. The steps themselves are not saved, and no workspace file is touched. Snapshots older than one day
    /// are removed, and so are the oldest ones if there are more than 256.
    ///
    /// # Errors
    /// `Io`; `SnapshotTooLarge` if more than 512 MiB would have to be copied because the file system cannot share them.
    /// The first 16 MiB of small files do not count.
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
        let written = self.write_snapshot(&directory, &SnapshotFile { id, run });
        if written.is_err() {
            self.workspace.sweep_run(run); // frees space on a full disk
        }
        written
    }

    fn write_snapshot(&self, directory: &D::Handle, to: &SnapshotFile) -> Result<()> {
        let disk = &self.workspace.disk;
        let doing = || "take a snapshot".to_owned();
        let mut room = Room { inline: INLINE_TOTAL_MAX, copied: COPIED_BYTES_MAX };
        let mut entries = Vec::with_capacity(self.nodes.len());
        // A directory that exists and remains is only the parent of other paths, so it is not saved.
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
            drop(disk.unlink(directory, &to.name())); // frees space on a full disk
        }
        written.doing(doing)
    }

    /// Returns the image of a file. Its content is included if it fits, and otherwise copied to the file `kept` in the
    /// keep directory.
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
                Body::Inline(Arc::clone(bytes))
            }
            bytes @ (Bytes::Memory(_) | Bytes::File(..) | Bytes::ByPath(_)) => {
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
        let handle = match bytes.opened(disk).doing(doing)? {
            Opened::Memory(bytes) => {
                room.copy(file.stat.size)?;
                return disk.write_at(&copy, &bytes, 0).doing(doing);
            }
            Opened::File(handle) => handle,
        };
        if disk.clone_content(&handle, &copy).doing(doing)? {
            let now = disk.stat(&handle).doing(doing)?;
            if (now.changed, now.size) == (file.stat.changed, file.stat.size) {
                return Ok(());
            }
        } else {
            room.copy(file.stat.size)?;
            if copy_file(disk, &handle, &copy).doing(doing)? == file.digest {
                return Ok(());
            }
        }
        let detail = "its content changed while it was being copied";
        Err(ErrorKind::Conflict { path: path.clone(), detail }.into())
    }
}

/// Remaining space of a snapshot in bytes, for contents inside the snapshot file and for copies in the keep directory.
struct Room {
    inline: u64,
    copied: u64,
}

impl Room {
    /// Reserves space for a copy of a file.
    ///
    /// # Errors
    /// `SnapshotTooLarge`.
    fn copy(&mut self, bytes: u64) -> Result<()> {
        let left = self.copied.checked_sub(bytes);
        self.copied = left.ok_or(ErrorKind::SnapshotTooLarge { bytes, max: COPIED_BYTES_MAX })?;
        Ok(())
    }
}
