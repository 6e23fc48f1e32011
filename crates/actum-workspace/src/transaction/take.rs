//! Use of files from a capture, which holds the files that a sandboxed command wrote.

use std::collections::btree_map;
use std::sync::Arc;

use actum_core::text::{self, LineCounter, TextFinder};
use actum_core::{Digest, RelPath, RunId};
use actum_edit::ModeChange;

use crate::attributes::set_taken_attributes;
use crate::capture::OpenedCapture;
use crate::content::{Bytes, INLINE_BYTES_MAX};
use crate::digest_while_reading::{copy_file, digest_while_reading};
use crate::disk::{Barrier, Disk, Stat};
use crate::error::{Error, ErrorKind, Result, ResultExt};
use crate::file_by_path::FileByPath;
use crate::journal::record::{Body, stage_name};
use crate::transaction::Transaction;
use crate::transaction::node::{Content, Counted, New, Post, PostFile};
use crate::transaction::stage::{INLINE_TOTAL_MAX, Staging, attributes_error};
use crate::tree::{Found, read_whole};

/// File content that a command left in a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    /// Id of the capture.
    pub capture: RunId,
    /// Digest of the content.
    pub sha256: Digest,
    /// Size of the content in bytes.
    pub size: u64,
}

impl<D: Disk> Transaction<'_, D> {
    /// Sets the content of `path` to that of the file at the same path in a capture, and keeps its modification time.
    /// If `expected` is given, the existing file with that digest is replaced and keeps its attributes. Otherwise a new
    /// file is created. Small contents are held in memory, up to the amount that fits in the record of the run.
    ///
    /// # Errors
    /// `Conflict` if the capture no longer has that content; `Expected`, `Missing`, `Exists`, `NotAFile`, `Scope`,
    /// `Blocked`, `Io`.
    pub fn take(
        &mut self,
        path: &RelPath,
        taken: Taken,
        mode: Option<ModeChange>,
        expected: Option<Digest>,
    ) -> Result<()> {
        self.in_scope(path)?;
        let replaced = match expected {
            Some(_) => Some(self.expected_file(path, expected)?),
            None if self.replaces(path)? => Some(self.file(path)?),
            None => None,
        };
        let (attributes, origin) = match replaced {
            Some(file) => {
                let origin = file.content.origin(path).cloned();
                let mut attributes = file.attributes;
                attributes.mode = mode.map_or(attributes.mode, |mode| mode.apply(attributes.mode));
                (attributes, origin)
            }
            None => {
                self.check_absent(path)?;
                self.make_parents(path)?;
                (self.fresh_attributes(path, mode)?, None)
            }
        };
        let file = self.read_captured(path, taken)?;
        let New { bytes, text_blocks, captured, .. } = file.new;
        let counted = Counted::Not;
        let content =
            Content::New(New { bytes, origin, splices: None, counted, text_blocks, captured });
        let Taken { sha256: digest, size, capture: _ } = taken;
        let post = PostFile { attributes, digest, size, lines: file.lines, content };
        self.set(path, Post::File(post))
    }

    /// Reads a file from a capture and checks its size and digest.
    fn read_captured(&mut self, path: &RelPath, taken: Taken) -> Result<Read<D::Handle>> {
        let doing = || format!("read the captured file for `{path}`");
        let from = self.capture(taken.capture)?.ok_or_else(|| gone(path))?;
        from.files.push(path.clone());
        let (directory, is_shared) = (Arc::clone(&from.capture.upper), from.capture.is_shared);
        let disk = &self.workspace.disk;
        let (stat, handle) = match directory.tree(disk).find_file(path)? {
            Found::File(stat, handle) if stat.size == taken.size => (stat, handle),
            Found::File(..) | Found::Nothing | Found::Directory | Found::Other(_) => {
                return Err(gone(path));
            }
        };
        let xattrs = disk.xattrs(&handle).doing(doing)?;
        let file = Arc::new(FileByPath { directory, path: path.clone(), stat, xattrs });
        let fits = taken.size <= self.captured_bytes_left.min(INLINE_BYTES_MAX as u64);
        let (digest, lines, bytes, text_blocks) = if fits {
            self.captured_bytes_left -= taken.size;
            let bytes = read_whole(disk, &handle, taken.size).doing(doing)?;
            (Digest::of(&bytes), text::lines(&bytes), Bytes::Memory(Arc::new(bytes)), None)
        } else {
            let (mut lines, mut text, mut at) =
                (LineCounter::default(), TextFinder::default(), 0u64);
            let digest = digest_while_reading(taken.size, |buffer| {
                let count = disk.read_at(&handle, buffer, at)?;
                let piece = buffer.get(..count).unwrap_or_default();
                lines.feed(piece);
                text.feed(piece);
                at = at.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
                Ok::<_, std::io::Error>(count)
            });
            let text_blocks = Some(Arc::new(text.finish()));
            (digest.doing(doing)?, lines.finish(), Bytes::ByPath(Arc::clone(&file)), text_blocks)
        };
        if digest != taken.sha256 {
            return Err(gone(path));
        }
        let captured = Some(Captured { file, is_shared });
        let (origin, splices, counted) = (None, None, Counted::Not);
        Ok(Read { lines, new: New { bytes, origin, splices, counted, text_blocks, captured } })
    }

    /// Returns a capture, opening it on first use. Fails if the disk has too little free space.
    fn capture(&mut self, id: RunId) -> Result<Option<&mut TakenFrom<D::Handle>>> {
        Ok(match self.captures.entry(id) {
            btree_map::Entry::Occupied(known) => Some(known.into_mut()),
            btree_map::Entry::Vacant(unknown) => {
                let workspace = &self.workspace;
                let doing =
                    || "find 32 MiB of free disk space for the change and its undo".to_owned();
                if workspace.disk.free_bytes(&workspace.home.stage).doing(doing)? < FREE_BYTES_MIN {
                    return Err(std::io::Error::from(std::io::ErrorKind::StorageFull)).doing(doing);
                }
                let opened = workspace.open_capture(id, self.plan)?;
                opened.map(|capture| unknown.insert(TakenFrom { capture, files: Vec::new() }))
            }
        })
    }

    /// Sets the queued plan that this transaction carries out. The commit does not remove captured files that another
    /// plan needs.
    pub fn carry_out_plan(&mut self, plan: Option<RunId>) {
        self.plan = plan;
    }

    /// Makes the contents of a capture durable, and keeps them until the plan is carried out or leaves the queue.
    ///
    /// # Errors
    /// `Io`, including the case that the capture is missing.
    pub fn keep_capture(&self, capture: RunId, plan: RunId) -> Result<()> {
        self.workspace.keep_capture(capture, plan)
    }
}

/// Captured file whose content a transaction uses.
pub(crate) struct Captured<H> {
    file: Arc<FileByPath<H>>,
    /// Set if another plan needs the captured file too.
    is_shared: bool,
}

impl<H> Clone for Captured<H> {
    fn clone(&self) -> Self {
        Self { file: Arc::clone(&self.file), is_shared: self.is_shared }
    }
}

/// Open capture, with the paths of the files that a transaction takes from it.
pub(crate) struct TakenFrom<H> {
    pub(super) capture: OpenedCapture<H>,
    pub(super) files: Vec<RelPath>,
}

/// Content read from a captured file, with its line count.
struct Read<H> {
    lines: Option<u64>,
    new: New<H>,
}

/// Minimum free disk space for taking a change from a capture, in bytes. The run and its undo need it for their
/// records, and the command may have filled the disk.
const FREE_BYTES_MIN: u64 = 32 << 20;
/// Maximum total size of captured contents that a transaction holds in memory, in bytes. It equals the amount that fits
/// in its record.
pub(super) const CAPTURED_BYTES_MAX: u64 = INLINE_TOTAL_MAX;

fn gone(path: &RelPath) -> Error {
    let detail = "its captured content is missing or was changed; run the command again";
    ErrorKind::Conflict { path: path.clone(), detail }.into()
}

impl<D: Disk> Staging<'_, D> {
    /// Stages a captured file by a hard link. The file is copied instead if another plan needs it, or if it is small
    /// and its attributes differ. A file with further hard links in the capture is copied too, because those may be
    /// other files of the same run.
    pub(super) fn stage_captured(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        (captured, bytes): (&Captured<D::Handle>, &Bytes<D::Handle>),
    ) -> Result<(Body, u64)> {
        let doing = || format!("stage `{path}`");
        let name = stage_name(self.run, index);
        let Captured { file: captured, is_shared } = captured;
        let FileByPath { stat, xattrs, .. } = &**captured;
        let wanted = &file.attributes;
        let has_attributes = (stat.mode, stat.user, stat.group, xattrs)
            == (wanted.mode, wanted.user, wanted.group, &wanted.xattrs);
        let is_small = file.size <= INLINE_BYTES_MAX as u64;
        if stat.links > 1 || *is_shared || is_small && !has_attributes {
            let (handle, inode) = self.copy_captured(&name, path, file, (captured, bytes))?;
            return self
                .captured_body(index, path, file, (bytes, handle))
                .map(|body| (body, inode));
        }
        let tree = captured.directory.tree(self.disk);
        let parent = tree.parent(&captured.path)?.ok_or_else(|| gone(path))?;
        // An unchanged change time proves that neither the content nor the attributes of the file changed since it was
        // read.
        if self.disk.stat_at(&parent, captured.path.name()).doing(doing)? != Some(*stat) {
            return Err(gone(path));
        }
        self.disk.link(&parent, captured.path.name(), self.stage, &name).doing(doing)?;
        let there = self.disk.stat_at(self.stage, &name).doing(doing)?.ok_or_else(|| gone(path))?;
        let facts = |stat: &Stat| (stat.inode, stat.size, stat.modified);
        if facts(&there) != facts(stat) || there.links != 2 {
            return Err(gone(path));
        }
        if let (true, Bytes::Memory(bytes)) = (has_attributes, bytes)
            && self.fits_inline(file.size)
        {
            return Ok((Body::Inline(Arc::clone(bytes)), there.inode));
        }
        let handle = self.disk.open_file(self.stage, &name).doing(doing)?;
        if !has_attributes {
            set_taken_attributes(self.disk, &handle, (&there, xattrs), wanted)
                .map_err(|(what, source)| attributes_error(path, what, source))?;
            // Sync now, because recovery does not check whether attributes were removed.
            self.disk.sync(&handle, Barrier::KeptImage).doing(doing)?;
        }
        self.captured_body(index, path, file, (bytes, handle)).map(|body| (body, there.inode))
    }

    /// Copies a captured file to a staged file, including its modification time.
    fn copy_captured(
        &mut self,
        name: &[u8],
        path: &RelPath,
        file: &PostFile<D::Handle>,
        (captured, bytes): (&FileByPath<D::Handle>, &Bytes<D::Handle>),
    ) -> Result<(D::Handle, u64)> {
        let (handle, inode) = match bytes {
            Bytes::Memory(bytes) => self.create_staged_of(name, path, file, bytes)?,
            Bytes::File(..) | Bytes::ByPath(_) => {
                let source = captured.open(self.disk).doing(|| format!("stage `{path}`"))?;
                let copy = |disk: &D, to: &D::Handle| copy_file(disk, &source, to);
                self.create_staged(name, path, file, copy)?
            }
        };
        let modified = self.disk.set_modified(&handle, captured.stat.modified);
        modified.doing(|| format!("set the modification time of `{path}`"))?;
        Ok((handle, inode))
    }

    /// Returns the storage location for the bytes of a staged file that came from a capture.
    fn captured_body(
        &mut self,
        index: usize,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        (bytes, handle): (&Bytes<D::Handle>, D::Handle),
    ) -> Result<Body> {
        if !self.fits_inline(file.size) {
            return self.keep_post(index, path, Arc::new(handle));
        }
        match bytes {
            Bytes::Memory(bytes) => Ok(Body::Inline(Arc::clone(bytes))),
            Bytes::File(..) | Bytes::ByPath(_) => {
                let bytes = read_whole(self.disk, &handle, file.size)
                    .doing(|| format!("stage `{path}`"))?;
                match Digest::of(&bytes) == file.digest {
                    true => Ok(Body::Inline(Arc::new(bytes))),
                    false => Err(gone(path)),
                }
            }
        }
    }
}
