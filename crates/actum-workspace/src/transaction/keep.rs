//! Storage of images that are too large for the journal. They are hard-linked or copied into the keep directory.

use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath};

use crate::attributes::set_attributes;
use crate::blocks::{self, BlockDelta, Old};
use crate::content::{Bytes, INLINE_BYTES_MAX, Opened};
use crate::digest_while_reading::copy_file;
use crate::disk::{Barrier, Disk, Stat};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::back::Back;
use crate::journal::record::{Body, Side, blocks_name, keep_name, stage_name};
use crate::transaction::Transaction;
use crate::transaction::adopt::Adoption;
use crate::transaction::node::PreFile;
use crate::transaction::stage::{Staging, inverse_bytes_max};
use crate::tree::{digest_of, stamp_is_fresh};

/// Maximum number of kept images that are synced one by one with `fdatasync`. For more images, a single `syncfs` is
/// cheaper.
const KEPT_SYNCED_SINGLY: usize = 8;

impl<D: Disk> Staging<'_, D> {
    /// Keeps the new content of a file that is too large for the record.
    ///
    /// The image is a second hard link to the staged file, so a process that writes to the published file also changes
    /// the image. It only has to last until the next checkpoint, in case a power cut damages the file. A redo does not
    /// need it, because the undo keeps the file that it displaces.
    pub(super) fn keep_post(
        &mut self,
        index: usize,
        path: &RelPath,
        handle: Arc<D::Handle>,
    ) -> Result<Body> {
        let (name, kept) = (stage_name(self.run, index), keep_name(self.run, index, Side::Post));
        self.disk.link(self.stage, &name, self.keep, &kept).doing(|| keep(path))?;
        self.sync_later(handle);
        Ok(Body::Kept)
    }

    /// Keeps the blocks in which a displaced file differs from `new`, provided that they take far less space than the
    /// file. Once the run is in the history, they replace the kept file. Until then, the file is kept too, for rollback
    /// and recovery.
    ///
    /// A file that other programs write to between runs is always kept whole, because the content on which the blocks
    /// depend may disappear at any time.
    pub(super) fn keep_blocks(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PreFile<D::Handle>,
        new: &Bytes<D::Handle>,
    ) -> Result<Option<Back>> {
        let (size, doing) = (file.stat.size, || keep(path));
        let Some(bytes_max) = delta_bytes_max(size, new.size(self.disk).doing(doing)?) else {
            return Ok(None);
        };
        if self.moved.contains(path) || self.is_written_by_others(path, &file.digest)? {
            return Ok(None);
        }
        let name = blocks_name(self.run, index);
        let target = (self.keep, name.as_slice());
        let sides = (file, new, self.workspace.has_coarse_timestamps);
        let written = self.copy_delta(path, &name).and_then(|copied| match copied {
            Some(copied) => Ok(Some(copied)),
            None => {
                let written = write_delta(self.disk, target, sides, bytes_max)?;
                Ok(written.map(|(handle, _)| handle))
            }
        });
        let written = match written.doing(doing) {
            // Continue without the blocks, because keeping the file itself needs no extra space.
            Err(error) if error.is_disk_full() => None,
            written => written?,
        };
        let Some(handle) = written else { return Ok(None) };
        self.sync_later(Arc::new(handle));
        Ok(Some(Back::Blocks))
    }

    /// Copies a delta of `path` that was already written for the caller, so that the contents are not compared twice.
    /// Returns `None` if there is no such delta or it is damaged.
    fn copy_delta(&self, path: &RelPath, name: &[u8]) -> std::io::Result<Option<D::Handle>> {
        let Some(StoredDelta { handle, delta, digests }) = self.deltas.get(path) else {
            return Ok(None);
        };
        let node = self.nodes.get(path);
        let now = node.and_then(|node| Some((node.pre.file()?.digest, node.post.file()?.digest)));
        if now != Some(*digests) {
            return Ok(None);
        }
        let copy = self.disk.create(self.keep, name, FileMode::PRIVATE)?;
        match copy_file(self.disk, handle, &copy) {
            Ok(copied) if copied == delta.sha256 => Ok(Some(copy)),
            Ok(_) => self.disk.unlink(self.keep, name).map(|()| None),
            Err(error) => {
                drop(self.disk.unlink(self.keep, name)); // free the space on a full disk
                Err(error)
            }
        }
    }

    /// Returns true if the file that the newest runs left at `path` does not have this digest, so that another program
    /// must have changed it.
    fn is_written_by_others(&mut self, path: &RelPath, digest: &Digest) -> Result<bool> {
        let left = match &mut self.last_left {
            Some(left) => left,
            none => none.insert(self.workspace.last_left()?),
        };
        Ok(left.get(path).is_some_and(|left| left.as_ref() != Some(digest)))
    }

    /// Keeps a displaced file that is too large for the record. The file is hard-linked, or copied if it already has
    /// other hard links, because a process could still write to it through one of those.
    pub(super) fn keep_pre(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PreFile<D::Handle>,
    ) -> Result<Body> {
        let handle = if file.stat.links > 1 {
            self.copy_pre(index, path, file)?
        } else {
            self.link_pre(index, path, file)?
        };
        self.sync_later(handle);
        Ok(Body::Kept)
    }

    /// Keeps the content of a snapshot for the history. The snapshot still has it too until the run is committed.
    pub(super) fn keep_snapshot(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PreFile<D::Handle>,
        adoption: &Adoption,
    ) -> Result<Body> {
        let kept = keep_name(self.run, index, Side::Pre);
        let handle = match (&file.bytes, adoption.paths.get(path)) {
            (Bytes::File(handle, _), Some((of, _))) => {
                let name = keep_name(adoption.kept_under, *of, Side::Pre);
                self.disk.link(self.keep, &name, self.keep, &kept).doing(|| keep(path))?;
                Arc::clone(handle)
            }
            (_, _) => self.copy_pre(index, path, file)?,
        };
        self.sync_later(handle);
        Ok(Body::Kept)
    }

    fn link_pre(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PreFile<D::Handle>,
    ) -> Result<Arc<D::Handle>> {
        let (name, doing) = (keep_name(self.run, index, Side::Pre), || keep(path));
        let parent = self.tree.existing_parent(path)?;
        if let Some(displaced) = self.displaced.get_mut(index) {
            displaced.look_again(self.disk, &parent, path)?;
        }
        self.disk.link(&parent, path.name(), self.keep, &name).doing(doing)?;
        let linked_at = self.disk.now();
        let kept = self.disk.stat_at(self.keep, &name).doing(doing)?;
        let is_it = |kept: &Stat| kept.inode == file.stat.inode;
        let kept = kept.filter(is_it).ok_or_else(|| replaced(path))?;
        if let Some(displaced) = self.displaced.get_mut(index) {
            displaced.restamped(&kept, linked_at);
            let own = file.own_names.saturating_add(2);
            displaced.names = displaced.changed.map(|_| own); // a moved file gets further links
        }
        match file.bytes.opened(self.disk).doing(doing)? {
            Opened::File(handle) => Ok(handle),
            Opened::Memory(_) => self.disk.open_file(self.keep, &name).doing(doing).map(Arc::new),
        }
    }

    fn copy_pre(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PreFile<D::Handle>,
    ) -> Result<Arc<D::Handle>> {
        let (name, doing) = (keep_name(self.run, index, Side::Pre), || keep(path));
        let copy = self.disk.create(self.keep, &name, FileMode::PRIVATE).doing(doing)?;
        let digest = match file.bytes.opened(self.disk).doing(doing)? {
            Opened::Memory(bytes) => {
                self.disk.write_at(&copy, &bytes, 0).doing(doing)?;
                file.digest
            }
            Opened::File(handle) if self.disk.clone_content(&handle, &copy).doing(doing)? => {
                // The clone shows the file at a single moment, so an unchanged change time proves its digest.
                match self.disk.stat(&handle).doing(doing)?.changed == file.stat.changed {
                    true => file.digest,
                    false => digest_of(self.disk, &copy).doing(doing)?,
                }
            }
            Opened::File(handle) => copy_file(self.disk, &handle, &copy).doing(doing)?,
        };
        if digest != file.digest {
            let detail = "its content or attributes changed after it was read";
            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
        }
        // Only root can change the owner of the copy, so this may fail. A failure is harmless, because an undo
        // publishes a kept file directly only if its attributes match the image, and copies it otherwise.
        drop(set_attributes(self.disk, &copy, &file.attributes));
        Ok(Arc::new(copy))
    }

    /// Records that a kept file must be made durable. Beyond [`KEPT_SYNCED_SINGLY`] files, the whole file system is
    /// synced instead, so no more handles are held.
    fn sync_later(&mut self, handle: Arc<D::Handle>) {
        if self.kept.len() <= KEPT_SYNCED_SINGLY {
            self.kept.push(handle);
        }
    }

    pub(super) fn make_kept_durable(&self) -> Result<()> {
        if self.kept.is_empty() && !self.syncs_tree {
            return Ok(());
        }
        let doing = || "make the kept images durable".to_owned();
        if self.syncs_tree || self.kept.len() > KEPT_SYNCED_SINGLY {
            return self.disk.sync_all(self.keep, Barrier::KeptImage).doing(doing);
        }
        for file in &self.kept {
            self.disk.sync_data(file, Barrier::KeptImage).doing(doing)?;
        }
        self.disk.sync(self.keep, Barrier::KeptName).doing(doing)
    }
}

/// Delta of a changed file that was written to a directory outside of `.actum`.
pub(crate) struct StoredDelta<H> {
    handle: H,
    delta: BlockDelta,
    /// Digests of the content before and after the change.
    digests: (Digest, Digest),
}

impl<D: Disk> Transaction<'_, D> {
    /// Writes a delta from the new content of `path` back to its current content to the new file `name`, in the format
    /// described in `blocks.rs`. The history of the run later copies this delta instead of comparing the contents
    /// again. The caller must make it durable.
    ///
    /// Returns `None` and creates no file if a delta is not worthwhile. This is the case if the file has at most
    /// [`INLINE_BYTES_MAX`] bytes, or if the blocks exceed the larger of 1 MiB and a quarter of the file size. Also
    /// returns `None` if the path gets no new content or the file changed since it was read.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn write_delta(
        &mut self,
        path: &RelPath,
        (directory, name): (&D::Handle, &str),
    ) -> std::io::Result<Option<BlockDelta>> {
        let disk = &self.workspace.disk;
        let Some(node) = self.nodes.get(path) else { return Ok(None) };
        let (Some(file), Some(post)) = (node.pre.file(), node.post.file()) else { return Ok(None) };
        let Some(new) = node.post.new_bytes() else { return Ok(None) };
        if file.stat.size <= INLINE_BYTES_MAX as u64 {
            return Ok(None);
        }
        let Some(bytes_max) = delta_bytes_max(file.stat.size, post.size) else { return Ok(None) };
        let sides = (file, new, self.workspace.has_coarse_timestamps);
        let written = write_delta(disk, (directory, name.as_bytes()), sides, bytes_max);
        let Some((handle, delta)) = written? else { return Ok(None) };
        let digests = (file.digest, post.digest);
        self.deltas.insert(path.clone(), StoredDelta { handle, delta, digests });
        Ok(Some(delta))
    }
}

/// Returns the maximum size of a delta that leads back to a content of `size` bytes, or `None` if no delta can be that
/// small.
fn delta_bytes_max(size: u64, new_size: u64) -> Option<u64> {
    let bytes_max = inverse_bytes_max(size).min(size.saturating_sub(1));
    (size.saturating_sub(new_size) <= bytes_max).then_some(bytes_max)
}

/// Writes a delta from `new` back to the displaced file. Returns `None` if the delta is too large or the file changed
/// since it was read.
fn write_delta<D: Disk>(
    disk: &D,
    (directory, name): (&D::Handle, &[u8]),
    (file, new, has_coarse_timestamps): (&PreFile<D::Handle>, &Bytes<D::Handle>, bool),
    bytes_max: u64,
) -> std::io::Result<Option<(D::Handle, BlockDelta)>> {
    // If the file was written just before it was read, its timestamps do not show a further change.
    let is_fresh = stamp_is_fresh(file.stat.modified, file.read_at);
    let in_doubt = matches!(file.bytes, Bytes::File(..)) && (is_fresh || has_coarse_timestamps);
    let digest = in_doubt.then_some(file.digest);
    let old = Old { bytes: &file.bytes, size: file.stat.size, digest };
    let Some(written) = blocks::write(disk, (directory, name), &old, new, bytes_max)? else {
        return Ok(None);
    };
    if let Bytes::File(handle, _) = &file.bytes {
        let now = disk.stat(handle)?;
        let stamps = |stat: &Stat| (stat.size, stat.modified, stat.changed);
        if stamps(&now) != stamps(&file.stat) {
            disk.unlink(directory, name)?;
            return Ok(None);
        }
    }
    Ok(Some(written))
}

fn keep(path: &RelPath) -> String {
    format!("keep a copy of `{path}`")
}

fn replaced(path: &RelPath) -> crate::error::Error {
    let detail = "another file took its place";
    ErrorKind::Conflict { path: path.clone(), detail }.into()
}
