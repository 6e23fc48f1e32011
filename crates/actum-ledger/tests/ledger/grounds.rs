//! Test fixture: a home with keys and a ledger, and operations on them.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "a test may fail loudly, and a ledger lies outside any workspace"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use actum_core::{Status, Timestamp};
use actum_gate::verify_checkpoint;
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::sqlite::{DATABASE, SqliteOptions, SqliteStore};
use actum_ledger::verify::{Checks, Receipts, Verification, verify};
use actum_ledger::{Appended, Keys, Ledger, LedgerError, LedgerHome, LedgerView, NewEntry};
use actum_record::ledger::TenantId;
use tempfile::TempDir;

pub struct Grounds {
    _directory: Option<TempDir>,
    pub home: LedgerHome,
    pub keys: Arc<Keys>,
}

pub fn now() -> Timestamp {
    Timestamp::from_micros(1_795_000_000_000_000)
}

impl Grounds {
    pub fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let grounds = Self::at(&directory.path().join("home"));
        Self { _directory: Some(directory), ..grounds }
    }

    /// Creates a fixture in `home` that is not removed afterwards.
    pub fn at(home: &Path) -> Self {
        let home = LedgerHome::open(home).unwrap();
        let keys = Arc::new(Keys::open(&home, now()).unwrap());
        Self { _directory: None, home, keys }
    }

    pub fn ledger(&self) -> Ledger {
        Ledger::open(&self.home, &TenantId::default(), Arc::clone(&self.keys), Arc::new(now))
    }

    /// Returns the directory of the ledger, which already exists.
    pub fn place(&self) -> PathBuf {
        self.home.tenant(&TenantId::default()).unwrap().path().to_owned()
    }

    pub fn database(&self) -> PathBuf {
        self.place().join(DATABASE)
    }

    pub fn view(&self) -> LedgerView {
        LedgerView::open(&self.home, &TenantId::default()).unwrap().unwrap()
    }

    /// Creates a ledger with a small page size, so that it has many pages.
    pub fn make_small(&self) {
        let options = SqliteOptions { page_bytes: 512, ..SqliteOptions::default() };
        let mut first = |_| Ok(actum_ledger::conformance::sample::log_started().unwrap());
        drop(SqliteStore::open(&self.place(), options, &mut first).unwrap());
    }

    pub fn verify(&self) -> Result<Verification, LedgerError> {
        self.verify_at(&self.place())
    }

    /// Verifies the ledger in the directory `place`.
    pub fn verify_at(&self, place: &Path) -> Result<Verification, LedgerError> {
        let view = LedgerView::open_directory(place)?;
        let gone = LedgerError::Damaged { message: "it is gone".to_owned() };
        let (note, entry) = (&mut self.check(), &mut |_, _: &[u8]| Ok(()));
        let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
        verify(&view.ok_or(gone)?, &mut checks, &mut |_| {})
    }

    /// Returns a function that checks that a checkpoint is signed by the keys of this home.
    pub fn check(&self) -> impl FnMut(&str) -> Result<(), String> + '_ {
        |note| match verify_checkpoint(note.as_bytes(), self.keys.keyring()) {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Opens the database directly with SQLite, as any other program could.
    pub fn foreign(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.database()).unwrap()
    }

    /// Moves the write-ahead log into the database and removes the log file.
    pub fn settle(&self) {
        let taken = self
            .foreign()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0));
        assert_eq!(taken, Ok(0));
        for end in ["-wal", "-shm"] {
            drop(fs::remove_file(self.place().join(format!("{DATABASE}{end}"))));
        }
    }
}

/// SQL statements that drop the tables of schema version 8, with their indexes and triggers.
pub const WITHOUT_AGENT: &str = "DROP INDEX entry_slo_waived; \
     DROP TABLE agent_execution_current; DROP TABLE agent_slo_minute; \
     DROP TABLE agent_execution_ledger; DROP TABLE agent_execution_access_decision_ledger; \
     DROP TABLE agent_execution_confirmation_ledger; DROP TABLE agent_intake_resolved_ledger;";

/// Returns both entries of a run, of which the first gets the index `started`.
pub fn whole(number: u64, started: u64) -> Vec<NewEntry> {
    let run = SampleRun::numbered(number, number % 3);
    vec![run.started().unwrap(), run.done(Status::Succeeded, started).unwrap()]
}

/// Appends the two entries of a run one after the other, at any indexes.
pub fn put(ledger: &Ledger, number: u64) -> [Appended; 2] {
    let run = SampleRun::numbered(number, number % 3);
    let one = |entry| ledger.append(vec![entry]).wait().unwrap().remove(0);
    let started = one(run.started().unwrap());
    let done = one(run.done(Status::Succeeded, started.index).unwrap());
    [started, done]
}

/// Appends several runs, one after the other.
pub fn fill(ledger: &Ledger, runs: std::ops::Range<u64>) {
    for number in runs {
        put(ledger, number);
    }
}

/// Returns a command that runs this test binary with only the ignored test `name`.
pub fn child(name: &str, place: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("ACTUM_TEST_PLACE", place).stdin(Stdio::null());
    command
}

/// Like `child`, but starts the test through a shell script that ends with `exec \"$@\"`.
pub fn child_behind(script: &str, name: &str, place: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", script, "sh"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("ACTUM_TEST_PLACE", place).stdin(Stdio::null());
    command
}

/// Returns the directory that the parent passed to this child.
pub fn given_place() -> PathBuf {
    std::env::var_os("ACTUM_TEST_PLACE").unwrap().into()
}

/// In a child process, opens the ledger of the home that the parent passed.
pub fn given_ledger() -> Ledger {
    let home = LedgerHome::open(&given_place()).unwrap();
    let keys = Arc::new(Keys::open(&home, now()).unwrap());
    Ledger::open(&home, &TenantId::default(), keys, Arc::new(now))
}

pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
