//! A ledger in an SQLite database: WAL, one `fdatasync` an append.

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

/// The name of the database in the directory of a tenant.
pub const DATABASE: &str = "ledger.db";
/// Limit of the wait for a database that another program has locked, in seconds. Our own processes
/// wait for each other elsewhere.
pub const LOCKED_SECONDS_MAX: u64 = 10;
/// Limit of each wait of our own processes for each other, in seconds: one in the queue, and one
/// for the lock of the database. It is far longer than all of them together take, but not endless
/// behind a stopped process.
pub const TURN_SECONDS_MAX: u64 = 30;

/// Number of transactions between two looks at the length of the log of the database.
const TRANSACTIONS_UNSEEN: u32 = 8;

/// Options of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SqliteOptions {
    /// The size of its pages in bytes, when it is made.
    pub page_bytes: u32,
    /// Limit of the pages in the log of the database, after which they are taken over. The first
    /// process to open it after all others have closed it reads that log; taking it over costs
    /// three syncs.
    pub log_pages: u32,
    /// Limit of each of the two waits for a turn, in seconds.
    pub turn_seconds: u64,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self { page_bytes: 4096, log_pages: 128, turn_seconds: TURN_SECONDS_MAX }
    }
}

/// A ledger in a directory of its own.
#[derive(Debug)]
pub struct SqliteStore {
    link: Link,
    /// Files that the path leads to.
    files: Files,
    turnstile: FairLock,
    options: SqliteOptions,
    /// The edge of the log as this connection last saw it.
    frontier: Option<Frontier>,
    /// Transactions since the length of the log of the database was looked at.
    unseen: u32,
    /// Size in bytes from which on nothing new is started.
    bytes_max: u64,
    /// A commit failed: nothing more is appended through this connection.
    is_spent: bool,
}

impl SqliteStore {
    /// Opens the ledger in `directory`, which must exist. A missing ledger is made, with the entry
    /// that `first` returns from 64 random bits.
    ///
    /// # Errors
    /// [`LedgerError`]; nothing was changed then.
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

    /// Path of the database.
    pub fn path(&self) -> &Path {
        &self.link.path
    }

    /// Begins or ends a transaction that reads. A spent connection has none: it may still be inside
    /// the transaction that could not be committed.
    fn transact(&self, sql: &str) -> Result<(), LedgerError> {
        if self.is_spent {
            return Ok(());
        }
        let transact = || self.link.connection.prepare_cached(sql)?.execute(()).map(drop);
        transact().map_err(|error| fault("read", &self.link.path, error))
    }
}

/// A connection that may write.
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

    /// One transaction for all reads, which takes the locks of the database once.
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
        // The first time, since processes that append once must not leave it to each other.
        if self.unseen < TRANSACTIONS_UNSEEN {
            return Ok(());
        }
        self.unseen = 0;
        append::take_over(&self.link, self.options.log_pages)
    }
}
