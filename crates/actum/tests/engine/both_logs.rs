//! Faults at each step of a run: a killed process, a power cut, a failing ledger. Afterwards the ledger and the
//! workspace agree, and a request has had at most one effect.

use std::collections::BTreeMap;

use crate::grounds::{Fault, Grounds, SharedStore, create, disk, engine, mixture, run};
use actum::{Error, Request, Which};
use actum_core::Status;
use actum_record::ledger::EntryKind;
use actum_testkit::{Node, SimDisk};
use actum_workspace::State;

type Tree = BTreeMap<String, Node>;

fn tree(disk: &SimDisk) -> Tree {
    disk.snapshot_without(".actum")
}

fn request() -> Request {
    Request::apply(mixture()).keyed("ticket-17".parse().unwrap())
}

/// Number of power-cut states that are checked for each call.
const STATES: usize = 24;

/// Checks that the ledger and the workspace agree. Then repeats the request and checks that it has had exactly one
/// effect.
fn check(grounds: &Grounds, store: &SharedStore, left: &SimDisk, before: &Tree, after: &Tree) {
    let records = grounds.records_of(store);
    engine(left, records.clone()).unwrap().resume().unwrap();
    let runs = store.runs();
    assert!(runs.iter().all(|run| run.done.is_some()), "a run is open: {runs:?}");
    assert_eq!(store.count(EntryKind::EffectStarted), store.count(EntryKind::EffectDone));
    let succeeded = |runs: &[actum_ledger::RunRow]| {
        runs.iter().filter(|run| run.status == Some(Status::Succeeded)).count()
    };
    let found = tree(left);
    match succeeded(&runs) {
        0 => assert_eq!(&found, before, "the ledger knows no effect"),
        1 => assert_eq!(&found, after, "the ledger knows an effect"),
        more => panic!("{more} effects"),
    }
    run(left, records, request()).unwrap();
    assert_eq!(&tree(left), after);
    assert_eq!(succeeded(&store.runs()), 1, "{:?}", store.runs());
}

/// FO-2, AEC-7, AEC-8
#[test]
fn both_logs_agree_on_an_interrupted_run_with_at_most_one_effect() {
    let grounds = Grounds::new();
    let base = disk(&grounds);
    let before = tree(&base);
    let whole = base.clone_deep();
    run(&whole, grounds.records_of(&grounds.store.fork()), request()).unwrap();
    let (after, calls) = (tree(&whole), whole.calls());
    assert_ne!(before, after);
    let (mut effects, mut states) = (0, 0);
    for at in 0..=calls {
        let (disk, store) = (base.clone_deep(), grounds.store.fork());
        disk.kill_at(at);
        let ended = run(&disk, grounds.records_of(&store), request());
        effects += usize::from(ended.is_ok());
        // A kill does not lose data that was written.
        let killed = disk.clone_deep();
        check(&grounds, &store.fork(), &killed, &before, &after);
        // A power cut may or may not lose unsynced data.
        for state in disk.crash_states(STATES) {
            states += 1;
            let store = store.fork();
            check(&grounds, &store, &state, &before, &after);
            if ended.is_ok() {
                assert_eq!(store.runs().len(), 1, "what was acknowledged was done again");
            }
        }
    }
    assert!(effects > 0 && effects < calls && states > 500, "{effects} of {calls}, {states}");
}

/// FO-2: undoing an interrupted run does not undo the run before it.
#[test]
fn undo_that_recovers_a_run_undoes_no_other_run_until_retried() {
    let grounds = Grounds::new();
    let base = disk(&grounds);
    run(&base, grounds.records(), Request::apply(vec![create("first")])).unwrap();
    let before = tree(&base);
    let whole = base.clone_deep();
    let first = whole.calls();
    run(&whole, grounds.records_of(&grounds.store.fork()), request()).unwrap();
    let mut recovered = 0;
    for at in 0..whole.calls() - first {
        let (disk, store) = (base.clone_deep(), grounds.store.fork());
        disk.kill_at(at);
        if run(&disk, grounds.records_of(&store), request()).is_ok() {
            continue;
        }
        disk.revive();
        disk.clear_faults();
        let mut engine = engine(&disk, grounds.records_of(&store)).unwrap();
        let is_recovered = engine.recovery().is_some_and(|it| it.unfinished.is_some());
        if is_recovered {
            recovered += 1;
            let error = engine.run(Request::undo(Which::Newest)).unwrap_err();
            assert!(matches!(error, Error::RecoveredFirst { .. }), "{at}: {error}");
            assert_eq!(error.workspace(), State::Unchanged);
            assert_eq!(tree(&disk), before, "{at}");
            engine.run(Request::undo(Which::Newest)).unwrap();
            assert_eq!(disk.get("first"), None, "{at}");
        }
    }
    assert!(recovered > 5, "{recovered}");
}

/// FO-2, AEC-8
#[test]
fn ledger_failure_blocks_the_run_or_defers_its_receipt() {
    let grounds = Grounds::new();
    let base = disk(&grounds);
    let before = tree(&base);
    let whole = base.clone_deep();
    run(&whole, grounds.records_of(&grounds.store.fork()), request()).unwrap();
    let after = tree(&whole);
    for fault in [Fault::Full, Fault::Unknown] {
        for append in 0..2 {
            let (disk, store) = (base.clone_deep(), grounds.store.fork());
            store.fail_at(append, fault);
            let error = run(&disk, grounds.records_of(&store), request()).unwrap_err();
            match append {
                0 => {
                    assert!(matches!(error, Error::Ledger { .. }), "{error}");
                    assert_eq!(tree(&disk), before, "nothing may be touched without an intent");
                }
                _ => {
                    assert!(matches!(error, Error::Unsettled { .. }), "{error}");
                    assert_eq!(tree(&disk), after, "it is done and durable");
                }
            }
            check(&grounds, &store, &disk, &before, &after);
        }
    }
}

/// FO-2, AEC-8
#[test]
fn failed_call_is_recorded_in_the_receipt() {
    let grounds = Grounds::new();
    let base = disk(&grounds);
    let before = tree(&base);
    let whole = base.clone_deep();
    run(&whole, grounds.records_of(&grounds.store.fork()), request()).unwrap();
    let (after, calls) = (tree(&whole), whole.calls());
    let (mut rejected, mut reverted) = (0, 0);
    for at in 0..calls {
        let (disk, store) = (base.clone_deep(), grounds.store.fork());
        disk.fail_at(at, actum_testkit::Errno::IO);
        let ended = run(&disk, grounds.records_of(&store), request());
        disk.clear_faults();
        for run in store.runs() {
            match (run.status, &ended) {
                (Some(Status::Succeeded), ended) => assert!(ended.is_ok(), "call {at}"),
                (Some(Status::Rejected), Err(_)) => rejected += 1,
                (Some(Status::Reverted), Err(_)) => reverted += 1,
                // The outcome is unknown until the journal is read again.
                (None, Err(_)) => {}
                other => panic!("call {at}: {other:?}"),
            }
        }
        check(&grounds, &store, &disk, &before, &after);
    }
    assert!(rejected > 3 && reverted > 3, "{rejected} {reverted}");
}
