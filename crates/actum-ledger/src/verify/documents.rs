//! Documents beside their names, and beside the entries that name them.

use actum_core::{Digest, Messages};

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{DocumentName, KeptDocument, Snapshot, StoredBytes};

/// Number of documents that one thread reads at a stretch.
const STRETCH: i64 = 512;

/// Numbers of documents, the last one included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch(i64, i64);

/// A row, and the digest of its bytes.
struct Row {
    kept: KeptDocument,
    /// `None` if it has no bytes.
    digest: Option<Digest>,
}

/// The rows of a stretch.
pub(super) struct Rows(Vec<Row>);

/// Documents read so far.
#[derive(Default)]
pub(super) struct Documents {
    /// Number of documents, if none is missing.
    count: u64,
    /// Each of them.
    kept: Vec<KeptDocument>,
}

/// Divides all possible numbers, for `expected` documents. Behind the last stretch others may be
/// added at any time, so only the connection that knows how many there were can read that one.
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

impl Rows {
    pub(super) fn read(
        log: &dyn Snapshot,
        Stretch(from, to): Stretch,
    ) -> Result<Self, LedgerError> {
        let mut rows = Vec::new();
        let mut digests = Vec::new();
        let mut waiting = Messages::default();
        log.scan_documents(from..=to, &mut |document| {
            let name = DocumentName::from_bytes(document.name);
            let bytes = match document.bytes {
                StoredBytes::Whole(bytes) => Some(bytes),
                StoredBytes::Missing | StoredBytes::Unreadable(_) => None,
            };
            waiting.push(&[bytes.unwrap_or_default()]);
            if waiting.are_enough() {
                waiting.digests(&mut digests);
            }
            rows.push((KeptDocument { number: document.number, name }, bytes.is_some()));
        })?;
        waiting.digests(&mut digests);
        let rows = rows
            .into_iter()
            .zip(digests)
            .map(|((kept, has_bytes), digest)| Row { kept, digest: has_bytes.then_some(digest) });
        Ok(Self(rows.collect()))
    }
}

impl Documents {
    /// Checks the next rows.
    pub(super) fn take(&mut self, fold: &mut Fold, rows: Rows) {
        for Row { kept, digest } in rows.0 {
            let number = kept.number;
            match (&kept.name, digest) {
                (DocumentName::Digest(name), Some(digest)) if *name != digest => {
                    let message =
                        format!("its bytes are not those of that name; they are {digest}");
                    fold.tell(Subject::Document(*name), message);
                }
                (DocumentName::Digest(_), Some(digest)) => {
                    if !fold.named().remove(&digest) {
                        let message = "no entry names it, or it is there twice".to_owned();
                        fold.tell(Subject::Document(digest), message);
                    }
                }
                (DocumentName::Other(_), _) | (_, None) => {
                    fold.tell(Subject::Database, format!("document {number} is none"));
                }
            }
            if number.cast_unsigned() != self.count {
                fold.tell(Subject::Database, format!("document {} is missing", self.count));
            }
            self.count = number.cast_unsigned().saturating_add(1);
            self.kept.push(kept);
        }
    }

    /// Checks the index of documents, and looks for named documents that are missing. Returns the
    /// number of documents.
    pub(super) fn finish(self, log: &dyn Snapshot, fold: &mut Fold) -> Result<u64, LedgerError> {
        fold.found(log.check_document_index(&self.kept)?);
        fold.tell_missing_documents();
        Ok(self.count)
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
