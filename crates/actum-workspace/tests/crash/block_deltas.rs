//! Kills, power cuts, full disks and concurrent programs while runs record the changed blocks of large files.

use std::path::Path;

use actum_core::RunId;
use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::disk::Barrier;
use actum_workspace::path_change::{Content, State as Held};
use actum_workspace::{Error, ErrorKind, GcOptions, Outcome, RunOptions, State, View};

use crate::changes::{apply, create, open, path};
use crate::explore::{Effort, LARGE, cuts, explore};

const SIZE: usize = (1 << 20) + 5_000;
const FEW: Effort = Effort { states: 4, states_in_recovery: 0, stride: 67 };

/// Returns content without repetitions.
fn before() -> Vec<u8> {
    let words = (0u64..).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    words.flat_map(u64::to_be_bytes).take(SIZE).collect()
}

/// Returns the content with some blocks overwritten and a tail.
fn after(round: u8) -> Vec<u8> {
    let mut content = before();
    for block in [3usize, 4, 100, 200] {
        content[block * 4096..][..100].fill(round);
    }
    content.extend_from_slice(&[round; 6_000]);
    content
}

fn update(round: u8) -> Operation {
    Operation::Write { path: path("f"), content: after(round), expected: None }
}

fn workspace() -> SimDisk {
    let disk = SimDisk::new();
    disk.put("f", before());
    drop(open(&disk).unwrap());
    disk.settle();
    disk.advance(60_000);
    disk
}

fn run(disk: &SimDisk, round: u8) -> Result<RunId, Error> {
    open(disk)?.apply_operations(&[update(round)], RunOptions::default())
}

/// Returns a workspace with a run that changed blocks, recorded in its journal or history.
fn updated(in_history: bool) -> (SimDisk, RunId) {
    let disk = workspace();
    let made = run(&disk, 1).unwrap();
    if in_history {
        open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
        assert_eq!(kept(&disk), [format!("{made}.0.blocks")]);
    }
    disk.settle();
    disk.advance(60_000);
    (disk, made)
}

fn kept(disk: &SimDisk) -> Vec<String> {
    let names = disk.snapshot().into_keys();
    names.filter_map(|name| name.strip_prefix(".actum/keep/").map(str::to_owned)).collect()
}

fn undo(disk: &SimDisk, run: RunId) -> Result<RunId, Error> {
    open(disk)?.revert(run)
}

#[track_caller]
fn holds(disk: &SimDisk, wanted: &[u8]) {
    assert!(disk.get("f").is_some_and(|found| found == wanted), "`f` holds something else");
}

/// FO-2
#[test]
fn run_that_records_blocks_is_atomic() {
    let result = explore(&workspace(), &|disk| run(&disk, 1).map(drop), LARGE);
    result.unwrap_or_else(|violation| panic!("{violation}"));
}

/// The second run makes the checkpoint that drops the first image.
///
/// FO-2
#[test]
fn run_after_a_block_recording_run_is_atomic() {
    let (disk, _) = updated(false);
    let result = explore(&disk, &|disk| run(&disk, 2).map(drop), LARGE);
    result.unwrap_or_else(|violation| panic!("{violation}"));
}

/// FO-2, FO-5
#[test]
fn undo_from_blocks_is_atomic() {
    for in_history in [false, true] {
        let (disk, made) = updated(in_history);
        let result = explore(&disk, &move |disk| undo(&disk, made).map(drop), LARGE);
        result.unwrap_or_else(|violation| panic!("{violation}"));
    }
}

/// FO-2, FO-5, FO-9: an acknowledged run can be undone after a crash at any call of the run, or of the checkpoint that
/// drops the whole image.
#[test]
fn acknowledged_run_is_undone_from_blocks_after_a_crash_at_any_call() {
    let collect = |disk: &SimDisk| open(disk)?.gc(&GcOptions::default()).map(drop);
    let (whole, _) = updated(false);
    let first = whole.calls();
    collect(&whole).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let (disk, made) = updated(false);
        disk.kill_at(at);
        drop(collect(&disk));
        let killed = disk.clone_deep();
        let states = disk.crash_states(4).step_by(67);
        for (state, is_cut) in [(killed, false)].into_iter().chain(states.map(|it| (it, true))) {
            if !is_cut {
                state.revive();
                state.clear_faults();
            }
            undo(&state, made).unwrap_or_else(|error| panic!("before call {at}: {error}"));
            holds(&state, &before());
        }
    }
}

/// Returns the states after a power cut right after a run was acknowledged in which its blocks are incomplete.
fn states_without_blocks(disk: &SimDisk, made: RunId) -> impl Iterator<Item = SimDisk> {
    let name = format!(".actum/keep/{made}.0.blocks");
    let whole = disk.get(&name);
    assert!(whole.is_some());
    disk.crash_states(64).filter(move |state| state.get(&name) != whole)
}

/// FO-2, FO-5, FO-9
#[test]
fn blocks_are_durable_when_a_run_is_acknowledged() {
    let disk = workspace();
    let made = run(&disk, 1).unwrap();
    assert_eq!(states_without_blocks(&disk, made).count(), 0);
    for state in disk.crash_states(6).step_by(31).take(60) {
        drop(open(&state).unwrap());
        open(&state).unwrap().gc(&GcOptions::default()).unwrap();
        undo(&state, made).unwrap();
        holds(&state, &before());
    }
}

/// FO-5
#[test]
fn without_the_kept_image_barrier_blocks_can_be_lost() {
    let disk = workspace();
    disk.ignore(Barrier::KeptImage);
    let made = run(&disk, 1).unwrap();
    assert!(states_without_blocks(&disk, made).next().is_some());
}

/// FO-2
#[test]
fn failed_call_while_recording_blocks_leaves_the_reported_state() {
    let whole = workspace();
    let first = whole.calls();
    run(&whole, 1).unwrap();
    for errno in [Errno::IO, Errno::NOSPC] {
        for at in 0..whole.calls() - first {
            let disk = workspace();
            disk.fail_at(at, errno);
            let wanted = match run(&disk, 1) {
                Ok(_) => after(1),
                Err(Error { state: State::Unchanged | State::Restored, .. }) => before(),
                Err(Error { state: State::Published, .. }) => after(1),
                Err(error) => {
                    drop(open(&disk).unwrap());
                    assert!(
                        disk.get("f").is_some_and(|it| it == before() || it == after(1)),
                        "{error}"
                    );
                    continue;
                }
            };
            holds(&disk, &wanted);
        }
    }
}

/// FO-5, FO-8: keeping the displaced file needs no space, so the run does not fail because its blocks cannot be stored.
#[test]
fn disk_without_space_for_blocks_keeps_the_whole_file() {
    let disk = workspace();
    let whole = workspace();
    let first = whole.calls();
    run(&whole, 1).unwrap();
    let is_blocks = |call: &String| call.starts_with("write_at") && call.contains(".blocks");
    let at = whole.trace().iter().skip(first).position(is_blocks).unwrap();
    disk.fail_at(at, Errno::NOSPC);
    let made = run(&disk, 1).unwrap();
    open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
    assert_eq!(kept(&disk), [format!("{made}.0.pre")]);
    undo(&disk, made).unwrap();
    holds(&disk, &before());
}

/// Returns the calls of a run that records blocks.
fn calls_of_a_run() -> Vec<String> {
    let whole = workspace();
    let first = whole.calls();
    run(&whole, 1).unwrap();
    whole.trace().split_off(first)
}

/// FO-5, FO-6
#[test]
fn file_written_during_a_run_is_restored_by_undo_or_not_replaced() {
    let calls = calls_of_a_run();
    let exchange = calls.iter().position(|call| call.starts_with("rename")).unwrap();
    let mut edited = before();
    edited[3 * 4096..4 * 4096].fill(b'm');
    let mut refused = 0;
    for at in 0..=exchange {
        let disk = workspace();
        disk.before_call(at, |disk| disk.overwrite("f", [b'm'; 4096], 3 * 4096));
        match run(&disk, 1) {
            Ok(made) => {
                open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
                undo(&disk, made).unwrap();
                holds(&disk, &edited);
            }
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "{error}");
                holds(&disk, &edited);
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

/// The compared blocks may differ from the digested ones, even if the old bytes are there at the beginning and the end
/// of the run.
///
/// FO-5, FO-6
#[test]
fn no_blocks_are_recorded_for_a_file_that_changed_during_the_run() {
    let calls = calls_of_a_run();
    let reads = calls.iter().enumerate().filter(|(_, call)| call.starts_with("read_at `f`"));
    let mut whole = 0;
    for (at, call) in reads {
        let disk = workspace();
        disk.before_call(at, |disk| disk.overwrite("f", [b'm'; 4096], 3 * 4096));
        let restored = before()[3 * 4096..4 * 4096].to_vec();
        let modified = disk.stat_of("f").unwrap().modified;
        disk.before_call(at + 1, move |disk| {
            disk.overwrite("f", &restored, 3 * 4096);
            disk.set_modified("f", modified);
        });
        let Ok(made) = run(&disk, 1) else { continue };
        open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
        whole += usize::from(kept(&disk) == [format!("{made}.0.pre")]);
        undo(&disk, made).unwrap();
        assert!(disk.get("f").unwrap() == before(), "before `{call}`");
    }
    assert!(whole > 0);
}

/// FO-8
#[test]
fn a_run_without_large_files_makes_no_call_for_blocks() {
    let disk = workspace();
    let first = disk.calls();
    apply(&disk, &[create("small", "small\n")]).unwrap();
    let calls = disk.trace().split_off(first);
    let others = calls.iter().filter(|call| !call.starts_with("open_directory"));
    let others: Vec<_> = others
        .filter(|call| call.contains(".actum/keep") || call.contains(".actum/history"))
        .collect();
    assert_eq!(others, Vec::<&String>::new());
}

/// FO-9: if the displaced file is very large, the checkpoint that frees it follows immediately.
#[test]
fn very_large_displaced_file_is_freed_when_its_run_ends() {
    for (size, is_given_back) in [(32 << 20, false), ((32 << 20) + 1, true)] {
        let disk = SimDisk::new();
        disk.put("f", vec![1; size]);
        let mut content = vec![1; size];
        content[5_000] = 2;
        let operation = Operation::Write { path: path("f"), content, expected: None };
        let mut workspace = open(&disk).unwrap();
        let made = workspace.apply_operations(&[operation], RunOptions::default()).unwrap();
        drop(workspace);
        assert_eq!(kept(&disk) == [format!("{made}.0.blocks")], is_given_back);
        let staged = disk.snapshot().into_keys().any(|name| name.starts_with(".actum/stage/"));
        assert_eq!(staged, !is_given_back);
        undo(&disk, made).unwrap();
        holds(&disk, &vec![1; size]);
    }
}

/// FO-2, FO-5, FO-9: the checkpoint that ends such a run is interrupted at each of its calls.
#[test]
fn killed_run_on_a_very_large_file_is_atomic_and_undoable() {
    let (old, mut new) = (vec![1; (32 << 20) + 1], vec![1; (32 << 20) + 1]);
    new[5_000] = 2;
    let disk = || {
        let disk = SimDisk::new();
        disk.put("f", &old);
        drop(open(&disk).unwrap());
        disk.settle();
        disk.advance(60_000);
        disk
    };
    let run = |disk: &SimDisk| {
        let content = new.clone();
        let operation = Operation::Write { path: path("f"), content, expected: None };
        open(disk)?.apply_operations(&[operation], RunOptions::default())
    };
    let whole = disk();
    let first = whole.calls();
    run(&whole).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = disk();
        disk.kill_at(at);
        drop(run(&disk));
        let power_cut: Vec<_> = disk.crash_states(1).take(2).collect();
        disk.revive();
        disk.clear_faults();
        for state in power_cut.into_iter().chain([disk]) {
            drop(open(&state).unwrap());
            let runs = View::open_on(state.clone(), Path::new("/")).unwrap().runs().unwrap();
            let committed = runs.iter().find(|run| run.outcome == Outcome::Committed);
            let Some(made) = committed else {
                holds(&state, &old);
                continue;
            };
            holds(&state, &new);
            undo(&state, made.run).unwrap_or_else(|error| panic!("before call {at}: {error}"));
            holds(&state, &old);
        }
    }
}

/// FO-9: a redo records blocks in place of the image that an undo on a full disk used, and a collection keeps them.
#[test]
fn gc_keeps_a_run_whose_blocks_restore_the_image_of_another_run() {
    let disk = workspace();
    let whole = workspace();
    let first = whole.calls();
    run(&whole, 1).unwrap();
    let is_blocks = |call: &String| call.starts_with("write_at") && call.contains(".blocks");
    let at = whole.trace().iter().skip(first).position(is_blocks).unwrap();
    disk.fail_at(at, Errno::NOSPC);
    let made = run(&disk, 1).unwrap(); // keeps the whole file
    disk.set_free_bytes(256 << 10);
    undo(&disk, made).unwrap(); // takes it
    disk.set_free_bytes(u64::MAX);
    let (_, redo) = {
        let mut workspace = open(&disk).unwrap();
        let (undo, redo) = workspace.begin_redo(made, RunOptions::default()).unwrap();
        (undo, redo.commit().unwrap().run)
    };
    let options = GcOptions { runs_max: 0, protected: [made].into(), ..GcOptions::default() };
    let report = open(&disk).unwrap().gc(&options).unwrap();
    assert_eq!(report.retained_runs, [redo]);
    undo(&disk, made).unwrap();
    holds(&disk, &before());
}

/// FO-9
#[test]
fn content_before_a_run_is_rebuilt_through_all_later_blocks() {
    let disk = workspace();
    let runs: Vec<_> = (1..6).map(|round| run(&disk, round).unwrap()).collect();
    open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
    let view = View::open_on(disk.clone(), Path::new("/")).unwrap();
    for (round, run) in (1u8..).zip(&runs) {
        let change = view.diff(*run).unwrap().remove(0);
        let wanted = if round == 1 { before() } else { after(round - 1) };
        let is = |held: &Held, wanted: &[u8]| matches!(held, Held::File { content: Content::Known(it), .. } if **it == wanted);
        assert!(is(&change.before, &wanted) && is(&change.after, &after(round)), "{round}");
    }
    // Removing a link from the chain leaves a gap instead of producing different content.
    disk.remove(format!(".actum/keep/{}.0.blocks", runs[2]));
    for (round, run) in (1u8..).zip(&runs) {
        let change = view.diff(*run).unwrap().remove(0);
        let is_known = matches!(change.before, Held::File { content: Content::Known(_), .. });
        assert_eq!(is_known, round > 3, "{round}");
    }
}

/// FO-2
#[test]
fn recovery_of_an_interrupted_run_leaves_no_blocks_behind() {
    let whole = workspace();
    let first = whole.calls();
    run(&whole, 1).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = workspace();
        disk.kill_at(at);
        if run(&disk, 1).is_ok() {
            continue;
        }
        disk.revive();
        disk.clear_faults();
        open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
        let is_done = disk.get("f").unwrap() == after(1);
        assert_eq!(kept(&disk).len(), usize::from(is_done), "before call {at}: {:?}", kept(&disk));
    }
    let result = explore(
        &workspace(),
        &|disk| {
            run(&disk, 1)?;
            open(&disk)?.gc(&GcOptions::default()).map(drop)
        },
        FEW,
    );
    result.unwrap_or_else(|violation| panic!("{violation}"));
}
