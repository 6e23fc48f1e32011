//! Block delta: the blocks of a large content that differ from another content, in a file of their own.
//!
//! ```text
//! magic       16 bytes, `actum blocks 1\0\0`
//! extents     ascending, each: offset (u64), length (u32), then the bytes of the old content from there on
//! ```
//!
//! All numbers are little-endian. Outside of the extents the old content is the new one at the same offsets, so a delta and the
//! size of the old content give its bytes. The file has no checksum of its own: its reader compares the digest of the result.

use std::io;

use actum_core::{Digest, FileMode, Hasher};

use crate::content::Bytes;
use crate::disk::Disk;

/// Unit in which contents are compared, in bytes.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// How many bytes of both contents are compared at a time, and the length of the longest extent; a multiple of a block.
const PIECE_BYTES: usize = 256 << 10;
/// Size in bytes from which extents are written to the file, so that none is made for a small content that is all new.
const WRITE_BYTES: usize = 4 << 20;
const MAGIC: [u8; 16] = *b"actum blocks 1\0\0";
/// Offset and length before the bytes of an extent.
const HEAD_BYTES: usize = 12;

/// Old content of which a delta is made.
pub(crate) struct Old<'a, H> {
    pub(crate) bytes: &'a Bytes<H>,
    /// In bytes.
    pub(crate) size: u64,
    /// Digest that the bytes that are compared must have, where nothing else vouches for them.
    pub(crate) digest: Option<Digest>,
}

/// Writes the blocks in which `old` differs from `new` to the new file `name`; `None` where the delta takes more than `bytes_max`
/// bytes, or where `old` is not as it was described. Then there is no such file.
///
/// # Errors
/// Those of the disk. A file that could not be written completely is removed.
pub(crate) fn write<D: Disk>(
    disk: &D,
    (directory, name): (&D::Handle, &[u8]),
    old: &Old<'_, D::Handle>,
    new: &Bytes<D::Handle>,
    bytes_max: u64,
) -> io::Result<Option<D::Handle>> {
    let mut writer =
        Writer { disk, target: (directory, name), file: None, gathered: MAGIC.to_vec() };
    let written = compare(disk, old, new, bytes_max, &mut writer);
    let written = written.and_then(|is_whole| match is_whole {
        true => writer.flush().map(|()| true),
        false => Ok(false),
    });
    match written {
        Ok(true) => Ok(writer.file.map(|(file, _)| file)),
        Ok(false) | Err(_) if writer.file.is_none() => written.map(|_| None),
        Ok(_) => disk.unlink(directory, name).map(|()| None),
        Err(error) => {
            drop(disk.unlink(directory, name)); // a full disk needs what was written of it
            Err(error)
        }
    }
}

/// Passes the differing blocks of `old` to `writer`. Returns `false` where there is no delta.
fn compare<D: Disk>(
    disk: &D,
    old: &Old<'_, D::Handle>,
    new: &Bytes<D::Handle>,
    bytes_max: u64,
    writer: &mut Writer<'_, D>,
) -> io::Result<bool> {
    let (mut ours, mut theirs) = (vec![0; PIECE_BYTES], vec![0; PIECE_BYTES]);
    let mut hasher = old.digest.map(|_| Hasher::new());
    let mut offset = 0u64;
    while offset < old.size {
        let read = old.bytes.read_at(disk, &mut ours, offset)?;
        let wanted = old.size.saturating_sub(offset).min(length(PIECE_BYTES));
        let before = ours.get(..read).filter(|piece| length(piece.len()) == wanted);
        let Some(before) = before else { return Ok(false) };
        if let Some(hasher) = &mut hasher {
            hasher.update(before);
        }
        let read = new.read_at(disk, &mut theirs, offset)?;
        let after = theirs.get(..read).unwrap_or_default();
        if after.get(..before.len()) != Some(before) {
            differing(before, after, |start, bytes| {
                writer.extent(offset.saturating_add(length(start)), bytes)
            })?;
            if writer.size() > bytes_max {
                return Ok(false);
            }
        }
        offset = offset.saturating_add(wanted);
    }
    Ok(hasher.map(Hasher::finish) == old.digest)
}

/// Passes on the blocks of `before` that are not those of `after`, neighbours as one.
fn differing(
    before: &[u8],
    after: &[u8],
    mut each: impl FnMut(usize, &[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut open: Option<usize> = None;
    let starts = (0..before.len()).step_by(BLOCK_BYTES);
    for start in starts {
        let end = start.saturating_add(BLOCK_BYTES).min(before.len());
        let same = after.get(start..end) == before.get(start..end);
        match (same, open) {
            (false, None) => open = Some(start),
            (true, Some(from)) => {
                each(from, before.get(from..start).unwrap_or_default())?;
                open = None;
            }
            (false, Some(_)) | (true, None) => {}
        }
    }
    open.map_or(Ok(()), |from| each(from, before.get(from..).unwrap_or_default()))
}

/// Gathers extents and writes them; makes the file when it writes first.
struct Writer<'a, D: Disk> {
    disk: &'a D,
    target: (&'a D::Handle, &'a [u8]),
    /// The file, and how many bytes of it are written.
    file: Option<(D::Handle, u64)>,
    gathered: Vec<u8>,
}

impl<D: Disk> Writer<'_, D> {
    fn extent(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        // INVARIANT: an extent is no longer than a piece.
        let length = u32::try_from(bytes.len()).map_err(|_| io::ErrorKind::FileTooLarge)?;
        self.gathered.extend_from_slice(&offset.to_le_bytes());
        self.gathered.extend_from_slice(&length.to_le_bytes());
        self.gathered.extend_from_slice(bytes);
        if self.gathered.len() < WRITE_BYTES { Ok(()) } else { self.flush() }
    }

    fn size(&self) -> u64 {
        let written = self.file.as_ref().map_or(0, |(_, written)| *written);
        written.saturating_add(length(self.gathered.len()))
    }

    fn flush(&mut self) -> io::Result<()> {
        let (directory, name) = self.target;
        let (file, offset) = match &mut self.file {
            Some(file) => file,
            none => none.insert((self.disk.create(directory, name, FileMode::PRIVATE)?, 0)),
        };
        self.disk.write_at(file, &self.gathered, *offset)?;
        *offset = offset.saturating_add(length(self.gathered.len()));
        self.gathered.clear();
        Ok(())
    }
}

/// Passes on the old content that `delta` and `new` give, piece by piece. Returns `false` where the delta is damaged or is not one
/// of these contents; what was passed on until then is worthless. The caller compares the digest in any case.
///
/// # Errors
/// Those of the disk.
pub(crate) fn rebuild<D: Disk>(
    disk: &D,
    delta: &D::Handle,
    new: &Bytes<D::Handle>,
    size: u64,
    mut each: impl FnMut(&[u8]),
) -> io::Result<bool> {
    let mut extents = Extents::new(disk, delta);
    let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0u64);
    let mut next = extents.next(size)?;
    loop {
        let until = match next {
            Next::Damaged => return Ok(false),
            Next::Extent(offset) => offset,
            Next::End => size,
        };
        while at < until {
            let read = new.read_at(disk, &mut piece, at)?;
            let wanted = usize::try_from(until.saturating_sub(at)).unwrap_or(usize::MAX);
            let same = piece.get(..read.min(wanted)).filter(|same| !same.is_empty());
            let Some(same) = same else { return Ok(false) };
            each(same);
            at = at.saturating_add(length(same.len()));
        }
        if next == Next::End {
            return Ok(true);
        }
        each(&extents.bytes);
        at = at.saturating_add(length(extents.bytes.len()));
        next = extents.next(size)?;
    }
}

/// Turns `content`, held in memory, into the old content of `size` bytes. Returns `false` as [`rebuild`] does.
///
/// # Errors
/// Those of the disk.
pub(crate) fn apply<D: Disk>(
    disk: &D,
    delta: &D::Handle,
    content: &mut Vec<u8>,
    size: u64,
) -> io::Result<bool> {
    let Ok(size_in_memory) = usize::try_from(size) else { return Ok(false) };
    content.resize(size_in_memory, 0);
    let mut extents = Extents::new(disk, delta);
    loop {
        match extents.next(size)? {
            Next::Damaged => return Ok(false),
            Next::End => return Ok(true),
            Next::Extent(offset) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX);
                let end = start.saturating_add(extents.bytes.len());
                let Some(there) = content.get_mut(start..end) else { return Ok(false) };
                there.copy_from_slice(&extents.bytes);
            }
        }
    }
}

/// What follows in a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An extent at this offset; its bytes are in [`Extents::bytes`].
    Extent(u64),
    End,
    Damaged,
}

/// Reads the extents of a delta, one after the other.
struct Extents<'a, D: Disk> {
    disk: &'a D,
    file: &'a D::Handle,
    /// Bytes of the extent that was read last.
    bytes: Vec<u8>,
    buffer: Vec<u8>,
    /// How many bytes of the buffer are used up.
    used: usize,
    /// Where in the file the buffer ends.
    end: u64,
    /// Offset behind the last extent; `None` before the first.
    behind: Option<u64>,
}

impl<'a, D: Disk> Extents<'a, D> {
    fn new(disk: &'a D, file: &'a D::Handle) -> Self {
        let (bytes, buffer) = (Vec::new(), Vec::new());
        Self { disk, file, bytes, buffer, used: 0, end: 0, behind: None }
    }

    /// Reads the next extent of an old content of `size` bytes.
    fn next(&mut self, size: u64) -> io::Result<Next> {
        if self.behind.is_none() && self.take(MAGIC.len())? != Some(MAGIC.as_slice()) {
            return Ok(Next::Damaged);
        }
        let behind = *self.behind.get_or_insert(0);
        let head = self.take(HEAD_BYTES)?.and_then(<[u8]>::first_chunk::<HEAD_BYTES>).copied();
        let Some(head) = head else {
            return Ok(if self.is_at_end() { Next::End } else { Next::Damaged });
        };
        let (Some(offset), Some(count)) = (head.first_chunk(), head.last_chunk()) else {
            return Ok(Next::Damaged);
        };
        let (offset, count) = (u64::from_le_bytes(*offset), u32::from_le_bytes(*count));
        let end = offset.saturating_add(u64::from(count));
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        if offset < behind || end > size || count == 0 || count > PIECE_BYTES {
            return Ok(Next::Damaged);
        }
        let Some(bytes) = self.take(count)?.map(<[u8]>::to_vec) else { return Ok(Next::Damaged) };
        self.bytes = bytes;
        self.behind = Some(end);
        Ok(Next::Extent(offset))
    }

    /// The next `count` bytes; `None` where the file has fewer.
    fn take(&mut self, count: usize) -> io::Result<Option<&[u8]>> {
        if self.buffer.len().saturating_sub(self.used) < count {
            self.buffer.drain(..self.used);
            self.used = 0;
            let held = self.buffer.len();
            self.buffer.resize(held.saturating_add(PIECE_BYTES), 0);
            let rest = self.buffer.get_mut(held..).unwrap_or_default();
            let read = self.disk.read_at(self.file, rest, self.end)?;
            self.buffer.truncate(held.saturating_add(read));
            self.end = self.end.saturating_add(length(read));
        }
        let taken = self.buffer.get(self.used..self.used.saturating_add(count));
        if taken.is_some() {
            self.used = self.used.saturating_add(count);
        }
        Ok(taken)
    }

    fn is_at_end(&self) -> bool {
        self.used == self.buffer.len()
    }
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
