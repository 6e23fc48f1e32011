//! Failing system calls. The error states the condition of the workspace, and that statement is true (FO-2).

use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::{RunOptions, State};

use crate::changes::{apply, base, create, mixture, open, patch};

fn tree(disk: &SimDisk) -> std::collections::BTreeMap<String, actum_testkit::Node> {
    disk.snapshot_without(".actum")
}

const REFUSALS: [Errno; 6] =
    [Errno::IO, Errno::NOSPC, Errno::ROFS, Errno::ACCESS, Errno::MFILE, Errno::DQUOT];

/// Checks that the statement in the error is true. Once the fault is gone, recovery must lead to the old or new state,
/// and the workspace must be usable again.
fn judge(disk: &SimDisk, change: &[Operation], what: &str) {
    let before = tree(disk);
    let after = {
        let whole = base();
        apply(&whole, change).unwrap();
        tree(&whole)
    };
    let result = apply(disk, change);
    let found = tree(disk);
    match &result {
        Ok(()) => assert_eq!(found, after, "{what}: it says it succeeded"),
        Err(error) => match error.state {
            State::Unchanged | State::Forgotten { .. } | State::Restored => {
                assert_eq!(found, before, "{what}: it says `{error}`");
            }
            State::Published => assert_eq!(found, after, "{what}: it says `{error}`"),
            State::NeedsAttention => {}
        },
    }
    disk.clear_faults();
    let workspace = open(disk).unwrap_or_else(|error| panic!("{what}: recovery: {error}"));
    assert!(workspace.blocked().is_empty(), "{what}: {:?}", workspace.recovery());
    drop(workspace);
    let recovered = tree(disk);
    assert!(recovered == before || recovered == after, "{what}: between: {recovered:#?}");
    if result.is_ok() {
        assert_eq!(recovered, after, "{what}: an acknowledged run is gone");
    }
    let next = if recovered == before { "one" } else { "ONE" };
    apply(disk, &[patch("a", 1, next, "next")])
        .unwrap_or_else(|error| panic!("{what}: the next run: {error}"));
}

fn calls() -> usize {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    whole.calls() - first
}

/// FO-2
#[test]
fn single_failed_call_leaves_the_reported_state() {
    for at in 0..calls() {
        for errno in REFUSALS {
            let disk = base();
            disk.fail_at(at, errno);
            judge(&disk, &mixture(), &format!("{errno:?} at call {at}"));
        }
    }
}

/// FO-2
#[test]
fn disk_that_becomes_full_read_only_or_faulty_loses_nothing() {
    for at in 0..calls() {
        for errno in [Errno::NOSPC, Errno::ROFS, Errno::IO] {
            let disk = base();
            disk.fail_from(at, errno);
            judge(&disk, &mixture(), &format!("{errno:?} from call {at} on"));
        }
    }
}

/// FO-2, issue 22 (claims): a handle makes no more runs after it wrote a journal record that may not be durable.
#[test]
fn handle_rejects_runs_after_a_failed_journal_sync() {
    let whole = base();
    let change = mixture();
    let mut workspace = open(&whole).unwrap();
    let first = whole.calls();
    workspace.apply_operations(&change, RunOptions::default()).unwrap();
    let trace = whole.trace();
    let is_journal_sync =
        |at: &usize| trace[*at].starts_with("sync") && trace[*at].contains("journal");
    let syncs: Vec<usize> = (first..trace.len()).filter(is_journal_sync).collect();
    assert!(syncs.len() >= 2, "{trace:#?}");
    for at in syncs {
        let disk = base();
        let mut workspace = open(&disk).unwrap();
        disk.fail_at(at - first, Errno::IO);
        workspace.apply_operations(&change, RunOptions::default()).unwrap_err();
        disk.clear_faults();
        let left = tree(&disk);
        let again = workspace.apply_operations(&[create("more", "more\n")], RunOptions::default());
        assert!(again.is_err(), "after the failed {}", trace[at]);
        assert_eq!(tree(&disk), left);
        drop(workspace);
        apply(&disk, &[create("more", "more\n")]).unwrap();
    }
}
