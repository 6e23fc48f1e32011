//! Connection to the database of a ledger, with the queries on it.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use actum_core::{Digest, RunId, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryKind, RequestKey, TenantId, WorkspaceId};
use actum_record::merkle::Node;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Params, Row};

use super::LOCKED_SECONDS_MAX;
use super::fault::fault;
use super::rows::{self, Column, hash_of_level};
use crate::error::LedgerError;
use crate::log::{
    AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Entry, FileTaskRow, LeaseRow, Log,
    PlanRow, RunRow, SignedCheckpoint,
};

/// Maximum number of rows that a query loads into memory.
const ROWS_MAX: u64 = 1 << 20;
/// Maximum number of compiled statements that a connection caches.
const STATEMENTS: usize = 48;

/// Connection to a ledger database, with the path of the database file.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) connection: Connection,
    pub(crate) path: PathBuf,
    /// Tenant of the log, cached after it is first read.
    pub(super) tenant: OnceCell<TenantId>,
}

impl Link {
    /// Opens a connection to the database without reading from it. `path` is used in error messages, and `name` is the path
    /// or URI that is passed to SQLite.
    pub(super) fn to(path: &Path, name: &Path, flags: OpenFlags) -> Result<Self, LedgerError> {
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let open = || {
            let connection = Connection::open_with_flags(name, flags)?;
            connection.busy_timeout(Duration::from_secs(LOCKED_SECONDS_MAX))?;
            connection.set_prepared_statement_cache_capacity(STATEMENTS);
            for (option, is_on) in [
                (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
                (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
                // Otherwise, SQLite recompiles a statement whenever the value of a parameter changes.
                (DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true),
                // Otherwise, every short-lived process would run a checkpoint that costs more than its append.
                (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
            ] {
                connection.set_db_config(option, is_on)?;
            }
            Ok(connection)
        };
        let connection = open().map_err(|error| fault("open", path, error))?;
        Ok(Self { connection, path: path.to_owned(), tenant: OnceCell::new() })
    }

    /// Counts the stored entries. The count is equal to [`size`](Log::size), unless entries are missing.
    pub(crate) fn count_entries(&self) -> Result<u64, LedgerError> {
        Ok(self.one("SELECT count(*) FROM entry", (), |row| row.get(0))?.unwrap_or(0))
    }

    pub(super) fn one<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, LedgerError> {
        let ask = || self.connection.prepare_cached(sql)?.query_row(params, read).optional();
        ask().map_err(|error| fault("read", &self.path, error))
    }

    pub(super) fn all<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, LedgerError> {
        let ask = || {
            self.connection.prepare_cached(sql)?.query_map(params, read)?.collect::<Result<_, _>>()
        };
        ask().map_err(|error| fault("read", &self.path, error))
    }

    pub(super) fn attempt(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
        attempt: u32,
    ) -> Result<Option<RunRow>, LedgerError> {
        let sql = "SELECT run, workspace, request, attempt, started, done, status FROM run \
                   WHERE workspace = ? AND request = ? AND attempt = ?";
        self.one(sql, (Column(workspace), request.as_str(), attempt), rows::run)
    }
}

/// Type that implements [`Log`] by means of a database connection.
pub(crate) trait Linked {
    /// Returns the connection that executes the queries.
    fn link(&self) -> &Link;
}

impl Linked for Link {
    fn link(&self) -> &Link {
        self
    }
}

impl<T: Linked> Log for T {
    fn size(&self) -> Result<u64, LedgerError> {
        let sql = "SELECT coalesce(max(seq) + 1, 0) FROM entry";
        Ok(self.link().one(sql, (), |row| row.get(0))?.unwrap_or(0))
    }

    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError> {
        self.link().one("SELECT seq, kind, body FROM entry WHERE seq = ?", [index], rows::entry)
    }

    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError> {
        let sql = "SELECT seq, kind, body FROM entry WHERE seq >= ? ORDER BY seq LIMIT ?";
        self.link().all(sql, [from, count.min(ROWS_MAX)], rows::entry)
    }

    fn node(&self, node: Node) -> Result<Digest, LedgerError> {
        // The hash is stored with the last entry of the subtree, which completed it.
        let last = ((node.index + 1) << node.level) - 1;
        let read = |row: &Row<'_>| {
            let nodes = row.get_ref(0)?;
            Ok(nodes.as_blob().ok().and_then(|nodes| hash_of_level(nodes, node.level)))
        };
        let found = self.link().one("SELECT nodes FROM entry WHERE seq = ?", [last], read)?;
        found.flatten().ok_or_else(|| LedgerError::Damaged {
            message: format!("entry {last} has no hash for level {} of the tree", node.level),
        })
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        let sql = "SELECT bytes FROM blob WHERE digest = ?";
        self.link().one(sql, [digest.as_bytes()], rows::document)
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError> {
        let sql = "SELECT run, workspace, request, attempt, started, done, status FROM run \
                   WHERE run = ?";
        self.link().one(sql, [Column(run)], rows::run)
    }

    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError> {
        let sql = "SELECT run, workspace, request, attempt, started, done, status FROM run \
                   WHERE workspace = ? AND done IS NULL ORDER BY started";
        self.link().all(sql, [Column(workspace)], rows::run)
    }

    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError> {
        let sql = "SELECT run, workspace, request, attempt, started, done, status FROM run \
                   WHERE workspace = ? AND request = ? ORDER BY started";
        self.link().all(sql, (Column(workspace), request.as_str()), rows::run)
    }

    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError> {
        let sql = "SELECT plan, workspace, queued, answer, answered, started FROM plan \
                   WHERE plan = ?";
        self.link().one(sql, [Column(plan)], rows::plan)
    }

    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError> {
        let sql = "SELECT plan, workspace, queued, answer, answered, started FROM plan \
                   WHERE open = 1 ORDER BY queued";
        self.link().all(sql, (), rows::plan)
    }

    fn newest_plans(
        &self,
        workspace: WorkspaceId,
        count: u64,
    ) -> Result<Vec<PlanRow>, LedgerError> {
        let sql = "SELECT plan, workspace, queued, answer, answered, started FROM plan \
                   WHERE workspace = ? ORDER BY queued DESC LIMIT ?";
        self.link().all(sql, (Column(workspace), count.min(ROWS_MAX)), rows::plan)
    }

    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError> {
        let sql = "SELECT lease, granted, revoked, used FROM lease WHERE lease = ?";
        self.link().one(sql, [Column(lease)], rows::lease)
    }

    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError> {
        let sql = "SELECT task, started, ended FROM file_task WHERE task = ?";
        self.link().one(sql, [task.as_str()], rows::file_task)
    }

    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError> {
        let sql = "SELECT task, started, ended FROM file_task \
                   WHERE started IS NOT NULL AND ended IS NULL ORDER BY started";
        self.link().all(sql, (), rows::file_task)
    }

    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        self.link().agent_step_row(correlation, step)
    }

    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError> {
        self.link().open_agent_step_rows()
    }

    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        self.link().agent_current_row(plan, step)
    }

    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError> {
        self.link().agent_entry_indexes(correlation)
    }

    fn agent_goal_of_request(
        &self,
        request: &Digest,
    ) -> Result<Option<CorrelationId>, LedgerError> {
        self.link().goal_of_request(request)
    }

    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError> {
        self.link().unresolved_escalation_rows()
    }

    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError> {
        self.link().agent_slo_sum(since)
    }

    fn count_duplicate_effects(&self) -> Result<u64, LedgerError> {
        self.link().duplicate_effects()
    }

    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError> {
        // The kind must be part of the SQL text. SQLite cannot use a partial index if the kind is a parameter.
        let sql = format!(
            "SELECT seq FROM entry WHERE kind = '{}' AND seq < ? ORDER BY seq DESC LIMIT ?",
            kind.as_str()
        );
        let before = before.map_or(i64::MAX, |before| i64::try_from(before).unwrap_or(i64::MAX));
        let count = i64::try_from(count.min(ROWS_MAX)).unwrap_or(i64::MAX);
        self.link().all(&sql, [before, count], |row| row.get(0))
    }

    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        let sql = "SELECT size, note FROM checkpoint ORDER BY size DESC LIMIT 1";
        self.link().one(sql, (), rows::checkpoint)
    }

    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError> {
        let sql = "SELECT size, note FROM checkpoint WHERE size >= ? ORDER BY size LIMIT ?";
        self.link().all(sql, [size, count.min(ROWS_MAX)], rows::checkpoint)
    }
}
