//! Ports of the File Executor: the lease that was given, and the log of file tasks in the ledger.
//!
//! Neither is connected yet: every lease is refused, so that no task is carried out.

use std::path::{Path, PathBuf};

use actum::Records;
use actum_core::Timestamp;
use actum_file::{LeaseCheck, LeaseFacts, LeaseNeed, LeaseRefusal, LoggedTask, TaskLog, TaskStart};
use actum_ledger::{LedgerError, NewEntry};
use actum_record::lease::TaskName;

/// Lease that was given on the command line.
pub(super) struct GivenLease {
    file: Option<PathBuf>,
}

impl GivenLease {
    pub(super) fn new(file: Option<&Path>, start: &Path) -> Self {
        Self { file: file.map(|file| start.join(file)) }
    }
}

impl LeaseCheck for GivenLease {
    fn check(&self, _: &LeaseNeed<'_>, _: Timestamp) -> Result<LeaseFacts, LeaseRefusal> {
        let message = match &self.file {
            None => "a file task needs a lease, and none was given",
            Some(_) => "the lease cannot be verified by this version",
        };
        Err(LeaseRefusal::Invalid { reason: "LEASE_INVALID", message: message.to_owned() })
    }
}

/// Log of file tasks in the ledger.
pub(super) struct Log;

impl Log {
    pub(super) fn new(_: &Records) -> Self {
        Self
    }
}

impl TaskLog for Log {
    fn find(&self, _: &TaskName) -> Result<Option<LoggedTask>, LedgerError> {
        Ok(None)
    }

    fn open(&self) -> Result<Vec<TaskStart>, LedgerError> {
        Ok(Vec::new())
    }

    fn unreleased_deletions(&self) -> Result<Vec<TaskStart>, LedgerError> {
        Ok(Vec::new())
    }

    fn start(&self, _: &TaskStart) -> Result<Vec<NewEntry>, LedgerError> {
        Err(LedgerError::Stopped)
    }

    fn end(&self, _: &TaskName, _: &[u8]) -> Result<(), LedgerError> {
        Err(LedgerError::Stopped)
    }

    fn refuse(&self, _: &[u8]) -> Result<(), LedgerError> {
        Ok(())
    }
}
