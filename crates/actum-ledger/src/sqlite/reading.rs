//! Read-only connection to a ledger, which never blocks a writer.
//!
//! Opening the connection creates no files, unless the write-ahead log is missing. This can be the case after a different
//! program has closed the database.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;

use super::fault::fault;
use super::link::Link;
use super::schema::{self, Purpose};
use super::{DATABASE, make};
use crate::error::LedgerError;

/// URI options for a database whose write-ahead log and index both exist, so that neither is created or changed.
const SHARED: &str = "mode=ro&readonly_shm=1";
/// URI options for a database whose write-ahead log or index is missing or incomplete, so that SQLite creates them.
const ALONE: &str = "mode=ro";
/// URI options for a database whose write-ahead log and index are missing and cannot be created. No process can be writing
/// to the database in this case.
const UNCHANGED: &str = "mode=ro&immutable=1";
const LOG_HEADER_BYTES: u64 = 32;

/// Opens a read-only connection to the ledger in `directory`, which keeps showing the state at this time. Returns `None` if
/// there is no ledger.
pub(crate) fn open(directory: &Path) -> Result<Option<Link>, LedgerError> {
    if !make::is_there(&directory.join(DATABASE))? {
        return Ok(None);
    }
    let path = make::canonical(directory)?.join(DATABASE);
    let [log, index] = ["-wal", "-shm"].map(|end| make::length(&make::beside(&path, end)));
    // If the log contains only its header, SQLite would wait for another process to write the rest.
    let is_shared = log?.is_some_and(|length| length > LOG_HEADER_BYTES) && index?.is_some();
    let mut result = open_as(&path, if is_shared { SHARED } else { ALONE });
    for way in [ALONE, UNCHANGED] {
        // Do not ignore a log with content, because the database file alone would show an older state.
        if way == UNCHANGED && !make::is_blank(&make::beside(&path, "-wal"))? {
            break;
        }
        match result {
            Err(LedgerError::Database { .. } | LedgerError::ReadOnly { .. }) => {
                result = open_as(&path, way);
            }
            Ok(_) | Err(_) => break,
        }
    }
    result.map(Some)
}

fn open_as(path: &Path, way: &str) -> Result<Link, LedgerError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    let link = Link::to(path, &uri(path, way), flags)?;
    let begin = || {
        link.connection.pragma_update(None, "cell_size_check", true)?;
        link.connection.execute_batch("BEGIN")
    };
    begin().map_err(|error| fault("read", path, error))?;
    schema::check(&link.connection, path, Purpose::Read)?;
    schema::stand_in(&link.connection, path)?;
    Ok(link)
}

/// Builds an SQLite URI from a path and options.
fn uri(path: &Path, way: &str) -> PathBuf {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            // Writing to a string cannot fail.
            byte => drop(write!(uri, "%{byte:02x}")),
        }
    }
    format!("{uri}?{way}").into()
}
