//! Documents beside their names, and beside the entries that name them.

use actum_core::{Digest, Messages};

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::sqlite::link::Link;
use crate::sqlite::{Unpacker, fault};

/// How many one thread reads at a stretch.
const STRETCH: i64 = 512;

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
        let mut unpacker = Unpacker::default();
        let mut read = || {
            let sql = "SELECT number, digest, bytes FROM blob WHERE number >= ? AND number <= ? \
                       ORDER BY number";
            let mut statement = link.connection.prepare_cached(sql)?;
            let mut found = statement.query([from, to])?;
            while let Some(row) = found.next()? {
                let name = Name::of(row.get_ref(1)?.as_blob().unwrap_or_default());
                let stored = row.get_ref(2)?.as_blob().ok();
                let bytes = stored.and_then(|stored| unpacker.unpack(stored).ok());
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
        let failed = |error| fault("read", &link.path, error);
        // SQLite tells of a damaged page once for each connection, so no error may be passed over here.
        if !self.is_index_whole(link).map_err(failed)? {
            self.ask_index(link, fold).map_err(failed)?;
        }
        fold.tell_missing_documents();
        Ok(self.count)
    }

    /// Whether the index has each document once and nothing else, in its order. What is sought in it
    /// is found then, and need not be asked for one by one.
    fn is_index_whole(&self, link: &Link) -> rusqlite::Result<bool> {
        let sql = "SELECT digest, number FROM blob INDEXED BY sqlite_autoindex_blob_1 \
                   ORDER BY digest";
        let mut index = link.connection.prepare_cached(sql)?;
        let mut rows = index.query(())?;
        let mut left = self.names.len();
        let mut last: Option<&[u8]> = None;
        while let Some(row) = rows.next()? {
            let (name, number) = (row.get_ref(0)?.as_blob().ok(), row.get::<_, i64>(1)?);
            // Where no number is missing, each is its place among them.
            let kept = usize::try_from(number).ok().and_then(|place| self.names.get(place));
            let kept = kept.filter(|(kept, _)| *kept == number).map(|(_, kept)| kept.as_bytes());
            if name.is_none() || kept != name || last >= kept || left == 0 {
                return Ok(false);
            }
            left -= 1;
            last = kept;
        }
        Ok(left == 0)
    }

    /// Asks for each document, and counts what there is to be found.
    fn ask_index(&self, link: &Link, fold: &mut Fold) -> rusqlite::Result<()> {
        let mut find =
            link.connection.prepare_cached("SELECT number FROM blob WHERE digest = ?")?;
        for (number, name) in &self.names {
            let mut found = find.query([name.as_bytes()])?;
            let is_found = match found.next()? {
                Some(found) => found.get::<_, i64>(0)? == *number,
                None => false,
            };
            if !is_found {
                let message = format!("what finds document {number} leads elsewhere");
                fold.tell(Subject::Database, message);
            }
        }
        let sql = "SELECT digest FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
        let mut index = link.connection.prepare_cached(sql)?;
        let mut rows = index.query(())?;
        let mut indexed = 0u64;
        while rows.next()?.is_some() {
            indexed = indexed.saturating_add(1);
        }
        let count = self.count;
        if indexed != count {
            let message = format!("what finds documents finds {indexed}, and there are {count}");
            fold.tell(Subject::Database, message);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_there_can_be_is_in_one_stretch() {
        for expected in [0, 1, 511, 512, 513, 1024, 1025, 5000] {
            let (whole, rest) = stretches(expected);
            assert_eq!(whole.len(), expected.saturating_sub(1) / 512, "{expected}");
            let all: Vec<Stretch> = whole.into_iter().chain([rest]).collect();
            assert!(all.windows(2).all(|two| two[0].1.checked_add(1) == Some(two[1].0)), "{all:?}");
            let ends = (all.first().map(|first| first.0), all.last().map(|last| last.1));
            assert_eq!(ends, (Some(i64::MIN), Some(i64::MAX)));
        }
    }
}
