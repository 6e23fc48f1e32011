//! Concurrent edits: a file that a user saves during a run or a recovery survives, even if the run or recovery is
//! killed (FO-2, FO-6).

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;

use actum_testkit::{Errno, Node, SimDisk};
use actum_workspace::View;

use crate::changes::{apply, base, create, delete, mixture, open, rename};
use crate::explore::cuts;

/// Returns a disk after a change was killed, once all of its files were published, or all except one.
fn killed(is_whole: bool) -> SimDisk {
    let disk = base();
    apply(&disk, &[create("w/p", "1\n"), create("w/q", "2\n")]).unwrap();
    disk.advance(60_000);
    let whole = disk.clone_deep();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    let published = whole.trace().iter().rposition(|call| call.starts_with("rename")).unwrap();
    disk.kill_at(published - first + usize::from(is_whole));
    drop(apply(&disk, &mixture()));
    disk.revive();
    disk
}

/// Returns some of the possible states of that disk after the machine restarts.
fn restarted(limit: usize) -> Vec<SimDisk> {
    let disk = killed(false);
    disk.settle();
    disk.crash_states(limit).collect()
}

/// Returns the number of calls that recovery makes on `disk`.
fn calls_of_recovery(disk: &SimDisk) -> usize {
    let whole = disk.clone_deep();
    let first = whole.calls();
    drop(open(&whole).unwrap());
    whole.calls() - first
}

const MINE: &[u8] = b"mine\n";

/// Paths that the change replaces, creates and deletes.
const SAVED: [&str; 3] = ["a", "n/new", "d/c"];

/// Method of saving a file.
type Save = fn(&SimDisk, &str);

/// Methods by which editors save: moving a new file over the old one, and writing in place.
const SAVES: [Save; 2] = [
    |disk, path| match disk.get(path) {
        Some(_) => disk.replace(path, MINE),
        None => in_place(disk, path),
    },
    in_place,
];

fn in_place(disk: &SimDisk, path: &str) {
    if let Some((directory, _)) = path.rsplit_once('/') {
        disk.mkdir_p(directory);
    }
    disk.put(path, MINE);
}

/// Returns every combination of a path and a method of saving it.
fn saves() -> impl Iterator<Item = (&'static str, Save)> + Clone {
    SAVED.into_iter().flat_map(|path| SAVES.map(|save| (path, save)))
}

/// Returns true if any file has the saved content. This includes actum's own files, except those in the stage
/// directory, which a collection removes.
fn is_kept(disk: &SimDisk) -> bool {
    let is_mine = |(path, node): (&String, &Node)| {
        let is_file = matches!(node, Node::File { bytes, .. } if bytes.as_slice() == MINE);
        is_file && !path.starts_with(".actum/stage/")
    };
    disk.snapshot().iter().any(is_mine)
}

/// FO-2, FO-6: checked in the same epoch, and after a restart that loses nothing.
#[test]
fn file_saved_during_a_run_survives_a_kill_after_the_save() {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    let calls = whole.calls() - first;
    let cuts = cuts(&whole, first, calls);
    for (at, (path, save)) in (0..calls).flat_map(|at| saves().map(move |save| (at, save))) {
        for killed in cuts.iter().copied().filter(|cut| *cut > at && (at + cut) % 5 == 0) {
            let disk = base();
            disk.before_call(at, move |disk| save(disk, path));
            disk.kill_at(killed);
            drop(apply(&disk, &mixture()));
            disk.revive();
            disk.clear_faults();
            disk.advance(5_000);
            let restarted = disk.clone_deep();
            restarted.settle();
            let restarted = restarted.crash_states(1).next().unwrap();
            for (disk, epoch) in [(disk, "the same"), (restarted, "another")] {
                drop(open(&disk).unwrap());
                // Undoing a committed run restores the content that the run found.
                if !is_kept(&disk) {
                    let runs = View::open_on(disk.clone(), Path::new("/")).unwrap().runs().unwrap();
                    open(&disk).unwrap().revert(runs.last().unwrap().run).unwrap();
                }
                let what =
                    format!("saved before call {at}, killed before call {killed}, recovered in");
                assert!(is_kept(&disk), "{path} {what} {epoch} epoch");
            }
        }
    }
}

/// FO-2, FO-6: an editor keeps a file open and writes to it after a run moved the file away.
#[test]
fn a_file_that_is_written_after_a_killed_run_moved_it_away_is_kept() {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    let mut written = 0;
    for killed in cuts(&whole, first, whole.calls() - first) {
        let disk = base();
        disk.kill_at(killed);
        drop(apply(&disk, &mixture()));
        disk.revive();
        disk.clear_faults();
        let mut paths = disk.snapshot().into_keys();
        let Some(gone) = paths.find(|path| path.ends_with(".gone")) else { continue };
        disk.advance(5_000);
        disk.put(&gone, MINE);
        written += 1;
        let restarted = disk.clone_deep();
        restarted.settle();
        let restarted = restarted.crash_states(1).next().unwrap();
        for (disk, epoch) in [(disk, "the same"), (restarted, "another")] {
            let is_committed = open(&disk).is_ok() && disk.get("d/c").is_none();
            let what = format!("written before call {killed}, recovered in {epoch} epoch");
            assert!(is_committed || is_kept(&disk), "{what}");
        }
    }
    assert_ne!(written, 0);
}

/// FO-2
#[test]
fn file_saved_during_recovery_after_a_restart_keeps_its_content() {
    let restarted = &restarted(1)[0];
    for at in 0..calls_of_recovery(restarted) {
        for save in SAVES {
            let disk = restarted.clone_deep();
            disk.advance(5_000);
            disk.before_call(at, move |disk| save(disk, "a"));
            drop(open(&disk).unwrap());
            assert_eq!(disk.get("a").unwrap(), MINE, "before call {at}");
        }
    }
}

/// FO-2: if a recovery is killed before it keeps a file that it displaced, the next recovery keeps that file.
#[test]
fn file_saved_during_a_recovery_survives_a_kill_of_the_recovery() {
    /// Number of calls after the edit at which the recovery is killed. Recovery needs fewer calls to keep a file that
    /// it displaced.
    const WINDOW: usize = 16;
    for start in [killed(false), killed(true), restarted(1).remove(0)] {
        let calls = calls_of_recovery(&start);
        for (at, (path, save)) in (0..calls).flat_map(|at| saves().map(move |save| (at, save))) {
            for killed in at + 1..calls.min(at + WINDOW) {
                let disk = start.clone_deep();
                disk.advance(5_000);
                disk.before_call(at, move |disk| save(disk, path));
                disk.kill_at(killed);
                drop(open(&disk));
                disk.revive();
                disk.clear_faults();
                disk.advance(5_000);
                drop(open(&disk).unwrap());
                assert!(
                    is_kept(&disk),
                    "{path}: saved before call {at}, killed before call {killed}"
                );
                check_saved_is_reported(&disk);
            }
        }
    }
}

/// FO-2, FO-6: the status lists the files that a recovery saved, even if it was killed before it reported them.
fn check_saved_is_reported(disk: &SimDisk) {
    let files = disk.snapshot();
    let names = files.keys().filter_map(|path| path.strip_prefix(".actum/lost/"));
    let saved = names.filter(|name| !name.contains('/') && name.contains('.'));
    let saved: Vec<Vec<u8>> = saved.map(|name| name.as_bytes().to_vec()).collect();
    let view = View::open_on(disk.clone(), Path::new("/")).unwrap();
    assert_eq!(view.status().unwrap().saved, saved);
}

/// FO-2: recovery displaces the first save, and the second save displaces the file that recovery has just installed.
#[test]
fn the_last_of_two_saves_during_a_recovery_is_kept() {
    for start in [killed(false), killed(true), restarted(1).remove(0)] {
        for at in 0..calls_of_recovery(&start) {
            for (path, save) in saves() {
                for later in 1..6 {
                    let disk = start.clone_deep();
                    disk.advance(5_000);
                    disk.before_call(at, move |disk| {
                        if disk.get(path).is_some() {
                            disk.replace(path, b"first\n");
                        }
                    });
                    let is_saved = Rc::new(Cell::new(false));
                    let saved = Rc::clone(&is_saved);
                    disk.before_call(at + later, move |disk| {
                        save(disk, path);
                        saved.set(true);
                    });
                    drop(open(&disk).unwrap());
                    assert!(!is_saved.get() || is_kept(&disk), "{path}: {at}, {later}");
                }
            }
        }
    }
}

/// FO-2, FO-6: a file that recovery displaced is kept even if the file system refuses to move it back.
#[test]
fn a_file_that_is_saved_during_a_recovery_and_cannot_be_moved_back_is_kept() {
    for restarted in restarted(2) {
        let calls = calls_of_recovery(&restarted);
        for (at, (path, save)) in (0..calls).flat_map(|at| saves().map(move |save| (at, save))) {
            for refused in at + 1..at + 4 {
                let disk = restarted.clone_deep();
                disk.before_call(at, move |disk| save(disk, path));
                disk.fail_at(refused, Errno::ACCESS);
                drop(open(&disk));
                disk.clear_faults();
                drop(open(&disk));
                assert!(is_kept(&disk), "{path} saved before call {at}, call {refused} refused");
            }
        }
    }
}

/// FO-2, FO-6: a user removes a file that a killed run was about to delete or replace, and saves it again while
/// recovery restores the old one.
#[test]
fn file_saved_while_a_killed_recovery_restores_the_old_one_is_kept() {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    for cut in cuts(&whole, first, whole.calls() - first) {
        let killed = base();
        killed.kill_at(cut);
        drop(apply(&killed, &mixture()));
        killed.revive();
        killed.clear_faults();
        for path in ["a", "d/c"].into_iter().filter(|path| killed.get(path).is_some()) {
            let killed = killed.clone_deep();
            killed.remove(path);
            let calls = calls_of_recovery(&killed);
            for (at, end) in (0..calls).flat_map(|at| (at + 1..calls + 8).map(move |end| (at, end)))
            {
                let disk = killed.clone_deep();
                disk.before_call(at, move |disk| in_place(disk, path));
                disk.kill_at(end);
                drop(open(&disk));
                disk.revive();
                disk.clear_faults();
                drop(open(&disk).unwrap());
                let what = format!("{path}, run killed before call {cut}, recovery before {end}");
                assert!(is_kept(&disk), "{what}, saved before {at}");
            }
        }
    }
}

/// FO-2, FO-6: a user replaces a file with a directory while a run does the same.
#[test]
fn user_directory_replacing_a_file_during_a_run_is_kept_and_listed() {
    let change = [delete("a"), create("a/new", "new\n")];
    let whole = base();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    let calls = whole.calls() - first;
    let mut saved = 0;
    for at in 0..calls {
        for cut in cuts(&whole, first, calls).into_iter().filter(|cut| *cut > at) {
            let disk = base();
            let is_put = Rc::new(Cell::new(false));
            disk.before_call(at, {
                let is_put = Rc::clone(&is_put);
                move |disk| {
                    if disk.get("a").is_some() {
                        disk.remove("a");
                        in_place(disk, "a/mine");
                        is_put.set(true);
                    }
                }
            });
            disk.kill_at(cut);
            drop(apply(&disk, &change));
            disk.revive();
            disk.clear_faults();
            if !is_put.get() {
                continue;
            }
            if disk.stat_of("a").is_none() {
                disk.put("a", b"another\n"); // so that the directory cannot be restored
            }
            drop(open(&disk).unwrap());
            assert!(is_kept(&disk), "put before call {at}, killed before call {cut}");
            let files = disk.snapshot();
            let lost = files.keys().find_map(|path| path.strip_suffix(".removed/mine"));
            saved += usize::from(lost.is_some());
            if let Some((lost, number)) = lost.and_then(|lost| lost.rsplit_once('/')) {
                let listing = disk.get(format!("{lost}/paths")).unwrap();
                let listing = String::from_utf8(listing).unwrap();
                assert!(listing.contains(&format!("\tmeanwhile\t{number}.removed\n")), "{listing}");
            }
        }
    }
    assert_ne!(saved, 0);
}

/// FO-2: a later run in the same directories hides that they were renamed, so recovery keeps the files that it removes.
#[test]
fn a_file_whose_directory_was_renamed_before_a_recovery_is_kept() {
    for killed in [false, true] {
        let disk = base();
        disk.mkdir_p("lib");
        disk.put("lib/x", MINE);
        disk.settle();
        apply(&disk, &[rename("lib/x", "core/x"), create("lib/y", "y\n")]).unwrap();
        disk.advance(5_000);
        let later = [create("lib/new", "new\n"), create("top", "top\n")];
        if killed {
            let whole = disk.clone_deep();
            let first = whole.calls();
            apply(&whole, &later).unwrap();
            let trace = whole.trace();
            let published = trace.iter().rposition(|call| call.starts_with("rename")).unwrap();
            disk.kill_at(published - first);
        }
        drop(apply(&disk, &later));
        disk.revive();
        disk.clear_faults();
        disk.rename_path("lib", "lib.old");
        disk.rename_path("core", "lib");
        disk.mkdir_p("core");
        disk.put("core/x", b"another\n");
        disk.settle();
        for state in disk.crash_states(4) {
            drop(open(&state).unwrap());
            assert!(is_kept(&state), "killed: {killed}");
        }
    }
}

/// FO-2, FO-6: this also applies to content that the journal knows from another path.
#[test]
fn object_replacing_a_file_that_a_killed_run_displaces_is_kept() {
    let puts: [fn(&SimDisk); 3] = [
        |disk| disk.symlink("a", "mine"),
        |disk| in_place(disk, "a/f"),
        |disk| disk.rename_path("w/mine", "a"),
    ];
    let start = || {
        let disk = base();
        apply(&disk, &[create("w/mine", "mine\n")]).unwrap();
        disk.advance(60_000);
        disk
    };
    let is_there = |disk: &SimDisk| {
        let is_link = |(path, node): (&String, &Node)| {
            matches!(node, Node::Symlink { .. }) && !path.starts_with(".actum/stage/")
        };
        is_kept(disk) || disk.snapshot().iter().any(is_link)
    };
    let whole = start();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    let calls = whole.calls() - first;
    let cuts = cuts(&whole, first, calls);
    for (at, put) in (0..calls).flat_map(|at| puts.map(|put| (at, put))) {
        for killed in cuts.iter().copied().filter(|cut| *cut > at && (at + cut) % 5 == 0) {
            let disk = start();
            let is_put = Rc::new(Cell::new(false));
            let put_now = Rc::clone(&is_put);
            disk.before_call(at, move |disk| {
                if disk.get("a").is_some() {
                    disk.remove("a");
                    put(disk);
                    put_now.set(true);
                }
            });
            disk.kill_at(killed);
            drop(apply(&disk, &mixture()));
            disk.revive();
            disk.clear_faults();
            let restarted = disk.clone_deep();
            restarted.settle();
            let restarted = restarted.crash_states(1).next().unwrap();
            for (disk, epoch) in [(disk, "the same"), (restarted, "another")] {
                drop(open(&disk).unwrap());
                let what = format!("put before call {at}, killed before call {killed}");
                assert!(!is_put.get() || is_there(&disk), "{what}, recovered in {epoch} epoch");
            }
        }
    }
}

/// FO-2, FO-6: a file moved to the lost directory is listed there, even if the recovery that moves it is killed.
#[test]
fn directory_moved_to_lost_is_listed_even_when_recovery_is_killed() {
    let has = |disk: &SimDisk, directory: &str, end: &str| {
        let files = disk.snapshot();
        files.iter().any(|(path, _)| path.starts_with(directory) && path.ends_with(end))
    };
    let check_listed = |disk: &SimDisk| {
        for (path, _) in disk.snapshot().iter().filter(|(path, _)| path.ends_with(".displaced")) {
            let (lost, name) = path.rsplit_once('/').unwrap();
            let listing = disk.get(format!("{lost}/paths").as_str()).unwrap_or_default();
            assert!(String::from_utf8(listing).unwrap().contains(name), "{path}");
        }
    };
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    let calls = whole.calls() - first;
    let mut moved = 0;
    let cuts = cuts(&whole, first, calls);
    let times = (0..calls).flat_map(|at| cuts.iter().map(move |cut| (at, *cut)));
    for (at, cut) in times.filter(|(at, cut)| cut > at) {
        let disk = base();
        disk.before_call(at, |disk| {
            if disk.get("a").is_some() {
                disk.remove("a");
                in_place(disk, "a/f");
            }
        });
        disk.kill_at(cut);
        drop(apply(&disk, &mixture()));
        disk.revive();
        disk.clear_faults();
        if !has(&disk, ".actum/stage/", "/f") {
            continue;
        }
        disk.replace("a", b"another\n"); // so that the directory cannot be restored
        let recovered = disk.clone_deep();
        drop(open(&recovered).unwrap());
        check_listed(&recovered);
        if !has(&recovered, ".actum/lost/", ".displaced/f") {
            continue;
        }
        check_saved_beside_another(&disk, &recovered);
        moved += 1;
        for killed in 0..calls_of_recovery(&disk) {
            let disk = disk.clone_deep();
            disk.kill_at(killed);
            drop(open(&disk));
            disk.revive();
            disk.clear_faults();
            drop(open(&disk).unwrap());
            assert!(is_kept(&disk), "put before call {at}, killed before calls {cut} and {killed}");
            check_listed(&disk);
        }
    }
    assert_ne!(moved, 0);
}

/// FO-2, FO-6: a directory is saved under a different name if its own name is already taken in the lost directory.
fn check_saved_beside_another(disk: &SimDisk, recovered: &SimDisk) {
    let disk = disk.clone_deep();
    let files = recovered.snapshot();
    let mut directories = files.keys().filter_map(|path| path.strip_suffix("/f"));
    let saved = directories.find(|path| path.ends_with(".displaced")).unwrap();
    disk.mkdir_p(saved);
    disk.put(format!("{saved}/earlier"), b"earlier\n");
    drop(open(&disk).unwrap());
    assert!(is_kept(&disk));
    assert_eq!(disk.get(format!("{saved}/earlier")).unwrap(), b"earlier\n");
    assert!(disk.get(format!("{saved}.2/f")).is_some());
    let (lost, name) = saved.rsplit_once('/').unwrap();
    let listing = String::from_utf8(disk.get(format!("{lost}/paths")).unwrap()).unwrap();
    assert!(listing.contains(&format!("\tmeanwhile\t{name}.2\n")), "{listing}");
}

/// FO-2: the period of a killed recovery ends with its last step, so later timestamps are treated as edits.
#[test]
fn edits_after_a_recovery_that_was_killed_are_kept() {
    for restarted in restarted(2) {
        for at in 0..calls_of_recovery(&restarted) {
            let disk = restarted.clone_deep();
            disk.kill_at(at);
            drop(open(&disk));
            disk.revive();
            disk.clear_faults();
            disk.advance(60_000);
            disk.remove("w/p");
            disk.rename_path("w/q", "w/r");
            drop(open(&disk).unwrap());
            let found = ["w/p", "w/q", "w/r"].map(|path| disk.get(path));
            assert_eq!(found, [None, None, Some(b"2\n".to_vec())], "killed before call {at}");
        }
    }
}
