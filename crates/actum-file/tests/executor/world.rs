//! Base directories, ledger, lease and file task log of the tests.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use actum::{Clock, Engine, Grantor, Records, RequestLease};
use actum_core::Timestamp;
use actum_file::{
    BaseDirectories, ByteWorker, ErrorCode, FileTaskEnd, Host, HostError, InProcess, LeaseCheck,
    LeaseFacts, LeaseNeed, LeaseRefusal, LedgerLog, LoggedTask, OpenError, PresentedLease, Settled,
    TaskLog, TaskStart, TaskStatus, WorkspaceState,
};
use actum_ledger::{Admission, Keys, LedgerError, LedgerHome, NewEntry};
use actum_record::lease::{BaseDirectory, Capability, LeaseTerms, Quotas, TaskName};
use actum_record::ledger::{Actor, Isolation, TenantId};
use actum_record::signer::KeyRole;
use actum_testkit::{SimDisk, TestDir};
use actum_workspace::LinuxDisk;

/// Two base directories, `a` and `b`, and a home directory with the ledger and the keys.
pub(crate) struct World {
    pub(crate) directory: TestDir,
    pub(crate) records: Records,
    pub(crate) lease: TestLease,
    pub(crate) log: TestLog,
    pub(crate) is_cancelled: Cell<bool>,
    pub(crate) bases: BaseDirectories,
}

type QuotasAndUses = (Quotas, Option<u64>);

/// Lease for all paths, unless a field limits it.
pub(crate) struct TestLease {
    /// Answers to the next lease checks, with the last one first. `Ok` checks the actual lease.
    pub(crate) answers: RefCell<Vec<Result<(), LeaseRefusal>>>,
    pub(crate) quotas: Cell<Quotas>,
    pub(crate) uses: Cell<Option<u64>>,
    /// Lease sent with the requests, in place of the default lease for all paths. The inner `None` sends a request without a lease.
    pub(crate) presented: RefCell<Option<Option<RequestLease>>>,
    /// Lease that was granted with these quotas and uses.
    granted: RefCell<Option<(QuotasAndUses, RequestLease)>>,
    pub(crate) home: LedgerHome,
    records: Records,
}

/// Task log on the ledger that can lose the end of a task.
pub(crate) struct TestLog {
    records: Records,
    pub(crate) refusals: RefCell<Vec<Vec<u8>>>,
    /// Whether the next end is not recorded, as if the process had been killed before.
    pub(crate) loses_end: Cell<bool>,
    /// Disk of the process, which records no end once the simulation has killed it.
    pub(crate) disk: RefCell<Option<SimDisk>>,
}

impl TestLease {
    /// Returns a lease with the current quotas and uses, and grants it only once.
    fn lease(&self) -> RequestLease {
        let terms = (self.quotas.get(), self.uses.get());
        let mut granted = self.granted.borrow_mut();
        match &*granted {
            Some((of, lease)) if *of == terms => lease.clone(),
            Some(_) | None => granted.insert((terms, self.grant())).1.clone(),
        }
    }

    fn grant(&self) -> RequestLease {
        let now = self.records.now();
        let second = |micros: i64| Timestamp::from_micros(micros / 1_000_000 * 1_000_000);
        let terms = LeaseTerms {
            base_directories: Some(["/".parse().unwrap()].into()),
            capabilities: Some(
                [Capability::FileMove, Capability::FileCopy, Capability::FileDelete].into(),
            ),
            expires: Some(second(now.micros() + 3_600_000_000)),
            quotas: self.quotas.get(),
            tenant: Some(TenantId::default()),
            uses: self.uses.get(),
            ..LeaseTerms::default()
        };
        let keys = Keys::open(&self.home, now).unwrap();
        let signer = keys.signer(KeyRole::Lease, now).unwrap();
        let by = Actor { user: "operator".to_owned(), uid: 1001, agent: None };
        let grantor = Grantor { by, signer: &signer, isolation: Isolation::SameUser };
        let granted = self.records.grant_lease(&terms, &grantor).unwrap();
        RequestLease::present_in(&granted.token, &self.records).unwrap()
    }
}

impl LeaseCheck for TestLease {
    fn check(&self, need: &LeaseNeed<'_>, now: Timestamp) -> Result<LeaseFacts, LeaseRefusal> {
        if let Some(Err(refusal)) = self.answers.borrow_mut().pop() {
            return Err(refusal);
        }
        let presented = self.presented.borrow().clone();
        let lease = presented.unwrap_or_else(|| Some(self.lease()));
        PresentedLease::new(&self.records, Ok(lease)).check(need, now)
    }
}

impl TaskLog for TestLog {
    fn find(&self, task: &TaskName) -> Result<Option<LoggedTask>, LedgerError> {
        LedgerLog::new(&self.records).find(task)
    }

    fn open(&self) -> Result<Vec<TaskStart>, LedgerError> {
        LedgerLog::new(&self.records).open()
    }

    fn deletions(&self) -> Result<Vec<TaskStart>, LedgerError> {
        LedgerLog::new(&self.records).deletions()
    }

    fn start(&self, start: &TaskStart, blocks: &[u8]) -> Result<Vec<NewEntry>, LedgerError> {
        LedgerLog::new(&self.records).start(start, blocks)
    }

    fn end(&self, task: &TaskName, envelope: &[u8]) -> Result<(), LedgerError> {
        let is_killed = self.disk.borrow().as_ref().is_some_and(SimDisk::killed);
        if self.loses_end.take() || is_killed {
            return Err(LedgerError::Stopped);
        }
        LedgerLog::new(&self.records).end(task, envelope)
    }

    fn refuse(&self, envelope: &[u8]) -> Result<(), LedgerError> {
        self.refusals.borrow_mut().push(envelope.to_vec());
        LedgerLog::new(&self.records).refuse(envelope)
    }
}

impl World {
    pub(crate) fn new() -> Self {
        Self::within(TestDir::new())
    }

    /// Creates a world that keeps its ledger and keys in memory.
    pub(crate) fn in_memory() -> Self {
        Self::within(TestDir::in_memory())
    }

    fn within(directory: TestDir) -> Self {
        directory.mkdir("a");
        directory.mkdir("b");
        let ticks = Arc::new(AtomicI64::new(1_700_000_000_000_000));
        let clock =
            Clock::new(move || Timestamp::from_micros(ticks.fetch_add(1, Ordering::Relaxed)));
        let home = directory.join("home");
        let ledger_home = LedgerHome::open(&home).unwrap();
        let mut keys = Keys::open(&ledger_home, clock.now()).unwrap();
        keys.make(KeyRole::Lease, clock.now(), None, Admission::AtOnce).unwrap();
        let records = Records::open(&home, &TenantId::default(), clock).unwrap();
        let lease = TestLease {
            answers: RefCell::default(),
            quotas: Cell::default(),
            uses: Cell::default(),
            presented: RefCell::default(),
            granted: RefCell::default(),
            home: ledger_home,
            records: records.clone(),
        };
        let log = TestLog {
            records: records.clone(),
            refusals: RefCell::default(),
            loses_end: Cell::new(false),
            disk: RefCell::default(),
        };
        let [a, b] = ["a", "b"].map(|base| directory.join(base).to_str().unwrap().to_owned());
        let bases = BaseDirectories::new([&*a, &*b]).unwrap();
        Self { directory, records, lease, log, is_cancelled: Cell::new(false), bases }
    }

    /// Returns the absolute path of something below the test directory.
    pub(crate) fn path(&self, below: &str) -> String {
        self.directory.join(below).to_str().unwrap().to_owned()
    }

    /// Calls the host with the given worker.
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
        // FE-14: each result is signed and contains its kind.
        let verified = actum_file::verify_any(&end.envelope, self.records.keyring()).unwrap();
        assert_eq!(verified.result, end.result);
        end
    }

    pub(crate) fn recover(&self) -> Settled {
        self.with_worker(&mut InProcess(LinuxDisk), |host| host.recover()).unwrap()
    }

    /// Returns the manifest of a task. Its paths are relative to the test directory.
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

    /// Returns all files except those in the home directory.
    pub(crate) fn files(&self) -> BTreeMap<std::path::PathBuf, actum_testkit::Held> {
        let mut files = self.directory.tree();
        files.retain(|path, _| !path.starts_with("home"));
        files
    }
}

/// Returns the code and the reason of a failure, after checking that the workspace needs no attention.
pub(crate) fn failure(end: &FileTaskEnd) -> (ErrorCode, String) {
    let result = &end.result;
    assert_eq!((result.status, &result.output), (TaskStatus::Failed, &None));
    let detail = result.detail.clone().unwrap();
    assert_ne!(detail.workspace, WorkspaceState::NeedsAttention, "{}", detail.message);
    (result.error_code.unwrap(), detail.reason)
}
