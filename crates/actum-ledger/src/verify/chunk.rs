//! A stretch of the log that one thread reads: each entry by itself, and the hashes of the subtrees
//! that lie within.

use actum_core::ledger::{EntryFacts, EntryKind};
use actum_core::merkle::{Frontier, leaf_hash};
use actum_core::{Digest, Status};
use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{Finding, Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::fault;
use crate::sqlite::link::Link;

/// A chunk is a complete subtree of this level, except the last one.
const LEVEL: u32 = 10;
const HASH_BYTES: usize = 32;

/// What was found in a chunk.
pub(super) struct Chunk {
    /// The index of its first entry.
    pub(super) start: u64,
    /// What its entries tell, and their hashes; nothing of one that is missing or tells nothing.
    pub(super) facts: Vec<Option<(EntryFacts, Digest)>>,
    pub(super) findings: Vec<Finding>,
    /// Its subtree, where it is complete and no entry is missing.
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

/// Where the chunks of a log of this size begin.
pub(super) fn chunks(size: u64) -> impl Iterator<Item = u64> {
    (0..size.div_ceil(1 << LEVEL)).map(|chunk| chunk << LEVEL)
}

impl Upper {
    /// Takes in the next chunk.
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

impl Chunk {
    /// Reads the chunk that begins at `start`, of a log of `size` entries.
    pub(super) fn read(link: &Link, start: u64, size: u64) -> Result<Self, LedgerError> {
        let end = size.min(start + (1 << LEVEL));
        let failed = |error| fault("read", &link.path, error);
        let mut chunk = Self {
            start,
            facts: Vec::with_capacity(1 << LEVEL),
            findings: Vec::new(),
            root: None,
            above: Vec::new(),
        };
        let mut frontier = Some(Frontier::default());
        let mut read = || {
            let sql = "SELECT seq, kind, time, run, workspace, request, attempt, status, nodes, body \
                       FROM entry WHERE seq >= ? AND seq < ? ORDER BY seq";
            let mut statement = link.connection.prepare_cached(sql)?;
            let mut rows = statement.query([start, end])?;
            let mut index = start;
            while let Some(row) = rows.next()? {
                let seq: u64 = row.get(0)?;
                while index < seq.min(end) {
                    frontier = None;
                    chunk.miss(index);
                    index += 1;
                }
                if seq != index {
                    frontier = None;
                    chunk.tell(seq, "it is not in its place");
                    continue;
                }
                chunk.take(row, index, &mut frontier)?;
                index += 1;
            }
            while index < end {
                frontier = None;
                chunk.miss(index);
                index += 1;
            }
            Ok(())
        };
        read().map_err(failed)?;
        chunk.root = frontier.filter(|edge| edge.size() == 1 << LEVEL).map(|edge| edge.root());
        Ok(chunk)
    }

    fn tell(&mut self, index: u64, message: impl Into<String>) {
        self.findings.push(Finding { subject: Subject::Entry(index), message: message.into() });
    }

    fn miss(&mut self, index: u64) {
        self.tell(index, "it is missing");
        self.facts.push(None);
    }

    /// Looks at one entry.
    fn take(
        &mut self,
        row: &Row<'_>,
        index: u64,
        frontier: &mut Option<Frontier>,
    ) -> rusqlite::Result<()> {
        let blob = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_blob().ok());
        let (Some(nodes), Some(body)) = (blob(8)?, blob(9)?) else {
            *frontier = None;
            self.tell(index, "its hashes or its body are not there");
            self.facts.push(None);
            return Ok(());
        };
        let leaf = leaf_hash(body);
        if let Some(frontier) = frontier {
            let mut rest = nodes;
            let mut is_same = true;
            frontier.push(leaf, |hash| match rest.split_first_chunk::<HASH_BYTES>() {
                Some((kept, behind)) => {
                    is_same &= kept == hash.as_bytes();
                    rest = behind;
                }
                None => is_same = false,
            });
            if frontier.size() == 1 << LEVEL {
                self.above = rest.to_vec();
            } else {
                is_same &= rest.is_empty();
            }
            if !is_same {
                self.tell(index, "the hashes kept with it are not those of its bytes");
            }
        }
        let kind = row.get_ref(1)?.as_str().ok().and_then(EntryKind::of_name);
        let facts = match kind.map(|kind| EntryFacts::of(kind, body)) {
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
            for (column, expected) in columns(facts) {
                if row.get_ref(column)? != expected {
                    let name = row.as_ref().column_name(column)?;
                    let message = format!("its column `{name}` is not what its body says");
                    self.tell(index, message);
                }
            }
        }
        self.facts.push(facts.map(|facts| (facts, leaf)));
        Ok(())
    }
}

/// What stands in the columns 2 to 7 of an entry.
fn columns(facts: &EntryFacts) -> [(usize, ValueRef<'_>); 6] {
    let number = |bits: Option<u64>| {
        bits.map_or(ValueRef::Null, |bits| ValueRef::Integer(bits.cast_signed()))
    };
    let (request, attempt) = facts.request.as_ref().map(|(key, n)| (key.as_str(), *n)).unzip();
    [
        (2, ValueRef::Integer(facts.time.micros())),
        (3, number(facts.run.map(actum_core::RunId::bits))),
        (4, number(facts.workspace.map(actum_core::ledger::WorkspaceId::bits))),
        (5, text(request)),
        (6, number(attempt.map(u64::from))),
        (7, text(facts.status.map(Status::as_str))),
    ]
}

fn text(text: Option<&str>) -> ValueRef<'_> {
    text.map_or(ValueRef::Null, |text| ValueRef::Text(text.as_bytes()))
}

/// Nothing stands before the first entry.
pub(super) fn check_beginning(link: &Link, fold: &mut Fold) -> Result<(), LedgerError> {
    let ask = || {
        let sql = "SELECT coalesce(min(seq), 0) FROM entry";
        link.connection.prepare_cached(sql)?.query_row((), |row| row.get::<_, i64>(0))
    };
    let first = ask().map_err(|error| fault("read", &link.path, error))?;
    if first < 0 {
        fold.tell(Subject::Log, format!("an entry stands before its beginning, at {first}"));
    }
    Ok(())
}
