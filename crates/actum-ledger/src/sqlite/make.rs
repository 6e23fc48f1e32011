//! Creation of a ledger: it is made under another name, and appears whole.

#![expect(clippy::disallowed_methods, reason = "ledgers lie outside any workspace")]

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

/// Length of the header of each page in the database's own log, in bytes.
const FRAME_HEAD: u64 = 24;

/// Files that the names of a database lead to: its own, that of its log, and that of the index of
/// the log.
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

    /// Checks that the names still lead to the same files. An append to a file without a name is
    /// lost with the process, and a process with another index does not see it. Nothing else would
    /// report either.
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
        Err(error) => Err(failed("look at", path, error)),
    }
}

/// The directory without links in its path, which SQLite refuses.
pub(super) fn canonical(directory: &Path) -> Result<PathBuf, LedgerError> {
    fs::canonicalize(directory).map_err(|error| failed("open", directory, error))
}

/// Returns true if there is a ledger.
pub(super) fn is_there(path: &Path) -> Result<bool, LedgerError> {
    let no_file = |found| Err(LedgerError::NoFile { path: path.to_owned(), found });
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => no_file("a symbolic link"),
        Ok(found) if found.is_dir() => no_file("a directory"),
        Ok(found) if !found.is_file() => no_file("something special"),
        // SQLite would take an empty file for a new database, and forget its log.
        Ok(found) if found.len() == 0 => {
            let message = "it is empty, which no ledger ever is".to_owned();
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
                        return Err(LedgerError::NoFile {
                            path: beside,
                            found: "something special",
                        });
                    }
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(failed("look at", &beside, error)),
                }
            }
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // A new database would be taken for the one that the log beside it belongs to.
            if is_blank(&beside(path, "-wal"))? {
                return Ok(false);
            }
            let message = "it is gone, and its log `ledger.db-wal` is still there, with what was \
                           appended last; put it back beside that, or take that away too for a new one";
            Err(LedgerError::NoLedger { store: path.into(), message: message.to_owned() })
        }
        Err(error) => Err(failed("look at", path, error)),
    }
}

/// A file of the database beside it.
pub(super) fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Refuses a file that others could have written, or can write. The directory is closed to them, but
/// not a second name of the file elsewhere, or a descriptor from before.
fn check_own_key(path: &Path, found: &Metadata) -> Result<(), LedgerError> {
    let refused = |error| LedgerError::Home { source: Arc::new(error) };
    let directory = path.parent().unwrap_or(Path::new("."));
    let user = fs::metadata(directory).map_err(|error| failed("look at", directory, error))?.uid();
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
            found: "a file with another name elsewhere (a hard link)",
        });
    }
    Ok(())
}

/// Returns true if the database's own log holds nothing: it is missing, or begins with zeros.
pub(super) fn is_blank(log: &Path) -> Result<bool, LedgerError> {
    let mut magic = [0; 4];
    let read = File::open(log).and_then(|mut file| file.read(&mut magic));
    match read {
        Ok(_) => Ok(magic == [0; 4]),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(failed("read", log, error)),
    }
}

/// Makes the database's own log durable, whichever process wrote it.
pub(super) fn sync_log(path: &Path) -> Result<(), LedgerError> {
    let log = beside(path, "-wal");
    let synced = File::open(&log).and_then(|log| log.sync_data());
    synced.map_err(|error| failed("sync", &log, error))
}

/// Length of a file in bytes. `None` if it is missing.
pub(super) fn length(path: &Path) -> Result<Option<u64>, LedgerError> {
    match fs::metadata(path) {
        Ok(found) => Ok(Some(found.len())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed("look at", path, error)),
    }
}

/// Makes the ledger, durable before it has its name.
pub(super) fn make(
    directory: &Path,
    path: &Path,
    options: SqliteOptions,
    first: &mut dyn FnMut(u64) -> Result<NewEntry, LedgerError>,
) -> Result<(), LedgerError> {
    let coming = directory.join(format!("{DATABASE}.new"));
    // A process that was ended here left them.
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
    let file = new.open(&coming).map_err(|error| failed("make", &coming, error))?;
    fill(&coming, options, first)?;
    file.sync_all().map_err(|error| failed("sync", &coming, error))?;
    fs::rename(&coming, path).map_err(|error| failed("rename", &coming, error))?;
    let synced = File::open(directory).and_then(|directory| directory.sync_all());
    synced.map_err(|error| failed("sync", directory, error))
}

/// Makes room in the database's own log: zeros, written and made durable once, with the name of the
/// file. An append into them changes no size and no name, so that one `fdatasync` of the bytes
/// alone makes it durable. The link keeps every other writer out meanwhile.
pub(super) fn make_room(
    link: &Link,
    directory: &Path,
    options: SqliteOptions,
) -> Result<(), LedgerError> {
    let log = directory.join(format!("{DATABASE}-wal"));
    // Twice its length when it is taken over: a batch may be large.
    let frames = u64::from(options.log_pages).saturating_mul(2);
    let wanted = frames.saturating_mul(u64::from(options.page_bytes).saturating_add(FRAME_HEAD));
    let size = || fs::symlink_metadata(&log).map(|found| found.len());
    match size() {
        Ok(size) if size >= wanted => return Ok(()),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed("look at", &log, error)),
    }
    let run = |sql| {
        let ran = link.connection.execute_batch(sql);
        ran.map_err(|error| fault("make room in", &link.path, error))
    };
    run("BEGIN IMMEDIATE")?;
    let fill = || {
        let size = size()?;
        let mut file = File::options().append(true).open(&log)?;
        io::copy(&mut io::repeat(0).take(wanted.saturating_sub(size)), &mut file)?;
        file.sync_all()?;
        File::open(directory)?.sync_all()
    };
    let filled = fill().map_err(|error| failed("make room in", &log, error));
    run("ROLLBACK")?;
    filled
}

fn fill(
    path: &Path,
    options: SqliteOptions,
    first: &mut dyn FnMut(u64) -> Result<NewEntry, LedgerError>,
) -> Result<(), LedgerError> {
    let mut link = Link::to(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let failed = |error| fault("make", path, error);
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
