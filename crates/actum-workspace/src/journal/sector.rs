//! Sectors of a record. Each has its own checksum, so that a torn write can be distinguished from damage.
//!
//! A sector has 512 bytes, the smallest unit that storage writes atomically. It contains a checksum (CRC-32C), its
//! index in the record, the sequence number of the record, and 496 bytes of the record. After a power cut during a
//! write, every sector has either its new or its old content. The old content is a sector of an earlier record, or
//! zeros. A sector with any other content was damaged.

/// Size of a sector in bytes.
pub(crate) const SECTOR: usize = 512;
/// Alignment of records in bytes, so that writing a record never rewrites a page of another one.
pub(crate) const PAGE: usize = 4096;
const HEAD: usize = 16;
const PAYLOAD: usize = SECTOR - HEAD;
const LENGTH: usize = 8;
const ZEROS: [u8; SECTOR] = [0; SECTOR];

/// Result of reading one sector, compared with the record that is expected there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sight<'a> {
    /// The sector has the expected record and index; this is its payload.
    Expected(&'a [u8]),
    /// The sector was never written, or belongs to an earlier record.
    Old,
    /// The sector is valid but not the expected one: it belongs to a later record, or to another index of the same
    /// record. Contains the sequence number that was found.
    Later(u64),
    /// The sector is damaged.
    Damaged,
}

/// Result of reading a record from its sectors.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Framed {
    /// The record is complete; its sectors take this number of bytes.
    Whole(usize),
    /// The first sector of the record is missing.
    Missing,
    /// Some sectors of the record are missing, because the write was cut off.
    Torn,
    /// A sector is damaged, at this offset in the buffer.
    Damaged(usize),
}

/// Returns the number of bytes that the sectors of a record of `length` bytes take.
pub(crate) fn framed_length(length: usize) -> usize {
    let sectors = (LENGTH + length).div_ceil(PAYLOAD);
    (sectors * SECTOR).next_multiple_of(PAGE)
}

/// Splits a record, given in `pieces`, into sectors.
pub(crate) fn frame(sequence: u64, pieces: &[&[u8]]) -> Vec<u8> {
    let length: usize = pieces.iter().map(|piece| piece.len()).sum();
    let total = framed_length(length);
    let mut framed: Vec<u8> = Vec::with_capacity(total);
    let prefix = u64::try_from(length).unwrap_or(u64::MAX).to_le_bytes();
    let mut pieces = std::iter::once(prefix.as_slice()).chain(pieces.iter().copied());
    let mut piece: &[u8] = &[];
    let mut index = 0u32;
    while framed.len() < total {
        let start = framed.len();
        framed.extend_from_slice(&[0; 4]);
        framed.extend_from_slice(&index.to_le_bytes());
        framed.extend_from_slice(&sequence.to_le_bytes());
        let end = start + SECTOR;
        while framed.len() < end {
            if piece.is_empty() {
                match pieces.next() {
                    Some(next) => piece = next,
                    None => framed.resize(end, 0),
                }
                continue;
            }
            let (now, rest) = piece.split_at(piece.len().min(end - framed.len()));
            framed.extend_from_slice(now);
            piece = rest;
        }
        let checksum = framed.get(start + 4..end).map_or(0, crc32c::crc32c).to_le_bytes();
        if let Some(place) = framed.get_mut(start..start + 4) {
            place.copy_from_slice(&checksum);
        }
        index = index.wrapping_add(1);
    }
    framed
}

/// Reads one sector and compares it with the expected sequence number and index.
pub(crate) fn look(sector: &[u8], sequence: u64, index: u32) -> Sight<'_> {
    let Some((head, payload)) = sector.split_first_chunk::<HEAD>() else {
        return Sight::Damaged;
    };
    if sector == ZEROS {
        return Sight::Old;
    }
    let [c0, c1, c2, c3, i0, i1, i2, i3, s @ ..] = *head;
    let checksum = sector.get(4..).map_or(0, crc32c::crc32c);
    if checksum != u32::from_le_bytes([c0, c1, c2, c3]) {
        return Sight::Damaged;
    }
    let (found_index, found) = (u32::from_le_bytes([i0, i1, i2, i3]), u64::from_le_bytes(s));
    if found < sequence {
        Sight::Old
    } else if found == sequence && found_index == index {
        Sight::Expected(payload)
    } else {
        Sight::Later(found)
    }
}

/// Reads the record `sequence` from the start of `framed` into the buffer `record`, which the caller can reuse for
/// other records.
pub(crate) fn unframe(framed: &[u8], sequence: u64, record: &mut Vec<u8>) -> Framed {
    let length = match framed.get(..SECTOR).map(|first| look(first, sequence, 0)) {
        Some(Sight::Expected(payload)) => match payload.first_chunk::<LENGTH>() {
            Some(length) => u64::from_le_bytes(*length),
            None => return Framed::Damaged(0),
        },
        Some(Sight::Old) | None => return Framed::Missing,
        Some(Sight::Later(_) | Sight::Damaged) => return Framed::Damaged(0),
    };
    let Some(total) = usize::try_from(length)
        .ok()
        .filter(|&length| length < framed.len())
        .map(framed_length)
        .filter(|&total| total <= framed.len())
    else {
        return Framed::Damaged(0);
    };
    record.clear();
    record.reserve(total);
    let mut torn = false;
    for (index, sector) in framed.get(..total).unwrap_or_default().chunks(SECTOR).enumerate() {
        match look(sector, sequence, u32::try_from(index).unwrap_or(u32::MAX)) {
            Sight::Expected(payload) => {
                let skipped = if index == 0 { LENGTH } else { 0 };
                record.extend_from_slice(payload.get(skipped..).unwrap_or_default());
            }
            Sight::Old => torn = true,
            Sight::Later(_) | Sight::Damaged => return Framed::Damaged(index * SECTOR),
        }
    }
    if torn {
        return Framed::Torn;
    }
    record.truncate(usize::try_from(length).unwrap_or(0));
    Framed::Whole(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(length: usize) -> Vec<u8> {
        (0u8..=255).cycle().take(length).collect()
    }

    fn read(framed: &[u8], sequence: u64) -> (Framed, Vec<u8>) {
        let mut record = Vec::new();
        (unframe(framed, sequence, &mut record), record)
    }

    #[test]
    fn framed_record_of_any_length_round_trips() {
        for length in [0, 1, 487, 488, 489, 3960, 3961, 20_000] {
            let record = record(length);
            let (start, end) = record.split_at(length / 3);
            let framed = frame(7, &[start, end]);
            assert_eq!(framed.len(), framed_length(length));
            assert_eq!(framed.len() % PAGE, 0);
            assert_eq!(read(&framed, 7), (Framed::Whole(framed.len()), record));
        }
    }

    #[test]
    fn flipped_bit_is_damage_and_never_a_torn_write() {
        let framed = frame(7, &[&record(3000)]);
        for bit in 0..framed.len() * 8 {
            let mut flipped = framed.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read(&flipped, 7).0, Framed::Damaged(_)), "bit {bit}");
        }
    }

    #[test]
    fn partial_write_is_torn_and_never_damage() {
        let new = frame(7, &[&record(3000)]);
        for before in [vec![0; new.len()], frame(6, &[&record(2500)])] {
            for kept in 0u32..256 {
                let mut disk = before.clone();
                for index in (0..8).filter(|index| kept & (1 << index) != 0) {
                    let sector = index * SECTOR..(index + 1) * SECTOR;
                    disk[sector.clone()].copy_from_slice(&new[sector]);
                }
                let expected = match kept {
                    255 => Framed::Whole(new.len()),
                    kept if kept & 1 == 0 => Framed::Missing,
                    _ => Framed::Torn,
                };
                let (found, bytes) = read(&disk, 7);
                assert!(kept != 255 || bytes == record(3000));
                assert_eq!(found, expected, "sectors {kept:08b}");
            }
        }
    }

    #[test]
    fn sector_of_a_later_record_is_detected() {
        let framed = frame(9, &[&record(10)]);
        assert_eq!(look(&framed[..SECTOR], 7, 0), Sight::Later(9));
        assert_eq!(read(&framed, 7).0, Framed::Damaged(0));
    }
}
