//! Later edits: any change that a user makes between a crash and its recovery survives (FO-2, FO-6).

use actum_edit::Operation;
use actum_testkit::{Random, SimDisk, effort};
use actum_workspace::disk::{Barrier, Time};
use actum_workspace::{ErrorKind, RunOptions};

use crate::changes::{apply, base, create, delete, mixture, open, patch, path, rename};
use crate::explore::{cuts, tree};

/// Method of editing a file.
type Edit = (&'static str, fn(&SimDisk));

const EDITS: [Edit; 7] = [
    ("overwrites the file in place", |disk| disk.put("a", b"mine\n")),
    ("saves as an editor does", |disk| save(disk, "a")),
    ("restores a version with its old stamp", |disk| {
        disk.put("a", b"mine\n");
        disk.set_modified("a", Time(1));
    }),
    ("truncates the file", |disk| disk.put("a", b"")),
    ("makes a file where one is created", |disk| {
        disk.mkdir_p("n");
        disk.put("n/new", b"mine\n");
    }),
    ("makes a file where one was deleted", |disk| {
        disk.mkdir_p("d");
        save(disk, "d/c");
    }),
    ("puts a file beside a created one", |disk| {
        disk.mkdir_p("n");
        disk.put("n/other", b"mine\n");
    }),
];

/// Writes a new file and moves it over the old one.
fn save(disk: &SimDisk, path: &str) {
    if disk.get(path).is_some() {
        disk.replace(path, b"mine\n");
    } else {
        disk.put(path, b"mine\n");
    }
}

/// Calls `then` with the disk left by a process that was killed before each call of a change.
fn after_each_kill(then: impl Fn(&SimDisk, &str)) {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = base();
        disk.kill_at(at);
        drop(apply(&disk, &mixture()));
        disk.revive();
        disk.clear_faults();
        then(&disk, whole.trace().get(first + at).map_or("the end", |call| call));
    }
}

const EDITED: [&str; 4] = ["a", "n/new", "d/c", "n/other"];

/// Checks that the edit survives recovery. If recovery reports that the user must act, the paths are blocked and the
/// old and new bytes are saved.
fn survives(disk: &SimDisk, name: &str, cut: &str) {
    let edited = tree(disk);
    let mine = |tree: &crate::explore::Tree| -> Vec<_> {
        EDITED.iter().filter_map(|path| tree.get(*path).cloned().map(|node| (*path, node))).filter(
            |(_, node)| matches!(node, actum_testkit::Node::File { bytes, .. } if bytes.as_slice() == b"mine\n"),
        ).collect()
    };
    let mut workspace = open(disk).unwrap_or_else(|error| panic!("{name}, {cut}: {error}"));
    let recovered = tree(disk);
    for (path, node) in mine(&edited) {
        assert_eq!(recovered.get(path), Some(&node), "{name}, {cut}: {path} is lost");
    }
    let foreign = workspace.recovery().map(|r| r.foreign.clone()).unwrap_or_default();
    for path in foreign {
        assert!(workspace.blocked().contains_key(&path), "{name}, {cut}: {path} is not blocked");
        let file = create(&path.to_string(), "x");
        let refused = workspace.apply_operations(&[file], RunOptions::default()).unwrap_err();
        assert!(matches!(refused.kind, ErrorKind::Blocked { .. }), "{name}, {cut}: {refused}");
        workspace.resolve(&path).unwrap();
        assert!(!workspace.blocked().contains_key(&path));
    }
    drop(workspace);
    let again = open(disk).unwrap();
    assert_eq!(again.recovery(), None, "{name}, {cut}: recovery twice is not once");
}

/// FO-2
#[test]
fn file_with_an_old_timestamp_added_after_a_run_survives_a_power_cut() {
    let disk = base();
    apply(&disk, &mixture()).unwrap();
    disk.put("a", b"of long ago\n");
    disk.set_modified("a", Time(1));
    disk.settle();
    let disk = disk.crash_states(1).next().unwrap();
    let workspace = open(&disk).unwrap();
    assert!(workspace.blocked().is_empty());
    assert_eq!(disk.get("a").unwrap(), b"of long ago\n");
}

/// FO-2
#[test]
fn mode_set_between_a_kill_and_recovery_is_kept() {
    after_each_kill(|disk, call| {
        disk.chmod("a", 0o600);
        drop(open(disk).unwrap());
        assert_eq!(disk.stat_of("a").unwrap().mode.bits(), 0o600, "killed before {call}");
    });
}

/// FO-2
#[test]
fn recovery_completes_with_any_object_type_at_a_path() {
    let edits: [Edit; 3] = [
        ("a link", |disk| disk.symlink("a", "b")),
        ("a FIFO", |disk| disk.fifo("a")),
        ("a directory", |disk| disk.mkdir_p("a/x")),
    ];
    for (name, make) in edits {
        after_each_kill(|disk, call| {
            disk.remove("a");
            make(disk);
            drop(open(disk).unwrap_or_else(|error| panic!("{name}, {call}: {error}")));
            assert_eq!(disk.get("b").unwrap(), b"uno\ndos\n", "{name}, {call}");
        });
    }
}

/// FO-2
#[test]
fn an_edit_between_a_kill_and_recovery_survives() {
    for (name, edit) in EDITS {
        after_each_kill(|disk, call| {
            edit(disk);
            survives(disk, name, &format!("killed before {call}"));
        });
    }
}

/// FO-2
#[test]
fn an_edit_between_a_power_cut_and_recovery_survives() {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = base();
        disk.kill_at(at);
        drop(apply(&disk, &mixture()));
        for state in disk.crash_states(24) {
            for (name, edit) in EDITS {
                let state = state.clone_deep();
                edit(&state);
                survives(&state, name, &format!("power cut before call {at}"));
            }
        }
    }
}

/// FO-6
#[test]
fn file_edited_during_a_run_keeps_the_edit() {
    let whole = base();
    let first = whole.calls();
    apply(&whole, &mixture()).unwrap();
    for at in 0..whole.calls() - first {
        for (name, edit) in EDITS {
            let disk = base();
            disk.before_call(at, edit);
            let result = apply(&disk, &mixture());
            let found = tree(&disk);
            let call = whole.trace()[first + at].clone();
            let bytes = |path: &str| disk.get(path);
            let edited = base();
            edit(&edited);
            for path in EDITED {
                let Some(mine) = edited.get(path).filter(|mine| mine == b"mine\n") else {
                    continue;
                };
                // A run that read the edit may knowingly delete it. It cannot have patched it, because its hunk would
                // not have matched.
                let deleted = path == "d/c" && result.is_ok();
                assert!(
                    bytes(path) == Some(mine) || deleted,
                    "{name} before `{call}`: the edit is lost: {result:?} {found:?}"
                );
            }
        }
    }
}

/// FO-2
#[test]
fn edit_between_two_runs_survives_interruption_of_the_second() {
    let first = [patch("a", 1, "one", "ONE")];
    let second = [patch("a", 1, "mine", "YOURS"), patch("b", 1, "uno", "UNO")];
    let prepared = || {
        let disk = base();
        apply(&disk, &first).unwrap();
        disk.put("a", b"mine\n");
        disk.settle();
        disk
    };
    let whole = prepared();
    let calls_before = whole.calls();
    apply(&whole, &second).unwrap();
    let done = whole.get("a").unwrap();
    for at in cuts(&whole, calls_before, whole.calls() - calls_before) {
        let disk = prepared();
        disk.kill_at(at);
        drop(apply(&disk, &second));
        for state in disk.crash_states(24) {
            drop(open(&state).unwrap());
            let found = state.get("a").unwrap();
            assert!(
                found == b"mine\n" || found == done,
                "{at}: {}",
                String::from_utf8_lossy(&found)
            );
        }
        // The live process rolls the run back, and only then is power cut.
        let disk = prepared();
        disk.fail_at(at, actum_testkit::Errno::IO);
        if apply(&disk, &second).is_ok() {
            continue;
        }
        disk.clear_faults();
        for state in disk.crash_states(24) {
            drop(open(&state).unwrap());
            let found = state.get("a").unwrap();
            assert!(
                found == b"mine\n" || found == done,
                "{at}: {}",
                String::from_utf8_lossy(&found)
            );
        }
    }
}

/// FO-2
#[test]
fn files_removed_or_renamed_after_a_run_stay_so_after_a_restart() {
    let removals: [fn(&SimDisk); 4] = [
        |disk| disk.remove("a"),
        |disk| disk.remove("n"),
        |disk| disk.rename_path("bin/run.sh", "run.sh"),
        |disk| disk.mkdir_p("d"),
    ];
    for (index, remove) in removals.into_iter().enumerate() {
        let disk = base();
        apply(&disk, &mixture()).unwrap();
        disk.advance(5_000);
        remove(&disk);
        disk.settle();
        let wanted = tree(&disk);
        for state in disk.crash_states(8) {
            drop(open(&state).unwrap());
            assert_eq!(tree(&state), wanted, "removal {index}");
        }
    }
}

/// Files before a run, the operations of the run, and the renames that a user makes afterwards.
type Renaming = (&'static [(&'static str, &'static [u8])], Vec<Operation>, fn(&SimDisk));

/// FO-2, FO-6: moving a directory does not change the timestamps of its contents.
#[test]
fn directories_renamed_after_a_run_stay_renamed_after_a_restart() {
    let renamings: [Renaming; 4] = [
        (
            &[("lib/x", b"x\n"), ("lib/y", b"y\n")],
            vec![rename("lib/x", "core/x"), rename("lib/y", "core/y")],
            |disk| disk.rename_path("core", "lib"),
        ),
        (
            &[],
            vec![
                create("cur/conf", "version 1\n"),
                create("cur/name", "one\n"),
                create("next/conf", "version 2\n"),
            ],
            |disk| {
                disk.put("next/name", b"two\n");
                disk.rename_path("cur", "old");
                disk.rename_path("next", "cur");
            },
        ),
        (
            &[("dist/js/old.js", b"old\n"), ("build/js/app.js", b"new\n")],
            vec![create("dist/js/hook.js", "hook\n")],
            |disk| {
                disk.rename_path("dist", "dist.old");
                disk.rename_path("build", "dist");
            },
        ),
        (
            &[("left/f", b"left\n"), ("right/f", b"right\n")],
            vec![rename("left/f", "t"), rename("right/f", "left/f"), rename("t", "right/f")],
            |disk| {
                disk.rename_path("left", "t");
                disk.rename_path("right", "left");
                disk.rename_path("t", "right");
            },
        ),
    ];
    for (index, (files, operations, renames)) in renamings.into_iter().enumerate() {
        let disk = base();
        for (path, content) in files {
            disk.mkdir_p(path.rsplit_once('/').unwrap().0);
            disk.put(path, content);
        }
        disk.settle();
        disk.advance(5_000);
        for operation in operations.chunks(if index == 3 { 1 } else { 8 }) {
            apply(&disk, operation).unwrap();
        }
        disk.advance(5_000);
        renames(&disk);
        disk.settle();
        let wanted = tree(&disk);
        for state in disk.crash_states(8) {
            drop(open(&state).unwrap());
            assert_eq!(tree(&state), wanted, "renaming {index}");
        }
    }
}

/// FO-2: a later run in the same directory does not hide earlier edits of a user.
#[test]
fn edits_between_two_runs_are_kept_after_a_restart() {
    let edits: [Edit; 7] = [
        ("removes a file", |disk| disk.remove("src/a")),
        ("removes a directory", |disk| {
            disk.remove("src/sub/x");
            disk.remove("src/sub");
        }),
        ("renames a file", |disk| disk.rename_path("src/a", "src/helper")),
        ("renames a directory", |disk| disk.rename_path("src/sub", "src/other")),
        ("removes a file and restores the stamp of the directory", |disk| {
            let before = disk.stat_of("src").unwrap().modified;
            disk.remove("src/a");
            disk.set_modified("src", before);
        }),
        ("makes a file where the second run deletes another", |disk| {
            disk.put("src/new", b"mine\n")
        }),
        ("exchanges two directories", |disk| {
            disk.rename_path("src/sub", "t");
            disk.rename_path("d", "src/sub");
            disk.rename_path("t", "d");
        }),
    ];
    let first = [create("src/a", "1\n"), create("src/sub/x", "2\n"), create("src/b", "3\n")];
    let seconds =
        [vec![create("src/c", "4\n")], vec![delete("src/b")], vec![patch("a", 1, "one", "ONE")]];
    for (name, edit) in edits {
        for (index, second) in seconds.iter().enumerate() {
            let disk = base();
            apply(&disk, &first).unwrap();
            disk.advance(5_000);
            edit(&disk);
            disk.advance(5_000);
            apply(&disk, second).unwrap();
            apply(&disk, &[create("src/sub2/y", "5\n")]).unwrap();
            disk.settle();
            let wanted = tree(&disk);
            for state in disk.crash_states(8) {
                drop(open(&state).unwrap());
                assert_eq!(tree(&state), wanted, "{name}, second run {index}");
            }
        }
    }
}

/// FO-2: `cp -p`, `tar` and `rsync -a` set an older timestamp. An empty file looks like one that a power cut emptied.
#[test]
fn shorter_version_written_in_place_after_a_run_survives_a_restart() {
    for content in [&b"one\ntwo\n"[..], b"one\n"] {
        let disk = base();
        let mut appended = patch("a", 2, "two", "two\n+three");
        if let Operation::Patch { hunks, .. } = &mut appended {
            hunks[0].new_lines = 2;
        }
        apply(&disk, &[appended]).unwrap();
        disk.advance(5_000);
        disk.put("a", content);
        disk.set_modified("a", Time(1));
        disk.settle();
        for state in disk.crash_states(8) {
            drop(open(&state).unwrap());
            assert_eq!(state.get("a").unwrap(), content);
        }
    }
}

/// FO-2: the run is committed or rejected as a conflict, and a restart does not overwrite the edit.
#[test]
fn edits_during_a_run_are_kept_after_a_restart() {
    let edits: [Edit; 4] = [
        ("closes a file", |disk| disk.chmod("a", 0o600)),
        ("overwrites a file in place", |disk| disk.put("a", b"mine\n")),
        ("cuts a file off", |disk| disk.put("a", b"one\n")),
        ("saves as an editor does", |disk| save(disk, "b")),
    ];
    let change = [patch("a", 1, "one", "ONE"), patch("b", 1, "uno", "UNO")];
    let whole = base();
    let first = whole.calls();
    apply(&whole, &change).unwrap();
    for (name, edit) in edits {
        for at in 0..whole.calls() - first {
            let disk = base();
            disk.advance(5_000);
            disk.before_call(at, edit);
            drop(apply(&disk, &change));
            disk.advance(5_000);
            disk.settle();
            let wanted = tree(&disk);
            for state in disk.crash_states(2) {
                drop(open(&state).unwrap());
                assert_eq!(tree(&state), wanted, "{name}, before call {at}");
            }
        }
    }
}

/// FO-2: without a power cut there is nothing to restore, whatever runs and users did before.
#[test]
fn a_restart_changes_nothing_after_any_runs_and_edits() {
    const PATHS: [&str; 5] = ["a", "b", "d/c", "d/e", "g/h/i"];
    for seed in 0..effort("ACTUM_CRASH_EFFORT", 1) * 2000 {
        let mut random = Random::new(seed as u64);
        let disk = base();
        let mut steps = Vec::new();
        for step in 0..8 {
            let path = PATHS[random.below(PATHS.len())];
            let other = PATHS[random.below(PATHS.len())];
            let content = format!("{seed}.{step}\n").repeat(1 + random.below(2));
            disk.advance(5_000);
            let kind = random.below(10);
            steps.push((kind, path, other));
            let is_file = |path: &str| disk.get(path).is_some();
            match kind {
                // An operation that does not fit is rejected and changes nothing.
                0..3 if is_file(path) => drop(apply(&disk, &[delete(path)])),
                0..3 => drop(apply(&disk, &[create(path, &content)])),
                3 => drop(apply(&disk, &[rename(path, other)])),
                4 if is_file(path) => disk.remove(path),
                5 if is_file(path) => {
                    disk.put(path, &content);
                    disk.set_modified(path, Time(1));
                }
                6 if is_file(path) => disk.replace(path, &content),
                7 if is_file(path) && !is_file(other) && disk.stat_of("d").is_some() => {
                    disk.rename_path(path, "d/moved");
                }
                8 if is_file(path) => disk.chmod(path, 0o600),
                9 if is_file("d/c") => {
                    let before = disk.stat_of("d").unwrap().modified;
                    disk.remove("d/c");
                    disk.set_modified("d", before);
                }
                _ => {}
            }
        }
        disk.settle();
        let wanted = tree(&disk);
        for state in disk.crash_states(2) {
            drop(open(&state).unwrap());
            assert_eq!(tree(&state), wanted, "seed {seed}: {steps:?}");
        }
    }
}

/// FO-2: the random test above found this sequence.
#[test]
fn a_file_that_was_removed_before_a_run_removed_its_directory_stays_removed() {
    let disk = base();
    disk.advance(5_000);
    apply(&disk, &[create("n/c", "content\n")]).unwrap();
    disk.advance(5_000);
    disk.remove("n/c");
    disk.advance(5_000);
    apply(&disk, &[create("n/e", "content\n")]).unwrap();
    disk.advance(5_000);
    apply(&disk, &[delete("n/e")]).unwrap();
    disk.settle();
    let wanted = tree(&disk);
    assert!(!wanted.keys().any(|path| path.starts_with("n")), "{wanted:?}");
    for state in disk.crash_states(2) {
        drop(open(&state).unwrap());
        assert_eq!(tree(&state), wanted);
    }
}

/// FO-2
#[test]
fn recovery_restores_files_although_displaced_files_are_missing() {
    let whole = base();
    let first = whole.calls();
    let before = tree(&whole);
    apply(&whole, &mixture()).unwrap();
    let after = tree(&whole);
    for at in cuts(&whole, first, whole.calls() - first) {
        let disk = base();
        disk.kill_at(at);
        drop(apply(&disk, &mixture()));
        disk.revive();
        disk.clear_faults();
        for name in disk.snapshot().into_keys().filter(|name| name.starts_with(".actum/stage/")) {
            disk.remove(&name);
        }
        let workspace = open(&disk).unwrap();
        let blocked = !workspace.blocked().is_empty();
        let found = tree(&disk);
        assert!(blocked || found == before || found == after, "cut {at}: {found:#?}");
    }
}

/// FO-2
#[test]
fn without_the_rebuilding_barrier_recovery_can_mistake_its_work_for_edits() {
    let holds = |ignored: bool| {
        let disk = base();
        if ignored {
            disk.ignore(Barrier::Rebuilding);
        }
        apply(&disk, &mixture()).unwrap();
        let wanted = tree(&disk);
        disk.crash_states(8).take(12).all(|state| {
            let calls = {
                let whole = state.clone_deep();
                drop(open(&whole).unwrap());
                whole.calls()
            };
            (0..calls).all(|at| {
                let cut = state.clone_deep();
                cut.kill_at(at);
                drop(open(&cut));
                cut.crash_states(6).take(8).all(|state| {
                    drop(open(&state).unwrap());
                    tree(&state) == wanted
                })
            })
        })
    };
    assert!(holds(false), "it can with the barrier");
    assert!(!holds(true), "it cannot without the barrier");
}

/// FO-2
#[test]
fn without_the_lost_barrier_the_saved_images_can_be_missing() {
    let intact = |ignored: bool| {
        let disk = base();
        if ignored {
            disk.ignore(Barrier::Lost);
        }
        // Killed after publishing but before the end is written. Then a user edits the file.
        let whole = base();
        let first = whole.calls();
        let change = [patch("a", 1, "one", "ONE")];
        apply(&whole, &change).unwrap();
        let end = whole
            .trace()
            .iter()
            .skip(first)
            .rposition(|call| call.starts_with("write_at `.actum/journal`"));
        disk.kill_at(end.unwrap());
        drop(apply(&disk, &change));
        disk.revive();
        disk.clear_faults();
        disk.put("a", b"mine\n");
        disk.settle();
        let recovered = disk.clone_deep();
        drop(open(&recovered).unwrap());
        let calls = recovered.calls();
        (0..=calls).all(|at| {
            let cut = disk.clone_deep();
            cut.kill_at(at);
            drop(open(&cut));
            cut.crash_states(300).all(|state| {
                let workspace = open(&state).unwrap();
                let blocked = workspace.blocked().contains_key(&path("a"));
                let saved: Vec<_> = state
                    .snapshot()
                    .into_iter()
                    .filter(|(name, node)| name.starts_with(".actum/lost/") && name.ends_with("before")
                        && matches!(node, actum_testkit::Node::File { bytes, .. } if bytes.as_slice() == b"one\ntwo\n"))
                    .collect();
                blocked && !saved.is_empty() && state.get("a").unwrap() == b"mine\n"
            })
        })
    };
    assert!(intact(false), "something can be missing with the barrier");
    assert!(!intact(true), "nothing is missing without the barrier");
}
