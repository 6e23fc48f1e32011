//! Adoption of another program's changes. No file is touched. A cut at any call leaves the files as that program wrote them,
//! whether or not the run is recorded.

use std::collections::BTreeMap;

use actum_core::RunId;
use actum_testkit::{Errno, SimDisk};
use actum_workspace::disk::Stat;
use actum_workspace::{Error, ErrorKind, RunOptions, SnapshotId, State};

use crate::changes::{apply, base, create, open, path};
use crate::explore::{Tree, cuts, tree};

/// Paths that the other program will change.
const PATHS: [&str; 6] = ["a", "b", "run.sh", "d/c", "n/e/w", "large"];
const DAY: u32 = 24 * 3_600_000;

fn id() -> SnapshotId {
    SnapshotId::new(&["session", "call-1"])
}

/// Returns content so large that the journal does not store it.
fn large(byte: u8) -> Vec<u8> {
    vec![byte; (1 << 20) + 5_000]
}

fn workspace() -> SimDisk {
    let disk = base();
    disk.put("large", large(b'x'));
    disk.settle();
    disk.advance(60_000);
    disk
}

fn snapshot(disk: &SimDisk) -> Result<(), Error> {
    let mut workspace = open(disk)?;
    let mut transaction = workspace.begin(RunOptions::default())?;
    for it in PATHS {
        transaction.look_at(&path(it))?;
    }
    transaction.take_snapshot(id())
}

/// Makes the changes of the other program: it edits in place, replaces files, changes a mode, deletes and creates.
fn change(disk: &SimDisk) {
    disk.put("a", "changed in place\n");
    disk.replace("b", "changed by a new file\n");
    disk.chmod("run.sh", 0o600);
    disk.remove("d/c");
    disk.mkdir_p("n/e");
    disk.put("n/e/w", "new\n");
    disk.overwrite("large", b"changed", 3);
    disk.advance(1_000);
}

/// Returns a workspace with a snapshot and the changes after it, all of it synced to disk.
fn changed() -> (Tree, SimDisk) {
    let disk = workspace();
    let before = tree(&disk);
    snapshot(&disk).unwrap();
    change(&disk);
    disk.settle();
    (before, disk)
}

fn adopt(disk: &SimDisk) -> Result<RunId, Error> {
    let mut workspace = open(disk)?;
    let mut transaction = workspace.begin(RunOptions::default())?;
    transaction.adopt(id())?;
    Ok(transaction.commit()?.run)
}

fn restore(disk: &SimDisk) -> Result<RunId, Error> {
    let mut workspace = open(disk)?;
    let mut transaction = workspace.begin(RunOptions::default())?;
    transaction.restore(id(), Some(RunId::from_random(7)), &BTreeMap::new())?;
    Ok(transaction.commit()?.run)
}

fn revert(disk: &SimDisk, run: RunId) -> Result<RunId, Error> {
    open(disk)?.revert(run)
}

/// Returns the newest run if it is an adopted one.
fn newest(disk: &SimDisk) -> Option<RunId> {
    let mut workspace = open(disk).unwrap();
    let transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.newest_in_effect().ok()
}

fn stats(disk: &SimDisk) -> BTreeMap<&'static str, Option<Stat>> {
    PATHS.into_iter().map(|it| (it, disk.stat_of(it))).collect()
}

/// FO-5, issue 27
#[test]
fn adoption_touches_no_file_and_can_be_undone_and_redone() {
    let (before, disk) = changed();
    let (after, there) = (tree(&disk), stats(&disk));
    let run = adopt(&disk).unwrap();
    assert_eq!(tree(&disk), after);
    assert_eq!(stats(&disk), there);
    let mut workspace = open(&disk).unwrap();
    let report = workspace.begin(RunOptions::default()).unwrap().newest_in_effect().unwrap();
    assert_eq!(report, run);
    drop(workspace);
    let undo = revert(&disk, run).unwrap();
    assert_eq!(tree(&disk), before);
    revert(&disk, undo).unwrap();
    assert_eq!(tree(&disk), after);
    assert!(matches!(adopt(&disk).unwrap_err().kind, ErrorKind::NoSnapshot));
}

/// FO-5, issue 27: the history alone is enough for the undo once garbage collection has removed the run from the journal.
#[test]
fn an_adopted_change_is_undone_from_the_history_after_a_collection() {
    let (before, disk) = changed();
    let run = adopt(&disk).unwrap();
    disk.advance(120_000);
    open(&disk).unwrap().gc(&actum_workspace::GcOptions::default()).unwrap();
    revert(&disk, run).unwrap();
    assert_eq!(tree(&disk), before);
}

/// issue 27: garbage collection between snapshot and adoption keeps the contents of the snapshot.
#[test]
fn collection_keeps_snapshot_contents() {
    let (before, disk) = changed();
    disk.advance(120_000);
    open(&disk).unwrap().gc(&actum_workspace::GcOptions::default()).unwrap();
    let run = adopt(&disk).unwrap();
    revert(&disk, run).unwrap();
    assert_eq!(tree(&disk), before);
}

/// issue 27: a change that the gates reject afterwards is undone byte for byte.
#[test]
fn snapshot_restores_every_file_and_keeps_foreign_files() {
    let (mut before, disk) = changed();
    disk.put("n/e/other", "somebody's\n");
    restore(&disk).unwrap();
    let mut found = tree(&disk);
    for kept in ["n", "n/e", "n/e/other"] {
        assert!(found.remove(kept).is_some(), "{kept}");
        before.remove(kept);
    }
    assert_eq!(found, before);
    assert!(matches!(restore(&disk).unwrap_err().kind, ErrorKind::NoSnapshot));
}

/// issue 27: a file that the user saves between the rejection and the undo is kept.
#[test]
fn file_saved_before_a_rejected_change_is_undone_is_kept() {
    let (_, disk) = changed();
    let mut workspace = open(&disk).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.adopt(id()).unwrap();
    let judged = transaction.files_left();
    drop(transaction);
    disk.replace("a", "saved by a person\n");
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    let error = transaction.restore(id(), Some(RunId::from_random(7)), &judged).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "{error}");
    drop(transaction);
    assert_eq!(disk.get("a").unwrap(), b"saved by a person\n");
}

/// issue 27: an adoption killed at any call leaves the files unchanged, and the change is adopted or can still be.
#[test]
fn adoption_killed_at_any_call_is_recorded_or_retryable() {
    let (before, base) = changed();
    let after = tree(&base);
    let whole = base.clone_deep();
    let first = whole.calls();
    adopt(&whole).unwrap();
    let calls = whole.calls() - first;
    let (mut recorded, mut repeated) = (0, 0);
    for at in cuts(&whole, first, calls) {
        let disk = base.clone_deep();
        disk.kill_at(at);
        drop(adopt(&disk));
        let disk = disk.clone_deep();
        assert_eq!(tree(&disk), after, "call {at}");
        let run = match newest(&disk) {
            Some(run) => {
                recorded += 1;
                run
            }
            None => {
                repeated += 1;
                adopt(&disk).unwrap()
            }
        };
        revert(&disk, run).unwrap();
        assert_eq!(tree(&disk), before, "call {at}");
    }
    assert!(recorded > 0 && repeated > 0, "{recorded} {repeated}");
}

/// issue 27: a power cut at any call of an adoption of synced files loses no acknowledged run.
#[test]
fn power_cut_during_adoption_loses_no_acknowledged_run() {
    let (before, base) = changed();
    let after = tree(&base);
    let whole = base.clone_deep();
    let first = whole.calls();
    adopt(&whole).unwrap();
    let calls = whole.calls() - first;
    let mut states = 0;
    for at in cuts(&whole, first, calls) {
        let disk = base.clone_deep();
        disk.kill_at(at);
        let acknowledged = adopt(&disk).is_ok();
        for state in disk.crash_states(32) {
            states += 1;
            let workspace = open(&state).unwrap();
            assert!(workspace.blocked().is_empty(), "call {at}: {:?}", workspace.recovery());
            drop(workspace);
            assert_eq!(tree(&state), after, "call {at}");
            match newest(&state) {
                Some(run) => {
                    revert(&state, run).unwrap();
                    assert_eq!(tree(&state), before, "call {at}");
                }
                None => assert!(!acknowledged, "call {at}: lost"),
            }
        }
    }
    assert!(states > 20, "{states}");
}

/// issue 27: even if the other program syncs nothing, recovery repairs adopted files after a power cut without help from the user.
#[test]
fn unsynced_adopted_change_survives_a_power_cut() {
    let disk = workspace();
    let before = tree(&disk);
    snapshot(&disk).unwrap();
    change(&disk);
    let after = tree(&disk);
    let run = adopt(&disk).unwrap();
    for state in disk.crash_states(64) {
        let workspace = open(&state).unwrap();
        assert!(workspace.blocked().is_empty(), "{:?}; {:#?}", workspace.recovery(), state.lost());
        drop(workspace);
        assert_eq!(tree(&state), after, "{:#?}", state.lost());
        revert(&state, run).unwrap();
        assert_eq!(tree(&state), before);
    }
}

/// issue 27: a snapshot killed at any call changes no file and can be repeated.
#[test]
fn snapshot_killed_at_any_call_leaves_files_untouched() {
    let base = workspace();
    let before = tree(&base);
    let whole = base.clone_deep();
    let first = whole.calls();
    snapshot(&whole).unwrap();
    let calls = whole.calls() - first;
    for at in cuts(&whole, first, calls) {
        let disk = base.clone_deep();
        disk.kill_at(at);
        drop(snapshot(&disk));
        let disk = disk.clone_deep();
        assert_eq!(tree(&disk), before, "call {at}");
        snapshot(&disk).unwrap();
        change(&disk);
        let run = adopt(&disk).unwrap();
        revert(&disk, run).unwrap();
        assert_eq!(tree(&disk), before, "call {at}");
    }
}

/// issue 27: after a power cut, an unsynced snapshot is either complete or ignored.
#[test]
fn torn_snapshot_is_ignored() {
    let disk = workspace();
    let before = tree(&disk);
    snapshot(&disk).unwrap();
    let mut missing = 0;
    for state in disk.crash_states(64) {
        change(&state);
        match adopt(&state) {
            Ok(run) => {
                revert(&state, run).unwrap();
                assert_eq!(tree(&state), before);
            }
            Err(error) => {
                let lost =
                    matches!(error.kind, ErrorKind::NoSnapshot | ErrorKind::LostImage { .. });
                assert!(lost, "{error}");
                assert_eq!(error.state, State::Unchanged);
                missing += 1;
            }
        }
    }
    assert!(missing > 0);
}

/// issue 27: if the user saves a file during an adoption, it is rejected or the edit counts as made after it.
#[test]
fn user_edits_during_an_adoption_are_kept() {
    let (_, base) = changed();
    let whole = base.clone_deep();
    let first = whole.calls();
    adopt(&whole).unwrap();
    let calls = whole.calls() - first;
    let mut refused = 0;
    for at in 0..calls {
        let disk = base.clone_deep();
        disk.before_call(at, |disk| disk.replace("a", "mine\n"));
        match adopt(&disk) {
            Ok(run) => {
                let is_adopted =
                    |error: &Error| !matches!(error.kind, ErrorKind::ChangedSince { .. });
                // An edit before the adoption reads the file counts as a change by the other program.
                let undone = revert(&disk, run);
                assert!(undone.as_ref().err().is_none_or(|error| !is_adopted(error)), "{undone:?}");
                if undone.is_err() {
                    assert_eq!(disk.get("a").unwrap(), b"mine\n");
                }
            }
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::Conflict { .. }), "call {at}: {error}");
                assert_eq!(error.state, State::Unchanged);
                assert_eq!(disk.get("a").unwrap(), b"mine\n");
                refused += 1;
            }
        }
    }
    assert!(refused > 0);
}

/// issue 27: if any call fails, the files are unchanged, and either the error reports that or the run exists.
#[test]
fn failed_call_during_an_adoption_leaves_files_unchanged() {
    let (before, base) = changed();
    let after = tree(&base);
    let whole = base.clone_deep();
    let first = whole.calls();
    adopt(&whole).unwrap();
    for at in 0..whole.calls() - first {
        for errno in [Errno::IO, Errno::NOSPC, Errno::ACCESS] {
            let disk = base.clone_deep();
            disk.fail_at(at, errno);
            let adopted = adopt(&disk);
            disk.clear_faults();
            assert_eq!(tree(&disk), after, "{errno:?} at call {at}");
            if let Err(error) = &adopted {
                let known = matches!(error.state, State::Unchanged | State::Published);
                assert!(known || error.state == State::NeedsAttention, "{error}");
            }
            let run = newest(&disk).unwrap_or_else(|| adopt(&disk).unwrap());
            revert(&disk, run).unwrap();
            assert_eq!(tree(&disk), before, "{errno:?} at call {at}");
        }
    }
}

/// issue 27
#[test]
fn snapshot_expires_after_a_day_or_is_replaced_by_one_with_the_same_id() {
    let disk = workspace();
    snapshot(&disk).unwrap();
    disk.advance(DAY + 60_000);
    let mut workspace = open(&disk).unwrap();
    let mut transaction = workspace.begin(RunOptions::default()).unwrap();
    transaction.look_at(&path("a")).unwrap();
    transaction.take_snapshot(SnapshotId::new(&["another"])).unwrap();
    drop(transaction);
    drop(workspace);
    change(&disk);
    assert!(matches!(adopt(&disk).unwrap_err().kind, ErrorKind::NoSnapshot));
    let kept =
        |disk: &SimDisk| disk.snapshot().keys().filter(|it| it.starts_with(".actum/keep/")).count();
    assert_eq!(kept(&disk), 0);

    let disk = self::workspace();
    snapshot(&disk).unwrap();
    disk.put("a", "by a person\n");
    let before = tree(&disk);
    snapshot(&disk).unwrap();
    assert_eq!(kept(&disk), 1);
    change(&disk);
    let run = adopt(&disk).unwrap();
    revert(&disk, run).unwrap();
    assert_eq!(tree(&disk), before);
}

/// issue 27: adopted and ordinary runs share one history, and each can be undone separately.
#[test]
fn adopted_and_ordinary_runs_can_be_undone_in_any_order() {
    let disk = workspace();
    let made = apply_run(&disk, "made", "1\n");
    snapshot(&disk).unwrap();
    change(&disk);
    let adopted = adopt(&disk).unwrap();
    let later = apply_run(&disk, "later", "2\n");
    revert(&disk, adopted).unwrap();
    assert_eq!(disk.get("a").unwrap(), workspace().get("a").unwrap());
    revert(&disk, made).unwrap();
    revert(&disk, later).unwrap();
    assert_eq!(tree(&disk), tree(&workspace()));
    apply(&disk, &[create("more", "3\n")]).unwrap();
}

fn apply_run(disk: &SimDisk, name: &str, content: &str) -> RunId {
    open(disk).unwrap().apply_operations(&[create(name, content)], RunOptions::default()).unwrap()
}

/// D-6: a link that replaced a file is adopted as a link, and undo restores the file.
#[test]
fn symlink_that_replaced_a_file_is_adopted_and_undone() {
    let disk = workspace();
    let before = tree(&disk);
    snapshot(&disk).unwrap();
    disk.remove("a");
    disk.symlink("a", "b");
    let after = tree(&disk);
    let run = adopt(&disk).unwrap();
    assert_eq!(tree(&disk), after);
    revert(&disk, run).unwrap();
    assert_eq!(tree(&disk), before);
}
