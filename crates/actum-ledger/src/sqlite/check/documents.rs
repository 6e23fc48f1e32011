//! Verification of the database index that finds documents by their digest.

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::snapshot::KeptDocument;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;

/// Compares the index with the stored documents in `kept`.
pub(in crate::sqlite) fn check(
    link: &Link,
    kept: &[KeptDocument],
) -> Result<Vec<Finding>, LedgerError> {
    let failed = |error| fault("read", &link.path, error);
    // Do not ignore errors here, because SQLite reports a damaged page only once for each connection.
    match is_whole(link, kept).map_err(failed)? {
        true => Ok(Vec::new()),
        false => ask_one_by_one(link, kept).map_err(failed),
    }
}

/// Returns whether the index contains each document exactly once, in sorted order, and nothing else. Every lookup in such an
/// index succeeds, so the lookups do not have to be tested individually.
fn is_whole(link: &Link, kept: &[KeptDocument]) -> rusqlite::Result<bool> {
    let sql = "SELECT digest, number FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
    let mut index = link.connection.prepare_cached(sql)?;
    let mut rows = index.query(())?;
    let mut left = kept.len();
    let mut last: Option<&[u8]> = None;
    while let Some(row) = rows.next()? {
        let (name, number) = (row.get_ref(0)?.as_blob().ok(), row.get::<_, i64>(1)?);
        // As long as no document is missing, the number of a document is its position in `kept`.
        let document = usize::try_from(number).ok().and_then(|place| kept.get(place));
        let document = document.filter(|document| document.number == number);
        let expected = document.map(|document| document.name.as_bytes());
        if name.is_none() || expected != name || last >= expected || left == 0 {
            return Ok(false);
        }
        left -= 1;
        last = expected;
    }
    Ok(left == 0)
}

/// Looks up each document in the index, counts the rows of the index, and returns the differences.
fn ask_one_by_one(link: &Link, kept: &[KeptDocument]) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut report = |message| findings.push(Finding { subject: Subject::Database, message });
    let mut find = link.connection.prepare_cached("SELECT number FROM blob WHERE digest = ?")?;
    for KeptDocument { number, name } in kept {
        let mut found = find.query([name.as_bytes()])?;
        let is_found = match found.next()? {
            Some(found) => found.get::<_, i64>(0)? == *number,
            None => false,
        };
        if !is_found {
            report(format!("the index does not find document {number}"));
        }
    }
    let sql = "SELECT digest FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
    let mut index = link.connection.prepare_cached(sql)?;
    let mut rows = index.query(())?;
    let mut indexed = 0u64;
    while rows.next()?.is_some() {
        indexed = indexed.saturating_add(1);
    }
    // Expect as many rows as the last number implies, so that a missing document is reported here, too.
    let last = kept.last().map(|document| document.number.cast_unsigned());
    let count = last.map_or(0, |last| last.saturating_add(1));
    if indexed != count {
        report(format!("the index contains {indexed} documents instead of {count}"));
    }
    Ok(findings)
}
