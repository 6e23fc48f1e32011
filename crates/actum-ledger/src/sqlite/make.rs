//! Creation of ledger databases, and checks of their files.
//!
//! A new database is created under a temporary name and renamed once it is complete and durable.

#![expect(clippy::disallowed_methods, reason = "ledgers are stored outside of workspaces")]

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use actum_record::ledger::EntryKind;
use actum_record::merkle::Frontier;
use rusqlite::OpenFlags;

use super::fault::fault;
use super::link::Link;
use super::{DATABASE, SqliteOptions, append, schema};
use crate::error::{LedgerError, Refusal};
use crate::home::{FileId, HomeError, Thing};
use crate::new_entry::{NewEntry, Prepared};

/// Size in bytes of the header that precedes each page in the write-ahead log.
const FRAME_HEAD: u64 = 24;

/// Paths and identities of the database file, its write-ahead log, and the shared-memory index of that log.
#[derive(Debug)]
pub(super) struct Files([(PathBuf, FileId); 3]);

impl Files {
    pub(super) fn new(path: &Path) -> Result<Self, LedgerError> {
        let id = |end| {
            let path = beside(path, end);
            let id = file_id(&path)?;
            Ok::<_, LedgerError>((path, id))
        };
        Ok(Self([id("")?, id("-wal")?, id("-shm")?]))
    }

    /// Checks that the paths still refer to the same files.
    ///
    /// If a file was removed, appends to it would be lost when the process ends. If the index was replaced, other processes
    /// would not see the appends. SQLite detects neither of these cases.
    pub(super) fn check_present(&self) -> Result<(), LedgerError> {
        for (path, id) in &self.0 {
            if file_id(path)? != *id {
                return Err(LedgerError::Gone { path: path.clone() });
            }
        }
        Ok(())
    }
}

fn file_id(path: &Path) -> Result<FileId, LedgerError> {
    match FileId::read(path) {
        Ok(id) => Ok(id),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(LedgerError::Gone { path: path.to_owned() })
        }
        Err(error) => Err(failed("read the metadata of", path, error)),
    }
}

/// Resolves symbolic links in the path of the directory, because connections are configured to reject them.
pub(super) fn canonical(directory: &Path) -> Result<PathBuf, LedgerError> {
    fs::canonicalize(directory).map_err(|error| failed("open", directory, error))
}

/// Returns whether a ledger database exists at `path`, after checking the types, owners and modes of its files.
pub(super) fn is_there(path: &Path) -> Result<bool, LedgerError> {
    let no_file = |found| Err(LedgerError::NoFile { path: path.to_owned(), found });
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => no_file("a symbolic link"),
        Ok(found) if found.is_dir() => no_file("a directory"),
        Ok(found) if !found.is_file() => no_file("a special file"),
        // SQLite would treat an empty file as a new database and discard its write-ahead log.
        Ok(found) if found.len() == 0 => {
            let message = "the file is empty".to_owned();
            Err(LedgerError::NoLedger { store: path.into(), message })
        }
        Ok(found) => {
            check_own_key(path, &found)?;
            for beside in ["-journal", "-wal", "-shm"] {
                let beside = self::beside(path, beside);
                match fs::symlink_metadata(&beside) {
                    Ok(found) if found.is_file() => check_own_key(&beside, &found)?,
                    Ok(found) if found.is_symlink() => {
                        return Err(LedgerError::NoFile { path: beside, found: "a symbolic link" });
                    }
                    Ok(_) => {
                        return Err(LedgerError::NoFile { path: beside, found: "a special file" });
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(failed("read the metadata of", &beside, error)),
                }
            }
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Do not create a new database next to an old write-ahead log, because SQLite would apply that log to it.
            if is_blank(&beside(path, "-wal"))? {
                return Ok(false);
            }
            let message = "the database is missing, but its write-ahead log `ledger.db-wal` still exists and may contain \
                           the latest entries; restore the database, or remove the log to start a new ledger";
            Err(LedgerError::NoLedger { store: path.into(), message: message.to_owned() })
        }
        Err(error) => Err(failed("read the metadata of", path, error)),
    }
}

/// Returns the path of a file that belongs to the database, such as the write-ahead log, by appending a suffix to the path.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Checks that the file belongs to the owner of its directory, that no other user has access, and that it has no other hard
/// link.
///
/// Other users cannot access the directory itself. They could nevertheless open the file through a hard link in a different
/// directory, or keep a descriptor that was opened earlier.
fn check_own_key(path: &Path, found: &Metadata) -> Result<(), LedgerError> {
    let refused = |error| LedgerError::Home { source: Arc::new(error) };
    let directory = path.parent().unwrap_or(Path::new("."));
    let user = fs::metadata(directory)
        .map_err(|error| failed("read the metadata of", directory, error))?
        .uid();
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if owner != user {
        return Err(refused(HomeError::Owner { path: path.to_owned(), owner, user }));
    }
    if mode & 0o077 != 0 {
        return Err(refused(HomeError::TooOpen { path: path.to_owned(), what: Thing::File, mode }));
    }
    if found.nlink() > 1 {
        return Err(LedgerError::NoFile {
            path: path.to_owned(),
            found: "a file with several hard links",
        });
    }
    Ok(())
}

/// Returns whether the write-ahead log contains no transactions, because it is missing or empty, or starts with zeros.
pub(super) fn is_blank(log: &Path) -> Result<bool, LedgerError> {
    let mut magic = [0; 4];
    let read = File::open(log).and_then(|mut file| file.read(&mut magic));
    match read {
        Ok(_) => Ok(magic == [0; 4]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(failed("read", log, error)),
    }
}

/// Syncs the write-ahead log, including the parts that other processes have written.
pub(super) fn sync_log(path: &Path) -> Result<(), LedgerError> {
    let log = beside(path, "-wal");
    let synced = File::open(&log).and_then(|log| log.sync_data());
    synced.map_err(|error| failed("sync", &log, error))
}

/// Returns the length of a file in bytes, or `None` if the file is missing.
pub(super) fn length(path: &Path) -> Result<Option<u64>, LedgerError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("read the metadata of", path, error)),
    }
}

/// Creates the ledger under a temporary name, and renames it to `path` after it is durable.
pub(super) fn make(
    directory: &Path,
    path: &Path,
    options: SqliteOptions,
    first: &mut dyn FnMut(u64) -> Result<NewEntry, LedgerError>,
) -> Result<(), LedgerError> {
    let coming = directory.join(format!("{DATABASE}.new"));
    // Remove the files of an earlier attempt that was interrupted.
    for left in ["", "-journal", "-wal", "-shm"] {
        let left = directory.join(format!("{DATABASE}.new{left}"));
        match fs::remove_file(&left) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed("remove", &left, error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let mut new = File::options();
    new.write(true).create_new(true).mode(0o600);
    let file = new.open(&coming).map_err(|error| failed("create", &coming, error))?;
    fill(&coming, options, first)?;
    file.sync_all().map_err(|error| failed("sync", &coming, error))?;
    fs::rename(&coming, path).map_err(|error| failed("rename", &coming, error))?;
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| failed("sync", directory, error))
}

/// Extends the write-ahead log with zeros, and makes the file and its name durable.
///
/// Later appends overwrite these zeros without changing the size of the file, so a single `fdatasync` makes them durable.
/// While the log is extended, a write transaction on `link` blocks other writers.
pub(super) fn make_room(
    link: &Link,
    directory: &Path,
    options: SqliteOptions,
) -> Result<(), LedgerError> {
    let log = directory.join(format!("{DATABASE}-wal"));
    // Reserve twice the length at which the log is moved to the database, because a batch may be large.
    let frames = u64::from(options.log_pages).saturating_mul(2);
    let wanted = frames.saturating_mul(u64::from(options.page_bytes).saturating_add(FRAME_HEAD));
    let size = || fs::symlink_metadata(&log).map(|found| found.len());
    match size() {
        Ok(size) if size >= wanted => return Ok(()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("read the metadata of", &log, error)),
    }
    let run = |sql| {
        let ran = link.connection.execute_batch(sql);
        ran.map_err(|error| fault("reserve space in the log of", &link.path, error))
    };
    run("BEGIN IMMEDIATE")?;
    let fill = || {
        let size = size()?;
        let mut file = File::options().append(true).open(&log)?;
        io::copy(&mut io::repeat(0).take(wanted.saturating_sub(size)), &mut file)?;
        file.sync_all()?;
        File::open(directory)?.sync_all()
    };
    let filled = fill().map_err(|error| failed("reserve space in", &log, error));
    run("ROLLBACK")?;
    filled
}

fn fill(
    path: &Path,
    options: SqliteOptions,
    first: &mut dyn FnMut(u64) -> Result<NewEntry, LedgerError>,
) -> Result<(), LedgerError> {
    let mut link = Link::to(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let failed = |error| fault("create", path, error);
    let random = link.connection.query_row("SELECT random()", (), |row| row.get(0));
    let random: i64 = random.map_err(failed)?;
    let first = first(random.cast_unsigned())?;
    if first.kind != EntryKind::LogStarted {
        return Err(Refusal::Beginning { index: 0 }.into());
    }
    let first = vec![Prepared::new(first)?];
    let make = |link: &Link| {
        link.connection.pragma_update(None, "page_size", options.page_bytes)?;
        link.connection.execute_batch("BEGIN IMMEDIATE")?;
        schema::make(&link.connection)
    };
    make(&link).map_err(failed)?;
    for refused in append::requests(&mut link, &mut Frontier::default(), &[first], u64::MAX)? {
        refused?;
    }
    let end = || {
        link.connection.execute_batch("COMMIT")?;
        let wal = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        link.connection.pragma_update_and_check(None, "journal_mode", "WAL", wal)
    };
    end().map_err(failed)?;
    link.connection.close().map_err(|(_, error)| failed(error))
}

fn failed(action: &'static str, path: &Path, error: io::Error) -> LedgerError {
    if error.kind() == io::ErrorKind::StorageFull {
        return LedgerError::Full { store: path.into() };
    }
    LedgerError::File { action, path: path.to_owned(), source: Arc::new(error) }
}
