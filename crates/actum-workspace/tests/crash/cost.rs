//! Cost of a run, measured as the number of sync barriers and of calls for each file (FO-8).

use actum_core::RelPath;
use actum_edit::Operation;
use actum_testkit::SimDisk;
use actum_workspace::disk::Barrier;
use actum_workspace::{RunOptions, Workspace};

const BARRIERS: [Barrier; 12] = [
    Barrier::Birth,
    Barrier::KeptImage,
    Barrier::KeptName,
    Barrier::Intent,
    Barrier::End,
    Barrier::Rebuilt,
    Barrier::Growth,
    Barrier::Checkpoint,
    Barrier::Forget,
    Barrier::Reread,
    Barrier::Adoption,
    Barrier::Lost,
];

fn syncs(disk: &SimDisk) -> Vec<(Barrier, usize)> {
    BARRIERS.map(|barrier| (barrier, disk.syncs(barrier))).into_iter().collect()
}

/// Creates a workspace with `files` files, and returns the number of calls and the syncs of a run that writes `changed`
/// of them.
fn cost(files: usize, changed: usize) -> (usize, Vec<(Barrier, usize)>) {
    let disk = SimDisk::new();
    disk.mkdir_p("d");
    for file in 0..files {
        disk.put(format!("d/f{file}"), b"old\n");
    }
    let mut workspace = Workspace::open_on(disk.clone(), std::path::Path::new("/")).unwrap();
    let operations: Vec<_> = (0..changed)
        .map(|file| Operation::Write {
            path: RelPath::new(format!("d/f{file}")).unwrap(),
            content: b"new\n".to_vec(),
            expected: None,
        })
        .collect();
    let (calls, before) = (disk.calls(), syncs(&disk));
    let run = workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    let made = syncs(&disk).into_iter().zip(before).map(|((b, n), (_, m))| (b, n - m));
    let cost = (disk.calls() - calls, made.filter(|(_, n)| *n > 0).collect());
    // The undo needs no more barriers than the run.
    let before = syncs(&disk);
    workspace.revert(run).unwrap();
    let undo: Vec<_> = syncs(&disk)
        .into_iter()
        .zip(before)
        .map(|((b, n), (_, m))| (b, n - m))
        .filter(|(_, n)| *n > 0)
        .collect();
    assert_eq!(undo, cost.1);
    cost
}

/// FO-8
#[test]
fn ordinary_run_makes_two_syncs_for_any_number_of_files() {
    let two = vec![(Barrier::Intent, 1), (Barrier::End, 1)];
    assert_eq!(cost(1, 1).1, two);
    assert_eq!(cost(100, 100).1, two);
}

/// FO-8
#[test]
fn run_cost_depends_on_touched_files_and_not_on_workspace_size() {
    assert_eq!(cost(10, 10).0, cost(500, 10).0);
    let (one, ten, hundred) = (cost(100, 1).0, cost(100, 10).0, cost(100, 100).0);
    assert_eq!((hundred - ten) / 90, (ten - one) / 9, "calls grow in step with the files");
    assert!((hundred - ten) / 90 <= 14, "{} calls for a file", (hundred - ten) / 90);
}

/// FO-9
#[test]
fn displaced_files_do_not_accumulate() {
    let disk = SimDisk::new();
    let paths: Vec<RelPath> =
        (0..1000).map(|file| RelPath::new(format!("f{file}")).unwrap()).collect();
    for path in &paths {
        disk.put(path.as_bytes(), b"0\n");
    }
    let mut workspace = Workspace::open_on(disk.clone(), std::path::Path::new("/")).unwrap();
    for round in 1..60 {
        let write = |path: &RelPath| Operation::Write {
            path: path.clone(),
            content: format!("{round}\n").into_bytes(),
            expected: None,
        };
        let operations: Vec<_> = paths.iter().map(write).collect();
        workspace.apply_operations(&operations, RunOptions::default()).unwrap();
    }
    let staged = disk.snapshot();
    let staged = staged.keys().filter(|path| path.starts_with(".actum/stage/")).count();
    // Displaced files that a checkpoint may leave, and those of the runs since then.
    assert!(staged < 32_768 + 5000, "{staged} files");
}
