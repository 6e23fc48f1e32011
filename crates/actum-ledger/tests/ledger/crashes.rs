//! Processes that are killed while they append entries.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use crate::grounds::{Grounds, child, given_ledger};
use actum_core::RunId;
use actum_ledger::Log;
use actum_ledger::conformance::sample::SampleRun;

/// Appends from several threads until it is killed, and prints the results.
#[test]
#[ignore = "a child runs it"]
fn child_that_appends() {
    let first: u64 = std::env::var("ACTUM_TEST_FIRST").unwrap().parse().unwrap();
    let ledger = given_ledger();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let ledger = ledger.clone();
            scope.spawn(move || {
                for number in (0..).map(|number| first + thread + 4 * number) {
                    let pair = [2 * number, 2 * number + 1];
                    let started = |number| SampleRun::numbered(number, 0).started().unwrap();
                    let request = pair.map(started).into_iter().collect();
                    for (appended, number) in
                        ledger.append(request).wait().unwrap().iter().zip(pair)
                    {
                        println!("\nappended {} {number}", appended.index);
                    }
                }
            });
        }
    });
}

/// FE-14, AEC-8
#[test]
fn acknowledged_entries_survive_a_kill_at_any_moment() {
    let grounds = Grounds::new();
    let mut acknowledged: Vec<(u64, RunId)> = Vec::new();
    for round in 0..25u64 {
        let mut child = child("crashes::child_that_appends", grounds.home.path())
            .env("ACTUM_TEST_FIRST", (round * 1_000_000).to_string())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reader = std::thread::spawn(move || lines.map_while(Result::ok).collect::<Vec<_>>());
        // The delay ranges from before the ledger is opened to after hundreds of appends.
        std::thread::sleep(Duration::from_micros(3000 + round * round * 700));
        child.kill().unwrap();
        child.wait().unwrap();
        for line in reader.join().unwrap() {
            if let ["appended", index, number] = line.split(' ').collect::<Vec<_>>()[..]
                && let (Ok(index), Ok(number)) = (index.parse(), number.parse())
            {
                acknowledged.push((index, SampleRun::numbered(number, 0).run));
            }
        }
        if !grounds.database().exists() {
            assert!(acknowledged.is_empty());
            continue;
        }
        let result = grounds.verify().unwrap();
        assert!(result.is_sound(), "round {round}: {:?}", result.findings);
        let view = grounds.view();
        for (index, run) in &acknowledged {
            let row = view.run(*run).unwrap().unwrap();
            assert_eq!(row.started, *index);
        }
        // Both entries of a request are appended together.
        assert_eq!((result.runs % 2, result.runs + 1), (0, result.entries));
    }
    println!("{} acknowledged entries outlived 25 kills", acknowledged.len());
    assert!(acknowledged.len() > 100);
}
