//! Every write barrier of the protocol is needed. Without it, some power cut leaves a mixed state or loses an acknowledged change
//! (FO-2).

use std::path::Path;

use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::disk::Barrier;
use actum_workspace::{GcOptions, RunOptions, View};

use crate::changes::{apply, base, create, open, patch};
use crate::explore::{Action, Effort, LARGE, THOROUGH, Tree, explore, tree};

/// Checks that the action completes, and that without the barrier some power cut violates its guarantees.
fn is_needed(barrier: Barrier, disk: &SimDisk, action: &Action) {
    is_needed_among(THOROUGH, barrier, disk, action);
}

fn is_needed_among(effort: Effort, barrier: Barrier, disk: &SimDisk, action: &Action) {
    let syncs = disk.clone_deep();
    action(syncs.clone()).unwrap();
    let without = disk.clone_deep();
    without.ignore(barrier);
    let violation = explore(&without, action, effort);
    assert!(violation.is_err(), "nothing fails without {barrier:?}: {violation:?}");
}

fn large_file() -> SimDisk {
    let disk = base();
    let large: String = (0..70_000).map(|line| format!("line number {line}\n")).collect();
    disk.put("large", large.as_bytes());
    disk.settle();
    disk
}

fn large_patch() -> Vec<Operation> {
    vec![patch("large", 3, "line number 2", "LINE"), patch("a", 1, "one", "ONE")]
}

/// FO-2
#[test]
fn without_the_birth_barrier_an_acknowledged_run_can_be_lost() {
    let disk = SimDisk::new();
    disk.put("a", b"one\n");
    disk.settle();
    is_needed(Barrier::Birth, &disk, &|disk| apply(&disk, &[patch("a", 1, "one", "ONE")]));
}

/// FO-2
#[test]
fn without_the_intent_barrier_the_tree_can_be_half_changed() {
    let change = [patch("a", 1, "one", "ONE"), patch("b", 1, "uno", "UNO")];
    is_needed(Barrier::Intent, &base(), &move |disk| apply(&disk, &change));
}

/// FO-2
#[test]
fn without_the_end_barrier_an_acknowledged_run_can_be_lost() {
    let change = [patch("a", 1, "one", "ONE")];
    is_needed(Barrier::End, &base(), &move |disk| apply(&disk, &change));
}

/// FO-2
#[test]
fn without_the_kept_image_barrier_a_large_file_can_be_lost() {
    let action = |disk| apply(&disk, &large_patch());
    is_needed_among(LARGE, Barrier::KeptImage, &large_file(), &action);
}

/// FO-2
#[test]
fn without_the_kept_name_barrier_a_large_file_can_be_lost() {
    let action = |disk| apply(&disk, &large_patch());
    is_needed(Barrier::KeptName, &large_file(), &action);
}

/// FO-2
#[test]
fn without_the_rebuilt_barrier_a_power_cut_in_recovery_can_tear_a_file() {
    let change = [create("new", "new\n"), patch("a", 1, "one", "ONE")];
    is_needed(Barrier::Rebuilt, &base(), &move |disk| apply(&disk, &change));
}

/// FO-2
#[test]
fn without_the_growth_barrier_a_power_cut_can_truncate_the_journal() {
    let large = "x".repeat(1 << 20);
    let change: Vec<_> = (0..4).map(|file| create(&format!("big{file}"), &large)).collect();
    let whole = base();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let is_intent = |call: &String| call.starts_with("sync_data") && call.contains("Intent");
    let intent = whole.trace().iter().skip(first).position(is_intent).unwrap();
    let opens = |ignored: bool, stride: usize| {
        let disk = base();
        if ignored {
            disk.ignore(Barrier::Growth);
        }
        disk.kill_at(intent);
        assert!(apply(&disk, &change).is_err());
        disk.crash_states(1).step_by(stride).all(|state| open(&state).is_ok())
    };
    assert!(opens(false, 41), "it can be cut off with the barrier");
    assert!(!opens(true, 1), "it cannot be cut off without the barrier");
}

/// FO-2
#[test]
fn without_the_checkpoint_barrier_an_acknowledged_run_can_be_lost() {
    let disk = base();
    apply(&disk, &[patch("a", 1, "one", "ONE")]).unwrap();
    is_needed(Barrier::Checkpoint, &disk, &|disk| open(&disk)?.gc(&GcOptions::default()).map(drop));
}

/// FO-2
#[test]
fn without_the_forget_barrier_the_journal_can_contradict_itself() {
    let disk = base();
    apply(&disk, &[patch("a", 1, "one", "ONE")]).unwrap();
    is_needed(Barrier::Forget, &disk, &|disk| {
        let mut workspace = open(&disk)?;
        workspace.gc(&GcOptions::default())?;
        let change = [patch("b", 1, "uno", "UNO")];
        workspace.apply_operations(&change, RunOptions::default()).map(drop)
    });
}

/// FO-2
#[test]
fn without_the_reread_barrier_a_record_can_outlive_its_predecessor() {
    let change = [patch("a", 1, "one", "ONE")];
    is_needed(Barrier::Reread, &base(), &move |disk| apply(&disk, &change));
}

/// Makes a journal sync fail, after which the kernel discards the dirty pages and later reads return data that exists only in
/// memory. Returns the first violation.
fn sync_fails_once() -> Result<(), String> {
    let change = [patch("a", 1, "one", "ONE"), patch("b", 1, "uno", "UNO")];
    let whole = base();
    let before: Tree = tree(&whole);
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let after = tree(&whole);
    let calls = whole.calls() - first;
    for at in (0..calls).filter(|at| whole.trace()[first + at].starts_with("sync")) {
        let disk = base();
        disk.fail_at(at, Errno::IO);
        let failed = apply(&disk, &change);
        assert!(failed.is_err(), "the failed sync before call {at} went unnoticed");
        disk.clear_faults();
        drop(open(&disk).map_err(|error| format!("recovery fails: {error}"))?);
        let seen = tree(&disk);
        if seen != before && seen != after {
            return Err("between, after a failed sync".to_owned());
        }
        // Add another run, so that the journal continues after the bytes that were only in memory.
        let more = [create("more", "more\n")];
        apply(&disk, &more).map_err(|error| format!("the next run fails: {error}"))?;
        let wanted = tree(&disk);
        for state in disk.crash_states(200) {
            drop(open(&state).map_err(|error| format!("recovery fails: {error}"))?);
            if tree(&state) != wanted {
                return Err(format!("lost after a failed sync; {:#?}", state.lost()));
            }
        }
    }
    Ok(())
}

/// FO-2
#[test]
fn failed_sync_never_marks_unsynced_data_as_durable() {
    sync_fails_once().unwrap_or_else(|violation| panic!("{violation}"));
}

/// FO-2: a cancelled request to bind does not reappear, and an acknowledged one is not lost.
#[test]
fn without_the_adoption_barrier_a_cancelled_request_can_reappear() {
    let found = |ignored: Option<Barrier>, lines: [&str; 2]| -> Vec<Option<String>> {
        let disk = base();
        let mut workspace = open(&disk).unwrap();
        let transaction = workspace.begin(RunOptions::default()).unwrap();
        disk.settle();
        transaction.set_adoption(lines[0]).unwrap();
        disk.settle();
        if let Some(barrier) = ignored {
            disk.ignore(barrier);
        }
        transaction.set_adoption(lines[1]).unwrap();
        let states = disk.crash_states(1000);
        let read =
            |state: SimDisk| View::open_on(state, Path::new("/")).unwrap().adoption().unwrap();
        states.map(read).collect()
    };
    for (lines, expected) in
        [(["request", ""], None), (["", "request"], Some("request".to_owned()))]
    {
        assert!(found(None, lines).iter().all(|line| *line == expected), "{lines:?}");
        let without = found(Some(Barrier::Adoption), lines);
        assert!(without.iter().any(|line| *line != expected), "{lines:?}");
    }
}
