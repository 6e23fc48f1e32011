//! Long entries and documents are compressed in storage, and every reader gets the original bytes.

use crate::grounds::Grounds;
use actum_core::{Digest, Status};
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::export::{self, export};
use actum_ledger::verify::{Checks, Receipts, Subject};
use actum_ledger::{LOG_BYTES_MAX, LedgerError, Log, Refusal};

/// Returns a run whose bundle lists a thousand long paths.
fn long_run() -> SampleRun {
    let path = |n| format!("\"{}{n}.txt\"", "directory/".repeat(40));
    let paths: Vec<String> = (0..1000).map(path).collect();
    let bundle = format!("{{\"paths\":[{}]}}", paths.join(",")).into_bytes();
    SampleRun { bundle, label_bytes: 100_000, ..SampleRun::numbered(0, 0) }
}

/// Creates a ledger that contains the long run.
fn filled() -> Grounds {
    let grounds = Grounds::new();
    grounds.ledger().append(vec![long_run().started().unwrap()]).wait().unwrap();
    grounds.settle();
    grounds
}

/// AEC-8: compressed columns take a twentieth of the size, and reading, verifying and exporting return the original bytes.
#[test]
fn long_entries_and_documents_are_compressed_transparently() {
    let grounds = filled();
    let long = long_run();
    let bytes = u64::try_from(long.bundle.len() + long.label_bytes).unwrap();
    let empty = Grounds::new();
    drop(empty.ledger().origin().unwrap());
    empty.settle();
    let size = |grounds: &Grounds| grounds.database().metadata().unwrap().len();
    let stored = size(&grounds) - size(&empty);
    assert!(stored * 20 < bytes, "{stored} of {bytes}");
    let view = grounds.view();
    assert_eq!(view.sound_entry(1).unwrap().body, long.started().unwrap().body);
    assert_eq!(view.blob(&Digest::of(&long.bundle)).unwrap(), Some(long.bundle));
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 2, "{result:?}");
    let mut file = Vec::new();
    assert_eq!(export(&view, &mut file).unwrap().documents, 2);
    assert!(u64::try_from(file.len()).unwrap() > bytes);
    let (note, entry) = (&mut grounds.check(), &mut |_, _: &[u8]| Ok(()));
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    let verified = export::verify(&mut &*file, &mut checks, None, &mut |_| {}).unwrap();
    assert!(verified.is_sound(), "{verified:?}");
}

/// AEC-8: verification and readers both report bytes that cannot be decompressed.
#[test]
fn damaged_compressed_bytes_are_found() {
    for (table, column, subject) in
        [("entry", "body", Subject::Entry(1)), ("blob", "bytes", Subject::Database)]
    {
        let grounds = filled();
        let sql = format!(
            "DROP TRIGGER entry_update; DROP TRIGGER blob_update; \
             UPDATE {table} SET {column} = CAST(substr({column}, 1, length({column}) - 9) AS BLOB) \
             WHERE substr({column}, 1, 4) = x'28b52ffd'"
        );
        grounds.foreign().execute_batch(&sql).unwrap();
        let result = grounds.verify().unwrap();
        let found = result.findings.iter().any(|it| it.subject == subject);
        assert!(found, "{result:?}");
        let view = grounds.view();
        let read = match table {
            "entry" => view.entry(1).err(),
            _ => view.blob(&Digest::of(&long_run().bundle)).err(),
        };
        assert!(matches!(read, Some(LedgerError::Damaged { .. })), "{read:?}");
    }
}

/// AEC-8: a full log accepts no new runs but still ends those that have started.
#[test]
fn full_log_starts_no_runs_but_ends_started_ones() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    let open = SampleRun::numbered(0, 0);
    ledger.append(vec![open.started().unwrap()]).wait().unwrap();
    let before = grounds.view().size().unwrap();
    ledger.limit(1);
    for new in [
        SampleRun::numbered(1, 0).started().unwrap(),
        SampleRun::numbered(2, 0).queued().unwrap(),
        SampleRun::numbered(3, 0).refused().unwrap(),
    ] {
        let error = ledger.append(vec![new]).wait().unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::LogFull { max: 1, .. })), "{error}");
    }
    assert_eq!(grounds.view().size().unwrap(), before);
    // An undo may exceed the limit by a sixteenth.
    let full = |error: &LedgerError| match error.refusal() {
        Some(Refusal::LogFull { bytes, .. }) => Some(*bytes),
        _ => None,
    };
    let another = || vec![SampleRun::numbered(1, 0).started().unwrap()];
    let bytes = full(&ledger.append(another()).wait().unwrap_err()).unwrap();
    ledger.limit(bytes);
    let mut undo = SampleRun::numbered(4, 0);
    undo.undoes = Some(open.run);
    assert_eq!(full(&ledger.append(another()).wait().unwrap_err()), Some(bytes));
    ledger.append(vec![undo.started().unwrap()]).wait().unwrap();
    // Alternating undo and redo does not use up the reserve.
    let mut redo = SampleRun::numbered(6, 0);
    redo.undoes = Some(undo.run);
    assert!(full(&ledger.append(vec![redo.started().unwrap()]).wait().unwrap_err()).is_some());
    ledger.limit(bytes / 2);
    let mut undo = SampleRun::numbered(5, 0);
    undo.undoes = Some(open.run);
    let error = ledger.append(vec![undo.started().unwrap()]).wait().unwrap_err();
    assert!(full(&error).is_some(), "{error}");
    ledger.append(vec![open.done(Status::Succeeded, 1).unwrap()]).wait().unwrap();
    ledger.limit(LOG_BYTES_MAX);
    ledger.append(vec![SampleRun::numbered(1, 0).started().unwrap()]).wait().unwrap();
    assert!(grounds.verify().unwrap().is_sound());
}
