//! Inodes of a simulated disk. Their attributes and contents consist of cells, which a power cut affects independently.

use std::collections::BTreeMap;
use std::rc::Rc;

use actum_core::FileMode;
use actum_workspace::disk::{Kind, Time};

use super::Errno;
use super::cell::Cell;
use super::tree::Ino;

/// Size in bytes of a block, the unit in which file content becomes durable.
pub(super) const BLOCK_BYTES: usize = 4096;

/// Block of a file. `None` is a hole, which reads as zeros.
pub(super) type Block = Option<Rc<[u8; BLOCK_BYTES]>>;

pub(super) type Name = Rc<[u8]>;
/// Values of extended attributes by name.
pub(super) type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;
pub(super) type Names = BTreeMap<Name, Cell<Option<Ino>>>;

#[derive(Clone)]
pub(super) struct Inode {
    pub(super) body: Body,
    pub(super) device: u64,
    pub(super) attributes: Cell<Attributes>,
    /// False only if every cell of the inode is durable.
    pub(super) is_dirty: bool,
}

/// INVARIANT: in the volatile view, all bytes of a block beyond the size of the file are zero.
#[derive(Clone)]
pub(super) enum Body {
    File { size: Cell<u64>, blocks: BTreeMap<u64, Cell<Block>> },
    Directory(Names),
    Symlink(Rc<[u8]>),
    Special,
}

#[derive(Debug, Clone)]
pub(super) struct Attributes {
    pub(super) mode: FileMode,
    pub(super) user: u32,
    pub(super) group: u32,
    pub(super) xattrs: Rc<Xattrs>,
    pub(super) modified: Time,
    pub(super) changed: Time,
}

impl Attributes {
    pub(super) fn equals(&self, other: &Self, vary_times: bool) -> bool {
        (self.mode, self.user, self.group) == (other.mode, other.user, other.group)
            && (Rc::ptr_eq(&self.xattrs, &other.xattrs) || self.xattrs == other.xattrs)
            && (!vary_times || (self.modified, self.changed) == (other.modified, other.changed))
    }
}

/// Returns the inodes of the current entries of a directory.
pub(super) fn live(names: &Names) -> Vec<Ino> {
    names.values().filter_map(|cell| *cell.get()).collect()
}

impl Body {
    pub(super) fn empty_file() -> Self {
        Self::File { size: Cell::durable(0), blocks: BTreeMap::new() }
    }

    pub(super) fn kind(&self) -> Kind {
        match self {
            Self::File { .. } => Kind::File,
            Self::Directory(_) => Kind::Directory,
            Self::Symlink(_) => Kind::Symlink,
            Self::Special => Kind::Special,
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::File { size, .. } => *size.get(),
            Self::Directory(_) => BLOCK_BYTES as u64,
            Self::Symlink(target) => target.len() as u64,
            Self::Special => 0,
        }
    }
}

impl Inode {
    /// Creates an inode whose initial attributes are durable.
    pub(super) fn new(body: Body, device: u64, attributes: Attributes) -> Self {
        Self { body, device, attributes: Cell::durable(attributes), is_dirty: false }
    }

    pub(super) fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        if let Body::Symlink(target) = &self.body {
            let rest = target.get(offset as usize..).unwrap_or_default();
            let length = rest.len().min(buffer.len());
            buffer[..length].copy_from_slice(&rest[..length]);
            return Ok(length);
        }
        let Body::File { size, blocks } = &self.body else { return Err(self.not_a_file()) };
        let length = size.get().saturating_sub(offset).min(buffer.len() as u64) as usize;
        for part in parts(offset, length) {
            let to = &mut buffer[part.from..part.from + part.length];
            match blocks.get(&part.block).and_then(|cell| cell.get().as_ref()) {
                Some(block) => to.copy_from_slice(&block[part.within..part.within + part.length]),
                None => to.fill(0),
            }
        }
        Ok(length)
    }

    /// Returns true if writing `length` bytes at `offset` would extend the file or fill a hole.
    pub(super) fn would_allocate(&self, length: usize, offset: u64) -> bool {
        let Body::File { size, blocks } = &self.body else { return false };
        let is_hole = |block| blocks.get(&block).is_none_or(|cell| cell.get().is_none());
        offset + length as u64 > *size.get()
            || parts(offset, length).any(|part| is_hole(part.block))
    }

    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        offset: u64,
        blocks_max: u64,
        changes: &mut u64,
    ) -> Result<(), Errno> {
        let wrong_kind = self.not_a_file();
        let Body::File { size, blocks } = &mut self.body else { return Err(wrong_kind) };
        let mut end = *size.get();
        for part in parts(offset, bytes.len()).take(blocks_max as usize) {
            let cell = blocks.entry(part.block).or_insert_with(|| Cell::durable(None));
            let mut block = match cell.get() {
                Some(block) if part.length < BLOCK_BYTES => **block,
                Some(_) | None => [0; BLOCK_BYTES],
            };
            block[part.within..part.within + part.length]
                .copy_from_slice(&bytes[part.from..part.from + part.length]);
            *changes += 1;
            cell.set(*changes, Some(Rc::new(block)));
            end = end.max(offset + (part.from + part.length) as u64);
        }
        if end != *size.get() {
            *changes += 1;
            size.set(*changes, end);
        }
        self.is_dirty = true;
        Ok(())
    }

    pub(super) fn set_size(&mut self, new: u64, changes: &mut u64) -> Result<(), Errno> {
        let Body::File { size, blocks } = &mut self.body else { return Err(Errno::INVAL) };
        if new < *size.get() {
            for (index, cell) in blocks.range_mut(new / BLOCK_BYTES as u64..) {
                let cut = truncate(cell.get(), *index, new);
                if !same_block(&cut, cell.get()) || cut.is_none() != cell.get().is_none() {
                    *changes += 1;
                    cell.set(*changes, cut);
                }
            }
        }
        if new != *size.get() {
            *changes += 1;
            size.set(*changes, new);
        }
        self.is_dirty = true;
        Ok(())
    }

    fn not_a_file(&self) -> Errno {
        match self.body.kind() {
            Kind::Directory => Errno::ISDIR,
            Kind::Special => Errno::SPIPE,
            Kind::File | Kind::Symlink => Errno::INVAL,
        }
    }

    /// Makes the cells in this part of the inode durable after a successful sync.
    pub(super) fn flush(&mut self, part: Part) {
        match &mut self.body {
            Body::File { size, blocks } => {
                size.flush();
                blocks.values_mut().for_each(Cell::flush);
            }
            Body::Directory(names) => {
                names.values_mut().for_each(Cell::flush);
                names.retain(|_, cell| !cell.is_durable() || cell.get().is_some());
            }
            Body::Symlink(_) | Body::Special => {}
        }
        match part {
            Part::Everything => self.attributes.flush(),
            Part::Data => {}
        }
        self.is_dirty = !self.attributes.is_durable() || !self.is_content_durable();
    }

    /// Abandons the pending values in this part of the inode after a failed sync, because the kernel does not write them
    /// again.
    pub(super) fn abandon(&mut self, part: Part) {
        match &mut self.body {
            Body::File { size, blocks } => {
                size.abandon();
                blocks.values_mut().for_each(Cell::abandon);
            }
            Body::Directory(names) => names.values_mut().for_each(Cell::abandon),
            Body::Symlink(_) | Body::Special => {}
        }
        match part {
            Part::Everything => self.attributes.abandon(),
            Part::Data => {}
        }
    }

    fn is_content_durable(&self) -> bool {
        match &self.body {
            Body::File { size, blocks } => {
                size.is_durable() && blocks.values().all(Cell::is_durable)
            }
            Body::Directory(names) => names.values().all(Cell::is_durable),
            Body::Symlink(_) | Body::Special => true,
        }
    }
}

/// Part of an inode that a sync covers.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// Bytes and size of a file, or entries of a directory.
    Data,
    /// Content and attributes.
    Everything,
}

/// Part of a byte range that is within a single block.
struct Span {
    block: u64,
    /// Offset of the part within the block.
    within: usize,
    /// Offset of the part within the byte range.
    from: usize,
    length: usize,
}

fn parts(offset: u64, length: usize) -> impl Iterator<Item = Span> {
    let mut from = 0;
    std::iter::from_fn(move || {
        let at = offset + from as u64;
        let within = (at % BLOCK_BYTES as u64) as usize;
        let part = Span {
            block: at / BLOCK_BYTES as u64,
            within,
            from,
            length: (BLOCK_BYTES - within).min(length - from),
        };
        from += part.length;
        (part.length > 0).then_some(part)
    })
}

/// Returns the number of blocks that overlap a range of bytes.
pub(super) fn blocks_touched(offset: u64, length: usize) -> u64 {
    parts(offset, length).count() as u64
}

/// Returns the block at `index` after the file is truncated to `size` bytes, or `None` if nothing of it remains.
pub(super) fn truncate(block: &Block, index: u64, size: u64) -> Block {
    let bytes = block.as_ref()?;
    let kept = size.saturating_sub(index * BLOCK_BYTES as u64).min(BLOCK_BYTES as u64) as usize;
    if kept == 0 {
        return None;
    }
    if bytes[kept..].iter().all(|&b| b == 0) {
        return Some(Rc::clone(bytes));
    }
    let mut cut = **bytes;
    cut[kept..].fill(0);
    Some(Rc::new(cut))
}

/// Returns true if two blocks have the same bytes. A hole is equal to a block of zeros.
pub(super) fn same_block(a: &Block, b: &Block) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b) || a == b,
        (Some(only), None) | (None, Some(only)) => only.iter().all(|&byte| byte == 0),
        (None, None) => true,
    }
}
