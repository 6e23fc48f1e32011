//! A file that a run moves and another program edits in place keeps the edit, and one name (FO-2, FO-6).

use std::collections::BTreeSet;

use actum_core::FileMode;
use actum_edit::Operation;
use actum_testkit::{Node, SimDisk};

use crate::changes::{apply, open, patch, path, rename};

const MINE: &[u8] = b"mine\n";

/// Files of a chain of renames, each to the place of the next.
fn chain() -> SimDisk {
    let disk = SimDisk::new();
    disk.put("m1", b"one\n");
    disk.put("m2", b"two\n");
    drop(open(&disk).unwrap());
    disk.settle();
    disk
}

fn renames() -> [Operation; 2] {
    [rename("m2", "m3"), rename("m1", "m2")]
}

/// The paths that hold the edit, outside of the state directory and in what a recovery saved.
fn edited(disk: &SimDisk) -> (Vec<String>, Vec<String>) {
    let is_edited = |node: &Node| matches!(node, Node::File { bytes, .. } if *bytes == MINE);
    let snapshot = disk.snapshot().into_iter().filter(|(_, node)| is_edited(node));
    let paths = snapshot.map(|(path, _)| path).filter(|path| !path.starts_with(".actum/stage/"));
    paths.partition(|path| !path.starts_with(".actum/"))
}

/// Edits one of the files in place before each call of a run that is killed before a later one, and recovers in the same
/// epoch, and after a restart that loses nothing; gives how many cases were tried.
fn check_one_name_is_left(first: usize, calls: usize) -> usize {
    let mut tried = 0;
    for at in 0..calls {
        for (path, killed) in ["m1", "m2", "m3"]
            .iter()
            .flat_map(|path| (at + 1..calls + 2).map(move |at| (*path, at)))
        {
            let disk = chain();
            assert_eq!(disk.calls(), first);
            disk.before_call(at, move |disk| {
                if disk.get(path).is_some() {
                    disk.put(path, MINE);
                }
            });
            disk.kill_at(killed);
            drop(apply(&disk, &renames()));
            disk.revive();
            disk.clear_faults();
            disk.advance(5_000);
            if disk
                .snapshot()
                .values()
                .all(|node| !matches!(node, Node::File { bytes, .. } if *bytes == MINE))
            {
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
                let (paths, saved) = edited(&disk);
                assert!(paths.len() <= 1, "{what}: {paths:?}");
                assert!(paths.len() + saved.len() >= 1, "{what}");
                let there = ["m1", "m2", "m3"].iter().filter_map(|path| disk.stat_of(path));
                let files: BTreeSet<u64> = there.clone().map(|stat| stat.inode).collect();
                assert_eq!(files.len(), there.count(), "{what}: two names of one file");
                let own = |path: &&str| {
                    disk.stat_of(path).is_some_and(|stat| files.contains(&stat.inode))
                };
                let second = saved.iter().map(String::as_str).find(|path| own(path));
                assert_eq!(second, None, "{what}: a second name of a file in the tree");
                // After a restart the old content comes back beside the edit.
                let is_moved_back = files.len() == 2 || epoch == "another" && files.len() == 3;
                assert!(is_moved_back, "{what}: {:?}", disk.snapshot_without(".actum").keys());
            }
        }
    }
    tried
}

/// FO-2, FO-6
#[test]
fn an_edit_in_place_of_a_moved_file_is_kept_under_one_name() {
    let whole = chain();
    let first = whole.calls();
    apply(&whole, &renames()).unwrap();
    let tried = check_one_name_is_left(first, whole.calls() - first);
    assert!(tried > 100, "{tried}");
}

/// FO-2, FO-6
#[test]
fn a_file_whose_new_directory_is_renamed_after_a_killed_run_gets_no_second_name() {
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

/// FO-2: an attribute that another program sets on a published file is that program's work.
#[test]
fn an_attribute_that_is_set_on_a_published_file_is_not_rolled_back() {
    let mode = actum_edit::ModeChange::Exact(FileMode::new(0o600));
    let chmod = Operation::Chmod { path: path("m1"), mode };
    for change in [patch("m1", 1, "one", "ONE"), chmod] {
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
