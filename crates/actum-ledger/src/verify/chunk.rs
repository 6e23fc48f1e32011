//! Chunk of the log that one thread reads: each entry by itself, and the hashes of the subtrees
//! that lie within.

use std::ops::Range;

use actum_core::{Digest, Messages};
use actum_record::ledger::{EntryFacts, EntryKind};
use actum_record::merkle::{Frontier, gather_leaf, parents};

use super::{Finding, Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{Snapshot, StoredBytes, StoredEntry};

/// A chunk is a complete subtree of this level, except the last one.
const LEVEL: u32 = 10;
const HASH_BYTES: usize = 32;

/// Findings in a chunk, with the facts of its entries.
pub(super) struct Chunk {
    /// The index of its first entry.
    pub(super) start: u64,
    /// Facts of its entries; `None` for an entry that is missing or unreadable.
    pub(super) facts: Vec<Option<EntryFacts>>,
    /// Hashes of its entries; zeros for a missing entry.
    pub(super) leaves: Vec<Digest>,
    pub(super) findings: Vec<Finding>,
    /// Its subtree, if it is complete and no entry is missing.
    root: Option<Digest>,
    /// The hashes that its last entry has besides those of subtrees within.
    above: Vec<u8>,
}

/// The subtrees above the chunks.
#[derive(Default)]
pub(super) struct Upper {
    frontier: Frontier,
    /// A chunk had no root, so nothing above is known.
    is_lost: bool,
}

/// Returns the index of the first entry of each chunk of a log of this size.
pub(super) fn chunks(size: u64) -> impl Iterator<Item = u64> {
    (0..size.div_ceil(1 << LEVEL)).map(|chunk| chunk << LEVEL)
}

impl Upper {
    /// Adds the next chunk.
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
            let message = "the hashes kept with it are not those of the entries before it";
            fold.tell(Subject::Entry(last), message.to_owned());
        }
    }
}

/// Reads a chunk: each entry as its row goes by, and then the hashes of all that were read, which are
/// faster to compute together.
struct Reading {
    chunk: Chunk,
    /// Entries that are not hashed yet.
    waiting: Messages,
    /// Hashes kept with each entry, one entry after another, and the end of each entry's hashes.
    kept: Vec<u8>,
    kept_ends: Vec<usize>,
    /// Number of entries before the first that is missing or misplaced, if there is one.
    whole: Option<usize>,
    /// Findings, each with its row or gap, and whether it was read there (and not computed
    /// afterwards).
    found: Vec<((usize, bool), Finding)>,
    /// Rows and gaps so far.
    steps: usize,
}

impl Chunk {
    /// Reads the chunk that begins at `start`, of a log of `size` entries.
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
                self.miss(index, "it is missing");
                index += 1;
            }
            if entry.index == index {
                self.take(&entry);
                index += 1;
            } else {
                self.interrupt();
                self.tell(entry.index, "it is not in its place");
                self.steps += 1;
            }
        })?;
        while index < range.end {
            self.miss(index, "it is missing");
            index += 1;
        }
        Ok(())
    }

    fn tell(&mut self, index: u64, message: impl Into<String>) {
        let finding = Finding { subject: Subject::Entry(index), message: message.into() };
        self.found.push(((self.steps, true), finding));
    }

    /// Records that nothing is known about the subtrees from here on.
    fn interrupt(&mut self) {
        self.whole = self.whole.or(Some(self.chunk.facts.len()));
    }

    fn miss(&mut self, index: u64, message: impl Into<String>) {
        self.interrupt();
        self.tell(index, message);
        self.waiting.digests(&mut self.chunk.leaves);
        self.chunk.leaves.push(Digest::from_bytes([0; HASH_BYTES]));
        self.chunk.facts.push(None);
        self.steps += 1;
    }

    /// Reads one entry.
    fn take(&mut self, entry: &StoredEntry<'_>) {
        let index = entry.index;
        let (nodes, body) = match (entry.nodes, &entry.body) {
            (Some(nodes), StoredBytes::Whole(body)) => (nodes, *body),
            (Some(_), StoredBytes::Unreadable(error)) => {
                return self.miss(index, format!("its body cannot be read: {error}"));
            }
            (None, _) | (_, StoredBytes::Missing) => {
                return self.miss(index, "its hashes or its body are not there");
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
                self.tell(index, error.to_string());
                None
            }
            None => {
                self.tell(index, "it is of no kind that there is");
                None
            }
        };
        if let Some(facts) = &facts {
            let stored = StoredEntry::FIELDS.into_iter().zip(entry.fields);
            for ((name, stored), expected) in stored.zip(StoredEntry::fields_of(facts)) {
                if stored != expected {
                    let message = format!("its column `{name}` is not what its body says");
                    self.tell(index, message);
                }
            }
        }
        self.chunk.facts.push(facts);
        self.steps += 1;
    }

    /// Compares the hashes, now that all entries were read.
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
                let message = "the hashes kept with it are not those of its bytes".to_owned();
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

/// The hashes of all complete subtrees over these entries, the entries themselves first.
fn levels(leaves: &[Digest]) -> Vec<Vec<Digest>> {
    let above = |level: &Vec<Digest>| (level.len() > 1).then(|| parents(level));
    std::iter::successors(Some(leaves.to_vec()), above).collect()
}

/// The hashes of the subtrees that the entry at this place completes, itself first.
fn completed(levels: &[Vec<Digest>], place: usize) -> impl Iterator<Item = &Digest> {
    let count = usize::try_from(place.trailing_ones()).unwrap_or(0).saturating_add(1);
    levels
        .iter()
        .enumerate()
        .take(count)
        .filter_map(move |(height, level)| level.get(place >> height))
}
