//! Symbolic links: every kind of object replaces every other, interrupted at every call by a kill and by power cuts
//! (FO-2, D-6).

use std::collections::BTreeMap;

use actum_core::Digest;
use actum_edit::Operation;
use actum_testkit::{Errno, Node, SimDisk};
use actum_workspace::{GcOptions, RunOptions, State};

use crate::changes::{apply, create, delete, open, path, rename};
use crate::explore::{Effort, explore};

const EFFORT: Effort = Effort { states: 24, states_in_recovery: 6, stride: 1 };
/// Target that is too long to be stored in an inode of ext4 or xfs.
const LONG: &str =
    "very/long/target/that/has/more/than/sixty/bytes/and/so/needs/a/block/of/its/own";

fn link(at: &str, target: &str) -> Operation {
    Operation::Link { path: path(at), target: target.into(), expected: None }
}

fn retarget(at: &str, old: &str, new: &str) -> Operation {
    let expected = Some(Digest::of(old.as_bytes()));
    Operation::Link { path: path(at), target: new.into(), expected }
}

/// Kind of object at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Object {
    Absent,
    File,
    Directory,
    Link,
    OtherLink,
}

const OBJECTS: [Object; 5] =
    [Object::Absent, Object::File, Object::Directory, Object::Link, Object::OtherLink];

impl Object {
    fn put(self, disk: &SimDisk) {
        match self {
            Self::Absent => {}
            Self::File => disk.put("x", b"target"), // the bytes of the other link's target
            Self::Directory => disk.mkdir_p("x"),
            Self::Link => disk.symlink("x", LONG),
            Self::OtherLink => disk.symlink("x", "target"),
        }
    }

    fn remove(self) -> Option<Operation> {
        match self {
            Self::Absent => None,
            Self::File | Self::Link | Self::OtherLink => Some(delete("x")),
            Self::Directory => Some(Operation::RemoveDirectory { path: path("x") }),
        }
    }

    fn make(self) -> Option<Operation> {
        match self {
            Self::Absent => None,
            Self::File => Some(create("x", "target")),
            Self::Directory => Some(Operation::MakeDirectory { path: path("x"), mode: None }),
            Self::Link => Some(link("x", LONG)),
            Self::OtherLink => Some(link("x", "target")),
        }
    }
}

fn disk_with(object: Object) -> SimDisk {
    let disk = SimDisk::new();
    disk.put("a", b"one\n");
    disk.mkdir_p("d");
    disk.put("d/c", b"eins\n");
    disk.symlink("d/l", "c");
    object.put(&disk);
    drop(open(&disk).unwrap());
    disk.settle();
    disk
}

fn tree(disk: &SimDisk) -> BTreeMap<String, Node> {
    disk.snapshot_without(".actum")
}

fn run(disk: &SimDisk, operations: &[Operation]) -> actum_core::RunId {
    open(disk).unwrap().apply_operations(operations, RunOptions::default()).unwrap()
}

fn holds(
    disk: &SimDisk,
    change: impl Fn(SimDisk) -> Result<(), actum_workspace::Error> + 'static,
    what: &str,
) {
    let result = explore(disk, &change, EFFORT);
    result.unwrap_or_else(|violation| panic!("{what}: {violation}"));
}

/// Checks that the change and its undo are atomic, and that the undo restores the tree.
fn change_and_undo_hold(disk: &SimDisk, operations: &[Operation]) {
    let what = format!("{operations:?}");
    let change = operations.to_vec();
    holds(disk, move |disk| apply(&disk, &change), &what);
    let was = tree(disk);
    let of = run(disk, operations);
    holds(disk, move |disk| open(&disk)?.revert(of).map(drop), &format!("undo: {what}"));
    open(disk).unwrap().revert(of).unwrap();
    assert_eq!(tree(disk), was, "{what}");
}

/// FO-2, D-6: undoing the change from the journal and from the history restores the tree.
#[test]
fn replacing_any_object_type_with_any_other_is_atomic() {
    for (before, after) in OBJECTS.into_iter().flat_map(|one| OBJECTS.map(|other| (one, other))) {
        if before == after {
            continue;
        }
        let what = format!("{before:?} to {after:?}");
        let operations: Vec<_> = before.remove().into_iter().chain(after.make()).collect();
        let disk = disk_with(before);
        let change = operations.clone();
        holds(&disk, move |disk| apply(&disk, &change), &what);
        let was = tree(&disk);
        let of = run(&disk, &operations);
        let expected = disk_with(after);
        let names = |disk: &SimDisk| tree(disk).keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&disk), names(&expected), "{what}");
        for settled in [false, true] {
            let disk = disk.clone_deep();
            if settled {
                open(&disk).unwrap().gc(&GcOptions::default()).unwrap();
                disk.settle();
            }
            holds(&disk, move |disk| open(&disk)?.revert(of).map(drop), &format!("undo: {what}"));
            open(&disk).unwrap().revert(of).unwrap();
            assert_eq!(tree(&disk), was, "{what}");
        }
    }
}

/// FO-2, D-6
#[test]
fn symlink_changes_are_atomic() {
    let cases: [Vec<Operation>; 6] = [
        vec![retarget("d/l", "c", LONG)],
        vec![retarget("d/l", "c", LONG), retarget("d/l", LONG, "b")],
        vec![rename("d/l", "n/l")],
        vec![rename("d/l", "t"), rename("d/c", "d/l"), rename("t", "d/c")],
        vec![rename("d/l", "n/l"), retarget("n/l", "c", "../d/c"), create("d/l", "now a file\n")],
        vec![
            delete("d/l"),
            delete("d/c"),
            link("d", "elsewhere"),
            link("l1", "d"),
            link("l2", "l2"),
        ],
    ];
    for operations in cases {
        let disk = disk_with(Object::Absent);
        change_and_undo_hold(&disk, &operations);
    }
}

/// FO-2
#[test]
fn failed_call_on_symlinks_leaves_the_reported_state() {
    let change = [
        retarget("d/l", "c", LONG),
        link("n/made", "a"),
        delete("x"),
        rename("a", "b"),
        link("a", "b"),
    ];
    let (before, after, calls) = {
        let disk = disk_with(Object::Link);
        let (before, first) = (tree(&disk), disk.calls());
        apply(&disk, &change).unwrap();
        (before, tree(&disk), disk.calls() - first)
    };
    for at in 0..calls {
        for errno in [Errno::IO, Errno::NOSPC, Errno::ROFS, Errno::ACCESS] {
            for lasting in [false, true] {
                let disk = disk_with(Object::Link);
                let what = format!("{errno:?} at call {at}, lasting: {lasting}");
                if lasting {
                    disk.fail_from(at, errno)
                } else {
                    disk.fail_at(at, errno)
                }
                let result = apply(&disk, &change);
                match &result {
                    Ok(()) => assert_eq!(tree(&disk), after, "{what}"),
                    Err(error) => match error.state {
                        State::Unchanged | State::Forgotten { .. } | State::Restored => {
                            assert_eq!(tree(&disk), before, "{what}: it says `{error}`");
                        }
                        State::Published => assert_eq!(tree(&disk), after, "{what}"),
                        State::NeedsAttention => {}
                    },
                }
                disk.clear_faults();
                drop(open(&disk).unwrap_or_else(|error| panic!("{what}: recovery: {error}")));
                let recovered = tree(&disk);
                assert!(recovered == before || recovered == after, "{what}: {recovered:#?}");
                assert!(result.is_err() || recovered == after, "{what}");
            }
        }
    }
}

/// FO-2, FO-6: a link that another program creates at a path during a run remains or is saved.
#[test]
fn symlink_created_by_another_process_during_a_run_is_kept() {
    let change = [retarget("d/l", "c", LONG), delete("x"), link("n", "a")];
    let calls = {
        let disk = disk_with(Object::Link);
        let first = disk.calls();
        apply(&disk, &change).unwrap();
        disk.calls() - first
    };
    let mine = |disk: &SimDisk| {
        let is_mine = |node: &Node| matches!(node, Node::Symlink { target } if target == b"mine");
        disk.snapshot()
            .iter()
            .any(|(path, node)| is_mine(node) && !path.starts_with(".actum/stage/"))
    };
    for at in 0..calls {
        for name in ["d/l", "x", "n"] {
            let disk = disk_with(Object::Link);
            disk.before_call(at, move |disk| {
                if disk.stat_of(name).is_some() {
                    disk.remove(name);
                }
                disk.symlink(name, "mine");
            });
            let result = apply(&disk, &change);
            disk.clear_faults();
            drop(open(&disk).unwrap());
            if result.is_ok() && !mine(&disk) {
                // The run found the link there, so its undo restores it.
                let view = actum_workspace::View::open_on(disk.clone(), std::path::Path::new("/"));
                let of = view.unwrap().runs().unwrap().last().unwrap().run;
                open(&disk).unwrap().revert(of).unwrap();
            }
            assert!(mine(&disk), "`{name}` before call {at}: {result:?} {:#?}", disk.snapshot());
        }
    }
}

/// FO-2, D-6: directory permissions are in their old or new state, whether or not files in the directory change too.
/// The undo is atomic as well.
#[test]
fn changing_directory_permissions_is_atomic() {
    let chmod = |mode| {
        let [mode, expected] = [mode, 0o750].map(actum_core::FileMode::new);
        Operation::ChmodDirectory { path: path("d"), mode, expected }
    };
    let cases: [Vec<Operation>; 4] = [
        vec![chmod(0o700)],
        vec![chmod(0o500), create("d/new", "new\n"), delete("d/c"), link("d/m", "new")],
        vec![delete("d/l"), delete("d/c"), create("d/again", "made in the same directory\n")],
        vec![chmod(0o711), rename("a", "d/a"), retarget("d/l", "c", "a")],
    ];
    for operations in cases {
        let disk = disk_with(Object::Absent);
        disk.chmod("d", 0o750);
        disk.settle();
        change_and_undo_hold(&disk, &operations);
    }
}
