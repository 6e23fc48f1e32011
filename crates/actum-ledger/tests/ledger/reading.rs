//! Reads of a ledger that is open for appending: they see a snapshot and never lag behind the writer.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::grounds::{Grounds, fill, put, whole};
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::sqlite::SqliteOptions;
use actum_ledger::{Ledger, LedgerError, Refusal, SqliteStore, Store};

/// AEC-8: a read sees every entry that was acknowledged earlier in the same process.
#[test]
fn read_sees_every_previously_acknowledged_entry() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    assert_eq!(ledger.read(|log| log.size()).unwrap(), 1, "the log was made");
    for number in 0..10 {
        let [_, done] = put(&ledger, number);
        assert_eq!(ledger.read(|log| log.size()).unwrap(), done.index + 1);
    }
}

/// AEC-8: a read sees a single snapshot.
#[test]
fn read_sees_one_snapshot_during_concurrent_appends() {
    let grounds = Grounds::new();
    let (ledger, other) = (grounds.ledger(), grounds.ledger());
    fill(&ledger, 0..1);
    let sizes = ledger.read(|log| {
        let before = log.size()?;
        put(&other, 1);
        Ok((before, log.size()?))
    });
    assert_eq!(sizes.unwrap(), (3, 3));
    assert_eq!(ledger.read(|log| log.size()).unwrap(), 5);
    fill(&ledger, 2..3);
    assert!(grounds.verify().unwrap().is_sound());
}

/// AEC-8: a reader waits neither for the lock nor for the disk write of an append.
#[test]
fn read_does_not_wait_for_a_pending_append() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let foreign = grounds.foreign();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = Instant::now();
    let waiting = ledger.append(whole(1, 3));
    for _ in 0..40 {
        assert_eq!(ledger.read(|log| log.size()).unwrap(), 3);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(begun.elapsed() < Duration::from_secs(5), "the append gives up after 10 s");
    foreign.execute_batch("COMMIT").unwrap();
    assert_eq!(waiting.wait().unwrap().len(), 2);
    assert_eq!(ledger.read(|log| log.size()).unwrap(), 5);
}

/// A process that makes one change opens only one connection.
#[test]
fn reads_and_appends_share_one_connection() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..1);
    let (place, opened) = (grounds.place(), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&opened);
    let open = move || -> Result<Box<dyn Store>, LedgerError> {
        counted.fetch_add(1, Ordering::Relaxed);
        let mut first = |_| Err(LedgerError::Stopped);
        Ok(Box::new(SqliteStore::open(&place, SqliteOptions::default(), &mut first)?))
    };
    let ledger = Ledger::over(Box::new(open), Box::new(|| Err(LedgerError::Stopped)));
    let size = || ledger.read(|log| log.size()).unwrap();
    assert_eq!(size(), 3);
    fill(&ledger, 1..2);
    assert_eq!((size(), opened.load(Ordering::Relaxed)), (5, 1));
    let connections = || {
        let links = std::fs::read_dir("/proc/self/fd").unwrap();
        let targets = links.filter_map(|link| std::fs::read_link(link.unwrap().path()).ok());
        targets.filter(|target| *target == grounds.database()).count()
    };
    assert_eq!(connections(), 1);
}

/// A panic in one reader does not make the ledger unusable for others.
#[test]
fn ledger_is_reopened_after_a_reader_panics() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        ledger.read(|log| -> Result<(), LedgerError> {
            log.size()?;
            panic!("as a defect would");
        })
    }));
    assert!(panicked.is_err());
    fill(&ledger, 1..2);
    assert_eq!(ledger.read(|log| log.size()).unwrap(), 5);
    assert!(grounds.verify().unwrap().is_sound());
}

/// D-8: the log limit remains in effect after the store is reopened.
#[test]
fn reopened_store_keeps_the_log_limit() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    ledger.limit(1);
    drop(catch_unwind(AssertUnwindSafe(|| {
        ledger.read(|_| -> Result<(), LedgerError> { panic!("as a defect would") })
    })));
    let error = ledger.append(vec![SampleRun::numbered(1, 0).started().unwrap()]).wait();
    let error = error.unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::LogFull { max: 1, .. })), "{error}");
}
