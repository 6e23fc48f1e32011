//! Concurrent changes: another program acts just before a system call of a task. Nothing outside the base directories may change,
//! nothing may be overwritten, and no byte may be lost.

use std::cell::RefCell;
use std::collections::BTreeSet;

use actum_file::TaskStatus;
use actum_testkit::{Node, SimDisk, effort};

use crate::simulated::{CASES, disk, manifest, run};
use crate::world::World;

/// The other program acts before every call at a multiple of this stride. `ACTUM_RACE_STRIDE` overrides it.
const STRIDE: usize = 13;

thread_local! {
    /// Contents written by the other program, and the path at which each must remain. Without a path, the content only has to be in
    /// some file.
    static MADE: RefCell<Vec<(Option<String>, &'static [u8])>> = const { RefCell::new(Vec::new()) };
}

fn record(at: Option<&str>, content: &'static [u8]) {
    MADE.with_borrow_mut(|made| made.push((at.map(str::to_owned), content)));
}

fn exists(disk: &SimDisk, path: &str) -> bool {
    disk.stat_of(path).is_some()
}

/// Renames `from` if it exists and `to` does not.
fn rename(disk: &SimDisk, from: &str, to: &str) {
    if exists(disk, from) && !exists(disk, to) {
        disk.rename_path(from, to);
    }
}

/// Replaces a directory with another one.
fn swap(disk: &SimDisk, directory: &str) {
    rename(disk, directory, &format!("{directory}-moved"));
    disk.put(format!("{directory}/f"), b"theirs");
    record(None, b"theirs");
}

/// Replaces a directory with a symbolic link to the outside.
fn link(disk: &SimDisk, directory: &str) {
    rename(disk, directory, &format!("{directory}-moved"));
    disk.symlink(directory, "/outside");
}

/// Creates a file at a destination that does not exist yet.
fn make(disk: &SimDisk, destination: &str, file: &str) {
    if !exists(disk, destination) {
        disk.put(file, b"theirs");
        record(Some(file), b"theirs");
    }
}

fn replace_source(disk: &SimDisk) {
    if exists(disk, "a/d/f") {
        disk.replace("a/d/f", b"theirs");
        record(None, b"theirs");
    }
}

fn write_into_source(disk: &SimDisk) {
    if exists(disk, "a/d/f") {
        disk.overwrite("a/d/f", b"theirs!", 0);
        record(None, b"theirs!");
    }
}

fn link_source(disk: &SimDisk) {
    rename(disk, "a/d/f", "a/d/h");
    if !exists(disk, "a/d/f") {
        disk.symlink("a/d/f", "/outside/f");
    }
}

/// Action of the other program.
#[derive(Clone, Copy)]
struct Act {
    name: &'static str,
    run: fn(&SimDisk),
    /// Whether the action destroys the content of the source.
    destroys: bool,
}

const fn act(name: &'static str, run: fn(&SimDisk)) -> Act {
    Act { name, run, destroys: false }
}

const fn destroy(name: &'static str, run: fn(&SimDisk)) -> Act {
    Act { name, run, destroys: true }
}

const ACTS: [Act; 14] = [
    act("swap the directory of the source", |disk| swap(disk, "a/d")),
    act("link the directory of the source", |disk| link(disk, "a/d")),
    act("swap the directory of the destination", |disk| swap(disk, "a/e")),
    act("swap the other directory of the destination", |disk| swap(disk, "b/e")),
    act("link the directory of the destination", |disk| link(disk, "a/e")),
    act("link the other directory of the destination", |disk| link(disk, "b/e")),
    act("swap the base directory", |disk| swap(disk, "a")),
    act("swap the other base directory", |disk| swap(disk, "b")),
    destroy("replace the source", replace_source),
    destroy("write into the source", write_into_source),
    act("move the source away", |disk| rename(disk, "a/d/f", "a/d/h")),
    act("link the source", link_source),
    act("make the destination", |disk| {
        make(disk, "a/e/g", "a/e/g");
        make(disk, "b/e/g", "b/e/g");
    }),
    act("make a directory at the destination", |disk| {
        make(disk, "a/e/g", "a/e/g/in");
        make(disk, "b/e/g", "b/e/g/in");
    }),
];

/// Returns the contents of all files on the disk.
fn contents(disk: &SimDisk) -> BTreeSet<Vec<u8>> {
    let files = disk.snapshot();
    let content = |node: Node| match node {
        Node::File { bytes, .. } => Some(bytes),
        Node::Directory { .. } | Node::Symlink { .. } | Node::Special => None,
    };
    files.into_values().filter_map(content).collect()
}

/// FE-6, FE-7, FE-8, FE-9, FE-10
#[test]
fn concurrent_changes_never_lose_content_or_reach_outside() {
    let stride = effort("ACTUM_RACE_STRIDE", STRIDE);
    let (mut rounds, mut successes) = (0, 0);
    for case in CASES {
        let quiet = disk();
        run(&World::in_memory(), &quiet, &manifest(case)).unwrap();
        for (number, act) in ACTS.iter().enumerate() {
            for at in (number..quiet.calls()).step_by(stride) {
                let what = format!("{case:?}, {} at {at}", act.name);
                let (world, disk) = (World::in_memory(), disk());
                disk.before_call(at, act.run);
                let first = run(&world, &disk, &manifest(case));
                disk.clear_faults();
                // An open task is settled if possible.
                let end = run(&world, &disk, &manifest(case)).or(first);
                let result = end.as_ref().map(|end| (end.result.status, &end.result.detail));
                let what = format!("{what}: {result:?}");
                let files = disk.snapshot();
                let outside: Vec<&String> =
                    files.keys().filter(|path| path.contains("outside")).collect();
                assert_eq!(outside, ["outside", "outside/f"], "{what}");
                let contents = contents(&disk);
                let kept = [(None, &b"outside"[..])];
                let kept =
                    kept.into_iter().chain((!act.destroys).then_some((None, &b"content"[..])));
                for (path, content) in kept.chain(MADE.take()) {
                    match path {
                        Some(path) => {
                            assert_eq!(disk.get(&path).as_deref(), Some(content), "{what}")
                        }
                        None => assert!(contents.contains(content), "{content:?} is lost: {what}"),
                    }
                }
                rounds += 1;
                successes +=
                    usize::from(end.is_ok_and(|end| end.result.status == TaskStatus::Success));
            }
        }
    }
    assert!(successes > rounds / 20 && successes < rounds, "{successes} of {rounds}");
}
