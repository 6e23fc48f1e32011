//! Finds records in a damaged journal that are still valid.

use crate::disk::Disk;
use crate::error::{Result, ResultExt};
use crate::journal::record::{Intent, Record};
use crate::journal::sector::{Framed, PAGE, unframe};
use crate::journal::{CAPACITY_MAX, Head, RECORDS};

/// Returns the newest run of a damaged journal whose INTENT is readable, unless a valid record ends that run. Its files
/// may be in their old or their new state.
pub(crate) fn unfinished<D: Disk>(disk: &D, journal: &D::Handle) -> Result<Option<Intent>> {
    let doing = || "read the damaged journal".to_owned();
    let size = disk.stat(journal).doing(doing)?.size.min(CAPACITY_MAX);
    let bytes = crate::tree::read_whole(disk, journal, size).doing(doing)?;
    let records = usize::try_from(RECORDS).unwrap_or(0);
    // If the head is unreadable, only the sequence numbers distinguish forgotten records from others.
    let first = Head::read(disk, journal).map_or(0, |head| head.first);
    let mut newest: Option<(u64, Intent)> = None;
    let mut ended = Vec::new();
    let (mut at, mut payload) = (records, Vec::new());
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= PAGE) {
        let sequence = rest.get(8..16).and_then(|bytes| bytes.first_chunk::<8>());
        let sequence = sequence.map_or(0, |bytes| u64::from_le_bytes(*bytes));
        let length = match unframe(rest, sequence, &mut payload) {
            Framed::Whole(length) => length,
            Framed::Missing | Framed::Torn | Framed::Damaged(_) => {
                at += PAGE;
                continue;
            }
        };
        match Record::decode(&payload) {
            Ok(Record::Intent(intent))
                if sequence >= first
                    && newest.as_ref().is_none_or(|(newest, _)| *newest < sequence) =>
            {
                newest = Some((sequence, intent));
            }
            Ok(Record::End(end)) => ended.push(end.intent),
            // When a run is adopted, all earlier runs have ended.
            Ok(Record::Adopted(_)) if sequence >= first => {
                newest = newest.filter(|(newest, _)| *newest > sequence);
            }
            Ok(Record::Intent(_) | Record::Adopted(_)) | Err(_) => {}
        }
        at += length.max(PAGE);
    }
    Ok(newest.filter(|(sequence, _)| !ended.contains(sequence)).map(|(_, intent)| intent))
}
