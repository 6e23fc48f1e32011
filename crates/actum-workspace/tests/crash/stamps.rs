//! Timestamps: another program writes to a file in place during a run, and restores its size and modification time. The
//! bytes are never lost (FO-6).

use actum_core::FileMode;
use actum_edit::{ModeChange, Operation};
use actum_testkit::SimDisk;
use actum_workspace::{ErrorKind, RunOptions, State};

use crate::changes::{delete, open, path, rename};

/// Size of a file that is too large for the journal.
const LARGE: usize = (1 << 20) + 5_000;
const MINE: &[u8] = b"mine!";

/// Returns a workspace in which `f` was written a long time ago.
fn written_long_ago(content: &[u8]) -> SimDisk {
    let disk = SimDisk::new();
    disk.put("f", content);
    disk.put("a", b"one\n");
    drop(open(&disk).unwrap());
    disk.settle();
    disk.advance(60_000);
    disk
}

/// Writes to a file in place, and restores its modification time.
fn edit(disk: &SimDisk, file: &str) {
    let before = disk.stat_of(file).unwrap();
    disk.overwrite(file, MINE, 0);
    disk.set_modified(file, before.modified);
    let after = disk.stat_of(file).unwrap();
    assert_eq!((after.size, after.modified), (before.size, before.modified));
    assert!(after.changed > before.changed);
}

fn write(file: &str, content: &[u8]) -> Operation {
    Operation::Write { path: path(file), content: content.to_vec(), expected: None }
}

fn make_executable(file: &str) -> Operation {
    Operation::Chmod { path: path(file), mode: ModeChange::Executable(true) }
}

/// Applies a change once for each of its calls, with an edit before that call.
fn survives_an_edit_before_each_call(content: &[u8], change: &[Operation]) {
    let whole = written_long_ago(content);
    let first = whole.calls();
    crate::changes::apply(&whole, change).unwrap();
    let calls = whole.trace().split_off(first);
    let taken = calls
        .iter()
        .position(|call| call.starts_with("rename `f`") || call.contains("to `f` Exchange"));
    // An edit is undetectable only between a check and actum's own call that changes the timestamp.
    let hides = |call: &str| call.starts_with("link `f`");
    let taken = taken.unwrap_or_else(|| panic!("nothing moves `f` away: {calls:#?}"));
    let mut refused = 0;
    for (at, call) in calls.iter().enumerate().take(taken).filter(|(_, call)| !hides(call)) {
        let disk = written_long_ago(content);
        disk.before_call(at, |disk| edit(disk, "f"));
        let mut workspace = open(&disk).unwrap();
        match workspace.apply_operations(change, RunOptions::default()) {
            Ok(run) => {
                workspace.revert(run).unwrap();
            }
            Err(error) => {
                assert!(
                    matches!(error.kind, ErrorKind::Conflict { .. }),
                    "before `{call}`: {error}"
                );
                assert!(
                    matches!(error.state, State::Unchanged | State::Restored),
                    "before `{call}`"
                );
                assert!(workspace.blocked().is_empty(), "before `{call}`");
                refused += 1;
            }
        }
        let found = disk.get("f").unwrap();
        assert!(found.starts_with(MINE), "the edit before call {at}, `{call}`, is lost");
    }
    assert!(refused > 0, "no edit came between reading and publishing");
}

/// FO-6
#[test]
fn edit_of_a_replaced_file_with_same_size_and_timestamp_is_not_lost() {
    survives_an_edit_before_each_call(b"start\n", &[write("a", b"ONE\n"), write("f", b"new\n")]);
}

/// FO-6
#[test]
fn edit_of_a_deleted_file_with_same_size_and_timestamp_is_not_lost() {
    survives_an_edit_before_each_call(b"start\n", &[write("a", b"ONE\n"), delete("f")]);
}

/// FO-6
#[test]
fn edit_of_a_large_file_with_same_size_and_timestamp_is_not_lost() {
    let content = vec![b'x'; LARGE];
    survives_an_edit_before_each_call(&content, &[write("a", b"ONE\n"), write("f", b"new\n")]);
    survives_an_edit_before_each_call(&content, &[delete("f")]);
}

/// FO-6
#[test]
fn edit_of_a_file_with_a_new_path_and_mode_is_not_lost() {
    let change = [rename("f", "g"), make_executable("g")];
    survives_an_edit_before_each_call(b"start\n", &change);
    survives_an_edit_before_each_call(&vec![b'x'; LARGE], &change);
}

/// FO-6
#[test]
fn edit_of_a_displaced_file_before_its_check_is_not_lost() {
    let change = [write("a", b"ONE\n"), write("f", b"new\n")];
    let whole = written_long_ago(b"start\n");
    let first = whole.calls();
    crate::changes::apply(&whole, &change).unwrap();
    let calls = whole.trace().split_off(first);
    let moved = calls.iter().position(|call| call.contains("to `f` Exchange")).unwrap();
    let looked_at =
        calls.iter().rposition(|call| call.starts_with("stat_at `.actum/stage/")).unwrap();
    assert!(looked_at > moved);
    for at in moved + 1..=looked_at {
        let disk = written_long_ago(b"start\n");
        disk.before_call(at, |disk| {
            let staged =
                disk.snapshot().into_keys().filter(|name| name.starts_with(".actum/stage/"));
            let mut displaced =
                staged.filter(|name| disk.get(name).is_some_and(|bytes| bytes == b"start\n"));
            // The writer opened the file before the run began.
            edit(disk, &displaced.next_back().unwrap());
        });
        let error = crate::changes::apply(&disk, &change).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "{error}");
        assert_eq!(disk.get("f").unwrap(), b"mine!\n", "before call {at}");
    }
}

/// A changed timestamp alone means that nothing can be lost, so the change is not rejected.
///
/// FO-6
#[test]
fn file_with_only_a_new_change_time_is_replaced() {
    let change = [write("f", b"new\n")];
    let whole = written_long_ago(b"start\n");
    let first = whole.calls();
    crate::changes::apply(&whole, &change).unwrap();
    for at in 0..whole.calls() - first {
        let disk = written_long_ago(b"start\n");
        disk.before_call(at, |disk| {
            if disk.stat_of("f").unwrap().size == 6 {
                disk.chmod("f", FileMode::PRIVATE.bits());
                disk.chmod("f", FileMode::REGULAR.bits());
            }
        });
        crate::changes::apply(&disk, &change).unwrap();
        assert_eq!(disk.get("f").unwrap(), b"new\n");
    }
}

/// FO-6
#[test]
fn extended_attribute_set_during_a_run_is_not_lost() {
    let change = [write("f", b"new\n")];
    let whole = written_long_ago(b"start\n");
    let first = whole.calls();
    crate::changes::apply(&whole, &change).unwrap();
    let calls = whole.trace().split_off(first);
    let taken = calls.iter().position(|call| call.contains("to `f` Exchange")).unwrap();
    for (at, call) in calls.iter().enumerate().take(taken) {
        let disk = written_long_ago(b"start\n");
        disk.before_call(at, |disk| disk.set_xattr_at("f", "user.mine", "1"));
        // If the attribute is set before the run reads the file, the new file gets it. If it is set later, it is a
        // conflict.
        drop(crate::changes::apply(&disk, &change));
        let nodes = disk.snapshot();
        let actum_testkit::Node::File { xattrs, .. } = &nodes["f"] else { panic!("no file") };
        assert_eq!(xattrs.len(), 1, "the attribute before call {at}, `{call}`, is lost");
    }
}

/// Changes the mode of `f` once for each of its calls, with `other` before that call, and returns the number of
/// rejected changes.
fn change_mode_beside(
    other: impl Fn(&SimDisk) + Copy + 'static,
    check: impl Fn(&SimDisk, &str),
) -> usize {
    let change = [write("a", b"ONE\n"), make_executable("f")];
    let whole = written_long_ago(b"start\n");
    let first = whole.calls();
    crate::changes::apply(&whole, &change).unwrap();
    let calls = whole.trace().split_off(first);
    let changed = calls.iter().position(|call| call.starts_with("set_mode `f`")).unwrap();
    let looked = calls.iter().take(changed).rposition(|call| call.starts_with("stat `f`")).unwrap();
    let checked = calls.iter().rposition(|call| call.starts_with("stat_at `f`")).unwrap();
    assert!(checked > changed, "{calls:#?}");
    let mut rejected = 0;
    for (at, call) in calls.iter().enumerate().take(checked + 1) {
        if (looked + 1..=changed).contains(&at) {
            continue; // the call that sets the mode moves the stamp itself
        }
        let disk = written_long_ago(b"start\n");
        disk.before_call(at, move |disk| other(disk));
        let mut workspace = open(&disk).unwrap();
        match workspace.apply_operations(&change, RunOptions::default()) {
            Ok(run) => {
                workspace.revert(run).unwrap_or_else(|error| panic!("before `{call}`: {error}"));
            }
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "`{call}`: {error}");
                assert!(matches!(error.state, State::Unchanged | State::Restored), "`{call}`");
                assert_eq!(disk.get("a").unwrap(), b"one\n", "before `{call}`");
                rejected += 1;
            }
        }
        assert!(workspace.blocked().is_empty(), "before `{call}`");
        check(&disk, call);
    }
    rejected
}

/// FO-6, FO-10
#[test]
fn permissions_revoked_during_a_run_are_not_restored() {
    let close = |disk: &SimDisk| disk.chmod("f", 0o600);
    let rejected = change_mode_beside(close, |disk, call| {
        let mode = disk.stat_of("f").unwrap().mode.bits();
        assert_eq!(mode & 0o077, 0, "before `{call}`: {mode:o}");
    });
    assert!(rejected > 0, "nothing came between reading and publishing");
}

/// FO-6, FO-10
#[test]
fn edit_of_a_file_during_a_mode_change_is_detected() {
    let rejected = change_mode_beside(
        |disk| edit(disk, "f"),
        |disk, call| {
            assert!(disk.get("f").unwrap().starts_with(MINE), "before `{call}`");
        },
    );
    assert!(rejected > 0, "nothing came between reading and publishing");
}
