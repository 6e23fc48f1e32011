//! Baseline that stores the same rows in the same kind of database. It has no Merkle tree, no fair lock, no writer
//! thread and no checks, so it is the simplest program that keeps the rows.

use std::fs::create_dir_all;
use std::path::Path;

use actum_core::Digest;
use actum_ledger::NewEntry;
use actum_record::ledger::EntryFacts;
use rusqlite::{Connection, params};

use crate::bench::Failure;

const TABLES: &str = "
CREATE TABLE entry (
    seq INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    time INTEGER NOT NULL,
    run INTEGER,
    workspace INTEGER,
    request TEXT,
    attempt INTEGER,
    status TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE blob (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE,
    bytes BLOB NOT NULL
) STRICT;
CREATE TABLE run (
    run INTEGER PRIMARY KEY,
    workspace INTEGER NOT NULL,
    request TEXT,
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    done INTEGER,
    status TEXT
) STRICT;
CREATE INDEX run_open ON run (workspace, started) WHERE done IS NULL;
CREATE UNIQUE INDEX run_request ON run (workspace, request, attempt) WHERE request IS NOT NULL;
CREATE TRIGGER entry_insert BEFORE INSERT ON entry
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq) + 1, 0) FROM entry)
BEGIN SELECT RAISE(ABORT, 'gap'); END;
";

pub(super) struct Plain {
    connection: Connection,
    pages: i64,
}

impl Plain {
    pub(super) fn make(directory: &Path, pages: u32) -> Result<Self, Failure> {
        create_dir_all(directory)?;
        let connection = Connection::open(directory.join("plain.db"))?;
        connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0;")?;
        connection.execute_batch(TABLES)?;
        connection.set_prepared_statement_cache_capacity(32);
        Ok(Self { connection, pages: pages.into() })
    }

    /// Stores the start of a run and its document in a durable transaction.
    pub(super) fn put(&self, entry: &NewEntry) -> Result<(), Failure> {
        let facts = EntryFacts::parse(entry.kind, &entry.body)?;
        let (run, workspace) = (facts.run.ok_or("no run")?, facts.workspace.ok_or("no workspace")?);
        let (run, workspace) = (run.bits().cast_signed(), workspace.bits().cast_signed());
        let sql = |text| self.connection.prepare_cached(text);
        self.connection.execute_batch("BEGIN IMMEDIATE")?;
        let seq: i64 =
            sql("SELECT coalesce(max(seq) + 1, 0) FROM entry")?.query_row((), |row| row.get(0))?;
        sql("INSERT INTO entry VALUES (?, ?, ?, ?, ?, NULL, NULL, NULL, ?)")?.execute(params![
            seq,
            entry.kind.as_str(),
            facts.time.micros(),
            run,
            workspace,
            entry.body
        ])?;
        for bytes in &entry.blobs {
            let insert = "INSERT OR IGNORE INTO blob (digest, bytes) VALUES (?, ?)";
            sql(insert)?.execute(params![Digest::of(bytes).as_bytes(), bytes])?;
        }
        sql("INSERT INTO run VALUES (?, ?, NULL, 1, ?, NULL, NULL)")?
            .execute(params![run, workspace, seq])?;
        self.connection.execute_batch("COMMIT")?;
        Ok(())
    }

    /// Truncates the database's write-ahead log, as the ledger does.
    pub(super) fn tidy(&self) -> Result<(), Failure> {
        let run = |sql| {
            let mut ask = self.connection.prepare_cached(sql)?;
            ask.query_row((), |row| row.get::<_, i64>(1))
        };
        if run("PRAGMA wal_checkpoint(NOOP)")? >= self.pages {
            run("PRAGMA wal_checkpoint(PASSIVE)")?;
        }
        Ok(())
    }
}
