//! The suite that every store must pass, for the stores there are.

use actum_ledger::conformance::{check, sample};
use actum_ledger::sqlite::{SqliteOptions, SqliteStore};
use actum_ledger::{LedgerError, MemoryStore, Prepared, Store};

/// AEC-8
#[test]
fn the_store_in_memory_passes_the_suite() {
    let mut make = || {
        let mut store = MemoryStore::new();
        let first = Prepared::of(sample::log_started().unwrap())?;
        for result in store.append(&[vec![first]])? {
            result?;
        }
        Ok::<Box<dyn Store>, LedgerError>(Box::new(store))
    };
    check(&mut make).unwrap();
}

/// AEC-8
#[test]
fn the_store_in_a_database_passes_the_suite() {
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
