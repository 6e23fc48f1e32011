//! Block deltas, which store the blocks of a large file that differ between its old and its new content.
//!
//! ```text
//! blocks      blocks of the old content, 4096 bytes each; if the content ends within a block, it is padded with zeros
//! runs        runs of adjacent blocks in ascending order, one line each: first block and block count (`37 2\n`)
//! end         a line with `actum blocks 1 ` and the total number of blocks
//! ```
//!
//! Outside of these blocks, the old content equals the new content at the same offsets. The old content can therefore be
//! rebuilt from the new content, the delta and the old size. The blocks are stored first and in full length, so that
//! `dd` can copy them and a shell script can read the rest (the `rollback.sh` of a task). The file does not include a
//! checksum. Instead, the reader compares the digest of the result.

use std::fmt::Write as _;
use std::io;

use actum_core::{Digest, FileMode, Hasher};

use crate::content::Bytes;
use crate::disk::Disk;

/// Size in bytes of a block, the unit in which contents are compared.
pub(crate) const BLOCK_BYTES: usize = 4096;
/// Number of bytes of each content that are compared at a time, which is also the maximum length of an extent. A
/// multiple of [`BLOCK_BYTES`].
const PIECE_BYTES: usize = 256 << 10;
/// Number of collected bytes after which blocks are written to the file. Because of this threshold, no file is created
/// for a small content that changed completely.
const WRITE_BYTES: usize = 4 << 20;
/// Maximum number of runs of blocks in a delta. A shell script starts a process for each run.
const RUNS_MAX: usize = 1 << 14;
/// Prefix of the last line of a delta.
const END: &str = "actum blocks 1 ";
/// Maximum length of a line, which has two numbers of up to 20 digits.
const LINE_BYTES_MAX: usize = 42;

/// Old content that a delta can restore.
pub(crate) struct Old<'a, H> {
    pub(crate) bytes: &'a Bytes<H>,
    /// Size of the content in bytes.
    pub(crate) size: u64,
    /// Expected digest of the content, or `None` if it is already known to be unchanged.
    pub(crate) digest: Option<Digest>,
}

/// Description of a delta that was written to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDelta {
    /// SHA-256 of the delta file.
    pub sha256: Digest,
    /// Size of the delta file in bytes.
    pub size: u64,
    /// Number of blocks (4096 bytes each) at the start of the delta file.
    pub blocks: u64,
}

/// Writes the blocks in which `old` differs from `new` to the new file `name`.
///
/// Returns `None` without leaving a file if the delta would exceed `bytes_max` bytes or the maximum number of runs, or if
/// `old` does not match its size or digest.
///
/// # Errors
/// Returns errors of the disk. A partly written file is removed.
pub(crate) fn write<D: Disk>(
    disk: &D,
    (directory, name): (&D::Handle, &[u8]),
    old: &Old<'_, D::Handle>,
    new: &Bytes<D::Handle>,
    bytes_max: u64,
) -> io::Result<Option<(D::Handle, BlockDelta)>> {
    let mut writer = Writer::new(disk, (directory, name));
    let written = compare(disk, old, new, bytes_max, &mut writer);
    let written = written.and_then(|is_whole| Ok(is_whole && writer.finish(bytes_max)?));
    match written {
        Ok(true) => Ok(writer.into_delta()),
        Ok(false) | Err(_) if writer.file.is_none() => written.map(|_| None),
        Ok(_) => disk.unlink(directory, name).map(|()| None),
        Err(error) => {
            drop(disk.unlink(directory, name)); // free the space, as the disk may be full
            Err(error)
        }
    }
}

/// Passes the differing blocks of `old` to `writer`. Returns false if a limit is exceeded or if `old` does not match its
/// description.
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
            if writer.size() > bytes_max || writer.runs.len() > RUNS_MAX {
                return Ok(false);
            }
        }
        offset = offset.saturating_add(wanted);
    }
    Ok(hasher.map(Hasher::finish) == old.digest)
}

/// Passes the blocks of `before` that differ from `after` to the callback. Adjacent blocks are passed as one piece.
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

/// Run of adjacent blocks, given by its first block number and its length in blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    first: u64,
    count: u64,
}

/// Writer of a delta. It collects blocks in memory and creates the file at the first write.
struct Writer<'a, D: Disk> {
    disk: &'a D,
    target: (&'a D::Handle, &'a [u8]),
    /// Delta file and the number of bytes written to it, or `None` if it does not exist yet.
    file: Option<(D::Handle, u64)>,
    gathered: Vec<u8>,
    runs: Vec<Run>,
    hasher: Hasher,
}

impl<'a, D: Disk> Writer<'a, D> {
    fn new(disk: &'a D, target: (&'a D::Handle, &'a [u8])) -> Self {
        let (gathered, runs, hasher) = (Vec::new(), Vec::new(), Hasher::new());
        Self { disk, target, file: None, gathered, runs, hasher }
    }

    /// Adds `bytes` of the old content, starting at `offset`. The range must consist of whole blocks, except at the end
    /// of the content.
    fn extent(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let blocks = bytes.len().div_ceil(BLOCK_BYTES);
        let (first, count) = (offset / length(BLOCK_BYTES), length(blocks));
        match self.runs.last_mut() {
            Some(last) if last.first.saturating_add(last.count) == first => {
                last.count = last.count.saturating_add(count);
            }
            Some(_) | None => self.runs.push(Run { first, count }),
        }
        let padding = blocks.saturating_mul(BLOCK_BYTES).saturating_sub(bytes.len());
        self.gathered.extend_from_slice(bytes);
        self.gathered.extend(std::iter::repeat_n(0, padding));
        if self.gathered.len() < WRITE_BYTES { Ok(()) } else { self.flush() }
    }

    fn size(&self) -> u64 {
        let written = self.file.as_ref().map_or(0, |(_, written)| *written);
        written.saturating_add(length(self.gathered.len()))
    }

    /// Returns the total number of blocks in all runs.
    fn blocks(&self) -> u64 {
        self.runs.iter().fold(0, |sum, run| sum.saturating_add(run.count))
    }

    /// Writes the list of runs and the last line. Returns false if the delta would exceed `bytes_max` bytes.
    fn finish(&mut self, bytes_max: u64) -> io::Result<bool> {
        let mut lines = String::new();
        for Run { first, count } in &self.runs {
            writeln!(lines, "{first} {count}").map_err(io::Error::other)?;
        }
        writeln!(lines, "{END}{}", self.blocks()).map_err(io::Error::other)?;
        self.gathered.extend_from_slice(lines.as_bytes());
        if self.size() > bytes_max {
            return Ok(false);
        }
        self.flush().map(|()| true)
    }

    fn flush(&mut self) -> io::Result<()> {
        let (directory, name) = self.target;
        let (file, offset) = match &mut self.file {
            Some(file) => file,
            none => none.insert((self.disk.create(directory, name, FileMode::PRIVATE)?, 0)),
        };
        self.disk.write_at(file, &self.gathered, *offset)?;
        self.hasher.update(&self.gathered);
        *offset = offset.saturating_add(length(self.gathered.len()));
        self.gathered.clear();
        Ok(())
    }

    fn into_delta(self) -> Option<(D::Handle, BlockDelta)> {
        let blocks = self.blocks();
        let (file, size) = self.file?;
        Some((file, BlockDelta { sha256: self.hasher.finish(), size, blocks }))
    }
}

/// Rebuilds the old content from `delta` and `new`, and passes it to the callback piece by piece.
///
/// Returns false if the delta is damaged or belongs to different contents. The pieces passed so far are then invalid.
/// The caller must compare the digest of the result in any case.
///
/// # Errors
/// Returns errors of the disk.
pub(crate) fn rebuild<D: Disk>(
    disk: &D,
    delta: &D::Handle,
    new: &Bytes<D::Handle>,
    size: u64,
    mut each: impl FnMut(&[u8]),
) -> io::Result<bool> {
    let Some(mut extents) = Extents::read(disk, delta, size)? else { return Ok(false) };
    let (mut piece, mut at) = (vec![0; PIECE_BYTES], 0u64);
    let mut next = extents.next()?;
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
        next = extents.next()?;
    }
}

/// Turns the new content in `content` into the old content of `size` bytes.
///
/// Returns false if the delta is damaged or belongs to different contents. The caller must compare the digest of the
/// result in any case.
///
/// # Errors
/// Returns errors of the disk.
pub fn apply<D: Disk>(
    disk: &D,
    delta: &D::Handle,
    content: &mut Vec<u8>,
    size: u64,
) -> io::Result<bool> {
    let Ok(size_in_memory) = usize::try_from(size) else { return Ok(false) };
    content.resize(size_in_memory, 0);
    let Some(mut extents) = Extents::read(disk, delta, size)? else { return Ok(false) };
    loop {
        match extents.next()? {
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

/// Result of reading the next extent of a delta.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    /// An extent at this offset of the old content. Its bytes are in [`Extents::bytes`].
    Extent(u64),
    End,
    Damaged,
}

/// Reader that returns the extents of a delta in ascending order.
struct Extents<'a, D: Disk> {
    disk: &'a D,
    file: &'a D::Handle,
    /// Size of the old content in bytes.
    size: u64,
    /// Runs that have not been read completely yet.
    runs: std::iter::Peekable<std::vec::IntoIter<Run>>,
    /// Bytes of the most recently read extent.
    bytes: Vec<u8>,
    /// Number of blocks read so far.
    read: u64,
}

impl<'a, D: Disk> Extents<'a, D> {
    /// Reads the list of runs of a delta for an old content of `size` bytes. Returns `None` if the list is damaged.
    fn read(disk: &'a D, file: &'a D::Handle, size: u64) -> io::Result<Option<Self>> {
        let Some(runs) = read_runs(disk, file)? else { return Ok(None) };
        let mut behind = 0;
        let blocks = size.div_ceil(length(BLOCK_BYTES));
        for Run { first, count } in &runs {
            let Some(end) = first.checked_add(*count) else { return Ok(None) };
            if *first < behind || *count == 0 || end > blocks {
                return Ok(None);
            }
            behind = end;
        }
        let runs = runs.into_iter().peekable();
        Ok(Some(Self { disk, file, size, runs, bytes: Vec::new(), read: 0 }))
    }

    /// Reads the next extent of the delta into [`Self::bytes`].
    fn next(&mut self) -> io::Result<Next> {
        let Some(run) = self.runs.peek_mut() else { return Ok(Next::End) };
        let count = run.count.min(length(PIECE_BYTES / BLOCK_BYTES));
        let (offset, at) = (bytes_of(run.first), bytes_of(self.read));
        run.first = run.first.saturating_add(count);
        run.count = run.count.saturating_sub(count);
        if run.count == 0 {
            self.runs.next();
        }
        self.read = self.read.saturating_add(count);
        let wanted = bytes_of(count).min(self.size.saturating_sub(offset));
        self.bytes.resize(usize::try_from(wanted).unwrap_or(usize::MAX), 0);
        let read = self.disk.read_at(self.file, &mut self.bytes, at)?;
        Ok(if length(read) == wanted { Next::Extent(offset) } else { Next::Damaged })
    }
}

/// Reads the list of runs that follows the blocks of a delta. Returns `None` if the list is damaged.
fn read_runs<D: Disk>(disk: &D, file: &D::Handle) -> io::Result<Option<Vec<Run>>> {
    let size = disk.stat(file)?.size;
    let last = size.min(length(LINE_BYTES_MAX));
    let end = read_exactly(disk, file, (size.saturating_sub(last), last))?;
    let Some(end) = end.as_deref().and_then(|end| end.strip_suffix(b"\n")) else { return Ok(None) };
    // A line break precedes the last line, except in a delta without blocks.
    let start = end.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at.saturating_add(1));
    let end = end.get(start..).and_then(|end| end.strip_prefix(END.as_bytes()));
    let Some(blocks) = end.and_then(number) else { return Ok(None) };
    let length_of_lines =
        blocks.checked_mul(length(BLOCK_BYTES)).and_then(|at| size.checked_sub(at));
    let lines_max = length(RUNS_MAX.saturating_add(1).saturating_mul(LINE_BYTES_MAX));
    let Some(wanted) = length_of_lines.filter(|length| *length <= lines_max) else {
        return Ok(None);
    };
    let Some(lines) = read_exactly(disk, file, (bytes_of(blocks), wanted))? else {
        return Ok(None);
    };
    let mut runs = Vec::new();
    let mut lines = lines.split(|&byte| byte == b'\n');
    let mut counted = 0u64;
    while counted < blocks {
        let line = lines.next().and_then(|line| {
            let space = line.iter().position(|&byte| byte == b' ')?;
            let (first, count) = (line.get(..space)?, line.get(space.saturating_add(1)..)?);
            Some(Run { first: number(first)?, count: number(count)? })
        });
        let Some(run) = line.filter(|run| run.count > 0) else { return Ok(None) };
        counted = counted.saturating_add(run.count);
        runs.push(run);
    }
    let is_end = lines.next().is_some_and(|line| line.starts_with(END.as_bytes()));
    Ok((is_end && counted == blocks).then_some(runs))
}

/// Reads exactly `length` bytes starting at `offset`. Returns `None` if the file is too short.
fn read_exactly<D: Disk>(
    disk: &D,
    file: &D::Handle,
    (offset, length): (u64, u64),
) -> io::Result<Option<Vec<u8>>> {
    let Ok(length) = usize::try_from(length) else { return Ok(None) };
    let mut bytes = vec![0; length];
    let read = disk.read_at(file, &mut bytes, offset)?;
    Ok((read == length).then_some(bytes))
}

/// Parses a decimal number that consists only of digits.
fn number(digits: &[u8]) -> Option<u64> {
    let is_plain = digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| is_plain)?.parse().ok()
}

fn bytes_of(blocks: u64) -> u64 {
    blocks.saturating_mul(length(BLOCK_BYTES))
}

fn length(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
