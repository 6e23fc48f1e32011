//! Read-only view of a tenant's log at a single point in time.

use std::ops::{Range, RangeInclusive};
use std::path::Path;

use actum_core::{Digest, RunId, Timestamp};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryKind, RequestKey, TenantId, WorkspaceId};
use actum_record::merkle::Node;

use crate::error::LedgerError;
use crate::finding::Finding;
use crate::home::LedgerHome;
use crate::log::{
    AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Entry, FileTaskRow, LeaseRow, Log,
    PlanRow, RunRow, SignedCheckpoint,
};
use crate::snapshot::{
    KeptDocument, OpenSnapshot, Projection, Snapshot, StoredDocument, StoredEntry,
};
use crate::sqlite::open_snapshot;

/// Read-only view of a log as it was when the view was opened, for any store.
///
/// A view normally creates no files, and never blocks a writer. While it is open, an SQLite database cannot reset its
/// write-ahead log, so a view should not be kept open for long.
pub struct LedgerView {
    snapshot: Box<dyn Snapshot>,
}

impl LedgerView {
    /// Opens the log of a tenant. Returns `None` if the log has not been created yet.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the home directory or the log cannot be read.
    pub fn open(home: &LedgerHome, tenant: &TenantId) -> Result<Option<Self>, LedgerError> {
        match home.existing_tenant(tenant)? {
            Some(directory) => Self::open_directory(directory.path()),
            None => Ok(None),
        }
    }

    /// Opens the log in a directory. Returns `None` if the log has not been created yet.
    ///
    /// # Errors
    /// Returns [`LedgerError`] if the log exists but cannot be read.
    pub fn open_directory(directory: &Path) -> Result<Option<Self>, LedgerError> {
        Ok(open_snapshot(directory)?.map(|snapshot| Self::new(Box::new(snapshot))))
    }

    /// Creates a view from a snapshot of any store.
    pub fn new(snapshot: Box<dyn Snapshot>) -> Self {
        Self { snapshot }
    }
}

impl std::fmt::Debug for LedgerView {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LedgerView")
    }
}

impl Log for LedgerView {
    fn size(&self) -> Result<u64, LedgerError> {
        self.snapshot.size()
    }

    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError> {
        self.snapshot.entry(index)
    }

    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError> {
        self.snapshot.entries(from, count)
    }

    fn node(&self, node: Node) -> Result<Digest, LedgerError> {
        self.snapshot.node(node)
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        self.snapshot.blob(digest)
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError> {
        self.snapshot.run(run)
    }

    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError> {
        self.snapshot.open_runs(workspace)
    }

    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError> {
        self.snapshot.request(workspace, request)
    }

    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError> {
        self.snapshot.plan(plan)
    }

    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError> {
        self.snapshot.open_plans()
    }

    fn newest_plans(
        &self,
        workspace: WorkspaceId,
        count: u64,
    ) -> Result<Vec<PlanRow>, LedgerError> {
        self.snapshot.newest_plans(workspace, count)
    }

    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError> {
        self.snapshot.lease(lease)
    }

    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError> {
        self.snapshot.file_task(task)
    }

    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError> {
        self.snapshot.open_file_tasks()
    }

    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        self.snapshot.agent_step(correlation, step)
    }

    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError> {
        self.snapshot.open_agent_steps()
    }

    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        self.snapshot.agent_current(plan, step)
    }

    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError> {
        self.snapshot.agent_entries(correlation)
    }

    fn agent_goal_of_request(
        &self,
        request: &Digest,
    ) -> Result<Option<CorrelationId>, LedgerError> {
        self.snapshot.agent_goal_of_request(request)
    }

    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError> {
        self.snapshot.unresolved_escalations()
    }

    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError> {
        self.snapshot.agent_slo(since)
    }

    fn count_duplicate_effects(&self) -> Result<u64, LedgerError> {
        self.snapshot.count_duplicate_effects()
    }

    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError> {
        self.snapshot.newest_of_kind(kind, before, count)
    }

    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        self.snapshot.newest_checkpoint()
    }

    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError> {
        self.snapshot.checkpoints(size, count)
    }
}

impl Snapshot for LedgerView {
    fn opener(&self) -> OpenSnapshot {
        self.snapshot.opener()
    }

    fn count_entries(&self) -> Result<u64, LedgerError> {
        self.snapshot.count_entries()
    }

    fn scan_entries(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(StoredEntry<'_>),
    ) -> Result<(), LedgerError> {
        self.snapshot.scan_entries(range, visit)
    }

    fn scan_documents(
        &self,
        numbers: RangeInclusive<i64>,
        visit: &mut dyn FnMut(StoredDocument<'_>),
    ) -> Result<(), LedgerError> {
        self.snapshot.scan_documents(numbers, visit)
    }

    fn check_structure(&self) -> Result<Vec<Finding>, LedgerError> {
        self.snapshot.check_structure()
    }

    fn check_projection(&self, expected: &Projection<'_>) -> Result<Vec<Finding>, LedgerError> {
        self.snapshot.check_projection(expected)
    }

    fn check_document_index(&self, kept: &[KeptDocument]) -> Result<Vec<Finding>, LedgerError> {
        self.snapshot.check_document_index(kept)
    }
}
