//! Documents beside their names, and beside the entries that name them.

use std::collections::HashMap;

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
    name: Name,
    /// Nothing where it has no bytes.
    digest: Option<Digest>,
}

/// Under which name a document is kept.
enum Name {
    Digest(Digest),
    /// Bytes that are no digest, or nothing.
    Other(Vec<u8>),
}

/// The rows of a stretch.
pub(super) struct Rows(Vec<Row>);

/// What is known of the documents so far.
#[derive(Default)]
pub(super) struct Documents {
    /// How many there are, where none is missing.
    count: u64,
    /// The number and the name of each.
    names: Vec<(i64, Name)>,
}

/// Divides all numbers there can be, where there should be `expected` documents. Behind the last
/// stretch others may be added at any time, so only the connection that knows how many there were
/// can read that one.
pub(super) fn stretches(expected: usize) -> (Vec<Stretch>, Stretch) {
    let expected = i64::try_from(expected).unwrap_or(i64::MAX);
    let mut from = i64::MIN;
    let mut whole = Vec::new();
    let mut next = STRETCH;
    while next < expected {
        whole.push(Stretch(from, next - 1));
        from = next;
        next = next.saturating_add(STRETCH);
    }
    (whole, Stretch(from, i64::MAX))
}

impl Name {
    fn of(bytes: &[u8]) -> Self {
        bytes
            .try_into()
            .map_or_else(|_| Self::Other(bytes.to_owned()), |b| Self::Digest(Digest::from_bytes(b)))
    }

    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Digest(digest) => digest.as_bytes(),
            Self::Other(bytes) => bytes,
        }
    }
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
                let name = Name::of(row.get_ref(1)?.as_blob().unwrap_or_default());
                let bytes = row.get_ref(2)?.as_blob().ok();
                waiting.push(&[bytes.unwrap_or_default()]);
                if waiting.are_enough() {
                    waiting.digests(&mut digests);
                }
                rows.push((row.get(0)?, name, bytes.is_some()));
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
            match (&name, digest) {
                (Name::Digest(name), Some(digest)) if *name != digest => {
                    let message =
                        format!("its bytes are not those of that name; they are {digest}");
                    fold.tell(Subject::Document(*name), message);
                }
                (Name::Digest(_), Some(digest)) => {
                    if !fold.named().remove(&digest) {
                        let message = "no entry names it, or it is there twice".to_owned();
                        fold.tell(Subject::Document(digest), message);
                    }
                }
                (Name::Other(_), _) | (_, None) => {
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
        for ((number, _), is_found) in self.names.iter().zip(is_found) {
            if !is_found {
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
        // Where no number is missing, each is its place among them.
        let is_whole = self.names.iter().zip(0..).all(|((number, _), place)| *number == place);
        let places: Option<HashMap<i64, usize>> = (!is_whole).then(|| {
            self.names.iter().enumerate().map(|(place, (number, _))| (*number, place)).collect()
        });
        let mut indexed = 0u64;
        let mut last: Option<Vec<u8>> = None;
        while let Some(row) = rows.next()? {
            indexed = indexed.saturating_add(1);
            let Ok(name) = row.get_ref(0)?.as_blob() else { continue };
            let number: i64 = row.get(1)?;
            let is_in_order = last.as_deref().is_none_or(|last| last < name);
            let place = match &places {
                Some(places) => places.get(&number).copied(),
                None => usize::try_from(number).ok(),
            };
            let named = place.and_then(|place| self.names.get(place).zip(is_found.get_mut(place)));
            if let Some(((_, kept), is_found)) = named {
                *is_found |= is_in_order && kept.as_bytes() == name;
            }
            let last = last.get_or_insert_default();
            last.clear();
            last.extend_from_slice(name);
        }
        Ok((is_found, indexed))
    }
}
