//! Test environment of the engine, with a simulated disk and an in-memory ledger that can fail.

use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use actum::{Clock, Engine, Records, Request};
use actum_core::{Digest, RelPath, RunId, Timestamp};
use actum_edit::{LineHunk, Operation};
use actum_ledger::{
    Admission, AgentCurrentRow, AgentEscalation, AgentSlo, AgentStepRow, Appended, Entry,
    FileTaskRow, Keys, LeaseRow, Ledger, LedgerError, LedgerHome, Log, PlanRow, Prepared, Refusal,
    RunRow, SignedCheckpoint, Store,
};
use actum_record::agent::{AgentPlanId, CorrelationId, StepId};
use actum_record::lease::{LeaseId, TaskName};
use actum_record::ledger::{EntryKind, RequestKey, TenantId, WorkspaceId};
use actum_record::merkle::Node;
use actum_record::signer::KeyRole;
use actum_testkit::SimDisk;
use actum_workspace::Workspace;
use tempfile::TempDir;

use crate::memory::MemoryStore;

/// Keys, clock and ledger of a test.
pub(crate) struct Grounds {
    home: TempDir,
    keys: Arc<Keys>,
    clock: Clock,
    ticks: Arc<AtomicI64>,
    pub(crate) store: SharedStore,
}

/// Fault of an append.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing is appended, and the error states that.
    Full,
    /// The entry is appended, but the error states that the outcome is unknown.
    Unknown,
}

/// Ledger that survives the simulated processes of a test.
#[derive(Clone, Default)]
pub(crate) struct SharedStore(Arc<Mutex<Inside>>);

#[derive(Default)]
struct Inside {
    store: MemoryStore,
    appends: usize,
    fault: Option<(usize, Fault)>,
    is_full_from: Option<usize>,
}

impl Grounds {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let ticks = Arc::new(AtomicI64::new(1_700_000_000_000_000));
        let ticking = Arc::clone(&ticks);
        let clock =
            Clock::new(move || Timestamp::from_micros(ticking.fetch_add(1000, Ordering::Relaxed)));
        let ledger_home = LedgerHome::open(&home.path().join("records")).unwrap();
        let mut keys = Keys::open(&ledger_home, clock.now()).unwrap();
        for role in [KeyRole::Approval, KeyRole::Lease] {
            keys.make(role, clock.now(), None, Admission::AtOnce).unwrap();
        }
        let keys = Arc::new(keys);
        let grounds = Self { home, keys, clock, ticks, store: SharedStore::default() };
        grounds.begin(&grounds.store);
        grounds
    }

    /// Returns records backed by the given ledger.
    pub(crate) fn records_of(&self, store: &SharedStore) -> Records {
        let opened = store.clone();
        let ledger = Ledger::over(
            Box::new(move || Ok(Box::new(opened.clone()) as Box<dyn Store>)),
            Box::new(|| Err(LedgerError::Checkpoint { message: "none in this test".to_owned() })),
        );
        let (keys, clock) = (Arc::clone(&self.keys), self.clock.clone());
        Records::over(TenantId::default(), ledger, keys, clock)
    }

    /// Advances the clock by this number of microseconds.
    pub(crate) fn wait(&self, micros: i64) {
        self.ticks.fetch_add(micros, Ordering::Relaxed);
    }

    pub(crate) fn keys(&self) -> &Keys {
        &self.keys
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn records(&self) -> Records {
        self.records_of(&self.store)
    }

    /// Appends the first entry of a log.
    fn begin(&self, store: &SharedStore) {
        let started = actum_record::ledger::LogStarted {
            format: actum_record::ledger::LogStarted::FORMAT.to_owned(),
            time: self.clock.now(),
            tenant: TenantId::default(),
            origin: "actum/test/default".to_owned(),
            keys: Vec::new(),
        };
        let body = actum_core::canonical::to_vec(&started).unwrap();
        let entry = actum_ledger::NewEntry { kind: EntryKind::LogStarted, body, blobs: vec![] };
        let prepared = Prepared::all(vec![entry]).unwrap();
        store.clone().append(&[prepared]).unwrap().remove(0).unwrap();
        store.0.lock().unwrap().appends = 0;
    }
}

impl SharedStore {
    /// Returns an independent copy.
    pub(crate) fn fork(&self) -> Self {
        let fork = Self::default();
        let ours = self.0.lock().unwrap();
        let mut inside = Inside::default();
        let entries = ours.store.entries(0, u64::MAX).unwrap();
        for entry in entries {
            let facts = actum_record::ledger::EntryFacts::parse(entry.kind, &entry.body).unwrap();
            let blobs = facts.blobs.iter().map(|digest| ours.store.blob(digest).unwrap().unwrap());
            let blobs = blobs.collect();
            let new = actum_ledger::NewEntry { kind: entry.kind, body: entry.body, blobs };
            inside.store.append(&[Prepared::all(vec![new]).unwrap()]).unwrap().remove(0).unwrap();
        }
        drop(ours);
        *fork.0.lock().unwrap() = inside;
        fork
    }

    /// Makes the append of this number, counted from now, fail with this fault.
    pub(crate) fn fail_at(&self, append: usize, fault: Fault) {
        let mut inside = self.0.lock().unwrap();
        inside.fault = Some((inside.appends + append, fault));
    }

    /// Makes the append of this number, counted from now, and all later ones fail because the disk is full.
    pub(crate) fn is_full_from(&self, append: usize) {
        let mut inside = self.0.lock().unwrap();
        inside.is_full_from = Some(inside.appends + append);
    }

    /// Returns the number of entries of the given kind.
    pub(crate) fn count(&self, kind: EntryKind) -> usize {
        self.entries(0, u64::MAX).unwrap().iter().filter(|entry| entry.kind == kind).count()
    }

    /// Returns all runs in the order of their starts.
    pub(crate) fn runs(&self) -> Vec<RunRow> {
        let entries = self.entries(0, u64::MAX).unwrap();
        let started = entries.iter().filter(|entry| entry.kind == EntryKind::EffectStarted);
        let run = |entry: &Entry| {
            let facts = actum_record::ledger::EntryFacts::parse(entry.kind, &entry.body).unwrap();
            self.run(facts.run.unwrap()).unwrap().unwrap()
        };
        started.map(run).collect()
    }

    fn read<T>(
        &self,
        read: impl FnOnce(&MemoryStore) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        read(&self.0.lock().unwrap().store)
    }
}

impl Log for SharedStore {
    fn size(&self) -> Result<u64, LedgerError> {
        self.read(|store| store.size())
    }
    fn entry(&self, index: u64) -> Result<Option<Entry>, LedgerError> {
        self.read(|store| store.entry(index))
    }
    fn entries(&self, from: u64, count: u64) -> Result<Vec<Entry>, LedgerError> {
        self.read(|store| store.entries(from, count))
    }
    fn node(&self, node: Node) -> Result<Digest, LedgerError> {
        self.read(|store| store.node(node))
    }
    fn blob(&self, digest: &Digest) -> Result<Option<Vec<u8>>, LedgerError> {
        self.read(|store| store.blob(digest))
    }
    fn run(&self, run: RunId) -> Result<Option<RunRow>, LedgerError> {
        self.read(|store| store.run(run))
    }
    fn open_runs(&self, workspace: WorkspaceId) -> Result<Vec<RunRow>, LedgerError> {
        self.read(|store| store.open_runs(workspace))
    }
    fn request(
        &self,
        workspace: WorkspaceId,
        key: &RequestKey,
    ) -> Result<Vec<RunRow>, LedgerError> {
        self.read(|store| store.request(workspace, key))
    }
    fn plan(&self, plan: RunId) -> Result<Option<PlanRow>, LedgerError> {
        self.read(|store| store.plan(plan))
    }
    fn open_plans(&self) -> Result<Vec<PlanRow>, LedgerError> {
        self.read(|store| store.open_plans())
    }
    fn newest_plans(
        &self,
        workspace: WorkspaceId,
        count: u64,
    ) -> Result<Vec<PlanRow>, LedgerError> {
        self.read(|store| store.newest_plans(workspace, count))
    }
    fn lease(&self, lease: LeaseId) -> Result<Option<LeaseRow>, LedgerError> {
        self.read(|store| store.lease(lease))
    }
    fn file_task(&self, task: &TaskName) -> Result<Option<FileTaskRow>, LedgerError> {
        self.read(|store| store.file_task(task))
    }
    fn open_file_tasks(&self) -> Result<Vec<FileTaskRow>, LedgerError> {
        self.read(|store| store.open_file_tasks())
    }
    fn agent_step(
        &self,
        correlation: &CorrelationId,
        step: &StepId,
    ) -> Result<Option<AgentStepRow>, LedgerError> {
        self.read(|store| store.agent_step(correlation, step))
    }
    fn open_agent_steps(&self) -> Result<Vec<AgentStepRow>, LedgerError> {
        self.read(|store| store.open_agent_steps())
    }
    fn agent_current(
        &self,
        plan: &AgentPlanId,
        step: &StepId,
    ) -> Result<Option<AgentCurrentRow>, LedgerError> {
        self.read(|store| store.agent_current(plan, step))
    }
    fn agent_entries(&self, correlation: &CorrelationId) -> Result<Vec<u64>, LedgerError> {
        self.read(|store| store.agent_entries(correlation))
    }
    fn agent_goal_of_request(
        &self,
        request: &Digest,
    ) -> Result<Option<CorrelationId>, LedgerError> {
        self.read(|store| store.agent_goal_of_request(request))
    }
    fn unresolved_escalations(&self) -> Result<Vec<AgentEscalation>, LedgerError> {
        self.read(|store| store.unresolved_escalations())
    }
    fn agent_slo(&self, since: Timestamp) -> Result<AgentSlo, LedgerError> {
        self.read(|store| store.agent_slo(since))
    }
    fn count_duplicate_effects(&self) -> Result<u64, LedgerError> {
        self.read(|store| store.count_duplicate_effects())
    }
    fn newest_of_kind(
        &self,
        kind: EntryKind,
        before: Option<u64>,
        count: u64,
    ) -> Result<Vec<u64>, LedgerError> {
        self.read(|store| store.newest_of_kind(kind, before, count))
    }
    fn newest_checkpoint(&self) -> Result<Option<SignedCheckpoint>, LedgerError> {
        self.read(|store| store.newest_checkpoint())
    }
    fn checkpoints(&self, size: u64, count: u64) -> Result<Vec<SignedCheckpoint>, LedgerError> {
        self.read(|store| store.checkpoints(size, count))
    }
}

impl Store for SharedStore {
    fn append(
        &mut self,
        requests: &[actum_ledger::Request],
    ) -> Result<Vec<Result<Vec<Appended>, Refusal>>, LedgerError> {
        let mut inside = self.0.lock().unwrap();
        let number = inside.appends;
        inside.appends += 1;
        let fault = inside.fault.filter(|(at, _)| *at == number).map(|(_, fault)| fault);
        if inside.is_full_from.is_some_and(|from| from <= number) {
            return Err(LedgerError::Full { store: "a test".into() });
        }
        if fault == Some(Fault::Full) {
            return Err(LedgerError::Full { store: "a test".into() });
        }
        let appended = inside.store.append(requests);
        if fault == Some(Fault::Unknown) {
            appended.unwrap();
            return Err(LedgerError::Stopped);
        }
        appended
    }

    fn put_checkpoint(&mut self, checkpoint: &SignedCheckpoint) -> Result<(), LedgerError> {
        self.0.lock().unwrap().store.put_checkpoint(checkpoint)
    }

    fn rebuild_agent_current(&mut self) -> Result<u64, LedgerError> {
        self.0.lock().unwrap().store.rebuild_agent_current()
    }
}

pub(crate) fn path(text: &str) -> RelPath {
    RelPath::new(text).unwrap()
}

pub(crate) fn patch(file: &str, old: &str, new: &str) -> Operation {
    let body = format!("-{old}\n+{new}\n").into_bytes();
    let hunk =
        LineHunk { old_start: 1, old_lines: 1, new_start: 1, new_lines: 1, body, at_end: false };
    Operation::Patch { path: path(file), hunks: vec![hunk], expected: None }
}

pub(crate) fn create(file: &str) -> Operation {
    Operation::Create { path: path(file), content: b"new\n".to_vec(), mode: None }
}

/// Returns one operation of each kind.
pub(crate) fn mixture() -> Vec<Operation> {
    vec![
        patch("a", "one", "ONE"),
        create("n/new"),
        Operation::Rename {
            from: path("b"),
            to: path("c"),
            parents: actum_edit::EmptyParents::Keep,
        },
    ]
}

/// Returns a durable disk with a workspace that has an id.
pub(crate) fn disk(grounds: &Grounds) -> SimDisk {
    let disk = SimDisk::new();
    disk.put("a", b"one\ntwo\n");
    disk.put("b", b"uno\n");
    engine(&disk, grounds.records()).unwrap().resume().unwrap();
    disk.settle();
    disk
}

pub(crate) fn engine(disk: &SimDisk, records: Records) -> actum::Result<Engine<SimDisk>> {
    let workspace = Workspace::open_on(disk.clone(), Path::new("/"))?;
    Ok(Engine::new(workspace, Path::new("/"), records))
}

pub(crate) fn run(
    disk: &SimDisk,
    records: Records,
    request: Request,
) -> actum::Result<actum::Done> {
    engine(disk, records)?.run(request)
}
