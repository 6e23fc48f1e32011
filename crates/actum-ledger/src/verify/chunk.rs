//! Verification of a chunk of the log, which one thread reads. It covers the individual entries and the hashes of the
//! subtrees within the chunk.

use std::ops::Range;

use actum_core::{Digest, Messages};
use actum_record::ledger::{EntryFacts, EntryKind};
use actum_record::merkle::{Frontier, gather_leaf, parents};

use super::{Finding, Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{Snapshot, StoredBytes, StoredEntry};

/// Level of the Merkle subtree that a chunk consists of. Only the last chunk may be incomplete.
const LEVEL: u32 = 10;
const HASH_BYTES: usize = 32;

/// Result of reading a chunk, with the facts of its entries and the findings about them.
pub(super) struct Chunk {
    /// Index of the first entry of the chunk.
    pub(super) start: u64,
    /// Facts of the entries in the chunk, with `None` for each entry that is missing or unreadable.
    pub(super) facts: Vec<Option<EntryFacts>>,
    /// Hashes of the entries in the chunk, with zeros for each entry that is missing.
    pub(super) leaves: Vec<Digest>,
    pub(super) findings: Vec<Finding>,
    /// Root hash of the chunk's subtree, if the chunk is complete and no entry is missing.
    root: Option<Digest>,
    /// Hashes stored with the last entry for subtrees that are larger than the chunk.
    above: Vec<u8>,
}

/// Verification of the Merkle subtrees that consist of several chunks.
#[derive(Default)]
pub(super) struct Upper {
    frontier: Frontier,
    /// Whether a chunk had no root hash, so that the hashes of all larger subtrees are unknown.
    is_lost: bool,
}

/// Returns the index of the first entry of each chunk in a log with `size` entries.
pub(super) fn chunks(size: u64) -> impl Iterator<Item = u64> {
    (0..size.div_ceil(1 << LEVEL)).map(|chunk| chunk << LEVEL)
}

impl Upper {
    /// Checks the hashes that the last entry of the next chunk completes.
    pub(super) fn take(&mut self, fold: &mut Fold, chunk: &Chunk) {
        let is_complete = chunk.facts.len() == 1 << LEVEL;
        if !is_complete {
            return;
        }
        let (Some(root), false) = (chunk.root, self.is_lost) else {
            self.is_lost = true;
            return;
        };
        let mut expected = Vec::new();
        self.frontier.push(root, |hash| expected.extend_from_slice(hash.as_bytes()));
        if expected.get(HASH_BYTES..) != Some(&*chunk.above) {
            let last = chunk.start + (1 << LEVEL) - 1;
            let message = "the hashes stored with the entry do not match the previous entries";
            fold.add_finding(Subject::Entry(last), message.to_owned());
        }
    }
}

/// State while a chunk is being read. Entries are parsed one after another, but their hashes are computed in batches,
/// because this is faster.
struct Reading {
    chunk: Chunk,
    /// Bodies of the entries that have not been hashed yet.
    waiting: Messages,
    /// Concatenated hashes that are stored with the entries.
    kept: Vec<u8>,
    /// Position in `kept` at which the hashes of each entry end.
    kept_ends: Vec<usize>,
    /// Number of entries before the first missing or misplaced one, or `None` if all entries so far are in order.
    whole: Option<usize>,
    /// Findings with their sort key. The key consists of the number of the row or gap, and whether the finding was made
    /// while reading it instead of afterwards.
    found: Vec<((usize, bool), Finding)>,
    /// Number of rows and gaps so far.
    steps: usize,
}

impl Chunk {
    /// Reads and verifies the chunk that starts at index `start`, in a log with `size` entries.
    pub(super) fn read(log: &dyn Snapshot, start: u64, size: u64) -> Result<Self, LedgerError> {
        let mut reading = Reading {
            chunk: Self {
                start,
                facts: Vec::with_capacity(1 << LEVEL),
                leaves: Vec::with_capacity(1 << LEVEL),
                findings: Vec::new(),
                root: None,
                above: Vec::new(),
            },
            waiting: Messages::default(),
            kept: Vec::new(),
            kept_ends: Vec::with_capacity(1 << LEVEL),
            whole: None,
            found: Vec::new(),
            steps: 0,
        };
        let end = size.min(start + (1 << LEVEL));
        reading.scan(log, start..end)?;
        Ok(reading.finish())
    }
}

impl Reading {
    fn scan(&mut self, log: &dyn Snapshot, range: Range<u64>) -> Result<(), LedgerError> {
        let mut index = range.start;
        log.scan_entries(range.clone(), &mut |entry| {
            while index < entry.index.min(range.end) {
                self.miss(index, "the entry is missing");
                index += 1;
            }
            if entry.index == index {
                self.take(&entry);
                index += 1;
            } else {
                self.interrupt();
                self.add_finding(entry.index, "the entry is out of order");
                self.steps += 1;
            }
        })?;
        while index < range.end {
            self.miss(index, "the entry is missing");
            index += 1;
        }
        Ok(())
    }

    fn add_finding(&mut self, index: u64, message: impl Into<String>) {
        let finding = Finding { subject: Subject::Entry(index), message: message.into() };
        self.found.push(((self.steps, true), finding));
    }

    /// Records that the hashes of subtrees that end later cannot be checked.
    fn interrupt(&mut self) {
        self.whole = self.whole.or(Some(self.chunk.facts.len()));
    }

    fn miss(&mut self, index: u64, message: impl Into<String>) {
        self.interrupt();
        self.add_finding(index, message);
        self.waiting.digests(&mut self.chunk.leaves);
        self.chunk.leaves.push(Digest::from_bytes([0; HASH_BYTES]));
        self.chunk.facts.push(None);
        self.steps += 1;
    }

    /// Parses the next entry, and compares its stored fields with its body.
    fn take(&mut self, entry: &StoredEntry<'_>) {
        let index = entry.index;
        let (nodes, body) = match (entry.nodes, &entry.body) {
            (Some(nodes), StoredBytes::Whole(body)) => (nodes, *body),
            (Some(_), StoredBytes::Unreadable(error)) => {
                return self.miss(index, format!("the body of the entry cannot be read: {error}"));
            }
            (None, _) | (_, StoredBytes::Missing) => {
                return self.miss(index, "the hashes or the body of the entry are missing");
            }
        };
        gather_leaf(&mut self.waiting, body);
        if self.waiting.are_enough() {
            self.waiting.digests(&mut self.chunk.leaves);
        }
        if self.whole.is_none() {
            self.kept.extend_from_slice(nodes);
            self.kept_ends.push(self.kept.len());
        }
        let kind = entry.kind.and_then(EntryKind::of_name);
        let facts = match kind.map(|kind| EntryFacts::parse(kind, body)) {
            Some(Ok(facts)) => Some(facts),
            Some(Err(error)) => {
                self.add_finding(index, error.to_string());
                None
            }
            None => {
                self.add_finding(index, "the kind of the entry is unknown");
                None
            }
        };
        if let Some(facts) = &facts {
            let stored = StoredEntry::FIELDS.into_iter().zip(entry.fields);
            for ((name, stored), expected) in stored.zip(StoredEntry::fields_of(facts)) {
                if stored != expected {
                    let message =
                        format!("the column `{name}` does not match the body of the entry");
                    self.add_finding(index, message);
                }
            }
        }
        self.chunk.facts.push(facts);
        self.steps += 1;
    }

    /// Compares the stored hashes with the computed ones, after all entries of the chunk were read.
    fn finish(mut self) -> Chunk {
        self.waiting.digests(&mut self.chunk.leaves);
        let Self { mut chunk, kept, kept_ends, whole, mut found, .. } = self;
        let whole = chunk.leaves.get(..whole.unwrap_or(chunk.leaves.len())).unwrap_or_default();
        let levels = levels(whole);
        let mut kept = &*kept;
        let mut start = 0;
        for ((place, end), index) in kept_ends.into_iter().enumerate().zip(chunk.start..) {
            let (nodes, behind) = kept.split_at_checked(end - start).unwrap_or_default();
            (kept, start) = (behind, end);
            let mut rest = nodes;
            let mut is_same = true;
            for hash in completed(&levels, place) {
                match rest.split_first_chunk::<HASH_BYTES>() {
                    Some((first, behind)) => {
                        is_same &= first == hash.as_bytes();
                        rest = behind;
                    }
                    None => is_same = false,
                }
            }
            if place + 1 == 1 << LEVEL {
                chunk.above = rest.to_vec();
            } else {
                is_same &= rest.is_empty();
            }
            if !is_same {
                let message =
                    "the hashes stored with the entry do not match the entries".to_owned();
                let finding = Finding { subject: Subject::Entry(index), message };
                found.push(((place, false), finding));
            }
        }
        let is_complete = whole.len() == 1 << LEVEL;
        chunk.root = levels.last().and_then(|top| top.first()).filter(|_| is_complete).copied();
        found.sort_by_key(|(step, _)| *step);
        chunk.findings = found.into_iter().map(|(_, finding)| finding).collect();
        chunk
    }
}

/// Computes the hashes of all complete subtrees over the entries. The first level consists of the entries themselves.
fn levels(leaves: &[Digest]) -> Vec<Vec<Digest>> {
    let above = |level: &Vec<Digest>| (level.len() > 1).then(|| parents(level));
    std::iter::successors(Some(leaves.to_vec()), above).collect()
}

/// Returns the hashes of the subtrees that the entry at `place` completes, starting with its own hash.
fn completed(levels: &[Vec<Digest>], place: usize) -> impl Iterator<Item = &Digest> {
    let count = usize::try_from(place.trailing_ones()).unwrap_or(0).saturating_add(1);
    levels
        .iter()
        .enumerate()
        .take(count)
        .filter_map(move |(height, level)| level.get(place >> height))
}
