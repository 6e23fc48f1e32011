//! Staging: writes new content to inodes that other processes cannot see, and decides where the bytes of each image are
//! stored.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use actum_core::{Digest, FileMode, RelPath, RunId};
use actum_edit::{Splice, line_diff};

use crate::attributes::{Attributes, InheritedXattrs, make_directory};
use crate::change::{Change, Extent};
use crate::content::{Bytes, INLINE_BYTES_MAX};
use crate::disk::Disk;
use crate::error::{Error, ErrorKind, Result};
use crate::journal::back::{Back, Splices};
use crate::journal::record::{Body, Entry, FileImage, Image, Intent, stage_name};
use crate::run::publish::{Displaced, Doubt};
use crate::transaction::Transaction;
use crate::transaction::adopt::Adoption;
use crate::transaction::keep::StoredDelta;
use crate::transaction::node::{Content, Node, Nodes, Post, PostFile, Pre, PreFile};
use crate::tree::{Tree, stamp_is_fresh};
use crate::workspace::Workspace;

/// Maximum total size of the images in one record, in bytes. Further images are stored in the keep directory.
pub const INLINE_TOTAL_MAX: u64 = 16 << 20;

impl<D: Disk> Transaction<'_, D> {
    /// Writes all new content to staged inodes, decides where each image is stored, and makes durable any image that
    /// the journal does not contain.
    pub(super) fn stage_all(
        &mut self,
        nodes: &Nodes<D::Handle>,
        moved: &BTreeSet<RelPath>,
        changes: &[Change],
    ) -> Result<(Intent, Vec<Displaced>)> {
        let disk = &self.workspace.disk;
        // If a directory replaces a file, both effects are reported, but only the effect on the file has a size.
        let files = changes.iter().filter(|change| change.kind.is_of_file());
        let living = living_sources(nodes);
        let mut staging = Staging {
            disk,
            tree: Tree::new(disk, &self.workspace.home.root),
            stage: &self.workspace.home.stage,
            keep: &self.workspace.home.keep,
            workspace: self.workspace,
            last_left: None,
            run: self.run,
            nodes,
            deltas: &self.deltas,
            moved,
            adoption: self.adoption.as_ref(),
            indices: nodes.keys().zip(0u32..).collect(),
            extents: files.map(|change| (&change.path, change.extent)).collect(),
            inline_left: INLINE_TOTAL_MAX,
            syncs_tree: false,
            kept: Vec::new(),
            displaced: nodes
                .iter()
                .map(|(path, node)| displaced(node, living.contains(path)))
                .collect(),
            inherited: Cell::new(None),
        };
        let mut entries = Vec::with_capacity(nodes.len());
        for (index, (path, node)) in nodes.iter().enumerate() {
            entries.push(staging.entry(index, path, node)?);
        }
        staging.make_kept_durable()?;
        let displaced = staging.displaced;
        let intent = Intent {
            run: self.run,
            kind: self.kind,
            // For an adoption, use the time at which the files were examined, because later changes are not part of it.
            time: self.adoption.as_ref().map_or_else(|| disk.now(), |adoption| adoption.looked_at),
            epoch: self.workspace.epoch,
            label: self.label.clone(),
            entries,
        };
        Ok((intent, displaced))
    }
}

/// Returns the paths whose inode moves to another path.
pub(crate) fn moved_sources<H>(nodes: &Nodes<H>) -> BTreeSet<RelPath> {
    let sources = nodes.values().filter_map(|node| match &node.post.file()?.content {
        Content::Moved(from) => Some(from.clone()),
        Content::Untouched | Content::New(_) => None,
    });
    sources.collect()
}

/// Returns the paths whose inode moves unchanged. A file whose attributes change as well is copied instead.
fn living_sources<H>(nodes: &Nodes<H>) -> BTreeSet<&RelPath> {
    let sources = nodes.values().filter_map(|node| {
        let file = node.post.file()?;
        let Content::Moved(from) = &file.content else { return None };
        let pre = nodes.get(from)?.pre.file()?;
        (pre.attributes == file.attributes).then_some(from)
    });
    sources.collect()
}

/// Returns the facts about the file that an entry displaces. `lives_on` is true if the file remains at another path.
fn displaced<H>(node: &Node<H>, lives_on: bool) -> Displaced {
    let Pre::File(PreFile { stat, bytes, read_at, .. }) = &node.pre else {
        return Displaced::NOTHING;
    };
    // For a large file, only a recent modification time justifies reading it again. The change time is also updated by
    // changes of its links or mode.
    let is_small = matches!(bytes, Bytes::Memory(_));
    let fresh = stamp_is_fresh(stat.modified, *read_at)
        || is_small && stamp_is_fresh(stat.changed, *read_at);
    Displaced {
        stat: Some(*stat),
        changed: (!lives_on).then_some(stat.changed),
        names: None,
        doubt: if fresh { Doubt::Content } else { Doubt::None },
        taken_at: None,
    }
}

/// Maximum size in bytes of contents that are compared line by line to record their difference.
const DIFFED_MAX: usize = 256 << 10;

/// Converts the nodes of a transaction into journal entries.
pub(super) struct Staging<'a, D: Disk> {
    pub(super) disk: &'a D,
    pub(super) tree: Tree<'a, D>,
    pub(super) stage: &'a D::Handle,
    pub(super) keep: &'a D::Handle,
    pub(super) workspace: &'a Workspace<D>,
    /// Digests of the files that the newest runs left at their paths, loaded on first use.
    pub(super) last_left: Option<BTreeMap<RelPath, Option<Digest>>>,
    pub(super) run: RunId,
    pub(super) nodes: &'a Nodes<D::Handle>,
    /// Deltas that the caller had written to a directory outside of `.actum`.
    pub(super) deltas: &'a BTreeMap<RelPath, StoredDelta<D::Handle>>,
    /// Paths whose inode moves to another path.
    pub(super) moved: &'a BTreeSet<RelPath>,
    /// Adopted change. If it is set, nothing is staged, because the new contents are already on disk.
    pub(super) adoption: Option<&'a Adoption>,
    /// Entry index of each path.
    pub(super) indices: BTreeMap<&'a RelPath, u32>,
    /// Size of the change to the file at each path.
    extents: BTreeMap<&'a RelPath, Extent>,
    inline_left: u64,
    /// Set if some contents exist only in the workspace files. The file system is then synced before the record that
    /// refers to them.
    pub(super) syncs_tree: bool,
    /// Files whose content must be durable before INTENT is written.
    pub(super) kept: Vec<Arc<D::Handle>>,
    /// Facts about the file that each entry displaces.
    pub(super) displaced: Vec<Displaced>,
    /// Extended attributes that new files in the stage directory inherit, known once the first one was created.
    pub(super) inherited: Cell<Option<InheritedXattrs>>,
}

impl<D: Disk> Staging<'_, D> {
    fn entry(&mut self, index: usize, path: &RelPath, node: &Node<D::Handle>) -> Result<Entry> {
        let mut back = splices_back(node);
        let post = self.post_image(index, path, node)?;
        let edited_from = self.edited_from(path, node, &post);
        let pre = self.pre_image(index, path, (node, &post), &mut back)?;
        let extent = self.extents.get(path).copied().unwrap_or(Extent::NOTHING);
        let (path, directory_changed) = (path.clone(), None);
        Ok(Entry { path, pre, post, extent, edited_from, back, directory_changed })
    }

    /// Stages the state of a path after the run, and returns its image.
    fn post_image(
        &mut self,
        index: usize,
        path: &RelPath,
        node: &Node<D::Handle>,
    ) -> Result<Image> {
        match &node.post {
            Post::Absent => {
                self.check_can_be_undone(path, &node.pre)?;
                Ok(Image::Absent)
            }
            Post::Directory(attributes) => {
                if let Pre::Directory(before) = &node.pre
                    && before != attributes
                {
                    self.check_keeps_set_group_id(path, [before, attributes])?;
                }
                if !matches!(node.pre, Pre::Directory(_)) && self.adoption.is_none() {
                    self.check_can_be_undone(path, &node.pre)?;
                    make_directory(self.disk, self.stage, &stage_name(self.run, index), attributes)
                        .map_err(|(what, source)| attributes_error(path, what, source))?;
                }
                Ok(Image::Directory(attributes.clone()))
            }
            Post::File(file) => {
                if matches!(node.pre, Pre::Directory(_)) {
                    self.check_can_be_undone(path, &node.pre)?;
                }
                let (body, inode) = match self.adoption {
                    None => self.stage_post(index, path, node, file)?,
                    Some(adoption) => self.adopted_post(path, file, adoption)?,
                };
                let PostFile { attributes, size, digest, .. } = file;
                let (attributes, size, digest) = (attributes.clone(), *size, *digest);
                Ok(Image::File(FileImage { attributes, size, digest, inode, body }))
            }
        }
    }

    /// Returns the entry of the file that this one was edited from, if that file was at another path.
    fn edited_from(&self, path: &RelPath, node: &Node<D::Handle>, post: &Image) -> Option<u32> {
        let is_moved = post.file().is_some_and(|file| matches!(file.body, Body::Moved(_)));
        let origin = node.post.file().filter(|_| !is_moved)?.content.origin(path)?;
        if origin == path { None } else { self.indices.get(origin).copied() }
    }

    /// Returns the image of the state before the run, and keeps its content if it is not stored anywhere else.
    fn pre_image(
        &mut self,
        index: usize,
        path: &RelPath,
        (node, post): (&Node<D::Handle>, &Image),
        back: &mut Option<Back>,
    ) -> Result<Image> {
        let file = match &node.pre {
            Pre::Absent => return Ok(Image::Absent),
            Pre::Directory(attributes) => return Ok(Image::Directory(attributes.clone())),
            Pre::File(file) => file,
        };
        let body = match (self.pre_body(path, file, post, back.is_some()), self.adoption) {
            (Some(body), _) => body,
            (None, Some(adoption)) => self.keep_snapshot(index, path, file, adoption)?,
            (None, None) => {
                if let (None, Some(new), false) =
                    (&back, node.post.new_bytes(), node.post.is_link())
                {
                    *back = self.keep_blocks(index, path, file, new)?;
                }
                self.keep_pre(index, path, file)?
            }
        };
        let (attributes, digest) = (file.attributes.clone(), file.digest);
        let (size, inode) = (file.stat.size, file.stat.inode);
        Ok(Image::File(FileImage { attributes, size, digest, inode, body }))
    }

    /// Rejects the deletion of a file or directory that an undo could not give back to its owner. A moved file is
    /// accepted, because it keeps its inode.
    fn check_can_be_undone(&self, path: &RelPath, pre: &Pre<D::Handle>) -> Result<()> {
        let attributes = match pre {
            _ if self.adoption.is_some() => return Ok(()), // the change is already on disk
            Pre::File(_) if self.moved.contains(path) => return Ok(()),
            Pre::File(file) => &file.attributes,
            Pre::Directory(attributes) => attributes,
            Pre::Absent => return Ok(()),
        };
        if self.disk.can_give_to(attributes.user, attributes.group) {
            return Ok(());
        }
        Err(attributes_error(path, "owner", std::io::ErrorKind::PermissionDenied.into()))
    }

    /// Rejects a mode change that would lose the set-group-ID bit, or whose undo could not restore it. The kernel
    /// clears the bit if the process is not a member of the file's group (chmod(2)).
    pub(super) fn check_keeps_set_group_id(
        &self,
        path: &RelPath,
        both: [&Attributes; 2],
    ) -> Result<()> {
        for Attributes { mode, user, group, .. } in both {
            if mode.is_set_group_id() && !self.disk.can_give_to(*user, *group) {
                let denied = std::io::ErrorKind::PermissionDenied.into();
                return Err(attributes_error(path, "mode", denied));
            }
        }
        Ok(())
    }

    /// Returns where the bytes of the old state are stored, or `None` if they still have to be kept.
    fn pre_body(
        &mut self,
        path: &RelPath,
        file: &PreFile<D::Handle>,
        post: &Image,
        has_back: bool,
    ) -> Option<Body> {
        let post_body = post.file().map(|post| &post.body);
        if !self.moved.contains(path) {
            match post_body {
                Some(Body::Untouched) => return Some(Body::Untouched),
                Some(Body::Inline(_)) if has_back => return Some(Body::Back),
                Some(_) | None => {}
            }
        }
        match &file.bytes {
            Bytes::Memory(bytes)
                if file.attributes.mode.is_link() || self.fits_inline(file.stat.size) =>
            {
                Some(Body::Inline(Arc::clone(bytes)))
            }
            Bytes::Memory(_) | Bytes::File(..) | Bytes::ByPath(_) => None,
        }
    }

    pub(super) fn fits_inline(&mut self, size: u64) -> bool {
        let fits = size <= INLINE_BYTES_MAX as u64 && size <= self.inline_left;
        if fits {
            self.inline_left -= size;
        }
        fits
    }
}

/// Returns the splices that lead back to the old content of an edited text file. Symbolic links have none.
fn splices_back<H>(node: &Node<H>) -> Option<Back> {
    let is_of_link = [node.pre.mode(), node.post.mode()].contains(&Some(FileMode::LINK));
    let (Pre::File(pre), Post::File(file)) = (&node.pre, &node.post) else { return None };
    match &file.content {
        Content::New(new) if !is_of_link => {
            inverse_splices(pre, &new.bytes, new.splices.as_deref())
        }
        Content::New(_) | Content::Untouched | Content::Moved(_) => None,
    }
}

/// Returns splices that lead from the new content back to the current one, provided that they are small enough. If the
/// new content is in memory, the splices include the surrounding lines. They are then readable, and can be located even
/// if other parts of the file are edited later.
///
/// Returns `None` if no splices are known and one of the contents is not in memory. [`Staging::keep_blocks`] compares
/// such contents.
fn inverse_splices<H>(
    pre: &PreFile<H>,
    new: &Bytes<H>,
    splices: Option<&Vec<Splice>>,
) -> Option<Back> {
    let splices = match (splices, &pre.bytes, new) {
        (Some(splices), _, _) => Splice::invert(splices),
        (None, Bytes::Memory(old), Bytes::Memory(new))
            if old.len().max(new.len()) <= DIFFED_MAX =>
        {
            line_diff::splices(new, old)
        }
        (None, Bytes::Memory(old), Bytes::Memory(new)) => Splice::between(new, old),
        (None, _, _) => return None,
    };
    let worth_it = |it: &Splices| Splice::weight(&it.splices) <= inverse_bytes_max(pre.stat.size);
    let with_lines = match new {
        Bytes::Memory(new) => Some(Splices::with_lines(&splices, new)),
        Bytes::File(..) | Bytes::ByPath(_) => None,
    };
    let back = with_lines.filter(worth_it);
    back.or_else(|| Some(Splices::raw(splices)).filter(worth_it)).map(Back::Splices)
}

/// Returns the maximum size in bytes of the data that leads back to an old content of `size` bytes. Beyond it, the old
/// content itself is recorded. The limit is a fraction of the image size, because a run writes this data in addition.
pub(super) fn inverse_bytes_max(size: u64) -> u64 {
    (INLINE_BYTES_MAX as u64).max(size / 4)
}

pub(super) fn attributes_error(
    path: &RelPath,
    what: &'static str,
    source: std::io::Error,
) -> Error {
    ErrorKind::Attributes { path: path.clone(), what, source }.into()
}
