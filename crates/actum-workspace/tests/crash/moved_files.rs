//! Moved files: a file that a run moved is moved back by its inode or keeps another name, whatever other programs and
//! users do (FO-2, FO-6).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::State;

use crate::changes::{apply, create, delete, open, rename};
use crate::edits_of_moved_files::{FILES, MINE, after_each_kill, chain, edited, files, is_kept};

/// Lets another program create a file at the path `taken` once a run has moved the old file away. This is tried before
/// each call of the run, and of the recovery after a kill before each call. The files in `kept` must still have a name
/// then, because a program may have them open and write to them.
fn check_open_files_keep_a_name(
    names: &[&str],
    change: &[Operation],
    taken: &'static str,
    kept: &[&str],
) {
    let whole = files(names);
    let first = whole.calls();
    apply(&whole, change).unwrap();
    let calls = whole.calls() - first;
    let recovery = {
        let disk = files(names);
        disk.kill_at(calls - 1);
        drop(apply(&disk, change));
        disk.revive();
        disk.clear_faults();
        let before = disk.calls();
        drop(open(&disk).unwrap());
        disk.calls() - before
    };
    let mut tried = 0;
    for killed in 1..calls + 1 {
        for at in (0..killed + recovery).rev() {
            let disk = files(names);
            let inodes: Vec<u64> =
                kept.iter().map(|path| disk.stat_of(path).unwrap().inode).collect();
            let was_taken = Rc::new(Cell::new(false));
            let is_taken = Rc::clone(&was_taken);
            disk.before_call(at, move |disk| {
                if disk.get(taken).is_none() {
                    disk.put(taken, MINE);
                    is_taken.set(true);
                }
            });
            disk.kill_at(killed);
            drop(apply(&disk, change));
            disk.revive();
            drop(open(&disk)); // what another program does in the middle is left
            disk.revive();
            disk.clear_faults();
            drop(open(&disk).unwrap());
            if !was_taken.get() {
                continue;
            }
            tried += 1;
            let what = format!("{taken} made before call {at}, killed before call {killed}");
            assert!(is_kept(&disk, MINE), "{what}");
            let there: BTreeSet<u64> =
                FILES.iter().filter_map(|path| disk.stat_of(path)).map(|stat| stat.inode).collect();
            for (path, inode) in kept.iter().zip(inodes) {
                assert!(there.contains(&inode), "{what}: {path} has no name any more");
            }
        }
    }
    assert!(tried > 50, "{tried}: {change:?}");
}

/// FO-2, FO-6: a run rotates a log file while the program that writes the log creates a new one.
#[test]
fn moved_file_whose_old_path_is_occupied_keeps_a_name() {
    check_open_files_keep_a_name(&["m1"], &[rename("m1", "m2")], "m1", &["m1"]);
    let chain = [rename("m2", "m1"), rename("m3", "m2")];
    check_open_files_keep_a_name(&["m2", "m3"], &chain, "m3", &["m2"]);
}

/// FO-2, FO-6: a file that this user may not hard-link (proc_sys_fs(5), protected_hardlinks) is still saved.
#[test]
fn displaced_file_that_cannot_be_hard_linked_is_saved() {
    let change = [delete("m1")];
    let whole = chain();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let mut refused = 0;
    for at in 0..whole.calls() - first {
        let disk = chain();
        disk.before_call(at, |disk| {
            if disk.get("m1").is_some() {
                disk.replace("m1", MINE);
            }
        });
        disk.kill_at(at + 2);
        drop(apply(&disk, &change));
        disk.revive();
        disk.clear_faults();
        if disk.get("m1").is_some() {
            continue;
        }
        disk.put("m1", "another\n");
        let probe = disk.clone_deep();
        let before = probe.calls();
        drop(open(&probe).unwrap());
        let links = probe.trace().split_off(before);
        let Some(link) = links.iter().position(|call| call.starts_with("link")) else { continue };
        disk.fail_at(link, Errno::PERM);
        drop(open(&disk).unwrap());
        refused += 1;
        assert!(is_kept(&disk, MINE) && is_kept(&disk, b"another\n"), "before call {at}");
    }
    assert!(refused > 0);
}

/// FO-2: a change that the user makes to a file before the run moves it is kept.
#[test]
fn file_changed_by_the_user_before_its_move_gets_no_link_at_the_new_path() {
    let acts: [fn(&SimDisk); 3] = [
        |disk| disk.replace("m1", MINE),
        |disk| disk.rename_path("m1", "mine"),
        |disk| disk.remove("m1"),
    ];
    for act in acts {
        after_each_kill(
            &["m1"],
            &[rename("m1", "m2")],
            |disk| disk.get("m1").is_some(),
            act,
            |disk, killed| assert_eq!(disk.get("m2"), None, "killed before call {killed}"),
        );
    }
}

/// FO-2, FO-6: saving a new file over one that will be moved, long before the move, rolls the run back.
#[test]
fn saving_a_file_while_its_rename_is_prepared_rolls_the_run_back() {
    let whole = chain();
    let first = whole.calls();
    apply(&whole, &[rename("m1", "m3")]).unwrap();
    let calls = whole.trace().split_off(first);
    let moved = calls.iter().position(|call| call.contains(".gone")).unwrap();
    // The last call before the move is the last check of the file's metadata.
    for at in 0..moved - 1 {
        let disk = chain();
        disk.before_call(at, |disk| disk.replace("m1", MINE));
        let Err(error) = apply(&disk, &[rename("m1", "m3")]) else { continue };
        assert!(
            matches!(error.state, State::Unchanged | State::Restored),
            "before call {at}: {error}"
        );
        assert_eq!(edited(&disk), (vec!["m1".to_owned()], Vec::new()), "before call {at}");
        assert_eq!(disk.get("m3"), None, "before call {at}");
    }
}

/// FO-2: a file whose directory is renamed or replaced before the move gets no link, either.
#[test]
fn file_in_a_directory_renamed_before_its_move_gets_no_link_at_new_path() {
    let acts: [fn(&SimDisk); 2] = [
        |disk| disk.rename_path("sub", "sub2"),
        |disk| {
            disk.rename_path("sub", "sub2");
            disk.put("sub", MINE);
        },
    ];
    for act in acts {
        after_each_kill(
            &["sub/m1", "sub/other"],
            &[rename("sub/m1", "m2")],
            |disk| disk.get("sub/m1").is_some(),
            act,
            |disk, killed| assert_eq!(disk.get("m2"), None, "killed before call {killed}"),
        );
    }
}

/// FO-2, FO-6: the directory of the old path was renamed, so the moved file stays at its new path.
#[test]
fn an_edited_file_whose_old_directory_was_renamed_stays_at_its_new_path() {
    let names = ["sub/m1", "sub/other"];
    let change = [rename("sub/m1", "m2")];
    after_each_kill(
        &names,
        &change,
        |disk| disk.get("m2").is_some(),
        |disk| {
            disk.put("m2", MINE);
            disk.rename_path("sub", "sub2");
        },
        |disk, killed| {
            assert_eq!(disk.get("m2").as_deref(), Some(MINE), "killed before call {killed}");
        },
    );
}

/// FO-2, FO-6: recovery recreates a directory that the run emptied and removed.
#[test]
fn an_edited_file_goes_back_into_the_directory_that_the_run_removed() {
    let (names, change) = (["sub/m1"], [rename("sub/m1", "m2")]);
    let whole = files(&names);
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let mut back = 0;
    for killed in 0..whole.calls() - first {
        let disk = files(&names);
        disk.kill_at(killed);
        drop(apply(&disk, &change));
        disk.revive();
        disk.clear_faults();
        if disk.get("m2").is_none() {
            continue;
        }
        disk.put("m2", MINE);
        drop(open(&disk).unwrap());
        // The run was either rolled back or committed.
        let edited = edited(&disk);
        back += usize::from(edited == (vec!["sub/m1".to_owned()], Vec::new()));
        assert_eq!(edited.0.len(), 1, "killed before call {killed}");
    }
    assert!(back > 1, "{back}");
}

/// FO-2: recovery compares a file again after it reads it again, in case a program wrote to it in the meantime.
#[test]
fn large_file_written_while_being_restored_is_not_mistaken_for_the_old() {
    let large = vec![b'x'; (1 << 20) + 1];
    let changed = vec![b'y'; large.len()];
    let killed_at = |at: usize| {
        let disk = SimDisk::new();
        disk.put("m1", &large);
        drop(open(&disk).unwrap());
        disk.settle();
        disk.kill_at(at);
        drop(apply(&disk, &[rename("m1", "m2")]));
        disk.revive();
        disk.clear_faults();
        disk
    };
    let published = (0..).find(|at| killed_at(*at).get("m2").is_some()).unwrap();
    let killed = || {
        let disk = killed_at(published);
        disk.rename_path("m2", "mine");
        disk
    };
    let whole = killed();
    let before = whole.calls();
    drop(open(&whole).unwrap());
    assert_eq!(whole.get("m1"), Some(large.clone()));
    for at in 0..whole.calls() - before {
        let disk = killed();
        let bytes = changed.clone();
        disk.before_call(at, move |disk| disk.put("mine", &bytes));
        drop(open(&disk).unwrap());
        let m1 = disk.get("m1");
        assert!(m1.as_ref().is_none_or(|it| *it == large), "written before call {at}");
    }
}

/// Returns true if this file has a name in the tree or among the files that a recovery saved, even after staged files
/// were swept.
fn has_name(disk: &SimDisk, inode: u64) -> bool {
    disk.advance(120_000);
    drop(apply(disk, &[create("later", "1\n")]));
    let paths = disk.snapshot().into_keys();
    let mut names = paths
        .filter(|path| !path.starts_with(".actum/stage/") && !path.starts_with(".actum/keep/"));
    names.any(|path| disk.stat_of(&path).is_some_and(|stat| stat.inode == inode))
}

/// Lets a user act after a run was killed once it had published `published`, and makes each call of the recovery fail
/// once. Afterwards the file `moved` must have a name, and must be reported unless it is back at its old path.
fn check_moved_file_has_a_name(
    names: &[&str],
    change: &[Operation],
    (moved, published): (&str, &str),
    user: fn(&SimDisk),
) {
    let killed = |at: usize| {
        let disk = files(names);
        disk.kill_at(at);
        drop(apply(&disk, change));
        disk.revive();
        disk.clear_faults();
        disk
    };
    let whole = files(names);
    apply(&whole, change).unwrap();
    let made = whole.get(published);
    let at = (0..).find(|at| killed(*at).get(published) == made).unwrap();
    let inode = files(names).stat_of(moved).unwrap().inode;
    let prepared = || {
        let disk = killed(at);
        user(&disk);
        disk
    };
    let whole = prepared();
    let before = whole.calls();
    drop(open(&whole).unwrap());
    let calls = whole.calls() - before;
    assert!(has_name(&whole, inode), "{change:?}");
    for (at, errno) in (0..calls).flat_map(|at| [(at, Errno::ACCESS), (at, Errno::IO)]) {
        let disk = prepared();
        disk.fail_at(at, errno);
        drop(open(&disk));
        disk.clear_faults();
        let Ok(workspace) = open(&disk) else { continue };
        let is_reported = !workspace.blocked().is_empty();
        drop(workspace);
        assert!(has_name(&disk, inode), "{errno:?} at {at}: {change:?}");
        let is_back = disk.stat_of(moved).is_some_and(|stat| stat.inode == inode);
        assert!(is_back || is_reported, "{errno:?} at {at}: {change:?}");
        let there = FILES.iter().filter_map(|path| disk.stat_of(path));
        let inodes: BTreeSet<u64> = there.clone().map(|stat| stat.inode).collect();
        assert_eq!(
            inodes.len(),
            there.count(),
            "two names of one file, {errno:?} at {at}: {change:?}"
        );
    }
}

/// FO-2, FO-6: the old directory refuses the file, no longer exists, or has a directory at the old path that a program
/// uses.
#[test]
fn moved_file_that_cannot_be_moved_back_keeps_a_name_and_is_reported() {
    let nothing = |_: &SimDisk| {};
    let sub = ["sub/m1", "sub/other"];
    check_moved_file_has_a_name(&sub, &[rename("sub/m1", "m2")], ("sub/m1", "m2"), nothing);
    let into = [rename("m1", "m1/b")];
    check_moved_file_has_a_name(&["m1"], &into, ("m1", "m1/b"), |disk| disk.put("m1/mine", MINE));
    let out = [rename("sub/m1", "m2")];
    check_moved_file_has_a_name(&["sub/m1"], &out, ("sub/m1", "m2"), |disk| disk.put("sub", MINE));
    let onto = [delete("m2"), rename("sub/m1", "m2")];
    let names = ["m2", "sub/m1", "sub/other"];
    check_moved_file_has_a_name(&names, &onto, ("sub/m1", "m2"), |disk| disk.put("sub/m1", MINE));
    let chain = [rename("m2", "m1"), rename("m3", "m2")];
    check_moved_file_has_a_name(&["m2", "m3"], &chain, ("m3", "m1"), nothing);
    check_moved_file_has_a_name(&["m2", "m3"], &chain, ("m2", "m1"), nothing);
    let swap = [rename("m1", "t"), rename("m2", "m1"), rename("t", "m2")];
    check_moved_file_has_a_name(&["m1", "m2"], &swap, ("m1", "m2"), nothing);
    check_moved_file_has_a_name(&["m1", "m2"], &swap, ("m2", "m2"), nothing);
}

/// FO-2, FO-6: another program may still write to the file that replaced the one that the user moved.
#[test]
fn rename_chain_keeps_the_second_file_when_the_user_moved_the_first() {
    let change = [rename("m2", "m1"), rename("m3", "m2")];
    after_each_kill(
        &["m2", "m3"],
        &change,
        |disk| disk.get("m1").as_deref() == Some(b"m2\n"),
        |disk| disk.rename_path("m1", "mine"),
        |disk, killed| {
            let original = files(&["m2", "m3"]).stat_of("m3").unwrap().inode;
            let there = ["m2", "m3"].iter().filter_map(|path| disk.stat_of(path));
            assert!(
                there.into_iter().any(|stat| stat.inode == original),
                "killed before call {killed}"
            );
        },
    );
}

/// FO-2, FO-6: a large file has a second link beside the history, but is still moved back by its inode.
#[test]
fn large_file_is_moved_back_by_its_inode() {
    let large = vec![b'x'; (1 << 20) + 1];
    let prepared = || {
        let disk = SimDisk::new();
        disk.put("m1", &large);
        drop(open(&disk).unwrap());
        disk.settle();
        disk
    };
    let inode = prepared().stat_of("m1").unwrap().inode;
    let mut moved = 0;
    for killed in 0.. {
        let disk = prepared();
        disk.kill_at(killed);
        let is_done = apply(&disk, &[rename("m1", "m2")]).is_ok();
        if is_done {
            break;
        }
        disk.revive();
        disk.clear_faults();
        moved += usize::from(disk.get("m2").is_some());
        drop(open(&disk).unwrap());
        let there = ["m1", "m2"].iter().filter_map(|path| disk.stat_of(path));
        let inodes: Vec<u64> = there.map(|stat| stat.inode).collect();
        assert_eq!(inodes, [inode], "killed before call {killed}");
    }
    assert!(moved > 1, "{moved}");
}

/// Action of another program, and the file contents expected afterwards.
type Act = (fn(&SimDisk), &'static [&'static [u8]]);

/// FO-2, FO-6: one half of a swap cannot be rolled back while another program removes, saves or moves the other half.
#[test]
fn half_rolled_back_swap_keeps_changes_of_another_process() {
    let swap = [rename("m1", "t"), rename("m2", "m1"), rename("t", "m2")];
    let whole = files(&["m1", "m2"]);
    apply(&whole, &swap).unwrap();
    let made = whole.get("m1");
    let killed = |at: usize| {
        let disk = files(&["m1", "m2"]);
        disk.kill_at(at);
        drop(apply(&disk, &swap));
        disk.revive();
        disk.clear_faults();
        disk
    };
    let published = (0..).find(|at| killed(*at).get("m2") == Some(b"m1\n".to_vec())).unwrap();
    assert_eq!(killed(published).get("m1"), made);
    let acts: [Act; 3] = [
        (|disk| disk.remove("m1"), &[]),
        (|disk| disk.replace("m1", MINE), &[MINE]),
        (|disk| disk.rename_path("m1", "mine"), &[b"m1\n", b"m2\n"]),
    ];
    let calls = {
        let disk = killed(published);
        let before = disk.calls();
        drop(open(&disk).unwrap());
        disk.calls() - before
    };
    for ((act, there), at) in acts.into_iter().flat_map(|act| (0..calls).map(move |at| (act, at))) {
        for refused in (at + 1..calls).step_by(2) {
            let disk = killed(published);
            let was_there = Rc::new(Cell::new(false));
            let is_there = Rc::clone(&was_there);
            disk.before_call(at, move |disk| {
                if disk.get("m1").is_some() {
                    act(disk);
                    is_there.set(true);
                }
            });
            disk.fail_at(refused, Errno::ACCESS);
            let first = open(&disk).map(drop);
            disk.clear_faults();
            let what = format!("act before call {at}, refused at {refused}");
            if first.is_err() {
                open(&disk).map(drop).unwrap_or_else(|error| panic!("{what}: {error}"));
            }
            let paths = ["m1", "m2", "mine"].iter().filter_map(|path| disk.stat_of(path));
            let inodes: BTreeSet<u64> = paths.clone().map(|stat| stat.inode).collect();
            let is_reported = !open(&disk).unwrap().blocked().is_empty();
            assert!(inodes.len() == paths.count() || is_reported, "{what}: two names of one file");
            if was_there.get() {
                for content in there {
                    assert!(is_kept(&disk, content), "{what}: {content:?} is lost");
                }
            }
        }
    }
}
