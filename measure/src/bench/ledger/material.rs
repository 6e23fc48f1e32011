//! Entries of about 1 KiB, and ledgers filled with them.

use std::fs::create_dir_all;
use std::path::Path;

use actum_core::Status;
use actum_ledger::conformance::sample::{SampleRun, log_started};
use actum_ledger::sqlite::{SqliteOptions, SqliteStore};
use actum_ledger::{Ledger, LedgerError, Log, NewEntry, Prepared, Store};

use crate::bench::Failure;

/// Length of a label that makes the body of an `EFFECT_STARTED` about 1 KiB long.
const LABEL_BYTES: usize = 110;
/// Number of runs in one transaction while a ledger is filled.
const TOGETHER: u64 = 100;
const WORKSPACES: u64 = 7;

/// Returns the run with this number.
pub(super) fn sample(number: u64) -> SampleRun {
    SampleRun { label_bytes: LABEL_BYTES, ..SampleRun::numbered(number, number % WORKSPACES) }
}

/// Returns the start of the run with this number, together with the document that it names.
pub(super) fn started(number: u64) -> Result<NewEntry, Failure> {
    Ok(sample(number).started()?)
}

/// Opens the ledger in a directory, and creates both if they are missing.
pub(super) fn open(directory: &Path, options: SqliteOptions) -> Result<SqliteStore, Failure> {
    create_dir_all(directory)?;
    let mut first =
        |_| log_started().map_err(|error| LedgerError::Damaged { message: error.to_string() });
    Ok(SqliteStore::open(directory, options, &mut first)?)
}

/// Opens the store behind the writer thread. No checkpoints are signed, because that would require keys.
pub(super) fn ledger(directory: &Path) -> Ledger {
    let directory = directory.to_owned();
    let open = move || {
        let store = open(&directory, SqliteOptions::default());
        let store = store.map_err(|error| LedgerError::Damaged { message: error.to_string() })?;
        Ok(Box::new(store) as Box<dyn Store>)
    };
    Ledger::over(Box::new(open), Box::new(|| Err(LedgerError::Stopped)))
}

/// Fills a ledger with completed runs.
pub(super) fn fill(directory: &Path, entries: u64) -> Result<(), Failure> {
    let mut store = open(directory, SqliteOptions::default())?;
    let mut number = 0;
    while number * 2 < entries {
        let runs = (number..number + TOGETHER).map(sample);
        let mut request = Vec::new();
        for (run, started) in runs.zip((store.size()?..).step_by(2)) {
            request.push(Prepared::new(run.started()?)?);
            request.push(Prepared::new(run.done(Status::Succeeded, started)?)?);
        }
        for result in store.append(&[request])? {
            result?;
        }
        store.tidy()?;
        number += TOGETHER;
    }
    Ok(())
}
