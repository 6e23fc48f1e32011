//! The host is killed at each system call on a simulated disk, or a call fails, and the task is asked for again: before or after,
//! never between.

use actum_file::TaskStatus;
use actum_testkit::{Errno, SimDisk};

use crate::simulated::{CASES, Tree, disk, manifest, run, tree};
use crate::world::World;

/// A call fails in every so many cases; `ACTUM_FAULT_STRIDE=1` tries each.
const STRIDE: usize = 7;

/// Tree after a task that succeeds, and how many calls it makes.
fn whole(case: (&str, &str)) -> (Tree, usize) {
    let whole = disk();
    let done = run(&World::in_memory(), &whole, &manifest(case)).unwrap();
    assert_eq!(done.result.status, TaskStatus::Success, "{case:?}: {:?}", done.result.detail);
    (tree(&whole), whole.calls())
}

/// Asks for the task, undisturbed: it has its result, which fits what is there. Gives whether that is a success.
fn settles(world: &World, disk: &SimDisk, case: (&str, &str), after: &Tree, what: &str) -> bool {
    let manifest = manifest(case);
    let end = run(world, disk, &manifest).unwrap_or_else(|error| panic!("{what}: {error}"));
    let what = format!("{what}: {:?}", end.result.detail);
    let is_done = end.result.status == TaskStatus::Success;
    let before = tree(&self::disk());
    assert_eq!(&tree(disk), if is_done { after } else { &before }, "{what}");
    let again = run(world, disk, &manifest).unwrap();
    assert_eq!(again.envelope, end.envelope, "{what}");
    is_done
}

/// FE-1, FE-8, FE-11
#[test]
fn a_task_that_is_killed_at_any_call_is_done_or_not_done_when_it_is_asked_for_again() {
    for case in CASES {
        let (after, calls) = whole(case);
        let mut done = 0;
        for at in 0..=calls {
            let (world, disk) = (World::in_memory(), disk());
            disk.kill_at(at);
            *world.log.disk.borrow_mut() = Some(disk.clone());
            drop(run(&world, &disk, &manifest(case)));
            disk.revive();
            disk.clear_faults();
            done += usize::from(settles(&world, &disk, case, &after, &format!("{case:?} at {at}")));
        }
        assert!(done > 10 && calls - done > 3, "{case:?}: {done} of {calls}");
    }
}

/// FE-1, FE-8, FE-15: what is told is what is there, also where the disk is full or fails in the middle.
#[test]
fn a_call_that_fails_leaves_before_or_after_and_the_result_says_which() {
    let stride = std::env::var("ACTUM_FAULT_STRIDE").ok().and_then(|text| text.parse().ok());
    let stride: usize = stride.unwrap_or(STRIDE);
    for (number, case) in CASES.into_iter().enumerate() {
        let (after, calls) = whole(case);
        let before = tree(&disk());
        let (mut cases, mut successes) = (0, 0);
        for errno in [Errno::NOSPC, Errno::IO] {
            let places = (number..calls).step_by(stride);
            for (at, lasts) in places.flat_map(|at| [(at, false), (at, true)]) {
                let (world, disk) = (World::in_memory(), disk());
                match lasts {
                    false => disk.fail_at(at, errno),
                    true => disk.fail_from(at, errno),
                }
                let what = format!("{case:?}, {errno:?} at {at}, lasting: {lasts}");
                cases += 1;
                if let Ok(end) = run(&world, &disk, &manifest(case)) {
                    successes += usize::from(end.result.status == TaskStatus::Success);
                    let what = format!("{what}: {:?}", end.result.detail);
                    match end.result.status {
                        TaskStatus::Success => assert_eq!(tree(&disk), after, "{what}"),
                        TaskStatus::Failed => assert_eq!(tree(&disk), before, "{what}"),
                    }
                }
                disk.clear_faults();
                settles(&world, &disk, case, &after, &what);
            }
        }
        assert!(successes < cases, "{case:?}: no call failed the task");
    }
}
