//! An in-memory store for tests. Like a store outside this crate, it uses only public items.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;

use actum_core::{Digest, RunId, Timestamp};
use actum_ledger::projection::agent::{AgentProjection, AgentReader};
use actum_ledger::projection::{
    Known, KnownFileTask, KnownPlan, ProjectionReader, ProjectionUpdate,
};
use actum_ledger::snapshot::{
    Field, KeptDocument, Projection, StoredBytes, StoredDocument, StoredEntry,
};
use actum_ledger::verify::{Finding, Subject};
use actum_ledger::{
    AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Appended, Entry, FileTaskRow,
    LeaseRow, LedgerError, Log, OpenSnapshot, PlanRow, Refusal, Request, RunRow, SignedCheckpoint,
    Snapshot, Store,
};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryFacts, EntryKind, RequestKey, WorkspaceId};
use actum_record::merkle::{Frontier, Node, leaf_hash};

/// A ledger that exists only in memory. A clone of it is a snapshot.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryStore {
    /// Entries of the ledger, which tests may damage.
    pub(crate) entries: Vec<Entry>,
    frontier: Frontier,
    nodes: Vec<Digest>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    runs: HashMap<RunId, Known>,
    plans: HashMap<RunId, KnownPlan>,
    leases: HashMap<LeaseId, LeaseRow>,
    file_tasks: HashMap<TaskName, KnownFileTask>,
    agent: AgentProjection,
    checkpoints: Vec<SignedCheckpoint>,
}

impl MemoryStore {
    /// Creates an empty store without a first entry.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, request: &Request) -> Result<Vec<Appended>, Refusal> {
        let size = self.frontier.size();
        let Ok(admitted) = ProjectionUpdate::of_request(self, request, size);
        let update = admitted?;
        self.runs.extend(update.runs().map(|known| (known.row.run, known.clone())));
        self.plans.extend(update.plans().map(|known| (known.row.plan, known.clone())));
        self.leases.extend(update.leases().map(|row| (row.lease, row.clone())));
        let file_tasks = update.file_tasks().map(|known| (known.row.task.clone(), known.clone()));
        self.file_tasks.extend(file_tasks);
        self.agent.extend(update.agent());
        let appended = request.iter().zip(size..).map(|(entry, index)| {
            self.frontier.push(entry.leaf(), |hash| self.nodes.push(hash));
            self.blobs.extend(entry.documents().map(|(digest, bytes)| (digest, bytes.to_vec())));
            let (kind, body) = (entry.facts().kind, entry.body().to_vec());
            self.entries.push(Entry { index, kind, body });
            Appended { index, leaf: entry.leaf() }
        });
        Ok(appended.collect())
    }

    fn rows(&self, is_wanted: impl Fn(&RunRow) -> bool) -> Vec<RunRow> {
        let rows = self.runs.values().map(|known| &known.row);
        let mut rows: Vec<RunRow> = rows.filter(|row| is_wanted(row)).cloned().collect();
        rows.sort_by_key(|row| row.started);
        rows
    }

    fn plan_rows(&self, is_wanted: impl Fn(&PlanRow) -> bool) -> Vec<PlanRow> {
        let rows = self.plans.values().map(|known| &known.row);
        let mut rows: Vec<PlanRow> = rows.filter(|row| is_wanted(row)).cloned().collect();
        rows.sort_by_key(|row| row.queued);
        rows
    }
}

impl Log for MemoryStore {
    fn size(&self) -> Result<u64, LedgerError> {
        Ok(self.frontier.size())
    }

    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError> {
        Ok(usize::try_from(index).ok().and_then(|index| self.entries.get(index)).cloned())
    }

    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError> {
        let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
        Ok(self.entries.iter().skip(number(from)).take(number(count)).cloned().collect())
    }

    fn node(&self, node: Node) -> Result<Digest, LedgerError> {
        let hash = usize::try_from(node.position()).ok().and_then(|at| self.nodes.get(at));
        hash.copied()
            .ok_or_else(|| LedgerError::Damaged { message: format!("{node:?} is missing") })
    }

    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        Ok(self.blobs.get(digest).cloned())
    }

    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError> {
        Ok(self.runs.get(&run).map(|known| known.row.clone()))
    }

    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError> {
        Ok(self.rows(|row| row.workspace == workspace && row.done.is_none()))
    }

    fn request(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError> {
        Ok(self.rows(|row| row.workspace == workspace && row.request.as_ref() == Some(request)))
    }

    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError> {
        Ok(self.plans.get(&plan).map(|known| known.row.clone()))
    }

    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError> {
        Ok(self.plan_rows(PlanRow::is_open))
    }

    fn newest_plans(
        &self,
        workspace: WorkspaceId,
        count: u64,
    ) -> Result<Vec<PlanRow>, LedgerError> {
        let mut rows = self.plan_rows(|row| row.workspace == workspace);
        rows.reverse();
        rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(rows)
    }

    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError> {
        Ok(self.leases.get(&lease).cloned())
    }

    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError> {
        Ok(self.file_tasks.get(task).map(|known| known.row.clone()))
    }

    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError> {
        let rows = self.file_tasks.values().map(|known| &known.row);
        let mut rows: Vec<FileTaskRow> = rows.filter(|row| row.is_open()).cloned().collect();
        rows.sort_by_key(|row| row.started);
        Ok(rows)
    }

    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        Ok(self.agent.step(correlation, step).cloned())
    }

    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError> {
        Ok(self.agent.open_steps())
    }

    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        Ok(self.agent.current(plan, step).cloned())
    }

    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError> {
        Ok(self.agent.entries_of(correlation))
    }

    fn agent_goal_of_request(
        &self,
        request: &Digest,
    ) -> Result<Option<CorrelationId>, LedgerError> {
        Ok(self.agent.goal_of(request).cloned())
    }

    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError> {
        Ok(self.agent.unresolved())
    }

    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError> {
        Ok(self.agent.slo_since(since))
    }

    fn count_duplicate_effects(&self) -> Result<u64, LedgerError> {
        Ok(self.agent.count_duplicate_effects())
    }

    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError> {
        let is_wanted =
            |entry: &&Entry| entry.kind == kind && before.is_none_or(|before| entry.index < before);
        let wanted = self.entries.iter().rev().filter(is_wanted).map(|entry| entry.index);
        Ok(wanted.take(usize::try_from(count).unwrap_or(usize::MAX)).collect())
    }

    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        Ok(self.checkpoints.last().cloned())
    }

    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let wanted = self.checkpoints.iter().filter(|checkpoint| checkpoint.size >= size);
        Ok(wanted.take(count).cloned().collect())
    }
}

impl Store for MemoryStore {
    fn append(
        &mut self,
        requests: &[Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError> {
        Ok(requests.iter().map(|request| self.take(request)).collect())
    }

    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError> {
        let newest = self.checkpoints.last().map_or(0, |newest| newest.size);
        if checkpoint.size <= newest || checkpoint.size > self.frontier.size() {
            let message = format!("it covers {} entries, the newest one {newest}", checkpoint.size);
            return Err(LedgerError::Checkpoint { message });
        }
        self.checkpoints.push(checkpoint.clone());
        Ok(())
    }

    fn rebuild_agent_current(&mut self) -> Result<u64, LedgerError> {
        Ok(self.agent.all_current().count() as u64)
    }
}

impl ProjectionReader for MemoryStore {
    type Error = Infallible;

    fn known(&self, run: RunId) -> Result<Option<Known>, Infallible> {
        Ok(self.runs.get(&run).cloned())
    }

    fn known_plan(&self, plan: RunId) -> Result<Option<KnownPlan>, Infallible> {
        Ok(self.plans.get(&plan).cloned())
    }

    fn known_lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, Infallible> {
        Ok(self.leases.get(&lease).cloned())
    }

    fn known_file_task(&self, task: &TaskName) -> Result<Option<KnownFileTask>, Infallible> {
        Ok(self.file_tasks.get(task).cloned())
    }

    fn agent(&self) -> &dyn AgentReader<Error = Infallible> {
        &self.agent
    }

    fn newest_catalog(&self) -> Result<Option<(u64, Digest)>, Infallible> {
        let mut changes = self.entries.iter().rev();
        let newest = changes.find(|entry| entry.kind == EntryKind::CatalogChanged);
        let newest = newest.or(self.entries.first());
        Ok(newest.map(|entry| (entry.index, leaf_hash(&entry.body))))
    }

    fn alert(&self, index: u64) -> Result<Option<Digest>, Infallible> {
        let entry = usize::try_from(index).ok().and_then(|index| self.entries.get(index));
        let alert = entry.filter(|entry| entry.kind == EntryKind::AlertRaised);
        Ok(alert.map(|entry| leaf_hash(&entry.body)))
    }

    fn attempt(
        &self,
        workspace: WorkspaceId,
        request: &RequestKey,
        attempt: u32,
    ) -> Result<Option<RunRow>, Infallible> {
        let is_it = |row: &RunRow| {
            row.workspace == workspace
                && row.request.as_ref() == Some(request)
                && row.attempt == attempt
        };
        Ok(self.rows(is_it).pop())
    }

    fn has_document(&self, digest: &Digest) -> Result<bool, Infallible> {
        Ok(self.blobs.contains_key(digest))
    }
}

impl Snapshot for MemoryStore {
    fn opener(&self) -> OpenSnapshot {
        let copy = self.clone();
        Arc::new(move || Ok(Box::new(copy.clone())))
    }

    fn count_entries(&self) -> Result<u64, LedgerError> {
        Ok(self.entries.len() as u64)
    }

    fn scan_entries(
        &self,
        range: Range<u64>,
        visit: &mut dyn FnMut(StoredEntry<'_>),
    ) -> Result<(), LedgerError> {
        for entry in self.entries.iter().filter(|entry| range.contains(&entry.index)) {
            let facts = EntryFacts::parse(entry.kind, &entry.body).ok();
            let nodes = (0..=entry.index.trailing_ones()).map(|level| {
                let index = entry.index >> level;
                self.node(Node { level, index }).map(|hash| *hash.as_bytes())
            });
            let nodes = nodes.collect::<Result<Vec<_>, _>>()?.concat();
            visit(StoredEntry {
                index: entry.index,
                kind: Some(entry.kind.as_str()),
                fields: facts.as_ref().map_or([Field::Missing; 6], StoredEntry::fields_of),
                nodes: Some(&nodes),
                body: StoredBytes::Whole(&entry.body),
            });
        }
        Ok(())
    }

    fn scan_documents(
        &self,
        numbers: RangeInclusive<i64>,
        visit: &mut dyn FnMut(StoredDocument<'_>),
    ) -> Result<(), LedgerError> {
        for (number, (name, bytes)) in (0..).zip(&self.blobs) {
            if numbers.contains(&number) {
                let (name, bytes) = (name.as_bytes().as_slice(), StoredBytes::Whole(bytes));
                visit(StoredDocument { number, name, bytes });
            }
        }
        Ok(())
    }

    fn check_structure(&self) -> Result<Vec<Finding>, LedgerError> {
        Ok(Vec::new())
    }

    fn check_projection(&self, expected: &Projection<'_>) -> Result<Vec<Finding>, LedgerError> {
        let is_same = *expected.runs == self.runs
            && *expected.plans == self.plans
            && *expected.leases == self.leases
            && *expected.file_tasks == self.file_tasks
            && *expected.agent == self.agent;
        let message = "the projection is not what the entries say".to_owned();
        let finding = Finding { subject: Subject::Database, message };
        Ok(if is_same { Vec::new() } else { vec![finding] })
    }

    fn check_document_index(&self, kept: &[KeptDocument]) -> Result<Vec<Finding>, LedgerError> {
        assert_eq!(kept.len(), self.blobs.len());
        Ok(Vec::new())
    }
}
