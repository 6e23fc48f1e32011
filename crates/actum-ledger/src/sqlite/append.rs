//! Appending of entries, with their hashes, documents and projection, in a single transaction.

use std::borrow::Cow;

use actum_core::{Digest, RunId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{Answer, EntryFacts, EntryKind, RequestKey, WorkspaceId};
use actum_record::merkle::{Frontier, Node};
use rusqlite::params;

use super::fault::{commit_fault, fault};
use super::link::Link;
use super::rows::Column;
use super::{SqliteStore, agent, connect, packed};
use crate::error::{LedgerError, Refusal};
use crate::log::{FileTaskRow, LeaseRow, Log, PlanRow, RunRow, SignedCheckpoint};
use crate::new_entry::{Appended, Prepared, Request};
use crate::projection::agent::AgentReader;
use crate::projection::{Known, KnownFileTask, KnownPlan, ProjectionReader, ProjectionUpdate};

const PUT_ENTRY: &str = "INSERT INTO entry (seq, kind, time, run, workspace, request, attempt, status, \
                         nodes, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
const PUT_BLOB: &str = "INSERT INTO blob (number, digest, bytes) \
                        SELECT coalesce(max(number) + 1, 0), ?, ? FROM blob";
const HAS_BLOB: &str = "SELECT 1 FROM blob WHERE digest = ?";
const PUT_RUN: &str = "INSERT INTO run (run, workspace, request, attempt, started, done, status) \
                       VALUES (?, ?, ?, ?, ?, ?, ?) \
                       ON CONFLICT (run) DO UPDATE SET done = excluded.done, status = excluded.status";

const PUT_PLAN: &str = "INSERT INTO plan (plan, workspace, queued, answer, answered, started, open) \
                        VALUES (?, ?, ?, ?, ?, ?, ?) \
                        ON CONFLICT (plan) DO UPDATE SET answer = excluded.answer, \
                        answered = excluded.answered, started = excluded.started, open = excluded.open";

const PUT_LEASE: &str = "INSERT INTO lease (lease, granted, revoked, used) VALUES (?, ?, ?, ?) \
                         ON CONFLICT (lease) DO UPDATE SET granted = excluded.granted, \
                         revoked = excluded.revoked, used = excluded.used";

const PUT_FILE_TASK: &str = "INSERT INTO file_task (task, started, ended) VALUES (?, ?, ?) \
                             ON CONFLICT (task) DO UPDATE SET ended = excluded.ended";

const BYTES: &str = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";

/// Divisor for the reserve of a log: an undo may exceed the size limit by a sixteenth, so that a full log does not prevent
/// it.
const UNDO_RESERVE: u64 = 16;

/// Compiles the statements that every append needs, so that the next one finds them in the statement cache.
pub(super) fn prepare(link: &Link) -> Result<(), LedgerError> {
    let prepare = |sql| link.connection.prepare_cached(sql).map(drop);
    let prepared =
        [BYTES, PUT_ENTRY, PUT_BLOB, HAS_BLOB, PUT_RUN].into_iter().try_for_each(prepare);
    prepared.map_err(|error| fault("read", &link.path, error))
}

impl SqliteStore {
    /// Executes `change` in a durable transaction.
    ///
    /// INVARIANT: After `Ok`, the transaction is durable. After any error except `OutcomeUnknown`, it never becomes
    /// visible.
    pub(super) fn write<T>(
        &mut self,
        change: impl FnOnce(&mut Link, &mut Frontier) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let Self { link, files, turnstile, frontier, is_spent, .. } = self;
        let _inside = turnstile.enter()?;
        files.check_present()?;
        if *is_spent {
            reconnect(link)?;
            *is_spent = false;
        }
        let begun = link.connection.execute_batch("BEGIN IMMEDIATE");
        begun.map_err(|error| fault("append to", &link.path, error))?;
        let done = transaction(link, frontier.take(), change);
        match done {
            Ok((done, now)) => {
                *frontier = Some(now);
                Ok(done)
            }
            Err(error) => {
                // If the rollback fails, SQLite has already rolled back, or will do so when the connection is closed.
                *is_spent = link.connection.execute_batch("ROLLBACK").is_err()
                    || matches!(error, LedgerError::OutcomeUnknown { .. });
                Err(error)
            }
        }
    }
}

/// Executes and commits `change` in a transaction that the caller has begun. `seen` is the last known frontier, which may be
/// outdated because other processes can append.
fn transaction<T>(
    link: &mut Link,
    seen: Option<Frontier>,
    change: impl FnOnce(&mut Link, &mut Frontier) -> Result<T, LedgerError>,
) -> Result<(T, Frontier), LedgerError> {
    let mut frontier = edge(link, seen)?;
    let done = change(link, &mut frontier)?;
    let committed = link.connection.execute_batch("COMMIT");
    committed.map_err(|error| commit_fault(&link.path, error))?;
    Ok((done, frontier))
}

/// Returns the current frontier of the Merkle tree. It is read from the database only if the size differs from that of
/// `seen`.
///
/// # Errors
/// When the frontier is read, returns `Damaged` if a checkpoint covers more entries than the log contains.
pub(super) fn edge(link: &Link, seen: Option<Frontier>) -> Result<Frontier, LedgerError> {
    let size = link.size()?;
    if let Some(seen) = seen.filter(|seen| seen.size() == size) {
        return Ok(seen);
    }
    let signed = link.newest_checkpoint()?.map_or(0, |newest| newest.size);
    if signed > size {
        let lost = signed.saturating_sub(size);
        let message =
            format!("a signed checkpoint covers {signed} entries, but the last {lost} are missing");
        return Err(LedgerError::Damaged { message });
    }
    link.frontier(size)
}

/// Replaces a connection whose last transaction failed.
///
/// The write-ahead log may contain the entries of that transaction although they are not durable. The entire log is
/// therefore made durable first.
fn reconnect(link: &mut Link) -> Result<(), LedgerError> {
    let fresh = connect(&link.path)?;
    let taken = fresh.connection.query_row("PRAGMA wal_checkpoint(FULL)", (), |row| {
        Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
    });
    let (busy, pages, taken) = taken.map_err(|error| fault("sync", &link.path, error))?;
    if busy != 0 || pages != taken {
        let (store, seconds) = (link.path.as_path().into(), super::LOCKED_SECONDS_MAX);
        return Err(LedgerError::Locked { store, seconds });
    }
    *link = fresh;
    Ok(())
}

/// Appends the requests that the rules and the size limit allow, and returns the result of each request. Must be called
/// inside a transaction.
pub(super) fn requests(
    link: &mut Link,
    frontier: &mut Frontier,
    requests: &[Request],
    bytes_max: u64,
) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError> {
    let bytes = bytes(link)?;
    let append = |entries: &Request| {
        for entry in entries.iter().filter(|entry| bytes >= bytes_max && entry.starts_something()) {
            let max = match starts_undo(link, entry)? {
                true => bytes_max.saturating_add(bytes_max / UNDO_RESERVE),
                false => bytes_max,
            };
            if bytes >= max {
                return Ok(Err(Refusal::LogFull { bytes, max }));
            }
        }
        request(link, frontier, entries)
    };
    requests.iter().map(append).collect()
}

/// Returns whether an entry starts or queues the undo of a run that is not itself an undo. A redo must not use the reserve,
/// because alternating undos and redos would exhaust it.
fn starts_undo(link: &Link, entry: &Prepared) -> Result<bool, LedgerError> {
    let row = entry.facts().undoes.map(|undoes| link.run(undoes)).transpose()?.flatten();
    let Some(row) = row else { return Ok(false) };
    let started = link.sound_entry(row.started)?;
    let facts = EntryFacts::parse(started.kind, &started.body);
    let facts = facts.map_err(|error| LedgerError::entry(row.started, &error))?;
    Ok(facts.undoes.is_none())
}

/// Returns the size of the database in bytes, including pages that are still in the write-ahead log.
fn bytes(link: &Link) -> Result<u64, LedgerError> {
    let ask = || link.connection.prepare_cached(BYTES)?.query_row((), |row| row.get(0));
    ask().map_err(|error| fault("read", &link.path, error))
}

fn request(
    link: &mut Link,
    frontier: &mut Frontier,
    entries: &[Prepared],
) -> Result<Result<Vec<Appended>, Refusal>, LedgerError> {
    let update = match ProjectionUpdate::of_request(link, entries, frontier.size())? {
        Ok(update) => update,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let appended = entries.iter().map(|entry| put_entry(link, frontier, entry));
    let appended: Vec<Appended> = appended.collect::<Result<_, _>>()?;
    for (entry, appended) in entries.iter().zip(&appended) {
        agent::put(link, entry.facts(), *appended)?;
    }
    update.runs().try_for_each(|known| put_run(link, &known.row))?;
    update.plans().try_for_each(|known| put_plan(link, &known.row))?;
    update.leases().try_for_each(|row| put_lease(link, row))?;
    update.file_tasks().try_for_each(|known| put_file_task(link, &known.row))?;
    Ok(Ok(appended))
}

fn put_entry(
    link: &Link,
    frontier: &mut Frontier,
    entry: &Prepared,
) -> Result<Appended, LedgerError> {
    let (facts, leaf) = (entry.facts(), entry.leaf());
    let index = frontier.size();
    let mut nodes = Vec::with_capacity(64);
    frontier.push(leaf, |hash| nodes.extend_from_slice(hash.as_bytes()));
    let (request, attempt) = facts.request.as_ref().map(|(key, n)| (key.as_str(), *n)).unzip();
    let put = || {
        let mut insert = link.connection.prepare_cached(PUT_ENTRY)?;
        insert.execute(params![
            index,
            facts.kind.as_str(),
            facts.time.micros(),
            facts.run.map(Column),
            facts.workspace.map(Column),
            request,
            attempt,
            facts.status.map(actum_core::Status::as_str),
            nodes,
            pack(entry.body())?,
        ])
    };
    put().map_err(|error| fault("append to", &link.path, error))?;
    for (digest, bytes) in entry.documents() {
        if !has_blob(link, &digest)? {
            let put = || {
                let mut insert = link.connection.prepare_cached(PUT_BLOB)?;
                insert.execute(params![digest.as_bytes(), pack(bytes)?])
            };
            put().map_err(|error| fault("append to", &link.path, error))?;
        }
    }
    Ok(Appended { index, leaf })
}

/// Converts bytes to the form in which a column stores them, which may be compressed.
fn pack(bytes: &[u8]) -> rusqlite::Result<Cow<'_, [u8]>> {
    packed::pack(bytes).map_err(|error| rusqlite::Error::ToSqlConversionFailure(error.into()))
}

fn has_blob(link: &Link, digest: &Digest) -> Result<bool, LedgerError> {
    let ask = || {
        let mut found = link.connection.prepare_cached(HAS_BLOB)?;
        found.exists([digest.as_bytes()])
    };
    ask().map_err(|error| fault("read", &link.path, error))
}

fn put_run(link: &Link, row: &RunRow) -> Result<(), LedgerError> {
    let put = || {
        let mut insert = link.connection.prepare_cached(PUT_RUN)?;
        insert.execute(params![
            Column(row.run),
            Column(row.workspace),
            row.request.as_ref().map(RequestKey::as_str),
            row.attempt,
            row.started,
            row.done,
            row.status.map(actum_core::Status::as_str),
        ])
    };
    put().map(|_| ()).map_err(|error| fault("append to", &link.path, error))
}

fn put_plan(link: &Link, row: &PlanRow) -> Result<(), LedgerError> {
    let (answer, answered) = row.answered.unzip();
    let put = || {
        let mut insert = link.connection.prepare_cached(PUT_PLAN)?;
        insert.execute(params![
            Column(row.plan),
            Column(row.workspace),
            row.queued,
            answer.map(Answer::as_str),
            answered,
            row.started,
            row.is_open(),
        ])
    };
    put().map(|_| ()).map_err(|error| fault("append to", &link.path, error))
}

fn put_lease(link: &Link, row: &LeaseRow) -> Result<(), LedgerError> {
    let LeaseRow { lease, granted, revoked, used } = *row;
    let put = || {
        let mut insert = link.connection.prepare_cached(PUT_LEASE)?;
        insert.execute(params![Column(lease), granted, revoked, used])
    };
    put().map(|_| ()).map_err(|error| fault("append to", &link.path, error))
}

fn put_file_task(link: &Link, row: &FileTaskRow) -> Result<(), LedgerError> {
    let FileTaskRow { task, started, ended } = row;
    let put = || {
        let mut insert = link.connection.prepare_cached(PUT_FILE_TASK)?;
        insert.execute(params![task.as_str(), started, ended])
    };
    put().map(|_| ()).map_err(|error| fault("append to", &link.path, error))
}

/// Stores a signed checkpoint. Must be called inside a transaction.
pub(super) fn checkpoint(link: &Link, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError> {
    let SignedCheckpoint { size, note } = checkpoint;
    let put = || {
        let sql = "INSERT INTO checkpoint (size, note) VALUES (?, ?)";
        link.connection.prepare_cached(sql)?.execute(params![size, note])
    };
    match put() {
        Ok(_) => Ok(()),
        Err(error)
            if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
        {
            Err(LedgerError::Checkpoint { message: error.to_string() })
        }
        Err(error) => Err(fault("append to", &link.path, error)),
    }
}

/// Moves the pages in the write-ahead log to the database file if there are at least `pages` of them. Does not wait if
/// another process is already doing this.
pub(super) fn take_over(link: &Link, pages: u32) -> Result<(), LedgerError> {
    let run = |sql| {
        let mut ask = link.connection.prepare_cached(sql)?;
        ask.query_row((), |row| row.get::<_, i64>(1))
    };
    let failed = |error| fault("checkpoint the write-ahead log of", &link.path, error);
    if run("PRAGMA wal_checkpoint(NOOP)").map_err(failed)? >= i64::from(pages) {
        run("PRAGMA wal_checkpoint(PASSIVE)").map_err(failed)?;
    }
    Ok(())
}

impl ProjectionReader for Link {
    type Error = LedgerError;

    fn known(&self, run: RunId) -> Result<Option<Known>, LedgerError> {
        let Some(row) = self.run(run)? else { return Ok(None) };
        let leaf = self.node(Node { level: 0, index: row.started })?;
        Ok(Some(Known { row, leaf }))
    }

    fn known_plan(&self, plan: RunId) -> Result<Option<KnownPlan>, LedgerError> {
        let Some(row) = self.plan(plan)? else { return Ok(None) };
        let leaf = |index| self.node(Node { level: 0, index });
        let answered_leaf = row.answered.map(|(_, index)| leaf(index)).transpose()?;
        let queued_leaf = leaf(row.queued)?;
        let facts = EntryFacts::parse(EntryKind::PlanQueued, &self.sound_entry(row.queued)?.body);
        let judged = facts.ok().and_then(|facts| facts.judged);
        let no_plan =
            || LedgerError::entry(row.queued, &"the entry is not a valid `PLAN_QUEUED` entry");
        let judged = judged.ok_or_else(no_plan)?;
        Ok(Some(KnownPlan { row, judged, queued_leaf, answered_leaf }))
    }

    fn known_lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError> {
        self.lease(lease)
    }

    fn known_file_task(&self, task: &TaskName) -> Result<Option<KnownFileTask>, LedgerError> {
        let Some(row) = self.file_task(task)? else { return Ok(None) };
        let started_leaf =
            row.started.map(|index| self.node(Node { level: 0, index })).transpose()?;
        Ok(Some(KnownFileTask { row, started_leaf }))
    }

    fn agent(&self) -> &dyn AgentReader<Error = LedgerError> {
        self
    }

    fn newest_catalog(&self) -> Result<Option<(u64, Digest)>, LedgerError> {
        let newest = self.newest_of_kind(EntryKind::CatalogChanged, None, 1)?;
        let index = newest.first().copied().unwrap_or(0);
        Ok(Some((index, self.node(Node { level: 0, index })?)))
    }

    fn alert(&self, index: u64) -> Result<Option<Digest>, LedgerError> {
        let entry = self.entry(index)?;
        let alert = entry.filter(|entry| entry.kind == EntryKind::AlertRaised);
        alert.map(|_| self.node(Node { level: 0, index })).transpose()
    }

    fn attempt(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
        attempt: u32,
    ) -> Result<Option<RunRow>, LedgerError> {
        Link::attempt(self, workspace, request, attempt)
    }
    fn has_document(&self, digest: &Digest) -> Result<bool, LedgerError> {
        has_blob(self, digest)
    }
}
