//! Store that keeps a ledger in an SQLite database. It uses WAL mode, and needs only one `fdatasync` for an append.

mod agent;
mod append;
mod check;
mod fair_lock;
mod fault;
mod link;
mod make;
mod packed;
mod reading;
mod rows;
mod schema;
mod snapshot;

use std::path::Path;
use std::time::Duration;

use actum_record::merkle::Frontier;
use rusqlite::OpenFlags;

use crate::error::{LedgerError, Refusal};
use crate::limits::LOG_BYTES_MAX;
use crate::log::SignedCheckpoint;
use crate::new_entry::{Appended, NewEntry, Request};
use crate::snapshot::OpenSnapshot;
use crate::store::Store;
use fair_lock::FairLock;
use link::{Link, Linked};
use make::Files;
use schema::Purpose;

use fault::fault;
pub use snapshot::SqliteSnapshot;
pub(crate) use snapshot::open as open_snapshot;

/// File name of the database in the ledger directory of a tenant.
pub const DATABASE: &str = "ledger.db";
/// Maximum time in seconds to wait for a database that another program has locked. Processes of actum wait for each other
/// in a separate queue, up to [`TURN_SECONDS_MAX`].
pub const LOCKED_SECONDS_MAX: u64 = 10;
/// Maximum time in seconds that a process of actum waits for others, first in the queue and then again for the lock.
///
/// The limit is far longer than all waiting processes normally need together. It only ensures that a suspended process
/// does not block the others forever.
pub const TURN_SECONDS_MAX: u64 = 30;

/// Number of transactions after which the length of the write-ahead log is checked again.
const TRANSACTIONS_UNSEEN: u32 = 8;

/// Options for opening or creating a ledger database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// Page size in bytes with which a new database is created.
    pub page_bytes: u32,
    /// Number of pages in the write-ahead log at which they are moved to the database file.
    ///
    /// A high limit makes it slower to open a database that no other process has open, because SQLite then reads the log.
    /// A low limit slows down appends, because every move costs three syncs.
    pub log_pages: u32,
    /// Maximum time in seconds for each of the two waits for other processes, see [`TURN_SECONDS_MAX`].
    pub turn_seconds: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { page_bytes: 4096, log_pages: 128, turn_seconds: TURN_SECONDS_MAX }
    }
}

/// Ledger in an SQLite database, opened for reading and appending.
#[derive(Debug)]
pub struct SqliteStore {
    link: Link,
    /// Identities of the database files, to detect when one of them is removed or replaced.
    files: Files,
    turnstile: FairLock,
    options: SqliteOptions,
    /// Frontier of the Merkle tree when this connection last read or changed it.
    frontier: Option<Frontier>,
    /// Number of transactions since the length of the write-ahead log was last checked.
    unseen: u32,
    /// Size of the database in bytes from which entries that start something new are refused.
    bytes_max: u64,
    /// Whether the connection must be replaced before the next write, because a commit or a rollback failed.
    is_spent: bool,
}

impl SqliteStore {
    /// Opens the ledger in an existing directory, or creates it if it is missing. A new ledger starts with the entry that
    /// `first` creates from 64 random bits.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the ledger cannot be opened or created. No entries were changed in this case.
    pub fn open(
        directory: &Path,
        options: SqliteOptions,
        first: &mut dyn FnMut(u64) -> Result<NewEntry, LedgerError>,
    ) -> Result<Self, LedgerError> {
        let directory = make::canonical(directory)?;
        let path = directory.join(DATABASE);
        let is_there = make::is_there(&path)?;
        let mut turnstile = FairLock::open(&path, Duration::from_secs(options.turn_seconds))?;
        let inside = turnstile.enter()?;
        if !is_there && !make::is_there(&path)? {
            make::make(&directory, &path, options, first)?;
        }
        let link = connect(&path)?;
        schema::renew(&link.connection, &path)?;
        make::make_room(&link, &directory, options)?;
        let files = Files::new(&path)?;
        drop(inside);
        let (frontier, unseen, is_spent) = (None, u32::MAX, false);
        let bytes_max = LOG_BYTES_MAX;
        Ok(Self { link, files, turnstile, options, frontier, unseen, bytes_max, is_spent })
    }

    /// Returns the path of the database file.
    pub fn path(&self) -> &Path {
        &self.link.path
    }

    /// Begins or ends a read transaction. Does nothing if an earlier commit or rollback failed, because the connection may
    /// still be inside that transaction.
    fn transact(&self, sql: &str) -> Result<(), LedgerError> {
        if self.is_spent {
            return Ok(());
        }
        let transact = || self.link.connection.prepare_cached(sql)?.execute(()).map(drop);
        transact().map_err(|error| fault("read", &self.link.path, error))
    }
}

/// Opens a connection for reading and writing, and sets it up for durable appends.
fn connect(path: &Path) -> Result<Link, LedgerError> {
    let link = Link::to(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::check(&link.connection, path, Purpose::Write)?;
    let set_up = || {
        let connection = &link.connection;
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "recursive_triggers", true)?;
        connection.pragma_update(None, "cell_size_check", true)?;
        connection.pragma_update_and_check(None, "wal_autocheckpoint", 0, |_| Ok(()))?;
        let mode = connection
            .pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0))?;
        Ok(mode)
    };
    let mode = set_up().map_err(|error| fault("open", path, error))?;
    if mode != "wal" {
        return Err(LedgerError::ReadOnly { store: path.into() });
    }
    Ok(link)
}

impl Linked for SqliteStore {
    fn link(&self) -> &Link {
        &self.link
    }
}

impl Store for SqliteStore {
    fn append(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError> {
        let bytes_max = self.bytes_max;
        self.write(|link, frontier| append::requests(link, frontier, requests, bytes_max))
    }

    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError> {
        self.write(|link, _| append::checkpoint(link, checkpoint))
    }

    fn limit(&mut self, bytes_max: u64) {
        self.bytes_max = bytes_max;
    }

    fn make_durable(&mut self) -> Result<(), LedgerError> {
        make::sync_log(&self.link.path)
    }

    fn rebuild_agent_current(&mut self) -> Result<u64, LedgerError> {
        self.write(|link, _| agent::rebuild_current(link))
    }

    fn opener(&self) -> Option<OpenSnapshot> {
        let directory = self.link.path.parent()?;
        Some(snapshot::opener(directory.to_owned()))
    }

    /// Begins a read transaction, so that the following reads see the same state and lock the database only once.
    fn begin_snapshot(&mut self) -> Result<(), LedgerError> {
        self.transact("BEGIN")
    }

    fn end_snapshot(&mut self) -> Result<(), LedgerError> {
        self.transact("COMMIT")
    }

    fn warm(&mut self) -> Result<(), LedgerError> {
        self.frontier = Some(append::edge(&self.link, self.frontier.take())?);
        append::prepare(&self.link)
    }

    fn tidy(&mut self) -> Result<(), LedgerError> {
        self.unseen = self.unseen.saturating_add(1);
        // Always check the log on the first call. Otherwise, processes that append only once would each leave it to the next.
        if self.unseen < TRANSACTIONS_UNSEEN {
            return Ok(());
        }
        self.unseen = 0;
        append::take_over(&self.link, self.options.log_pages)
    }
}
