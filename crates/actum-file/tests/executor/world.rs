//! Base directories, a ledger, a lease and a log of file tasks, for tests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use actum::{Clock, Engine, Records};
use actum_core::{Digest, Timestamp};
use actum_file::{
    BaseDirectories, ByteWorker, ErrorCode, ExecutionResult, FileTaskEnd, Host, HostError,
    InProcess, LeaseCheck, LeaseFacts, LeaseNeed, LeaseRefusal, LoggedTask, OpenError, Settled,
    TaskLog, TaskStart, TaskStatus, WorkspaceState,
};
use actum_ledger::{LedgerError, NewEntry};
use actum_record::lease::{BaseDirectory, LeaseRecord, Quotas, TaskName};
use actum_record::ledger::{Actor, TenantId};
use actum_testkit::TestDir;
use actum_workspace::LinuxDisk;

/// Two base directories `a` and `b`, and a home of ledger and keys.
pub(crate) struct World {
    pub(crate) directory: TestDir,
    pub(crate) records: Records,
    pub(crate) lease: TestLease,
    pub(crate) log: MemoryLog,
    pub(crate) is_cancelled: Cell<bool>,
    pub(crate) bases: BaseDirectories,
    ticks: Arc<AtomicI64>,
}

/// Lease that allows everything, or nothing.
pub(crate) struct TestLease {
    pub(crate) answers: RefCell<Vec<Result<LeaseFacts, LeaseRefusal>>>,
    pub(crate) quotas: Cell<Quotas>,
    record: LeaseRecord,
}

/// Log of file tasks in memory.
#[derive(Default)]
pub(crate) struct MemoryLog {
    pub(crate) tasks: RefCell<BTreeMap<TaskName, LoggedTask>>,
    pub(crate) refusals: RefCell<Vec<Vec<u8>>>,
    /// Whether the next end is not recorded, as if the process were killed before.
    pub(crate) loses_end: Cell<bool>,
}

impl LeaseCheck for TestLease {
    fn check(&self, _: &LeaseNeed<'_>, _: Timestamp) -> Result<LeaseFacts, LeaseRefusal> {
        let answer = self.answers.borrow_mut().pop();
        let facts = LeaseFacts { record: self.record.clone(), quotas: self.quotas.get() };
        answer.unwrap_or(Ok(facts))
    }
}

impl TaskLog for MemoryLog {
    fn find(&self, task: &TaskName) -> Result<Option<LoggedTask>, LedgerError> {
        Ok(self.tasks.borrow().get(task).cloned())
    }

    fn open(&self) -> Result<Vec<TaskStart>, LedgerError> {
        let tasks = self.tasks.borrow();
        let open = tasks.values().filter(|task| task.result.is_none());
        Ok(open.filter_map(|task| task.start.clone()).collect())
    }

    fn unreleased_deletions(&self) -> Result<Vec<TaskStart>, LedgerError> {
        let tasks = self.tasks.borrow();
        let starts = tasks.values().filter_map(|task| task.start.clone());
        Ok(starts.filter(|start| start.destination.is_none()).collect())
    }

    fn start(&self, start: &TaskStart) -> Result<Vec<NewEntry>, LedgerError> {
        let task = LoggedTask {
            manifest: start.manifest,
            start: Some(start.clone()),
            started: None,
            result: None,
        };
        assert!(self.tasks.borrow_mut().insert(start.task.clone(), task).is_none());
        Ok(Vec::new())
    }

    fn end(&self, task: &TaskName, envelope: &[u8]) -> Result<(), LedgerError> {
        if self.loses_end.take() {
            return Err(LedgerError::Stopped);
        }
        let digest = {
            let envelope = actum_record::dsse::Envelope::read(envelope).unwrap();
            let result: ExecutionResult = serde_json::from_slice(&envelope.payload).unwrap();
            result.manifest
        };
        let mut tasks = self.tasks.borrow_mut();
        let unstarted = LoggedTask { manifest: digest, start: None, started: None, result: None };
        let logged = tasks.entry(task.clone()).or_insert(unstarted);
        assert!(logged.result.replace(envelope.to_vec()).is_none(), "a task ends once");
        Ok(())
    }

    fn refuse(&self, envelope: &[u8]) -> Result<(), LedgerError> {
        self.refusals.borrow_mut().push(envelope.to_vec());
        Ok(())
    }
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = TestDir::new();
        directory.mkdir("a");
        directory.mkdir("b");
        let ticks = Arc::new(AtomicI64::new(1_700_000_000_000_000));
        let ticking = Arc::clone(&ticks);
        let clock =
            Clock::new(move || Timestamp::from_micros(ticking.fetch_add(1, Ordering::Relaxed)));
        let home = directory.join("home");
        let records = Records::open(&home, &TenantId::default(), clock).unwrap();
        let key = records.keyring().keys()[0].id.clone();
        let record = LeaseRecord { blocks: Vec::new(), document: Digest::of(b"lease"), key };
        let lease = TestLease { answers: RefCell::default(), quotas: Cell::default(), record };
        let [a, b] = ["a", "b"].map(|base| directory.join(base).to_str().unwrap().to_owned());
        let bases = BaseDirectories::new([&*a, &*b]).unwrap();
        Self {
            directory,
            records,
            lease,
            log: MemoryLog::default(),
            is_cancelled: Cell::new(false),
            bases,
            ticks,
        }
    }

    /// So many microseconds pass.
    pub(crate) fn wait(&self, micros: i64) {
        self.ticks.fetch_add(micros, Ordering::Relaxed);
    }

    /// Absolute path of something below the directory of the test.
    pub(crate) fn path(&self, below: &str) -> String {
        self.directory.join(below).to_str().unwrap().to_owned()
    }

    /// Calls the host with a worker.
    pub(crate) fn with_worker<T>(
        &self,
        worker: &mut dyn ByteWorker<LinuxDisk>,
        call: impl FnOnce(&mut Host<'_, LinuxDisk>) -> T,
    ) -> T {
        let open = |base: &BaseDirectory| {
            let root = Path::new(base.as_str().trim_end_matches('/'));
            Engine::open(root, self.records.clone()).map_err(OpenError::from)
        };
        let is_cancelled = || self.is_cancelled.get();
        call(&mut Host {
            records: self.records.clone(),
            bases: self.bases.clone(),
            open: &open,
            worker,
            leases: &self.lease,
            log: &self.log,
            actor: Actor { user: "tester".to_owned(), uid: 1000, agent: None },
            is_cancelled: &is_cancelled,
        })
    }

    pub(crate) fn run_bytes(&self, manifest: &[u8]) -> Result<FileTaskEnd, HostError> {
        self.with_worker(&mut InProcess(LinuxDisk), |host| host.run(manifest))
    }

    pub(crate) fn run(&self, manifest: &str) -> FileTaskEnd {
        let end = self.run_bytes(manifest.as_bytes()).unwrap();
        // FE-14: each result is signed, and says what it is.
        let verified = actum_file::verify_any(&end.envelope, self.records.keyring()).unwrap();
        assert_eq!(verified.result, end.result);
        end
    }

    pub(crate) fn recover(&self) -> Settled {
        self.with_worker(&mut InProcess(LinuxDisk), |host| host.recover()).unwrap()
    }

    /// Manifest of a task; paths are below the directory of the test.
    pub(crate) fn manifest(&self, task: &str, capability: &str, from: &str, to: &str) -> String {
        let input = match to {
            "" => serde_json::json!({"source_path": self.path(from)}),
            to => serde_json::json!({
                "source_path": self.path(from), "destination_path": self.path(to),
            }),
        };
        serde_json::json!({
            "task_id": task, "capability_id": capability, "input": input,
            "constraints": {"reversible": true},
        })
        .to_string()
    }

    /// Carries out a task that must succeed.
    pub(crate) fn succeed(
        &self,
        task: &str,
        capability: &str,
        from: &str,
        to: &str,
    ) -> FileTaskEnd {
        let end = self.run(&self.manifest(task, capability, from, to));
        assert_eq!(end.result.status, TaskStatus::Success, "{:?}", end.result.detail);
        end
    }

    /// Carries out a task that must fail, with nothing changed.
    pub(crate) fn fail(
        &self,
        task: &str,
        capability: &str,
        from: &str,
        to: &str,
    ) -> (ErrorCode, String) {
        let before = self.files();
        let end = self.run(&self.manifest(task, capability, from, to));
        assert_eq!(self.files(), before, "a failed task changes nothing");
        failure(&end)
    }

    /// All files but those of the home.
    pub(crate) fn files(&self) -> BTreeMap<std::path::PathBuf, actum_testkit::Held> {
        let mut files = self.directory.tree();
        files.retain(|path, _| !path.starts_with("home"));
        files
    }
}

/// Code and reason of a failure that left nothing behind.
pub(crate) fn failure(end: &FileTaskEnd) -> (ErrorCode, String) {
    let result = &end.result;
    assert_eq!((result.status, &result.output), (TaskStatus::Failed, &None));
    let detail = result.detail.clone().unwrap();
    assert_ne!(detail.workspace, WorkspaceState::NeedsAttention, "{}", detail.message);
    (result.error_code.unwrap(), detail.reason)
}
