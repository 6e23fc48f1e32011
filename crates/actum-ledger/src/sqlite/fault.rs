//! Conversion of SQLite errors to ledger errors.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Error, ErrorCode};

use crate::error::LedgerError;
use crate::sqlite::LOCKED_SECONDS_MAX;

/// Converts the error of an operation that has not changed the database.
pub(crate) fn fault(action: &'static str, path: &Path, error: Error) -> LedgerError {
    let store = path.into();
    let message = || error.to_string();
    if let Error::FromSqlConversionFailure(_, _, source) = &error {
        return LedgerError::Damaged { message: source.to_string() };
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            LedgerError::Locked { store, seconds: LOCKED_SECONDS_MAX }
        }
        Some(ErrorCode::DiskFull) => LedgerError::Full { store },
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => LedgerError::ReadOnly { store },
        Some(ErrorCode::NotADatabase) => LedgerError::NoLedger {
            store,
            message: "the file is not an SQLite database".to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt) => LedgerError::Damaged { message: message() },
        _ => LedgerError::Database { action, store, source: Arc::new(error) },
    }
}

/// Converts the error of a commit. The outcome of the commit is unknown, because the next reader of the write-ahead log may
/// find the transaction there. If the disk is full or the database is busy, however, nothing was committed, because SQLite
/// fails before it writes the last page.
pub(crate) fn commit_fault(path: &Path, error: Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy) => fault("append to", path, error),
        _ => LedgerError::OutcomeUnknown { store: path.into(), source: Arc::new(error) },
    }
}
