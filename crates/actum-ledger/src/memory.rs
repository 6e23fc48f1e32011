//! A ledger in memory, for tests of what stands above it.

use std::collections::BTreeMap;
use std::convert::Infallible;

use actum_core::{Digest, RunId};
use actum_record::ledger::{EntryKind, RequestKey, WorkspaceId};
use actum_record::merkle::{Frontier, Node, leaf_hash};

use crate::error::{LedgerError, Refusal};
use crate::projection::{Kept, Known, KnownPlan, Outlook};
use crate::store::{Appended, Entry, Log, PlanRow, Request, RunRow, SignedCheckpoint, Store};

/// A ledger that is gone with the process.
#[derive(Debug, Default)]
pub struct MemoryStore {
    entries: Vec<Entry>,
    frontier: Frontier,
    nodes: Vec<Digest>,
    blobs: BTreeMap<Digest, Vec<u8>>,
    runs: BTreeMap<RunId, Known>,
    plans: BTreeMap<RunId, KnownPlan>,
    checkpoints: Vec<SignedCheckpoint>,
}

impl MemoryStore {
    /// An empty one: the first entry is still to come.
    pub fn new() -> Self {
        Self::default()
    }

    fn take(&mut self, request: &Request) -> Result<Vec<Appended>, Refusal> {
        let mut outlook = Outlook::default();
        let size = self.frontier.size();
        for (entry, index) in request.iter().zip(size..) {
            let Ok(admitted) = outlook.admit(self, &entry.facts, (index, entry.leaf));
            admitted?;
        }
        let mut coming: Vec<&Digest> = Vec::new();
        for entry in request {
            coming.extend(entry.blobs.iter().map(|(digest, _)| digest));
            let is_there =
                |digest: &&Digest| coming.contains(digest) || self.blobs.contains_key(*digest);
            if let Some(&digest) = entry.facts.blobs.iter().find(|digest| !is_there(digest)) {
                return Err(Refusal::BlobMissing { digest });
            }
        }
        self.runs.extend(outlook.runs().map(|known| (known.row.run, known.clone())));
        self.plans.extend(outlook.plans().map(|known| (known.row.plan, known.clone())));
        let appended = request.iter().zip(size..).map(|(entry, index)| {
            self.frontier.push(entry.leaf, |hash| self.nodes.push(hash));
            self.blobs.extend(entry.blobs.iter().cloned());
            let (kind, body) = (entry.facts.kind, entry.body.clone());
            self.entries.push(Entry { index, kind, body });
            Appended { index, leaf: entry.leaf }
        });
        Ok(appended.collect())
    }

    fn rows(&self, is_wanted: impl Fn(&RunRow) -> bool) -> Vec<RunRow> {
        let mut rows: Vec<RunRow> = self
            .runs
            .values()
            .map(|known| &known.row)
            .filter(|row| is_wanted(row))
            .cloned()
            .collect();
        rows.sort_by_key(|row| row.started);
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
        let rows = self.plans.values().map(|known| &known.row);
        let mut open: Vec<PlanRow> = rows.filter(|row| row.is_open()).cloned().collect();
        open.sort_by_key(|row| row.queued);
        Ok(open)
    }

    fn newest_plans(
        &self,
        workspace: WorkspaceId,
        count: u64,
    ) -> Result<Vec<PlanRow>, LedgerError> {
        let rows = self.plans.values().map(|known| &known.row);
        let mut rows: Vec<PlanRow> =
            rows.filter(|row| row.workspace == workspace).cloned().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.queued));
        rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
        Ok(rows)
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
}

impl Kept for MemoryStore {
    type Error = Infallible;

    fn known(&self, run: RunId) -> Result<Option<Known>, Infallible> {
        Ok(self.runs.get(&run).cloned())
    }

    fn known_plan(&self, plan: RunId) -> Result<Option<KnownPlan>, Infallible> {
        Ok(self.plans.get(&plan).cloned())
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
}
