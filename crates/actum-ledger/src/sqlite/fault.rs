//! Mapping of SQLite errors to errors of a ledger.

use std::path::Path;
use std::sync::Arc;

use rusqlite::{Error, ErrorCode};

use crate::error::LedgerError;
use crate::sqlite::LOCKED_SECONDS_MAX;

/// The error of something that changed nothing.
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
        Some(ErrorCode::NotADatabase) => {
            LedgerError::NoLedger { store, message: "it is no database".to_owned() }
        }
        Some(ErrorCode::DatabaseCorrupt) => LedgerError::Damaged { message: message() },
        _ => LedgerError::Database { action, store, source: Arc::new(error) },
    }
}

/// Converts the error of a commit. The next reader of the log of the database may find what was
/// written, unless SQLite failed before its last page.
pub(crate) fn commit_fault(path: &Path, error: Error) -> LedgerError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull | ErrorCode::DatabaseBusy) => fault("append to", path, error),
        _ => LedgerError::OutcomeUnknown { store: path.into(), source: Arc::new(error) },
    }
}
