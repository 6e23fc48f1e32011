//! A connection that only reads, and that no writer waits for. It makes no file, except for a
//! missing log of the database, as after a foreign program closed it.

use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rusqlite::OpenFlags;

use super::fault::fault;
use super::link::Link;
use super::schema::{self, Purpose};
use super::{DATABASE, make};
use crate::error::LedgerError;

/// The log of the database and its index exist: they are read as they are.
const SHARED: &str = "mode=ro&readonly_shm=1";
/// Both are missing, or not yet whole: SQLite makes them.
const ALONE: &str = "mode=ro";
/// Both are missing and cannot be made, so no process writes either.
const UNCHANGED: &str = "mode=ro&immutable=1";
const LOG_HEADER_BYTES: u64 = 32;

/// Connects to the ledger in `directory` and stays at its present state. `None` if there is no
/// ledger.
pub(crate) fn open(directory: &Path) -> Result<Option<Link>, LedgerError> {
    if !make::is_there(&directory.join(DATABASE))? {
        return Ok(None);
    }
    let path = make::canonical(directory)?.join(DATABASE);
    let [log, index] = ["-wal", "-shm"].map(|end| make::length(&make::beside(&path, end)));
    // If the log has only a header, SQLite waits for a process to write the rest of it.
    let is_shared = log?.is_some_and(|length| length > LOG_HEADER_BYTES) && index?.is_some();
    let mut result = open_as(&path, if is_shared { SHARED } else { ALONE });
    for way in [ALONE, UNCHANGED] {
        // Without its log the database has an older state.
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

/// Returns the path in the form in which SQLite takes options behind it.
fn uri(path: &Path, way: &str) -> PathBuf {
    let mut uri = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            // Writing to a text does not fail.
            byte => drop(write!(uri, "%{byte:02x}")),
        }
    }
    format!("{uri}?{way}").into()
}
