//! Conformance suite that every store must pass, run on SQLite and on a store that uses only public items, as a store in another
//! crate would.

use actum_core::Status;
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::conformance::{check, check_snapshot, sample};
use actum_ledger::sqlite::{SqliteOptions, SqliteStore};
use actum_ledger::verify::{Checks, Receipts, Subject, verify};
use actum_ledger::{LedgerError, LedgerView, Log, Prepared, Store};

use crate::memory::MemoryStore;

/// AEC-8
#[test]
fn memory_store_passes_the_conformance_suite() {
    let mut make = || {
        let mut store = MemoryStore::new();
        let first = Prepared::new(sample::log_started().unwrap())?;
        for result in store.append(&[vec![first]])? {
            result?;
        }
        Ok::<Box<dyn Store>, LedgerError>(Box::new(store))
    };
    check(&mut make).unwrap();
}

/// Returns a store in memory with the entries of several runs.
fn filled() -> MemoryStore {
    let mut store = MemoryStore::new();
    let mut take = |entry| {
        let request = Prepared::all(vec![entry]).unwrap();
        store.append(&[request]).unwrap().remove(0).unwrap().remove(0).index
    };
    take(sample::log_started().unwrap());
    for number in 0..20 {
        let run = SampleRun::numbered(number, number % 3);
        let started = take(run.started().unwrap());
        take(run.done(Status::Succeeded, started).unwrap());
    }
    store
}

/// AEC-8: a log is verified in the same way in any store.
#[test]
fn log_outside_a_database_is_read_and_verified() {
    let store = filled();
    check_snapshot(&store).unwrap();
    let view = LedgerView::new(Box::new(store));
    assert_eq!((view.size().unwrap(), &*view.origin().unwrap()), (41, sample::ORIGIN));
    check_snapshot(&view).unwrap();
}

/// AEC-11: damage is detected in any store.
#[test]
fn damage_to_a_log_outside_a_database_is_found() {
    let (mut store, sound) = (filled(), filled());
    store.entries[7].body = sound.entries[9].body.clone();
    let (note, entry) = (&mut |_: &str| Ok(()), &mut |_, _: &[u8]| Ok(()));
    let mut checks = Checks { note, entry, receipts: Receipts::All };
    let result = verify(&store, &mut checks, &mut |_| {}).unwrap();
    let about: Vec<&Subject> = result.findings.iter().map(|finding| &finding.subject).collect();
    assert!(about.contains(&&Subject::Entry(7)), "{:?}", result.findings);
}

/// AEC-8
#[test]
fn sqlite_store_passes_the_conformance_suite() {
    let home = tempfile::tempdir().unwrap();
    for page_bytes in [512, 4096] {
        let mut number = 0;
        let mut make = || {
            let directory = home.path().join(format!("{page_bytes}-{number}"));
            std::fs::create_dir(&directory).unwrap();
            number += 1;
            let options = SqliteOptions { page_bytes, ..SqliteOptions::default() };
            let mut first = |_| Ok(sample::log_started().unwrap());
            let store = SqliteStore::open(&directory, options, &mut first)?;
            Ok::<Box<dyn Store>, LedgerError>(Box::new(store))
        };
        check(&mut make).unwrap();
    }
}
