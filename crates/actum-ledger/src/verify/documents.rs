//! Verification of documents, which checks their digests and that entries refer to them.

use actum_core::{Digest, Messages};

use super::{Fold, Subject};
use crate::error::LedgerError;
use crate::snapshot::{DocumentName, KeptDocument, Snapshot, StoredBytes};

/// Number of documents that a thread reads in one query.
const STRETCH: i64 = 512;

/// Inclusive range of document numbers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch(i64, i64);

/// Stored document with the computed digest of its bytes.
struct Row {
    kept: KeptDocument,
    /// Computed digest of the document, or `None` if its bytes cannot be read.
    digest: Option<Digest>,
}

/// Documents that were read from a range of numbers.
pub(super) struct Rows(Vec<Row>);

/// State of the verification of documents.
#[derive(Default)]
pub(super) struct Documents {
    /// Number that the next document must have, which is the number of documents so far if none is missing.
    count: u64,
    /// Number and name of each document that was read.
    kept: Vec<KeptDocument>,
}

/// Divides all possible document numbers into ranges, if `expected` documents exist.
///
/// The last range is returned separately, because new documents can be added to it at any time. It must be read through the
/// snapshot that is being verified.
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
    /// Checks the documents in the next range of numbers.
    pub(super) fn take(&mut self, fold: &mut Fold, rows: Rows) {
        for Row { kept, digest } in rows.0 {
            let number = kept.number;
            match (&kept.name, digest) {
                (DocumentName::Digest(name), Some(digest)) if *name != digest => {
                    let message =
                        format!("the content of the document has the digest {digest} instead");
                    fold.add_finding(Subject::Document(*name), message);
                }
                (DocumentName::Digest(_), Some(digest)) => {
                    if !fold.named().remove(&digest) {
                        let message =
                            "no entry refers to the document, or it is stored twice".to_owned();
                        fold.add_finding(Subject::Document(digest), message);
                    }
                }
                (DocumentName::Other(_), _) | (_, None) => {
                    fold.add_finding(
                        Subject::Database,
                        format!("document {number} has no valid digest or no content"),
                    );
                }
            }
            if number.cast_unsigned() != self.count {
                fold.add_finding(Subject::Database, format!("document {} is missing", self.count));
            }
            self.count = number.cast_unsigned().saturating_add(1);
            self.kept.push(kept);
        }
    }

    /// Checks the index of documents, reports missing documents, and returns the number of documents.
    pub(super) fn finish(self, log: &dyn Snapshot, fold: &mut Fold) -> Result<u64, LedgerError> {
        fold.found(log.check_document_index(&self.kept)?);
        fold.report_missing_documents();
        Ok(self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_cover_every_number_exactly_once() {
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
