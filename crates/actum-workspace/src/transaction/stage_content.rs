//! Content of staged files, which is either moved, taken from a capture, or newly written.

use std::sync::Arc;

use actum_core::{Digest, RelPath};

use crate::attributes::{set_attributes, set_new_attributes};
use crate::content::{Bytes, Opened, Source};
use crate::digest_while_reading::copy_file;
use crate::disk::{Disk, Rename};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::record::{Body, stage_name};
use crate::transaction::adopt::Adoption;
use crate::transaction::node::{Content, New, Node, PostFile, Pre, PreFile};
use crate::transaction::stage::{Staging, attributes_error};
use crate::tree::read_whole;

impl<D: Disk> Staging<'_, D> {
    /// Stages the inode that `path` will have, and returns the storage location of its bytes and the inode number.
    pub(super) fn stage_post(
        &mut self,
        index: usize,
        path: &RelPath,
        node: &Node<D::Handle>,
        file: &PostFile<D::Handle>,
    ) -> Result<(Body, u64)> {
        match &file.content {
            Content::Untouched => match &node.pre {
                Pre::File(pre) => {
                    self.check_keeps_set_group_id(path, [&pre.attributes, &file.attributes])?;
                    Ok((Body::Untouched, pre.stat.inode))
                }
                Pre::Absent | Pre::Directory(_) => Err(ErrorKind::missing(path).into()),
            },
            Content::Moved(from) => self.stage_moved(index, path, (from, file)),
            Content::New(new) => self.stage_new(index, path, (file, new)),
        }
    }

    /// Hard-links the file that moves to `path` into the stage directory.
    fn stage_moved(
        &mut self,
        index: usize,
        path: &RelPath,
        (from, file): (&RelPath, &PostFile<D::Handle>),
    ) -> Result<(Body, u64)> {
        let doing = || format!("stage `{path}`");
        let missing = || ErrorKind::missing(from);
        let Some(Pre::File(pre)) = self.nodes.get(from).map(|node| &node.pre) else {
            return Err(missing().into());
        };
        if pre.attributes != file.attributes {
            return self.copy_moved(index, path, pre, file);
        }
        let name = stage_name(self.run, index);
        let parent = self.tree.existing_parent(from)?;
        self.disk.link(&parent, from.name(), self.stage, &name).doing(doing)?;
        let staged = self.disk.stat_at(self.stage, &name).doing(doing)?.ok_or_else(missing)?;
        if staged.inode != pre.stat.inode {
            let (path, detail) = (from.clone(), "another file took its place");
            return Err(ErrorKind::Conflict { path, detail }.into());
        }
        let entry = self.indices.get(from).copied().ok_or_else(missing)?;
        Ok((Body::Moved(entry), staged.inode))
    }

    /// Stages a file with new content.
    fn stage_new(
        &mut self,
        index: usize,
        path: &RelPath,
        (file, new): (&PostFile<D::Handle>, &New<D::Handle>),
    ) -> Result<(Body, u64)> {
        let doing = || format!("stage `{path}`");
        let name = stage_name(self.run, index);
        if let Some(captured) = &new.captured {
            return self.stage_captured(index, path, file, (captured, &new.bytes));
        }
        match &new.bytes {
            Bytes::Memory(bytes) => {
                let (handle, inode) = self.create_staged_of(&name, path, file, bytes)?;
                if file.attributes.mode.is_link() || self.fits_inline(file.size) {
                    return Ok((Body::Inline(Arc::clone(bytes)), inode));
                }
                self.keep_post(index, path, Arc::new(handle)).map(|body| (body, inode))
            }
            Bytes::File(_, Source::Unnamed) | Bytes::ByPath(_) => {
                Err(ErrorKind::missing(path).into())
            }
            Bytes::File(handle, Source::Kept(run, entry)) => {
                let stat = self.disk.stat(handle).doing(doing)?;
                if self.tree.attributes(handle, &stat).doing(doing)? == file.attributes {
                    // The file is linked into the stage directory later. A link made before the intent is durable would
                    // change the timestamps by which recovery identifies the inode.
                    return Ok((Body::Taken(*run, *entry), stat.inode));
                }
                let copy = |disk: &D, to: &D::Handle| copy_file(disk, handle, to);
                let (copied, inode) = self.create_staged(&name, path, file, copy)?;
                self.keep_post(index, path, Arc::new(copied)).map(|body| (body, inode))
            }
            Bytes::File(handle, Source::Staged(staged)) => {
                self.disk
                    .rename(self.stage, staged, self.stage, &name, Rename::NoReplace)
                    .doing(doing)?;
                let inode = set_attributes(self.disk, handle, &file.attributes)
                    .map_err(|(what, source)| attributes_error(path, what, source))?;
                if self.fits_inline(file.size) {
                    let bytes = read_whole(self.disk, handle, file.size).doing(doing)?;
                    if Digest::of(&bytes) != file.digest {
                        let detail = "the staged file changed after it was read";
                        return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
                    }
                    return Ok((Body::Inline(Arc::new(bytes)), inode));
                }
                self.keep_post(index, path, Arc::clone(handle)).map(|body| (body, inode))
            }
        }
    }

    pub(super) fn adopted_post(
        &mut self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        adoption: &Adoption,
    ) -> Result<(Body, u64)> {
        let inode = adoption.inode(path).ok_or_else(|| ErrorKind::missing(path))?;
        let Content::New(New { bytes, .. }) = &file.content else {
            return Ok((Body::Untouched, inode));
        };
        let fits = file.attributes.mode.is_link() || self.fits_inline(file.size);
        let body = Adoption::body(bytes, fits);
        self.syncs_tree |= body == Body::Unrecorded;
        Ok((body, inode))
    }

    /// Copies a moved file to a new inode because its attributes change too. The old inode must stay unchanged until
    /// the run is committed.
    fn copy_moved(
        &mut self,
        index: usize,
        path: &RelPath,
        pre: &PreFile<D::Handle>,
        file: &PostFile<D::Handle>,
    ) -> Result<(Body, u64)> {
        let name = stage_name(self.run, index);
        let doing = || format!("read `{path}`");
        let (handle, inode) = match pre.bytes.opened(self.disk).doing(doing)? {
            Opened::Memory(bytes) => self.create_staged_of(&name, path, file, &bytes)?,
            Opened::File(source) => {
                let copy = |disk: &D, to: &D::Handle| copy_file(disk, &source, to);
                self.create_staged(&name, path, file, copy)?
            }
        };
        let is_link = file.attributes.mode.is_link();
        if let (Bytes::Memory(bytes), true) = (&pre.bytes, is_link || self.fits_inline(file.size)) {
            return Ok((Body::Inline(Arc::clone(bytes)), inode));
        }
        self.keep_post(index, path, Arc::new(handle)).map(|body| (body, inode))
    }

    /// Creates a staged file or symbolic link with the given content.
    pub(super) fn create_staged_of(
        &self,
        name: &[u8],
        path: &RelPath,
        file: &PostFile<D::Handle>,
        bytes: &[u8],
    ) -> Result<(D::Handle, u64)> {
        if !file.attributes.mode.is_link() {
            return self.create_staged(name, path, file, |disk, handle| {
                disk.write_at(handle, bytes, 0).map(|()| file.digest)
            });
        }
        let doing = || format!("stage `{path}`");
        self.disk.make_link(self.stage, name, bytes).doing(doing)?;
        let link = self.disk.open_link(self.stage, name).doing(doing)?;
        let inode = set_attributes(self.disk, &link, &file.attributes)
            .map_err(|(what, source)| attributes_error(path, what, source))?;
        Ok((link, inode))
    }

    pub(super) fn create_staged(
        &self,
        name: &[u8],
        path: &RelPath,
        file: &PostFile<D::Handle>,
        write: impl FnOnce(&D, &D::Handle) -> std::io::Result<Digest>,
    ) -> Result<(D::Handle, u64)> {
        let doing = || format!("stage `{path}`");
        // Other users cannot enter the state directory, so the file can have its final mode from the start.
        let handle = self.disk.create(self.stage, name, file.attributes.mode).doing(doing)?;
        if write(self.disk, &handle).doing(doing)? != file.digest {
            let detail = "the file that it was copied from changed after it was read";
            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
        }
        let inode = set_new_attributes(self.disk, &handle, &file.attributes, &self.inherited)
            .map_err(|(what, source)| attributes_error(path, what, source))?;
        Ok((handle, inode))
    }
}
