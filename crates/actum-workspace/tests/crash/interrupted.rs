//! Interrupted runs: a run is killed, and the state that recovery needs is changed before recovery starts (FO-2).

use std::path::Path;

use actum_edit::Operation;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::{RunOptions, View, Workspace};

use crate::changes::{apply, open, patch, path};

const FILES: [&str; 3] = ["a/f", "m/f", "z/f"];

/// Returns a workspace with a file in each of three directories.
fn three_directories() -> SimDisk {
    let disk = SimDisk::new();
    for file in FILES {
        disk.put(file, b"old\n");
    }
    drop(open(&disk).unwrap());
    disk.settle();
    disk
}

fn change() -> Vec<Operation> {
    FILES.iter().map(|file| patch(file, 1, "old", "new")).collect()
}

/// Returns the number of the first call after `file` was published, counted from the start of `change`.
fn after_publishing(file: &str) -> usize {
    let whole = three_directories();
    let first = whole.calls();
    apply(&whole, &change()).unwrap();
    let trace = whole.trace();
    let is_published = |call: &String| call.starts_with("rename") && call.contains(file);
    trace.iter().position(is_published).unwrap() + 1 - first
}

/// Returns the three directories after a run that was killed when it had published two of its files.
fn killed_after_two() -> SimDisk {
    let disk = three_directories();
    disk.kill_at(after_publishing("m/f"));
    apply(&disk, &change()).unwrap_err();
    disk.revive();
    assert_eq!(FILES.map(|file| disk.get(file).unwrap()), [b"new\n", b"new\n", b"old\n"]);
    disk
}

/// FO-2, issue 22 (claims)
#[test]
fn unwritable_directory_blocks_rollback_of_only_its_files() {
    let disk = killed_after_two();
    disk.chmod("m", 0o555);
    let workspace = open(&disk).unwrap();
    let recovery = workspace.recovery().unwrap();
    let run = recovery.unfinished.unwrap();
    assert_eq!(recovery.foreign, []);
    let [(refused, reason)] = &recovery.refused[..] else { panic!("{recovery:?}") };
    assert_eq!((refused, &reason[..17]), (&path("m/f"), "Permission denied"));
    assert_eq!(workspace.blocked().keys().collect::<Vec<_>>(), [&path("m/f")]);
    assert_eq!(FILES.map(|file| disk.get(file).unwrap()), [b"old\n", b"new\n", b"old\n"]);
    assert_eq!(disk.get(format!(".actum/lost/{run}/1.before")).unwrap(), b"old\n");
    drop(workspace);
    let status = View::open_on(disk.clone(), Path::new("/")).unwrap().status().unwrap();
    assert_eq!((status.unfinished, status.recovery_due), (None, false));
    // Other paths can be changed immediately, and the blocked one once the user has resolved it.
    apply(&disk, &[patch("z/f", 1, "old", "newer")]).unwrap();
    apply(&disk, &[patch("m/f", 1, "new", "newer")]).unwrap_err();
    disk.chmod("m", 0o755);
    open(&disk).unwrap().resolve(&path("m/f")).unwrap();
    apply(&disk, &[patch("m/f", 1, "new", "newer")]).unwrap();
}

/// FO-2: this also applies after a restart, when every path in the journal is compared with its image.
#[test]
fn unwritable_directory_blocks_only_its_own_files_after_a_restart() {
    let killed = killed_after_two();
    killed.chmod("m", 0o555);
    killed.settle();
    for disk in killed.crash_states(4) {
        let workspace = open(&disk).unwrap();
        let recovery = workspace.recovery().unwrap();
        let [(refused, reason)] = &recovery.refused[..] else { panic!("{recovery:?}") };
        assert_eq!((refused, &reason[..17]), (&path("m/f"), "Permission denied"));
        assert_eq!(workspace.blocked().keys().collect::<Vec<_>>(), [&path("m/f")]);
        let found = FILES.map(|file| disk.get(file).unwrap());
        assert_eq!(found, [b"old\n", b"new\n", b"old\n"]);
        drop(workspace);
        apply(&disk, &[patch("z/f", 1, "old", "newer")]).unwrap();
    }
}

/// FO-2: recovery cannot judge a file that it cannot read, so the user must resolve it. Everything else can be used.
#[test]
fn unreadable_file_after_a_restart_blocks_only_its_own_path() {
    let disk = three_directories();
    apply(&disk, &change()).unwrap();
    disk.chmod("m/f", 0o000);
    disk.settle();
    for disk in disk.crash_states(4) {
        let workspace = open(&disk).unwrap();
        let recovery = workspace.recovery().unwrap();
        let [(refused, _)] = &recovery.refused[..] else { panic!("{recovery:?}") };
        assert_eq!(refused, &path("m/f"));
        assert_eq!(workspace.blocked().keys().collect::<Vec<_>>(), [&path("m/f")]);
        drop(workspace);
        assert_eq!(FILES.map(|file| disk.get(file).unwrap()), [b"new\n"; 3]);
        apply(&disk, &[patch("z/f", 1, "new", "newer")]).unwrap();
        disk.chmod("m/f", 0o644);
        open(&disk).unwrap().resolve(&path("m/f")).unwrap();
        apply(&disk, &[patch("m/f", 1, "new", "newer")]).unwrap();
    }
}

/// FO-2, issue 22 (claims)
#[test]
fn killed_run_is_interrupted_and_active_run_is_not() {
    let status =
        |disk: &SimDisk| View::open_on(disk.clone(), Path::new("/")).unwrap().status().unwrap();
    let disk = killed_after_two();
    assert!(status(&disk).interrupted);
    drop(open(&disk).unwrap());
    assert!(!status(&disk).interrupted);

    let disk = three_directories();
    disk.before_call(after_publishing("m/f"), move |disk| {
        let status = status(disk);
        assert!(status.unfinished.is_some() && !status.interrupted, "{status:?}");
    });
    open(&disk).unwrap().apply_operations(&change(), RunOptions::default()).unwrap();
}

/// FO-2, issue 22 (claims): a damaged journal that is set aside is kept together with the files that only it
/// references.
#[test]
fn setting_aside_a_journal_keeps_the_images_that_only_it_references() {
    const LARGE: usize = 2_000_000;
    let disk = three_directories();
    disk.put("m/large", vec![b'o'; LARGE]);
    disk.settle();
    let change = || {
        let replace = |file: &str, content: Vec<u8>| Operation::Write {
            path: path(file),
            content,
            expected: None,
        };
        vec![
            replace("a/f", b"new\n".to_vec()),
            replace("m/large", b"new\n".to_vec()),
            replace("z/f", b"new\n".to_vec()),
        ]
    };
    let whole = disk.clone_deep();
    apply(&whole, &change()).unwrap();
    let trace = whole.trace();
    let is_published = |call: &String| call.starts_with("rename") && call.contains("m/large");
    disk.kill_at(trace.iter().position(is_published).unwrap() + 1);
    apply(&disk, &change()).unwrap_err();
    disk.revive();
    assert_eq!(disk.get("m/large").unwrap(), b"new\n");
    // Both copies of the journal's head are damaged, so neither can be trusted.
    disk.overwrite(".actum/journal", [0x55; 100], 100);
    disk.overwrite(".actum/journal", [0x55; 100], 4196);
    disk.settle();
    let root = Path::new("/");
    let aside = Workspace::set_aside_journal_on(disk.clone(), root).unwrap();
    let (images, run) = (aside.images.unwrap(), aside.unfinished.unwrap());
    let blocked = ["a/f", "m/large", "z/f"].map(path);
    assert_eq!(open(&disk).unwrap().blocked().keys().cloned().collect::<Vec<_>>(), blocked);
    // Every old content can still be found, even after another run and a collection.
    apply(&disk, &[patch("m/f", 1, "old", "newer")]).unwrap();
    open(&disk).unwrap().gc(&actum_workspace::GcOptions::default()).unwrap();
    disk.advance(120_000);
    apply(&disk, &[patch("m/f", 1, "newer", "newest")]).unwrap();
    assert_eq!(disk.get(format!("{images}/{run}.1")).unwrap(), vec![b'o'; LARGE]);
    for (index, old) in [(0, b"old\n".to_vec()), (1, vec![b'o'; LARGE]), (2, b"old\n".to_vec())] {
        let saved = disk.get(format!(".actum/lost/{run}/{index}.before"));
        assert!(saved == Some(old), "entry {index}");
    }
    open(&disk).unwrap().resolve(&path("m/large")).unwrap();
}

/// FO-2: the command that sets a journal aside is killed before each of its calls.
#[test]
fn images_of_a_journal_set_aside_by_a_killed_command_are_reported() {
    let disk = three_directories();
    let whole = disk.clone_deep();
    apply(&whole, &change()).unwrap();
    let trace = whole.trace();
    disk.kill_at(trace.iter().rposition(|call| call.starts_with("rename")).unwrap());
    apply(&disk, &change()).unwrap_err();
    disk.revive();
    disk.overwrite(".actum/journal", [0x55; 100], 100);
    disk.overwrite(".actum/journal", [0x55; 100], 4196);
    let root = Path::new("/");
    let whole = disk.clone_deep();
    let first = whole.calls();
    Workspace::set_aside_journal_on(whole.clone(), root).unwrap();
    let mut moved = 0;
    for killed in 0..whole.calls() - first {
        let disk = disk.clone_deep();
        disk.kill_at(killed);
        drop(Workspace::set_aside_journal_on(disk.clone(), root));
        disk.revive();
        disk.clear_faults();
        // The command may have completed all steps except the last.
        drop(Workspace::set_aside_journal_on(disk.clone(), root));
        let saved = View::open_on(disk.clone(), root).unwrap().status().unwrap().saved;
        for path in disk.snapshot().into_keys() {
            let Some(name) = path.strip_prefix(".actum/lost/journal.") else { continue };
            let Some((directory, _)) = name.split_once('/') else { continue };
            let directory = format!("journal.{directory}").into_bytes();
            assert!(saved.contains(&directory), "killed before call {killed}: {path}");
            moved += 1;
        }
    }
    assert!(moved > 1, "{moved}");
}

/// FO-9, issue 22 (claims)
#[test]
fn gc_that_fails_midway_reports_how_many_runs_it_removed() {
    let disk = three_directories();
    for (old, new) in [("old", "1"), ("1", "2"), ("2", "3"), ("3", "4")] {
        apply(&disk, &[patch("a/f", 1, old, new)]).unwrap();
    }
    let mut workspace = open(&disk).unwrap();
    workspace.gc(&actum_workspace::GcOptions::default()).unwrap();
    let collect = actum_workspace::GcOptions { runs_max: 1, ..Default::default() };
    let whole = disk.clone_deep();
    open(&whole).unwrap().gc(&collect).unwrap();
    let trace = whole.trace();
    let is_removal = |call: &&String| call.starts_with("unlink") && call.contains("history");
    assert_eq!(trace.iter().filter(is_removal).count(), 3, "{trace:#?}");
    drop(workspace);
    for (removed, expected) in [
        (0, "nothing was changed"),
        (1, "1 run had already been removed from the history, but no file was changed"),
        (2, "2 runs had already been removed from the history, but no file was changed"),
    ] {
        let disk = disk.clone_deep();
        let calls = trace.iter().enumerate().filter(|(_, call)| is_removal(call));
        let at = calls.map(|(at, _)| at).nth(removed).unwrap();
        // Removal then tries to remove a directory of that name, and the error of that attempt is not shown.
        disk.fail_at(at, Errno::IO);
        let error = open(&disk).unwrap().gc(&collect).unwrap_err();
        assert!(error.to_string().ends_with(&format!("; {expected}")), "{error}");
        disk.clear_faults();
        let view = View::open_on(disk.clone(), Path::new("/")).unwrap();
        assert_eq!(view.runs().unwrap().len(), 4 - removed);
    }
}
