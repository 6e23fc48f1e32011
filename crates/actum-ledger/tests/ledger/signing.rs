//! Checkpoints and proofs, checked with the crate that auditors use.

use std::sync::Arc;

use crate::grounds::{Grounds, fill, now, whole};
use crate::memory::MemoryStore;
use actum_gate::{check_consistency, check_inclusion, verify_checkpoint};
use actum_ledger::conformance::sample;
use actum_ledger::{Ledger, LedgerError, Log, Prepared, Store, consistency, inclusion};
use actum_record::checkpoint::Checkpoint;
use actum_record::ledger::{EntryKind, LogStarted};
use actum_record::merkle::{empty_root, leaf_hash};
use actum_record::note::Note;
use actum_record::signer::KeyRole;

/// AEC-8
#[test]
fn first_log_entry_contains_the_origin_and_keys() {
    let grounds = Grounds::new();
    let origin = grounds.ledger().origin().unwrap();
    let view = grounds.view();
    let first = view.entry(0).unwrap().unwrap();
    let started: LogStarted = serde_json::from_slice(&first.body).unwrap();
    assert_eq!((first.kind, &started.origin), (EntryKind::LogStarted, &origin));
    assert!(origin.starts_with("actum/") && origin.ends_with("/default"), "{origin}");
    let keys = grounds.keys.keyring().keys().iter().map(|key| (key.id.clone(), key.public));
    let named = started.keys.iter().map(|key| (key.id.clone(), key.public));
    assert_eq!(named.collect::<Vec<_>>(), keys.collect::<Vec<_>>());
    assert_ne!(Grounds::new().ledger().origin().unwrap(), origin);
}

/// AEC-8
#[test]
fn checkpoint_is_signed_every_64_entries_and_on_request() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..31);
    let newest = ledger.ask(|store| store.newest_checkpoint()).wait().unwrap();
    assert_eq!(newest, None, "63 entries are covered by nothing");
    fill(&ledger, 31..32);
    let newest = ledger.ask(|store| store.newest_checkpoint()).wait().unwrap().unwrap();
    assert_eq!(newest.size, 64);
    fill(&ledger, 32..40);
    let asked = ledger.checkpoint().wait().unwrap().unwrap();
    assert_eq!(asked.size, 81);
    assert!(ledger.warning().is_none());
    assert_eq!(ledger.checkpoint().wait().unwrap(), Some(asked.clone()), "nothing came since");
    let verified = verify_checkpoint(asked.note.as_bytes(), grounds.keys.keyring());
    assert!(verified.is_ok());
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!((result.checkpoints, result.covered, result.entries), (2, 81, 81));
}

/// AEC-8
#[test]
fn auditor_accepts_every_inclusion_and_consistency_proof() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..20);
    let view = grounds.view();
    let size = view.size().unwrap();
    let root = |size| view.frontier(size).unwrap().root();
    assert_eq!(root(0), empty_root());
    for index in 0..size {
        let leaf = leaf_hash(&view.entry(index).unwrap().unwrap().body);
        let proof = inclusion(&view, size, index).unwrap().unwrap();
        assert_eq!(check_inclusion(&leaf, index, size, &proof, &root(size)), Ok(()), "{index}");
        let old = index + 1;
        let proof = consistency(&view, size, old).unwrap().unwrap();
        assert_eq!(check_consistency(old, &root(old), size, &root(size), &proof), Ok(()), "{old}");
    }
    assert_eq!(inclusion(&view, size + 1, 0).unwrap(), None);
}

/// A key that signs two contradicting logs of the same name would be worthless.
#[test]
fn log_that_contradicts_its_last_checkpoint_is_not_signed() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..4);
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    grounds
        .foreign()
        .execute_batch(
            "DROP TRIGGER entry_update; \
             UPDATE entry SET nodes = zeroblob(length(nodes)) WHERE seq = 7",
        )
        .unwrap();
    let ledger = grounds.ledger();
    fill(&ledger, 4..5);
    let error = ledger.checkpoint().wait().unwrap_err();
    assert!(matches!(error, LedgerError::Checkpoint { .. }), "{error}");
    assert!(ledger.warning().is_none(), "no checkpoint was due so far");
    fill(&ledger, 5..40);
    // The writer does its own work before it answers the next request.
    ledger.ask(|_| Ok(())).wait().unwrap();
    let warning = ledger.warning().unwrap().to_string();
    assert!(warning.contains("the log is not the one that was signed"), "{warning}");
}

/// FE-14: a log that is shorter than its checkpoint is not continued, whichever process notices it first.
#[test]
fn log_shorter_than_its_checkpoint_rejects_signing_and_appends() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..4);
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    let cut = "DROP TRIGGER entry_delete; DELETE FROM entry WHERE seq >= 7; \
               DELETE FROM run WHERE started >= 7";
    grounds.foreign().execute_batch(cut).unwrap();
    let ledger = grounds.ledger();
    let message = ledger.checkpoint().wait().unwrap_err().to_string();
    assert!(message.contains("entries were cut off"), "{message}");
    let entry = sample::SampleRun::numbered(9, 0).started().unwrap();
    let message = ledger.append(vec![entry]).wait().unwrap_err().to_string();
    assert!(message.contains("covers 9 entries, but the last 2 are missing"), "{message}");
}

#[test]
fn entries_are_kept_when_checkpoint_signing_fails() {
    let grounds = Grounds::new();
    let key = grounds.keys.keyring().newest(KeyRole::Checkpoint).unwrap().id.clone();
    let ledger = grounds.ledger();
    ledger.origin().unwrap();
    std::fs::remove_file(grounds.home.path().join(format!("keys/checkpoint/{key}.pem"))).unwrap();
    fill(&ledger, 0..40);
    assert!(matches!(ledger.checkpoint().wait(), Err(LedgerError::Key { .. })));
    assert!(matches!(ledger.warning(), Some(LedgerError::Key { .. })));
    assert!(matches!(ledger.finish(), Some(LedgerError::Key { .. })));
    let result = grounds.verify().unwrap();
    assert_eq!((result.entries, result.checkpoints, result.is_sound()), (81, 0, true));
}

#[test]
fn writer_works_with_a_memory_store() {
    let grounds = Grounds::new();
    let keys = Arc::clone(&grounds.keys);
    let open = || {
        let mut store = MemoryStore::new();
        let first = Prepared::new(sample::log_started().unwrap())?;
        assert_eq!(store.append(&[vec![first]])?.len(), 1);
        Ok(Box::new(store) as Box<dyn Store>)
    };
    let key = move || Ok(Box::new(keys.signer(KeyRole::Checkpoint, now())?) as Box<_>);
    let ledger = Ledger::over(Box::new(open), Box::new(key));
    let appended = ledger.append(whole(1, 1)).wait().unwrap();
    assert_eq!(appended.iter().map(|appended| appended.index).collect::<Vec<_>>(), [1, 2]);
    let note = ledger.checkpoint().wait().unwrap().unwrap().note;
    let checkpoint = Checkpoint::read(&Note::read(note.as_bytes()).unwrap().text).unwrap();
    assert_eq!((checkpoint.size, &*checkpoint.origin), (3, sample::ORIGIN));
}
