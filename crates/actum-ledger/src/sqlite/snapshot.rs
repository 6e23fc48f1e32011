//! Snapshot of a ledger in an SQLite database, read through a separate connection.

use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::fault::fault;
use super::link::{Link, Linked};
use super::packed::Unpacker;
use super::{check, reading};
use crate::error::LedgerError;
use crate::finding::Finding;
use crate::snapshot::{
    Field, KeptDocument, OpenSnapshot, Projection, Snapshot, StoredBytes, StoredDocument,
    StoredEntry,
};

/// Snapshot that shows a ledger as it was when the snapshot was opened.
#[derive(Debug)]
pub struct SqliteSnapshot {
    link: Link,
    directory: PathBuf,
}

/// Opens a snapshot of the current state of the ledger in `directory`. Returns `None` if there is no ledger.
pub(crate) fn open(directory: &Path) -> Result<Option<SqliteSnapshot>, LedgerError> {
    let directory = directory.to_owned();
    Ok(reading::open(&directory)?.map(|link| SqliteSnapshot { link, directory }))
}

/// Returns a function that opens snapshots of the ledger in `directory`. The function fails if the ledger is missing.
pub(super) fn opener(directory: PathBuf) -> OpenSnapshot {
    let gone =
        || LedgerError::Damaged { message: "it was removed while it was being read".to_owned() };
    Arc::new(move || {
        let snapshot = open(&directory)?.ok_or_else(gone)?;
        Ok(Box::new(snapshot) as Box<dyn Snapshot>)
    })
}

impl Linked for SqliteSnapshot {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl Snapshot for SqliteSnapshot {
    fn opener(&self) -> OpenSnapshot {
        opener(self.directory.clone())
    }

    fn count_entries(&self) -> Result<u64, LedgerError> {
        self.link.count_entries()
    }

    fn scan_entries(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(StoredEntry<'_>),
    ) -> Result<(), LedgerError> {
        let mut scan = || {
            let sql = "SELECT seq, kind, time, run, workspace, request, attempt, status, nodes, \
                       body FROM entry WHERE seq >= ? AND seq < ? ORDER BY seq";
            let mut statement = self.link.connection.prepare_cached(sql)?;
            let mut rows = statement.query([range.start, range.end])?;
            let mut unpacker = Unpacker::default();
            while let Some(row) = rows.next()? {
                visit(entry(row, &mut unpacker)?);
            }
            Ok(())
        };
        scan().map_err(|error| fault("read", &self.link.path, error))
    }

    fn scan_documents(
        &self,
        numbers: RangeInclusive<i64>,
        visit: &mut dyn FnMut(StoredDocument<'_>),
    ) -> Result<(), LedgerError> {
        let mut scan = || {
            let sql = "SELECT number, digest, bytes FROM blob WHERE number >= ? AND number <= ? \
                       ORDER BY number";
            let mut statement = self.link.connection.prepare_cached(sql)?;
            let mut rows = statement.query([*numbers.start(), *numbers.end()])?;
            let mut unpacker = Unpacker::default();
            while let Some(row) = rows.next()? {
                let name = row.get_ref(1)?.as_blob().unwrap_or_default();
                let bytes = stored_bytes(row, 2, &mut unpacker)?;
                visit(StoredDocument { number: row.get(0)?, name, bytes });
            }
            Ok(())
        };
        scan().map_err(|error| fault("read", &self.link.path, error))
    }

    fn check_structure(&self) -> Result<Vec<Finding>, LedgerError> {
        check::structure(&self.link)
    }

    fn check_projection(&self, expected: &Projection<'_>) -> Result<Vec<Finding>, LedgerError> {
        let mut findings = check::runs::check(&self.link, expected.runs)?;
        findings.extend(check::plans::check(&self.link, expected.plans)?);
        findings.extend(check::leases::check(&self.link, expected.leases)?);
        findings.extend(check::file_tasks::check(&self.link, expected.file_tasks)?);
        findings.extend(check::agent::check(&self.link, expected.agent)?);
        findings.extend(check::kinds::check(&self.link, expected.indexed)?);
        Ok(findings)
    }

    fn check_document_index(&self, kept: &[KeptDocument]) -> Result<Vec<Finding>, LedgerError> {
        check::documents::check(&self.link, kept)
    }
}

/// Reads a stored entry from the columns `seq, kind, time, run, workspace, request, attempt, status, nodes, body`.
fn entry<'r>(
    row: &'r Row<'_>,
    unpacker: &'r mut Unpacker,
) -> Result<StoredEntry<'r>, rusqlite::Error> {
    let field = |column| {
        Ok::<_, rusqlite::Error>(match row.get_ref(column)? {
            ValueRef::Null => Field::Missing,
            ValueRef::Integer(number) => Field::Integer(number),
            ValueRef::Text(text) => Field::Text(text),
            ValueRef::Real(_) | ValueRef::Blob(_) => Field::Other,
        })
    };
    Ok(StoredEntry {
        index: row.get(0)?,
        kind: row.get_ref(1)?.as_str().ok(),
        fields: [field(2)?, field(3)?, field(4)?, field(5)?, field(6)?, field(7)?],
        nodes: row.get_ref(8)?.as_blob().ok(),
        body: stored_bytes(row, 9, unpacker)?,
    })
}

fn stored_bytes<'r>(
    row: &'r Row<'_>,
    column: usize,
    unpacker: &'r mut Unpacker,
) -> Result<StoredBytes<'r>, rusqlite::Error> {
    let Ok(stored) = row.get_ref(column)?.as_blob() else { return Ok(StoredBytes::Missing) };
    Ok(match unpacker.unpack(stored) {
        Ok(bytes) => StoredBytes::Whole(bytes),
        Err(error) => StoredBytes::Unreadable(error.to_string()),
    })
}
