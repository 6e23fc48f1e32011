//! The journal: a preallocated, zero-filled file that starts with two copies of its head, followed by records one after
//! the other.
//!
//! A record is appended with one write and one `fdatasync` that changes no metadata. The space of records is only
//! reused after their runs are in the history and the head states that.

pub(crate) mod back;
pub(crate) mod codec;
pub(crate) mod ended;
pub(crate) mod record;
pub(crate) mod runs;
pub(crate) mod salvage;
pub(crate) mod sector;

use std::io;

use crate::disk::{Barrier, Disk, Epoch};
use crate::error::{ErrorKind, Result, ResultExt};
use crate::journal::codec::{Decoder, Encoder};
use crate::journal::record::Record;
use crate::journal::sector::{Framed, PAGE, SECTOR, Sight, frame, framed_length, look, unframe};

/// Newest version of the journal format that this program can read, and the version that it writes.
pub(crate) const FORMAT: u32 = 6;
/// Maximum size of the journal in bytes.
pub(crate) const CAPACITY_MAX: u64 = 256 << 20;
/// Offset of the first record, after the two copies of the head.
const RECORDS: u64 = 2 * PAGE as u64;
/// Size of an end record in bytes; this much space is reserved after every INTENT record.
const END_LENGTH: u64 = PAGE as u64;
const MAGIC: [u8; 16] = *b"actum journal\0\0\0";

/// Head of the journal, which states its size and its first record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Head {
    /// Number of times that the head was written; its parity selects the copy that is overwritten.
    generation: u64,
    /// Number of bytes of the file that are durably zero-filled and may be used.
    capacity: u64,
    /// Sequence number of the first record that is not forgotten.
    first: u64,
    /// Epoch in which the head was written.
    epoch: Epoch,
    /// Format version of the program that wrote the head.
    format: u32,
}

/// Record with its sequence number.
pub(crate) struct Located {
    pub(crate) sequence: u64,
    pub(crate) record: Record,
}

/// Extent of the check of the space after the last record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scan {
    /// The space is only checked if the last record is torn or its run has no end. The journal was last written in this
    /// epoch, so no write can be lost.
    Tail,
    /// The space is always checked, because a write may have been cut off. Every sector must be zero, old, or part of a
    /// torn write.
    Everything,
}

impl Scan {
    /// Returns the check required for a journal whose head was written in the epoch `written`.
    pub(crate) fn new(written: Epoch, now: Epoch) -> Self {
        if written == now { Self::Tail } else { Self::Everything }
    }
}

/// Open journal, with the position of the next record.
pub(crate) struct Journal<H> {
    file: H,
    head: Head,
    /// Offset of the next record in the file.
    offset: u64,
    /// Sequence number of the next record.
    sequence: u64,
}

impl<H> Journal<H> {
    /// Writes a new journal to the empty `file` and makes its content durable. The caller must make the name of the
    /// file durable. The first record will get the sequence number `first`.
    pub(crate) fn write_new<D: Disk<Handle = H>>(
        disk: &D,
        file: &H,
        epoch: Epoch,
        first: u64,
    ) -> io::Result<()> {
        zero(disk, file, 0, D::JOURNAL_STEP)?;
        for generation in [1, 2] {
            let capacity = D::JOURNAL_STEP;
            let head = Head { generation, capacity, first, epoch, format: FORMAT };
            head.write(disk, file)?;
        }
        disk.sync(file, Barrier::Birth)
    }

    /// Opens an existing journal and reads its head.
    pub(crate) fn open<D: Disk<Handle = H>>(disk: &D, file: H) -> Result<Self> {
        let head = Head::read(disk, &file)?;
        Ok(Self { file, head, offset: RECORDS, sequence: head.first })
    }

    pub(crate) fn file(&self) -> &H {
        &self.file
    }

    /// Returns the epoch in which the head of the journal was written.
    pub(crate) fn epoch(&self) -> Epoch {
        self.head.epoch
    }

    /// Returns true if the head was written by a program that only knows an older format.
    pub(crate) fn is_of_older_format(&self) -> bool {
        self.head.format < FORMAT
    }

    /// Returns the size in bytes of all records that are not forgotten.
    pub(crate) fn tail_bytes(&self) -> u64 {
        self.offset - RECORDS
    }

    /// Returns the sequence number of the first record that is not forgotten.
    pub(crate) fn first_sequence(&self) -> u64 {
        self.head.first
    }

    /// Returns the sequence number that the next record will get.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns true if another process has written to the journal since this handle last read it.
    pub(crate) fn is_stale<D: Disk<Handle = H>>(&self, disk: &D) -> Result<bool> {
        if Head::read(disk, &self.file)? != self.head {
            return Ok(true);
        }
        if self.offset.saturating_add(SECTOR as u64) > self.head.capacity {
            return Ok(false);
        }
        let mut sector = [0; SECTOR];
        let read = disk.read_at(&self.file, &mut sector, self.offset);
        if read.doing(|| "read the journal".to_owned())? < SECTOR {
            return Err(damaged(self.offset, "the file is truncated"));
        }
        Ok(look(&sector, self.sequence, 0) != Sight::Old)
    }

    /// Passes each record that is not forgotten to `each`, in order. Returns true if a torn record follows the last
    /// one.
    ///
    /// # Errors
    /// `Damaged` if the journal contains anything other than valid records, a torn record at the end, and old sectors.
    pub(crate) fn scan<D: Disk<Handle = H>>(
        &mut self,
        disk: &D,
        scan: Scan,
        mut each: impl FnMut(Located) -> Result<()>,
    ) -> Result<bool> {
        self.head = Head::read(disk, &self.file)?;
        let mut reader = Reader { disk, file: &self.file, start: 0, bytes: Vec::new() };
        let capacity = usize::try_from(self.head.capacity).unwrap_or(usize::MAX);
        let records = usize::try_from(RECORDS).unwrap_or(0);
        let room = capacity.saturating_sub(records);
        let (mut at, mut sequence) = (0usize, self.head.first);
        let (mut torn, mut unended) = (false, false);
        let mut bytes = Vec::new();
        while at + PAGE <= room {
            let first = reader.get(at, SECTOR, room)?;
            let length = match look(first, sequence, 0) {
                Sight::Expected(payload) => payload
                    .first_chunk::<8>()
                    .and_then(|bytes| usize::try_from(u64::from_le_bytes(*bytes)).ok())
                    .filter(|&length| length < room)
                    .map(framed_length)
                    .filter(|&length| length <= room - at)
                    .ok_or_else(|| damaged_at(at, "a record has an impossible length"))?,
                Sight::Old => break,
                Sight::Later(_) => return Err(damaged_at(at, "a record is out of order")),
                Sight::Damaged => return Err(damaged_at(at, "a sector has a wrong checksum")),
            };
            match unframe(reader.get(at, length, room)?, sequence, &mut bytes) {
                Framed::Whole(length) => {
                    let record = Record::decode(&bytes).map_err(|error| damaged_at(at, error.0))?;
                    unended = matches!(record, Record::Intent(_));
                    each(Located { sequence, record })?;
                    at += length;
                    sequence += 1;
                }
                Framed::Torn | Framed::Missing => {
                    torn = true;
                    break;
                }
                Framed::Damaged(within) => {
                    return Err(damaged_at(at + within, "a sector has a wrong checksum"));
                }
            }
        }
        if torn || scan == Scan::Everything || unended {
            let rest = reader.get(at, room - at, room)?;
            for (index, sector) in rest.chunks(SECTOR).enumerate() {
                let at = at + index * SECTOR;
                match look(sector, sequence, u32::try_from(index).unwrap_or(u32::MAX)) {
                    Sight::Old => {}
                    Sight::Expected(_) => torn = true,
                    Sight::Later(found) if found == sequence => torn = true,
                    Sight::Later(_) => {
                        return Err(damaged_at(at, "a record follows a missing one"));
                    }
                    Sight::Damaged => return Err(damaged_at(at, "a sector has a wrong checksum")),
                }
            }
        }
        self.offset = RECORDS + u64::try_from(at).unwrap_or(0);
        // The number of a torn record is not reused, because its sectors could be mistaken for those of the next
        // record.
        self.sequence = sequence + u64::from(torn);
        Ok(torn)
    }

    /// Rewrites the records that were just read, and makes them durable. They may exist only in memory, because the
    /// kernel can consider pages written even though syncing them failed. Without the rewrite, a later record could
    /// survive a power cut while these do not.
    pub(crate) fn rewrite_tail<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<()> {
        self.rewrite(disk, RECORDS)
    }

    /// Rewrites only the end record of the last run, for the same reason as [`Journal::rewrite_tail`].
    pub(crate) fn rewrite_end<D: Disk<Handle = H>>(&self, disk: &D) -> io::Result<()> {
        self.rewrite(disk, self.offset.saturating_sub(END_LENGTH).max(RECORDS))
    }

    fn rewrite<D: Disk<Handle = H>>(&self, disk: &D, from: u64) -> io::Result<()> {
        let mut at = from;
        while at < self.offset {
            let length = (self.offset - at).min(1 << 20);
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            let read = disk.read_at(&self.file, &mut bytes, at)?;
            disk.write_at(&self.file, bytes.get(..read).unwrap_or_default(), at)?;
            at += length;
        }
        disk.sync_data(&self.file, Barrier::Reread)
    }

    /// Returns true if a record of `length` bytes and an end record fit after the tail.
    pub(crate) fn has_room(&self, length: usize) -> bool {
        self.needed(length, self.offset) <= self.head.capacity
    }

    fn needed(&self, length: usize, offset: u64) -> u64 {
        let framed = u64::try_from(framed_length(length)).unwrap_or(u64::MAX);
        offset.saturating_add(framed).saturating_add(END_LENGTH)
    }

    /// Grows the file until a record of `length` bytes fits after the tail. The new space is durable before the head
    /// states the new size. The head becomes durable together with the record.
    pub(crate) fn grow<D: Disk<Handle = H>>(&mut self, disk: &D, length: usize) -> Result<()> {
        let needed = self.needed(length, self.offset);
        if needed > CAPACITY_MAX {
            return Err(ErrorKind::TooLarge { bytes: needed, max: CAPACITY_MAX }.into());
        }
        let capacity = needed.next_multiple_of(D::JOURNAL_STEP);
        let generation = self.head.generation + 1;
        let head = Head { generation, capacity, format: FORMAT, ..self.head };
        zero(disk, &self.file, self.head.capacity, capacity)
            .and_then(|()| disk.sync_data(&self.file, Barrier::Growth))
            .and_then(|()| head.write(disk, &self.file))
            .doing(|| format!("grow the journal to {capacity} bytes"))?;
        self.head = head;
        Ok(())
    }

    /// Appends a record and returns its sequence number. The record only becomes durable with [`Journal::sync`].
    pub(crate) fn append<D: Disk<Handle = H>>(
        &mut self,
        disk: &D,
        pieces: &[&[u8]],
    ) -> io::Result<u64> {
        let framed = frame(self.sequence, pieces);
        disk.write_at(&self.file, &framed, self.offset)?;
        self.offset += u64::try_from(framed.len()).unwrap_or(0);
        self.sequence += 1;
        Ok(self.sequence - 1)
    }

    /// Makes all appended records durable.
    pub(crate) fn sync<D: Disk<Handle = H>>(&self, disk: &D, barrier: Barrier) -> io::Result<()> {
        disk.sync_data(&self.file, barrier)
    }

    /// Forgets all records, so that their space can be reused.
    pub(crate) fn forget<D: Disk<Handle = H>>(&mut self, disk: &D, epoch: Epoch) -> io::Result<()> {
        let (generation, first) = (self.head.generation + 1, self.sequence);
        let head = Head { generation, first, epoch, format: FORMAT, ..self.head };
        head.write(disk, &self.file)?;
        disk.sync_data(&self.file, Barrier::Forget)?;
        self.head = head;
        self.offset = RECORDS;
        Ok(())
    }
}

fn damaged(offset: u64, what: &'static str) -> crate::error::Error {
    ErrorKind::Damaged { offset, what }.into()
}

fn damaged_at(at: usize, what: &'static str) -> crate::error::Error {
    damaged(RECORDS.saturating_add(u64::try_from(at).unwrap_or(u64::MAX)), what)
}

fn zero<D: Disk>(disk: &D, file: &D::Handle, from: u64, to: u64) -> io::Result<()> {
    let zeros = vec![0u8; 1 << 20];
    let mut at = from;
    while at < to {
        let length = usize::try_from(to - at).unwrap_or(usize::MAX).min(zeros.len());
        disk.write_at(file, zeros.get(..length).unwrap_or_default(), at)?;
        at += u64::try_from(length).unwrap_or(u64::MAX);
    }
    Ok(())
}

/// Reads the records from front to back, and buffers little more than the current one.
struct Reader<'a, D: Disk> {
    disk: &'a D,
    file: &'a D::Handle,
    /// Offset of the first buffered byte, relative to the first record.
    start: usize,
    bytes: Vec<u8>,
}

impl<D: Disk> Reader<'_, D> {
    /// Returns `length` bytes from the offset `at`. Later calls must not request bytes before `at`.
    fn get(&mut self, at: usize, length: usize, room: usize) -> Result<&[u8]> {
        const STEP: usize = 64 << 10;
        let behind = at.saturating_sub(self.start).min(self.bytes.len());
        if behind >= STEP {
            self.bytes.drain(..behind);
            self.start = self.start.saturating_add(behind);
        }
        let end = at.saturating_add(length);
        let have = self.start.saturating_add(self.bytes.len());
        if have < end {
            let want = end.next_multiple_of(STEP).min(room.max(end));
            let held = self.bytes.len();
            self.bytes.resize(want.saturating_sub(self.start), 0);
            let offset = RECORDS.saturating_add(u64::try_from(have).unwrap_or(u64::MAX));
            let rest = self.bytes.get_mut(held..).unwrap_or_default();
            let wanted = rest.len();
            let read = self.disk.read_at(self.file, rest, offset);
            if read.doing(|| "read the journal".to_owned())? < wanted {
                return Err(damaged_at(have, "the file is truncated"));
            }
        }
        let from = at.saturating_sub(self.start);
        Ok(self.bytes.get(from..from.saturating_add(length)).unwrap_or_default())
    }
}

impl Head {
    fn write<D: Disk>(&self, disk: &D, file: &D::Handle) -> io::Result<()> {
        let mut e = Encoder::default();
        e.array(&MAGIC);
        e.u32(self.format);
        e.u64(self.capacity);
        e.u64(self.first);
        e.array(&self.epoch.0);
        let framed = frame(self.generation, &[&e.finish()]);
        disk.write_at(file, &framed, (self.generation % 2) * PAGE as u64)
    }

    fn read<D: Disk>(disk: &D, file: &D::Handle) -> Result<Self> {
        let mut heads = [0; 2 * PAGE];
        let read = disk.read_at(file, &mut heads, 0);
        if read.doing(|| "read the journal's head".to_owned())? < heads.len() {
            return Err(damaged(0, "the file is truncated"));
        }
        let (copies, _) = heads.as_chunks::<PAGE>();
        let mut newest: Option<Self> = None;
        for (index, copy) in copies.iter().enumerate() {
            let offset = u64::try_from(index * PAGE).unwrap_or(0);
            let head = Self::decode(copy, offset)?;
            if newest.is_none_or(|newest| newest.generation < head.generation) {
                newest = Some(head);
            }
        }
        let head = newest.ok_or_else(|| damaged(0, "the head is missing"))?;
        let size = disk.stat(file).doing(|| "check the size of the journal".to_owned())?.size;
        if size < head.capacity {
            return Err(damaged(size, "the file is truncated"));
        }
        Ok(head)
    }

    fn decode(copy: &[u8; PAGE], offset: u64) -> Result<Self> {
        let wrong = || damaged(offset, "a sector of the head has a wrong checksum");
        let [_, _, _, _, _, _, _, _, g0, g1, g2, g3, g4, g5, g6, g7, ..] = *copy;
        let generation = u64::from_le_bytes([g0, g1, g2, g3, g4, g5, g6, g7]);
        let mut payload = None;
        for (index, sector) in copy.chunks(SECTOR).enumerate() {
            match look(sector, generation, u32::try_from(index).unwrap_or(u32::MAX)) {
                Sight::Expected(bytes) if index == 0 => payload = Some(bytes),
                Sight::Expected(_) | Sight::Old if index > 0 => {}
                Sight::Expected(_) | Sight::Old | Sight::Later(_) | Sight::Damaged => {
                    return Err(wrong());
                }
            }
        }
        let mut d = Decoder::new(payload.ok_or_else(wrong)?);
        let mut read = || {
            d.take(8, "the head")?;
            let magic = d.array("the head")?;
            let format = d.u32("the head")?;
            let capacity = d.u64("the head")?;
            let first = d.u64("the head")?;
            let epoch = Epoch(d.array("the head")?);
            Ok((magic, Self { generation, capacity, first, epoch, format }))
        };
        let (magic, head) =
            read().map_err(|e: crate::journal::codec::DecodeError| damaged(offset, e.0))?;
        if magic != MAGIC {
            return Err(damaged(offset, "it is not an actum journal"));
        }
        if head.format > FORMAT {
            return Err(ErrorKind::NewerFormat { found: head.format, known: FORMAT }.into());
        }
        if head.capacity < RECORDS
            || head.capacity > CAPACITY_MAX
            || head.capacity % PAGE as u64 != 0
        {
            return Err(damaged(offset, "the head states an impossible size"));
        }
        Ok(head)
    }
}
