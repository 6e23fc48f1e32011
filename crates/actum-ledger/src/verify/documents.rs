//! Documents beside their names, and beside the entries that name them.

use actum_core::{Digest, Messages};

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::fault;
use crate::sqlite::link::Link;

/// How many one thread reads at a stretch.
const STRETCH: i64 = 4096;

/// Numbers of documents, the last one included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch(i64, i64);

/// A row, and what its bytes are.
struct Row {
    number: i64,
    name: Option<Digest>,
    /// Nothing where it has no bytes.
    digest: Option<Digest>,
}

/// The rows of a stretch.
pub(super) struct Rows(Vec<Row>);

/// What is known of the documents so far.
#[derive(Default)]
pub(super) struct Documents {
    /// How many there are, where none is missing.
    count: u64,
    /// Under which name each is kept.
    names: Vec<(i64, Option<Digest>)>,
}

/// Stretches that have every document in them that `link` has, whatever their numbers are. `expected`
/// of them are divided evenly.
pub(super) fn stretches(link: &Link, expected: usize) -> Result<Vec<Stretch>, LedgerError> {
    let ask = || {
        let sql = "SELECT min(number), max(number) FROM blob";
        link.connection.prepare_cached(sql)?.query_row((), |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let found: (Option<i64>, Option<i64>) =
        ask().map_err(|error| fault("read", &link.path, error))?;
    let (Some(first), Some(last)) = found else { return Ok(Vec::new()) };
    let expected = i64::try_from(expected).unwrap_or(i64::MAX).min(last);
    let mut stretches = Vec::new();
    let mut from = first;
    let mut to = STRETCH - 1;
    while to < expected {
        stretches.push(Stretch(from, to));
        from = to + 1;
        to = to.saturating_add(STRETCH);
    }
    stretches.push(Stretch(from, last));
    Ok(stretches)
}

impl Rows {
    pub(super) fn read(link: &Link, Stretch(from, to): Stretch) -> Result<Self, LedgerError> {
        let mut rows = Vec::new();
        let mut digests = Vec::new();
        let mut waiting = Messages::default();
        let mut read = || {
            let sql = "SELECT number, digest, bytes FROM blob WHERE number >= ? AND number <= ? \
                       ORDER BY number";
            let mut statement = link.connection.prepare_cached(sql)?;
            let mut found = statement.query([from, to])?;
            while let Some(row) = found.next()? {
                let name = row.get_ref(1)?.as_blob().ok().and_then(|name| name.try_into().ok());
                let bytes = row.get_ref(2)?.as_blob().ok();
                waiting.push(&[bytes.unwrap_or_default()]);
                if waiting.are_enough() {
                    waiting.digests(&mut digests);
                }
                rows.push((row.get(0)?, name.map(Digest::from_bytes), bytes.is_some()));
            }
            Ok(())
        };
        read().map_err(|error| fault("read", &link.path, error))?;
        waiting.digests(&mut digests);
        let rows = rows.into_iter().zip(digests).map(|((number, name, has_bytes), digest)| Row {
            number,
            name,
            digest: has_bytes.then_some(digest),
        });
        Ok(Self(rows.collect()))
    }
}

impl Documents {
    /// Looks at the next rows.
    pub(super) fn take(&mut self, fold: &mut Fold, rows: Rows) {
        for Row { number, name, digest } in rows.0 {
            match (name, digest) {
                (Some(name), Some(digest)) if name != digest => {
                    let message =
                        format!("its bytes are not those of that name; they are {digest}");
                    fold.tell(Subject::Document(name), message);
                }
                (Some(_), Some(digest)) => {
                    if !fold.named().remove(&digest) {
                        let message = "no entry names it, or it is there twice".to_owned();
                        fold.tell(Subject::Document(digest), message);
                    }
                }
                (None, _) | (_, None) => {
                    fold.tell(Subject::Database, format!("document {number} is none"));
                }
            }
            if number.cast_unsigned() != self.count {
                fold.tell(Subject::Database, format!("document {} is missing", self.count));
            }
            self.count = number.cast_unsigned().saturating_add(1);
            self.names.push((number, name));
        }
    }

    /// Looks at what finds them, and for those that were named and are not there. Gives how many
    /// there are.
    pub(super) fn finish(self, link: &Link, fold: &mut Fold) -> Result<u64, LedgerError> {
        let (is_found, indexed) =
            self.found(link).map_err(|error| fault("read", &link.path, error))?;
        for ((number, name), is_found) in self.names.iter().zip(is_found) {
            // What has no name was told before.
            if name.is_some() && !is_found {
                let message = format!("what finds document {number} leads elsewhere");
                fold.tell(Subject::Database, message);
            }
        }
        let count = self.count;
        if indexed != count {
            let message = format!("what finds documents finds {indexed}, and there are {count}");
            fold.tell(Subject::Database, message);
        }
        fold.tell_missing_documents();
        Ok(count)
    }

    /// Which of them the index finds, and how many rows it has. What is sought in it is found where
    /// all of it is in order, so it is read in its order and not asked for each.
    fn found(&self, link: &Link) -> rusqlite::Result<(Vec<bool>, u64)> {
        let sql = "SELECT digest, number FROM blob INDEXED BY sqlite_autoindex_blob_1 \
                   ORDER BY digest";
        let mut index = link.connection.prepare_cached(sql)?;
        let mut rows = index.query(())?;
        let mut is_found = vec![false; self.names.len()];
        let mut indexed = 0u64;
        let mut last: Option<Digest> = None;
        while let Some(row) = rows.next()? {
            indexed = indexed.saturating_add(1);
            let name = row.get_ref(0)?.as_blob().ok().and_then(|name| name.try_into().ok());
            let name = name.map(Digest::from_bytes);
            let number: i64 = row.get(1)?;
            let is_in_order = name.is_some_and(|name| last.is_none_or(|last| last < name));
            // Where no number is missing, the place among them is the number.
            let likely = usize::try_from(number).unwrap_or(usize::MAX);
            let place = match self.names.get(likely) {
                Some((found, _)) if *found == number => Some(likely),
                Some(_) | None => {
                    self.names.binary_search_by_key(&number, |(number, _)| *number).ok()
                }
            };
            let named = place.and_then(|place| self.names.get(place).zip(is_found.get_mut(place)));
            if let Some(((_, kept), is_found)) = named {
                *is_found |= is_in_order && *kept == name;
            }
            last = name.or(last);
        }
        Ok((is_found, indexed))
    }
}
