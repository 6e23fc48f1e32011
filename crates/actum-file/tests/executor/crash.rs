//! Kills the host at each system call on a simulated disk, or lets a call fail. After the task is requested again, the files are
//! either in their old or in their new state.

use actum_file::TaskStatus;
use actum_testkit::{Errno, SimDisk, effort};

use crate::simulated::{CASES, Tree, disk, manifest, run, tree};
use crate::world::World;

/// Every call at a multiple of this stride fails. `ACTUM_FAULT_STRIDE` overrides it.
const STRIDE: usize = 7;

/// Returns the tree after a successful task, and the number of its system calls.
fn run_undisturbed(case: (&str, &str)) -> (Tree, usize) {
    let disk = disk();
    let done = run(&World::in_memory(), &disk, &manifest(case)).unwrap();
    assert_eq!(done.result.status, TaskStatus::Success, "{case:?}: {:?}", done.result.detail);
    (tree(&disk), disk.calls())
}

/// Repeats the task without faults and asserts that the result agrees with the files. Returns whether the task succeeded.
fn assert_settled(
    world: &World,
    disk: &SimDisk,
    case: (&str, &str),
    after: &Tree,
    what: &str,
) -> bool {
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
fn task_killed_at_any_call_is_done_or_undone_when_requested_again() {
    for case in CASES {
        let (after, calls) = run_undisturbed(case);
        let mut done = 0;
        for at in 0..=calls {
            let (world, disk) = (World::in_memory(), disk());
            disk.kill_at(at);
            *world.log.disk.borrow_mut() = Some(disk.clone());
            drop(run(&world, &disk, &manifest(case)));
            disk.revive();
            disk.clear_faults();
            let what = format!("{case:?} at {at}");
            done += usize::from(assert_settled(&world, &disk, case, &after, &what));
        }
        assert!(done > 10 && calls - done > 3, "{case:?}: {done} of {calls}");
    }
}

/// FE-1, FE-8, FE-15: the result agrees with the files even if the disk is full or fails.
#[test]
fn failing_call_leaves_the_old_or_new_state_as_reported() {
    let stride = effort("ACTUM_FAULT_STRIDE", STRIDE);
    for (number, case) in CASES.into_iter().enumerate() {
        let (after, calls) = run_undisturbed(case);
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
                assert_settled(&world, &disk, case, &after, &what);
            }
        }
        assert!(successes < cases, "{case:?}: no call failed the task");
    }
}
