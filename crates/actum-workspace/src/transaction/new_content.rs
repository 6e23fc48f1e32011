//! What a transaction would put into files that was not there, for whoever looks through it before it
//! is seen.

use std::ops::{ControlFlow, Range};
use std::sync::Arc;

use actum_core::RelPath;
use actum_core::text::BLOCK_BYTES;
use actum_edit::Splice;

use crate::content::Bytes;
use crate::disk::Disk;
use crate::error::{Doing, ErrorKind, Result};
use crate::path_change::CONTENT_BYTES_MAX;
use crate::transaction::Transaction;
use crate::transaction::node::{Content, New, PostFile};

/// What is new in one file.
#[derive(Debug)]
pub enum NewContent {
    /// All that the file would hold.
    Whole(Arc<Vec<u8>>),
    /// Only what edits put into it, with what stands around that: of a file over 16 MiB.
    Parts(Vec<Part>),
    /// It has more than 16 MiB, and was written whole, moved, or edited in many places: [`Transaction::each_window`] reads it.
    Large,
}

/// Part of a large file, to be searched.
#[derive(Debug)]
pub struct Window<'w> {
    /// Where it begins in the file: at the beginning of a block, or of what is read before one.
    pub offset: u64,
    /// Bytes of the file from there on.
    pub bytes: &'w [u8],
    /// Those of them to search; the others stand before and behind them.
    pub range: Range<usize>,
}

/// How many bytes of a window are to be searched, at most.
const WINDOW_BYTES: u64 = 4 << 20;

/// A part of a file that an edit changes, with [`AROUND_BYTES`] before and behind it.
#[derive(Debug)]
pub struct Part {
    /// What stood there.
    pub before: Vec<u8>,
    /// What would stand there.
    pub after: Vec<u8>,
}

/// Most edits of a large file that are read one by one; with more, the file is read in windows.
const PARTS_MAX: usize = 256;

/// Context before and behind an edit, in bytes: more than a usual private key has.
const AROUND_BYTES: u64 = 16 << 10;
const AROUND: (u64, u64) = (AROUND_BYTES, AROUND_BYTES);

impl<D: Disk> Transaction<'_, D> {
    /// The files that would get new bytes or another path, ordered by path.
    pub fn arriving(&self) -> impl Iterator<Item = &RelPath> {
        self.nodes.iter().filter_map(|(path, node)| {
            let is_placed = match &node.post.file()?.content {
                Content::New(_) | Content::Moved(_) => true,
                Content::Untouched => false,
            };
            is_placed.then_some(path)
        })
    }

    /// Whether a file only gets another path, and no new bytes.
    pub fn only_moves(&self, path: &RelPath) -> bool {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        file.is_some_and(|file| matches!(file.content, Content::Moved(_)))
    }

    /// What would be in one of them, or in one that moves.
    ///
    /// # Errors
    /// `Io`, `Missing`.
    pub fn new_content(&self, path: &RelPath) -> Result<NewContent> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(file) = file else { return Err(ErrorKind::missing(path).into()) };
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
        let mut whole = Vec::new();
        self.each_piece(path, file, |piece| {
            whole.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(NewContent::Whole(Arc::new(whole)))
    }

    /// Reads one of them window by window, with so many bytes before and behind each, and leaves out what cannot hold text. Ends
    /// early where `search` says so. Memory does not grow with the file.
    ///
    /// # Errors
    /// `Io`, `Missing`; `Conflict` where its size changed.
    pub fn each_window(
        &self,
        path: &RelPath,
        around: (u64, u64),
        mut search: impl FnMut(Window<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(file) = file else { return Err(ErrorKind::missing(path).into()) };
        let text = match &file.content {
            Content::New(New { text: Some(text), .. }) => Some(&**text),
            Content::New(_) | Content::Moved(_) | Content::Untouched => None,
        };
        let block = u64::try_from(BLOCK_BYTES).unwrap_or(u64::MAX);
        let is_text = |at: u64| at < file.size && text.is_none_or(|text| text.holds_text(at));
        let mut from = 0u64;
        while from < file.size {
            let mut to = from;
            while is_text(to) && to - from < WINDOW_BYTES {
                to = to.saturating_add(block);
            }
            if to == from {
                from = from.saturating_add(block);
                continue;
            }
            let to = to.min(file.size);
            let offset = from.saturating_sub(around.0);
            let bytes = self.stretch(path, file, (from, to - from), around)?;
            let place = |at: u64| usize::try_from(at - offset).unwrap_or(usize::MAX);
            let range = place(from)..place(to);
            if search(Window { offset, bytes: &bytes, range }).is_break() {
                return Ok(());
            }
            from = to;
        }
        Ok(())
    }

    /// The file that one of them was before, there or where it comes from, with its content; none where it is made, or where
    /// that is over 16 MiB.
    ///
    /// # Errors
    /// `Io`.
    pub fn replaced(&self, path: &RelPath) -> Result<Option<(RelPath, Vec<u8>)>> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(origin) = file.and_then(|file| file.content.origin(path)) else { return Ok(None) };
        Ok(self.content_before(origin)?.map(|content| (origin.clone(), content)))
    }

    /// What the file at this very path holds before; nothing where none is there, or where that is over 16 MiB. A file that
    /// moves to the path, edited or not, has nothing to do with it.
    ///
    /// # Errors
    /// `Io`.
    pub fn content_before(&self, path: &RelPath) -> Result<Option<Vec<u8>>> {
        let old = self.nodes.get(path).map(|node| node.pre.unchanged());
        let Some(old) = old.as_ref().and_then(|old| old.file()) else { return Ok(None) };
        self.all_of(path, old)
    }

    fn all_of(&self, path: &RelPath, file: &PostFile<D::Handle>) -> Result<Option<Vec<u8>>> {
        if file.size > CONTENT_BYTES_MAX {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        self.each_piece(path, file, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        })?;
        Ok(Some(bytes))
    }

    /// The first [`AROUND_BYTES`] of one of them, or of one that moves; all of a shorter one.
    ///
    /// # Errors
    /// `Io`, `Missing`.
    pub fn new_beginning(&self, path: &RelPath) -> Result<Vec<u8>> {
        let file = self.nodes.get(path).and_then(|node| node.post.file());
        let Some(file) = file else { return Err(ErrorKind::missing(path).into()) };
        self.stretch(path, file, (0, 0), AROUND)
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
        // How much was put in and taken out before the place that is looked at.
        let (mut added, mut removed) = (0u64, 0u64);
        for splice in splices {
            let there = splice.offset;
            let here = there.saturating_add(added).saturating_sub(removed);
            parts.push(Part {
                before: self.stretch(origin, old, (there, length(&splice.old)), AROUND)?,
                after: self.stretch(path, file, (here, length(&splice.new)), AROUND)?,
            });
            added = added.saturating_add(length(&splice.new));
            removed = removed.saturating_add(length(&splice.old));
        }
        Ok(NewContent::Parts(parts))
    }

    /// So many bytes of a file from a place on, with what stands around them.
    fn stretch(
        &self,
        path: &RelPath,
        file: &PostFile<D::Handle>,
        (from, length): (u64, u64),
        (before, behind): (u64, u64),
    ) -> Result<Vec<u8>> {
        let start = from.saturating_sub(before);
        let end = from.saturating_add(length).saturating_add(behind).min(file.size);
        let wanted = usize::try_from(end.saturating_sub(start)).unwrap_or(usize::MAX);
        match self.bytes(path, file) {
            Some(Bytes::Memory(bytes)) => {
                let start = usize::try_from(start).unwrap_or(usize::MAX);
                let rest = bytes.get(start..).unwrap_or_default();
                Ok(rest.get(..wanted).unwrap_or(rest).to_vec())
            }
            Some(Bytes::File(handle, _)) => {
                let mut stretch = vec![0; wanted];
                let mut filled = 0;
                while let Some(rest) = stretch.get_mut(filled..).filter(|rest| !rest.is_empty()) {
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
                Ok(stretch)
            }
            None => Err(ErrorKind::missing(path).into()),
        }
    }
}
