//! The index that finds documents by their names, beside the documents themselves.

use crate::error::LedgerError;
use crate::finding::{Finding, Subject};
use crate::snapshot::KeptDocument;
use crate::sqlite::fault::fault;
use crate::sqlite::link::Link;

/// Compares the index with the documents, `kept`.
pub(in crate::sqlite) fn check(
    link: &Link,
    kept: &[KeptDocument],
) -> Result<Vec<Finding>, LedgerError> {
    let failed = |error| fault("read", &link.path, error);
    // SQLite reports a damaged page once for each connection, so no error may be ignored here.
    match is_whole(link, kept).map_err(failed)? {
        true => Ok(Vec::new()),
        false => ask_one_by_one(link, kept).map_err(failed),
    }
}

/// Returns true if the index has each document once and nothing else, in its order. Then every
/// search in it succeeds, and none has to be tried.
fn is_whole(link: &Link, kept: &[KeptDocument]) -> rusqlite::Result<bool> {
    let sql = "SELECT digest, number FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
    let mut index = link.connection.prepare_cached(sql)?;
    let mut rows = index.query(())?;
    let mut left = kept.len();
    let mut last: Option<&[u8]> = None;
    while let Some(row) = rows.next()? {
        let (name, number) = (row.get_ref(0)?.as_blob().ok(), row.get::<_, i64>(1)?);
        // If no number is missing, each is the index of a document.
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

/// Looks up each document, and counts the entries of the index.
fn ask_one_by_one(link: &Link, kept: &[KeptDocument]) -> rusqlite::Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let mut tell = |message| findings.push(Finding { subject: Subject::Database, message });
    let mut find = link.connection.prepare_cached("SELECT number FROM blob WHERE digest = ?")?;
    for KeptDocument { number, name } in kept {
        let mut found = find.query([name.as_bytes()])?;
        let is_found = match found.next()? {
            Some(found) => found.get::<_, i64>(0)? == *number,
            None => false,
        };
        if !is_found {
            tell(format!("what finds document {number} leads elsewhere"));
        }
    }
    let sql = "SELECT digest FROM blob INDEXED BY sqlite_autoindex_blob_1 ORDER BY digest";
    let mut index = link.connection.prepare_cached(sql)?;
    let mut rows = index.query(())?;
    let mut indexed = 0u64;
    while rows.next()?.is_some() {
        indexed = indexed.saturating_add(1);
    }
    // As many as the last number says, so that a missing one is reported here too.
    let last = kept.last().map(|document| document.number.cast_unsigned());
    let count = last.map_or(0, |last| last.saturating_add(1));
    if indexed != count {
        tell(format!("what finds documents finds {indexed}, and there are {count}"));
    }
    Ok(findings)
}
