//! Many processes and threads append concurrently, and each of them gets its turn.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::grounds::{Grounds, child, given_ledger, put, whole};
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::{Appended, LedgerError, Log, Refusal};

const PROCESSES: u64 = 16;
const OF_EACH: u64 = 40;

/// Child process: appends its share of entries one by one, and prints the duration of the slowest append.
#[test]
#[ignore = "a child runs it"]
fn child_that_appends_its_share() {
    let first: u64 = std::env::var("ACTUM_TEST_FIRST").unwrap().parse().unwrap();
    let ledger = given_ledger();
    let mut slowest = Duration::ZERO;
    let mut own = 0u64;
    for number in first..first + OF_EACH {
        let begun = Instant::now();
        for appended in put(&ledger, number) {
            own = own.max(appended.index);
        }
        slowest = slowest.max(begun.elapsed());
    }
    println!("\nslowest {} {own}", slowest.as_micros());
}

/// The writer thread can drop the last handle, although it cannot join itself.
#[test]
fn last_handle_may_be_dropped_by_the_writer_thread() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let held = ledger.clone();
    let answer = ledger.ask(move |store| {
        let size = store.size();
        assert!(gone.recv().is_err(), "it tells by going");
        drop(held);
        size
    });
    drop(ledger);
    drop(go);
    assert_eq!(answer.wait().unwrap(), 1);
}

/// AEC-8: with SQLite's own busy handler, some processes would wait for seconds.
#[test]
fn sixteen_processes_append_concurrently_without_starvation() {
    let grounds = Grounds::new();
    let begun = Instant::now();
    let children: Vec<_> = (0..PROCESSES)
        .map(|process| {
            child("many::child_that_appends_its_share", grounds.home.path())
                .env("ACTUM_TEST_FIRST", (process * 1000).to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut slowest: Vec<u64> = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let stdout = String::from_utf8(output.stdout).unwrap();
        let line = stdout.lines().find_map(|line| line.strip_prefix("slowest ")).unwrap();
        slowest.push(line.split(' ').next().unwrap().parse().unwrap());
    }
    let all = begun.elapsed();
    slowest.sort_unstable();
    println!(
        "{} appends of {PROCESSES} processes in {} ms; the slowest of each took {:?} us",
        PROCESSES * OF_EACH,
        all.as_millis(),
        slowest
    );
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!(result.entries, 1 + PROCESSES * OF_EACH * 2);
    // A fair turn takes a sixteenth of the total time, and a starving process waits for most of it.
    let (most, bound) = (slowest.last().unwrap(), all.as_micros() / 3 + 1_000_000);
    assert!(u128::from(*most) < bound, "the slowest append took {most} us");
}

/// AEC-8
#[test]
fn sixty_four_threads_append_concurrently_without_mixed_entries() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    std::thread::scope(|scope| {
        for thread in 0..64u64 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                for number in (0..20).map(|number| thread * 1000 + number) {
                    let [Appended { index: started, .. }, Appended { index: entry, .. }] =
                        put(&ledger, number);
                    let there = ledger.read(|log| log.entry(entry)).unwrap();
                    assert_eq!(there.unwrap().body, whole(number, started)[1].body);
                }
            });
        }
    });
    drop(ledger);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!((result.entries, result.runs, result.open_runs), (1 + 64 * 20 * 2, 64 * 20, 0));
}

/// AEC-8: all repetitions are rejected, however the writer batches them.
#[test]
fn sixty_four_threads_with_one_request_start_one_run() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    let answers: Vec<_> = (0..64u64)
        .map(|number| {
            let request = Some(("T-1".parse().unwrap(), 1));
            let run = SampleRun { request, ..SampleRun::numbered(number, 0) };
            ledger.append(vec![run.started().unwrap()])
        })
        .collect();
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.wait()).collect();
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let refusals = answers.iter().filter_map(|answer| answer.as_ref().err());
    for error in refusals {
        let refusal = error.refusal().unwrap();
        assert!(matches!(refusal, Refusal::RequestStarted { started: 1, .. }), "{refusal}");
    }
    assert_eq!(grounds.view().size().unwrap(), 2);
}

#[test]
fn calls_to_a_stopped_writer_report_that_it_stopped() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    let panicked = ledger.ask::<()>(|_| panic!("as a defect would"));
    assert!(matches!(panicked.wait(), Err(LedgerError::Stopped)));
    assert!(matches!(ledger.append(whole(1, 1)).wait(), Err(LedgerError::Stopped)));
}
