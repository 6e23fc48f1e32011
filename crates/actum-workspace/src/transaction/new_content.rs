//! Access to the new content of files before they are published, so that it can be scanned.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use actum_core::RelPath;
use actum_core::text::BLOCK_BYTES;
use actum_edit::Splice;

use crate::content::{Bytes, Opened};
use crate::disk::Disk;
use crate::error::{ErrorKind, Result, ResultExt};
use crate::path_change::CONTENT_BYTES_MAX;
use crate::transaction::Transaction;
use crate::transaction::node::{Content, New, PostFile};

/// New content of a file, in the form in which it is scanned.
#[derive(Debug)]
pub enum NewContent {
    /// The entire content of the file.
    Whole(Arc<Vec<u8>>),
    /// The bytes added by edits to a file larger than 16 MiB, with their context.
    Parts(Vec<Part>),
    /// A file larger than 16 MiB that was written whole, moved, or edited in many places. Read it with
    /// [`Transaction::each_window`].
    Large,
}

/// Section of a large file that is to be searched.
#[derive(Debug)]
pub struct Window<'w> {
    /// Offset of `bytes` in the file. If there is context before the searched range, this is the start of that context.
    pub offset: u64,
    /// Bytes to search, together with the context on both sides.
    pub bytes: &'w [u8],
    /// Range of `bytes` that is to be searched. The rest is context.
    pub range: Range<usize>,
}

/// Maximum size of the searched part of a window in bytes, excluding the context.
const WINDOW_BYTES_MAX: u64 = 4 << 20;

/// Number of bytes that are compared with the previous content at a time; a multiple of the block size.
const PIECE_BYTES: usize = 256 << 10;

/// Region of a file that an edit changes, with [`AROUND_BYTES`] of context on each side.
#[derive(Debug)]
pub struct Part {
    /// Content of the region before the edit.
    pub before: Vec<u8>,
    /// Content of the region after the edit.
    pub after: Vec<u8>,
}

/// Maximum number of edits of a large file that are read individually. With more edits, the file is read in windows.
const PARTS_MAX: usize = 256;

/// Size of the context on each side of an edit in bytes. It is larger than a typical private key.
const AROUND_BYTES: u64 = 16 << 10;
const AROUND: (u64, u64) = (AROUND_BYTES, AROUND_BYTES);

impl<D: Disk> Transaction<'_, D> {
    /// Returns the files that would be written or moved, ordered by path.
    pub fn arriving(&self) -> impl Iterator<Item = &RelPath> {
        self.nodes.iter().filter_map(|(path, node)| {
            let is_placed = match &node.post.file()?.content {
                Content::New(_) | Content::Moved(_) => true,
                Content::Untouched => false,
            };
            is_placed.then_some(path)
        })
    }

    /// Returns true if the file is moved to `path` without new content.
    pub fn only_moves(&self, path: &RelPath) -> bool {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        file.is_some_and(|file| matches!(file.content, Content::Moved(_)))
    }

    /// Returns the new content of a file that the transaction writes or moves.
    ///
    /// # Errors
    /// `Io`, `Missing`.
    pub fn new_content(&self, path: &RelPath) -> Result<NewContent> {
        let file = self.post_file(path)?;
        if file.size > CONTENT_BYTES_MAX
            && let Content::New(New { splices: Some(splices), .. }) = &file.content
            && splices.len() <= PARTS_MAX
        {
            return self.parts(path, file, splices);
        }
        if file.size > CONTENT_BYTES_MAX {
            return Ok(NewContent::Large);
        }
        if let Some(Bytes::Memory(bytes)) = self.bytes(path, file) {
            return Ok(NewContent::Whole(bytes));
        }
        Ok(NewContent::Whole(Arc::new(self.read_whole(path, file)?)))
    }

    /// Reads the new content of a large file in windows, with `around` bytes of context before and after each window.
    /// Blocks that cannot hold text are skipped, and so are blocks that are unchanged and have no changed neighbor.
    /// `search` can stop the iteration. Memory use grows by one byte for each 16 KiB of the file.
    ///
    /// # Errors
    /// `Io`; `Missing`; `Conflict` if the size of the file changed in the meantime.
    pub fn each_window(
        &self,
        path: &RelPath,
        around: (u64, u64),
        mut search: impl FnMut(Window<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let file = self.post_file(path)?;
        let blocks = match &file.content {
            Content::New(New { text_blocks: Some(blocks), .. }) => Some(&**blocks),
            Content::New(_) | Content::Moved(_) | Content::Untouched => None,
        };
        let block = u64::try_from(BLOCK_BYTES).unwrap_or(u64::MAX);
        let new_blocks = self.new_blocks(path, file)?;
        let is_new = |at: u64| {
            let at = usize::try_from(at).unwrap_or(usize::MAX) / BLOCK_BYTES;
            let near = |new: &[bool]| {
                new.iter().take(at.saturating_add(2)).skip(at.saturating_sub(1)).any(|it| *it)
            };
            new_blocks.as_deref().is_none_or(near)
        };
        let is_text = |at: u64| {
            at < file.size && blocks.is_none_or(|blocks| blocks.holds_text(at)) && is_new(at)
        };
        let mut from = 0u64;
        while from < file.size {
            let mut to = from;
            while is_text(to) && to - from < WINDOW_BYTES_MAX {
                to = to.saturating_add(block);
            }
            if to == from {
                from = from.saturating_add(block);
                continue;
            }
            let to = to.min(file.size);
            let offset = from.saturating_sub(around.0);
            let bytes = self.read_with_context(path, file, (from, to - from), around)?;
            let place = |at: u64| usize::try_from(at - offset).unwrap_or(usize::MAX);
            let range = place(from)..place(to);
            if search(Window { offset, bytes: &bytes, range }).is_break() {
                return Ok(());
            }
            from = to;
        }
        Ok(())
    }

    /// Returns, for each block of the new content, true if it differs from the block at the same offset of the current
    /// file. Returns `None` if there is no current file or no new content.
    fn new_blocks(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<Option<Vec<bool>>> {
        let Content::New(New { bytes, .. }) = &file.content else { return Ok(None) };
        let before = self.nodes.get(path).and_then(|node| node.pre.file());
        let Some(before) = before else { return Ok(None) };
        let doing = || format!("read `{path}`");
        let disk = &self.workspace.disk;
        let (mut ours, mut theirs) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
        let (mut at, mut new) = (0u64, Vec::new());
        while at < file.size {
            let read = bytes.read_at(disk, &mut ours, at).doing(doing)?;
            if read == 0 {
                let detail = "its size changed while it was being read";
                return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
            }
            let there = before.bytes.read_at(disk, &mut theirs, at).doing(doing)?;
            let blocks = theirs.get(..there).unwrap_or_default().chunks(BLOCK_BYTES);
            let mut blocks = blocks.map(Some).chain(std::iter::repeat(None));
            let pieces = ours.get(..read).unwrap_or_default().chunks(BLOCK_BYTES);
            new.extend(pieces.map(|piece| blocks.next().flatten() != Some(piece)));
            at = at.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        }
        Ok(Some(new))
    }

    /// Returns the path and content of the file that the new file at `path` was edited or moved from. Returns `None` if
    /// the file is new or if the old content exceeds 16 MiB.
    ///
    /// # Errors
    /// `Io`.
    pub fn replaced(&self, path: &RelPath) -> Result<Option<(RelPath, Vec<u8>)>> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(origin) = file.and_then(|file| file.content.origin(path)) else { return Ok(None) };
        Ok(self.content_before(origin)?.map(|content| (origin.clone(), content)))
    }

    /// Returns the content that `path` had before the change. Returns `None` if there was no file, or if the content
    /// exceeds 16 MiB. A file that is moved to `path` does not count, whether it was edited or not.
    ///
    /// # Errors
    /// `Io`.
    pub fn content_before(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        let old = self.nodes.get(path).map(|node| node.pre.unchanged());
        let Some(old) = old.as_ref().and_then(|old| old.file()) else { return Ok(None) };
        self.read_small(path, old)
    }

    fn read_small(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<Option<Vec<u8>>> {
        if file.size > CONTENT_BYTES_MAX {
            return Ok(None);
        }
        self.read_whole(path, file).map(Some)
    }

    fn read_whole(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.each_piece(path, file, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(bytes)
    }

    /// Returns the file that the transaction would leave at a path.
    fn post_file(&self, path: &RelPath) -> Result<&PostFile<D::Handle>> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        file.ok_or_else(|| ErrorKind::missing(path).into())
    }

    /// Returns the first [`AROUND_BYTES`] of a new or moved file, or all of it if it is shorter.
    ///
    /// # Errors
    /// `Io`, `Missing`.
    pub fn new_beginning(&self, path: &RelPath) -> Result<Vec<u8>> {
        let file = self.post_file(path)?;
        self.read_with_context(path, file, (0, 0), AROUND)
    }

    fn parts(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        splices: &[Splice],
    ) -> Result<NewContent> {
        let Content::New(New { origin: Some(origin), .. }) = &file.content else {
            return Ok(NewContent::Large);
        };
        let old = self.nodes.get(origin).map(|node| node.pre.unchanged());
        let Some(old) = old.as_ref().and_then(|old| old.file()) else {
            return Ok(NewContent::Large);
        };
        let length = |bytes: &[u8]| u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let mut parts = Vec::with_capacity(splices.len());
        // Bytes added and removed by all previous edits.
        let (mut added, mut removed) = (0u64, 0u64);
        for splice in splices {
            let there = splice.offset;
            let here = there.saturating_add(added).saturating_sub(removed);
            parts.push(Part {
                before: self.read_with_context(
                    origin,
                    old,
                    (there, length(&splice.old)),
                    AROUND,
                )?,
                after: self.read_with_context(path, file, (here, length(&splice.new)), AROUND)?,
            });
            added = added.saturating_add(length(&splice.new));
            removed = removed.saturating_add(length(&splice.old));
        }
        Ok(NewContent::Parts(parts))
    }

    /// Reads `length` bytes at the offset `from`, extended by up to `before` and `behind` bytes of context as
    /// available.
    fn read_with_context(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        (from, length): (u64, u64),
        (before, behind): (u64, u64),
    ) -> Result<Vec<u8>> {
        let start = from.saturating_sub(before);
        let end = from.saturating_add(length).saturating_add(behind).min(file.size);
        let wanted = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        let bytes = self.bytes(path, file).ok_or_else(|| ErrorKind::missing(path))?;
        match bytes.opened(&self.workspace.disk).doing(|| format!("read `{path}`"))? {
            Opened::Memory(bytes) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let rest = bytes.get(start..).unwrap_or_default();
                Ok(rest.get(..wanted).unwrap_or(rest).to_vec())
            }
            Opened::File(handle) => {
                let mut bytes = vec![0; wanted];
                let mut filled = 0;
                while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                    let at = start.saturating_add(u64::try_from(filled).unwrap_or(u64::MAX));
                    let read = self.workspace.disk.read_at(&handle, rest, at);
                    match read.doing(|| format!("read `{path}`"))? {
                        0 => {
                            let detail = "its size changed while it was being read";
                            return Err(ErrorKind::Conflict { path: path.clone(), detail }.into());
                        }
                        read => filled += read,
                    }
                }
                Ok(bytes)
            }
        }
    }
}
