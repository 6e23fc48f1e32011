//! Edits of moved files: a file that a run moves while another program edits it in place keeps the edit and a single
//! name (FO-2, FO-6).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

use actum_core::FileMode;
use actum_edit::Operation;
use actum_testkit::{Node, SimDisk};
use actum_workspace::View;

use crate::changes::{apply, create, delete, open, patch, path, rename};

pub(crate) const MINE: &[u8] = b"mine\n";

pub(crate) const FILES: [&str; 3] = ["m1", "m2", "m3"];

/// Returns a workspace with these files.
pub(crate) fn files(names: &[&str]) -> SimDisk {
    let disk = SimDisk::new();
    for name in names {
        disk.put(name, format!("{name}\n"));
    }
    drop(open(&disk).unwrap());
    disk.settle();
    disk
}

pub(crate) fn chain() -> SimDisk {
    files(&["m1", "m2"])
}

/// Returns the paths that contain the edit, in the tree and among the files that a recovery saved.
pub(crate) fn edited(disk: &SimDisk) -> (Vec<String>, Vec<String>) {
    let is_edited = |node: &Node| matches!(node, Node::File { bytes, .. } if *bytes == MINE);
    let snapshot = disk.snapshot().into_iter().filter(|(_, node)| is_edited(node));
    let paths = snapshot.map(|(path, _)| path).filter(|path| !path.starts_with(".actum/stage/"));
    paths.partition(|path| !path.starts_with(".actum/"))
}

/// Edits one of the files in place before each call of a run that is killed at a later call or completes. Then recovers
/// in the same epoch, and after a restart that loses nothing. Returns the number of cases.
fn check_one_name_is_left(names: &[&str], change: &[Operation]) -> usize {
    let whole = files(names);
    let first = whole.calls();
    drop(apply(&whole, change));
    let calls = whole.calls() - first;
    let mut tried = 0;
    for at in 0..calls {
        let cases = FILES.iter().flat_map(|path| (at + 1..calls + 2).map(move |at| (*path, at)));
        for (path, killed) in cases {
            let disk = files(names);
            let was_edited = Rc::new(Cell::new(false));
            let edited_now = Rc::clone(&was_edited);
            disk.before_call(at, move |disk| {
                if disk.get(path).is_some() {
                    disk.put(path, MINE);
                    edited_now.set(true);
                }
            });
            disk.kill_at(killed);
            let applied = apply(&disk, change);
            disk.revive();
            disk.clear_faults();
            disk.advance(5_000);
            let is_edited =
                |node: &Node| matches!(node, Node::File { bytes, .. } if *bytes == MINE);
            if !disk.snapshot().values().any(is_edited) {
                // A committed run has the edit in its history.
                let is_lost = was_edited.get() && applied.is_err();
                assert!(
                    !is_lost,
                    "{path} edited before call {at}, killed before {killed}: {change:?}"
                );
                continue;
            }
            tried += 1;
            let restarted = disk.clone_deep();
            restarted.settle();
            let restarted = restarted.crash_states(1).next().unwrap();
            for (disk, epoch) in [(disk, "the same"), (restarted, "another")] {
                let what = format!(
                    "{path} edited before call {at}, killed before call {killed}, recovered in {epoch} epoch"
                );
                drop(open(&disk).unwrap());
                // Staged files are swept after a minute.
                disk.advance(120_000);
                drop(apply(&disk, &[create("later", "1\n")]));
                let (paths, saved) = edited(&disk);
                if paths.is_empty() && saved.is_empty() {
                    // Undoing a committed run restores the content that the run found.
                    let runs = View::open_on(disk.clone(), Path::new("/")).unwrap().runs().unwrap();
                    let run = runs.iter().rev().nth(1).unwrap().run;
                    open(&disk).unwrap().revert(run).unwrap();
                    assert_ne!(edited(&disk).0, [""; 0], "{what}: {change:?}");
                    continue;
                }
                // A file of a rename chain that was killed between its two names keeps both names after a restart.
                if epoch == "another" {
                    continue;
                }
                assert!(paths.len() <= 1, "{what}: {paths:?} {change:?}");
                let there = FILES.iter().filter_map(|path| disk.stat_of(path));
                let inodes: BTreeSet<u64> = there.clone().map(|stat| stat.inode).collect();
                assert_eq!(inodes.len(), there.count(), "{what}: two names of one file");
                let own = |path: &&str| {
                    disk.stat_of(path).is_some_and(|stat| inodes.contains(&stat.inode))
                };
                let second = saved.iter().map(String::as_str).find(|path| own(path));
                assert_eq!(second, None, "{what}: a second name of a file in the tree");
            }
        }
    }
    tried
}

/// FO-2, FO-6
#[test]
fn an_edit_in_place_of_a_moved_file_is_kept_under_one_name() {
    let onto = |from: &str, to: &str| [delete(to), rename(from, to)];
    for (names, change) in [
        (&["m1", "m2"][..], vec![rename("m2", "m3"), rename("m1", "m2")]),
        (&["m2", "m3"], vec![rename("m2", "m1"), rename("m3", "m2")]),
        (&FILES, [&onto("m2", "m1")[..], &[rename("m3", "m2")]].concat()),
        (&FILES, [&onto("m2", "m3")[..], &[rename("m1", "m2")]].concat()),
        (&["m1", "m2"], vec![rename("m1", "t"), rename("m2", "m1"), rename("t", "m2")]),
        (
            &FILES,
            vec![rename("m1", "t"), rename("m2", "m1"), rename("m3", "m2"), rename("t", "m3")],
        ),
    ] {
        let tried = check_one_name_is_left(names, &change);
        assert!(tried > 100, "{tried}: {change:?}");
    }
}

/// FO-2, FO-6: another program saves a new file, or creates a directory, at the path from which a file is moved away.
#[test]
fn object_created_at_a_rename_source_by_another_process_is_kept() {
    let saves: [fn(&SimDisk); 3] = [
        |disk| disk.replace("m1", MINE),
        |disk| {
            disk.replace("m1", MINE);
            disk.hard_link("m1", "other");
        },
        |disk| {
            disk.remove("m1");
            disk.mkdir_p("m1");
            disk.put("m1/inner", MINE);
        },
    ];
    let change = [rename("m1", "m3")];
    let whole = chain();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let calls = whole.calls() - first;
    for (at, save) in (0..calls).flat_map(|at| saves.map(move |save| (at, save))) {
        for killed in [at + 1, at + 2, at + 5, calls + 1] {
            let disk = chain();
            disk.before_call(at, move |disk| {
                if disk.get("m1").is_some() {
                    save(disk);
                }
            });
            disk.kill_at(killed);
            drop(apply(&disk, &change));
            disk.revive();
            disk.clear_faults();
            let is_saved = |node: &Node| matches!(node, Node::File { bytes, .. } if *bytes == MINE);
            if !disk.snapshot().values().any(is_saved) {
                continue;
            }
            drop(open(&disk).unwrap());
            // The other name is removed because it existed only for the save.
            if disk.get("other").is_some() {
                disk.remove("other");
            }
            disk.advance(120_000);
            drop(apply(&disk, &[create("later", "1\n")]));
            let (paths, saved) = edited(&disk);
            assert!(paths.len() + saved.len() >= 1, "at {at}, killed before call {killed}");
        }
    }
}

/// FO-2, FO-6
#[test]
fn file_gets_no_second_link_when_its_new_directory_is_renamed() {
    let change = [rename("m1", "sub/b")];
    let whole = chain();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let mut renamed = 0;
    for killed in 0..whole.calls() - first {
        let disk = chain();
        disk.kill_at(killed);
        drop(apply(&disk, &change));
        disk.revive();
        disk.clear_faults();
        if disk.get("sub/b").is_none() {
            continue;
        }
        disk.rename_path("sub", "sub2");
        drop(open(&disk).unwrap());
        let there = ["m1", "sub2/b"].iter().filter_map(|path| disk.stat_of(path));
        let files: BTreeSet<u64> = there.clone().map(|stat| stat.inode).collect();
        assert!(!files.is_empty() && files.len() == there.count(), "killed before call {killed}");
        renamed += 1;
    }
    assert!(renamed > 1, "{renamed}");
}

/// FO-2: an attribute that another program sets on a published file belongs to that program.
#[test]
fn an_attribute_that_is_set_on_a_published_file_is_not_rolled_back() {
    let mode = actum_edit::ModeChange::Exact(FileMode::new(0o600));
    let chmod = Operation::Chmod { path: path("m1"), mode };
    for change in [patch("m1", 1, "m1", "ONE"), chmod] {
        check_attribute_is_kept(&[change]);
    }
}

fn check_attribute_is_kept(change: &[Operation]) {
    let whole = chain();
    let first = whole.calls();
    apply(&whole, change).unwrap();
    let after = whole.stat_of("m1").map(|stat| (stat.mode, whole.get("m1")));
    let mut kept = 0;
    for killed in 0..whole.calls() - first {
        let disk = chain();
        disk.kill_at(killed);
        drop(apply(&disk, change));
        disk.revive();
        disk.clear_faults();
        if disk.stat_of("m1").map(|stat| (stat.mode, disk.get("m1"))) != after {
            continue;
        }
        disk.set_xattr_at("m1", "user.note", "mine");
        drop(open(&disk).unwrap());
        let attributes = disk.snapshot_without(".actum");
        let Some(Node::File { xattrs, .. }) = attributes.get("m1") else { panic!("{killed}") };
        assert!(xattrs.iter().any(|(name, _)| name == b"user.note"), "killed before {killed}");
        kept += 1;
    }
    assert!(kept > 1, "{kept}");
}

/// Returns true if a file in the tree, or among the files that a recovery saved, has this content, even after staged
/// files were swept.
pub(crate) fn is_kept(disk: &SimDisk, content: &[u8]) -> bool {
    disk.advance(120_000);
    drop(apply(disk, &[create("later", "1\n")]));
    let holds = |node: &Node| matches!(node, Node::File { bytes, .. } if bytes == content);
    let snapshot = disk.snapshot();
    snapshot.iter().any(|(path, node)| holds(node) && !path.starts_with(".actum/stage/"))
}

/// Recovers after a kill before each call and after a user's changes. `is_selected` selects the states to check.
pub(crate) fn after_each_kill(
    names: &[&str],
    change: &[Operation],
    is_selected: fn(&SimDisk) -> bool,
    user: fn(&SimDisk),
    check: fn(&SimDisk, usize),
) {
    let whole = files(names);
    let first = whole.calls();
    apply(&whole, change).unwrap();
    let mut tried = 0;
    for killed in 0..whole.calls() - first {
        let disk = files(names);
        disk.kill_at(killed);
        let is_done = apply(&disk, change).is_ok();
        disk.revive();
        disk.clear_faults();
        if is_done || !is_selected(&disk) {
            continue;
        }
        user(&disk);
        drop(open(&disk).unwrap());
        check(&disk, killed);
        tried += 1;
    }
    assert!(tried > 0, "{change:?}");
}

/// FO-2, FO-6: the moved file is edited, and another program creates a file at its old path.
#[test]
fn edit_of_a_moved_file_is_kept_when_its_old_path_is_occupied() {
    after_each_kill(
        &["m1"],
        &[rename("m1", "m2")],
        |disk| disk.get("m2").is_some() && disk.get("m1").is_none(),
        |disk| {
            disk.put("m2", MINE);
            disk.put("m1", "another\n");
        },
        |disk, killed| {
            for content in [MINE, b"another\n"] {
                assert!(is_kept(disk, content), "killed before call {killed}");
            }
        },
    );
}

/// FO-2, FO-6: one file of a half-published rename chain has two names, and the user removes the old one.
#[test]
fn file_whose_old_name_is_removed_during_a_rename_chain_is_kept() {
    let change = [delete("m1"), rename("m2", "m1"), rename("m3", "m2")];
    after_each_kill(
        &FILES,
        &change,
        |disk| {
            let inode = |path: &str| disk.stat_of(path).map(|stat| stat.inode);
            inode("m1").is_some() && inode("m1") == inode("m2")
        },
        |disk| disk.remove("m2"),
        |disk, killed| assert!(is_kept(disk, b"m2\n"), "killed before call {killed}"),
    );
}

/// FO-2: if the user moves a file that a run moved, recovery does not restore it under a second name.
#[test]
fn moved_file_that_the_user_moves_again_gets_no_second_link() {
    let change = [delete("m1"), rename("m2", "m1"), rename("m3", "m2")];
    after_each_kill(
        &FILES,
        &change,
        |disk| disk.get("m1").as_deref() == Some(b"m2\n"),
        |disk| disk.rename_path("m1", "mine"),
        |disk, killed| {
            let there = ["m1", "m2", "m3", "mine"].iter().filter_map(|path| disk.stat_of(path));
            let inodes: BTreeSet<u64> = there.clone().map(|stat| stat.inode).collect();
            let is_half =
                disk.stat_of("m2").map(|it| it.inode) == disk.stat_of("mine").map(|it| it.inode);
            assert!(is_half || inodes.len() == there.count(), "killed before call {killed}");
        },
    );
}
