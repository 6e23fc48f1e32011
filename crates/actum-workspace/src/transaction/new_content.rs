//! New content of the files of a transaction, for the scan before it is published.

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

/// New content of one file.
#[derive(Debug)]
pub enum NewContent {
    /// All bytes of the file.
    Whole(Arc<Vec<u8>>),
    /// The bytes that edits add to a file over 16 MiB, with their context.
    Parts(Vec<Part>),
    /// The file has more than 16 MiB, and was written whole, moved, or edited in many places:
    /// [`Transaction::each_window`] reads it.
    Large,
}

/// Part of a large file, to be searched.
#[derive(Debug)]
pub struct Window<'w> {
    /// Offset of `bytes` in the file. It is even at the start of the context before a window.
    pub offset: u64,
    /// Bytes of the file: those to search, and their context.
    pub bytes: &'w [u8],
    /// Indices in `bytes` of those to search.
    pub range: Range<usize>,
}

/// Size limit of the searched part of a window, in bytes, without the context.
const WINDOW_BYTES_MAX: u64 = 4 << 20;

/// Size of a piece that is compared with the content before, in bytes; a multiple of a block.
const PIECE_BYTES: usize = 256 << 10;

/// Part of a file that an edit changes, with [`AROUND_BYTES`] before and behind it.
#[derive(Debug)]
pub struct Part {
    /// Bytes before the edit.
    pub before: Vec<u8>,
    /// Bytes after the edit.
    pub after: Vec<u8>,
}

/// Number of edits of a large file up to which they are read one by one; with more, the file is read in windows.
const PARTS_MAX: usize = 256;

/// Context before and behind an edit, in bytes: more than a usual private key has.
const AROUND_BYTES: u64 = 16 << 10;
const AROUND: (u64, u64) = (AROUND_BYTES, AROUND_BYTES);

impl<D: Disk> Transaction<'_, D> {
    /// Returns the files that would get new bytes or another path, ordered by path.
    pub fn arriving(&self) -> impl Iterator<Item = &RelPath> {
        self.nodes.iter().filter_map(|(path, node)| {
            let is_placed = match &node.post.file()?.content {
                Content::New(_) | Content::Moved(_) => true,
                Content::Untouched => false,
            };
            is_placed.then_some(path)
        })
    }

    /// Returns true if the file gets another path and no new bytes.
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

    /// Reads the new content of a large file in windows, with these bytes of context before and behind each. Blocks are
    /// left out that cannot hold text, and those that are neither new at their place nor beside one that is. `search`
    /// can end the reading. Memory use is a byte for each 16 KiB of the file.
    ///
    /// # Errors
    /// `Io`, `Missing`; `Conflict` where its size changed.
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

    /// Tests for each block of a new content that the file at the same path has other bytes there now; `None` where
    /// there is no such file.
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
                let detail = "its size changed while it was read";
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

    /// Returns the file from before the change, at this path or the one it comes from, with its content. `None` if the
    /// file is new, or if the content is over 16 MiB.
    ///
    /// # Errors
    /// `Io`.
    pub fn replaced(&self, path: &RelPath) -> Result<Option<(RelPath, Vec<u8>)>> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(origin) = file.and_then(|file| file.content.origin(path)) else { return Ok(None) };
        Ok(self.content_before(origin)?.map(|content| (origin.clone(), content)))
    }

    /// Returns the content of this path before the change; `None` if it has no file, or one over 16 MiB. A file that
    /// moves to the path, edited or not, does not count.
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

    /// Returns the first [`AROUND_BYTES`] of a new or moved file; all of a shorter one.
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
        // Bytes that the edits before this one add and remove.
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

    /// Reads `length` bytes from offset `from` on, with `before` and `behind` bytes of context where the file has them.
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
                            let detail = "its size changed while it was read";
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
