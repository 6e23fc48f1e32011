//! Ledgers that cannot be opened or written: the error is clear, and no data is lost.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;
use std::process::Command;

use crate::grounds::{Grounds, child_behind, fill, given_ledger, given_place, is_root};
use actum_ledger::conformance::sample::SampleRun;
use actum_ledger::sqlite::{DATABASE, LOCKED_SECONDS_MAX, SqliteOptions};
use actum_ledger::{Ledger, LedgerError, LedgerHome, LedgerView, Log, SqliteStore, Store};
use actum_record::ledger::TenantId;

/// Returns the names and contents of all files in a directory.
fn files(place: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (entry.file_name().into_string().unwrap(), fs::read(entry.path()).unwrap())
    };
    fs::read_dir(place).unwrap().map(file).collect()
}

fn append_fails(ledger: &Ledger) -> LedgerError {
    ledger.append(vec![SampleRun::numbered(900, 0).started().unwrap()]).wait().unwrap_err()
}

fn view_fails(grounds: &Grounds) -> LedgerError {
    LedgerView::open(&grounds.home, &TenantId::default()).unwrap_err()
}

#[test]
fn newer_ledger_is_not_written_and_is_read_if_compatible() {
    for (version, may_be_read) in [((9u32 << 16) | 9, false), ((8 << 16) | 9, true)] {
        let grounds = Grounds::new();
        fill(&grounds.ledger(), 0..2);
        grounds.foreign().pragma_update(None, "user_version", version).unwrap();
        grounds.settle();
        let before = files(&grounds.place());
        let error = append_fails(&grounds.ledger());
        let newer = matches!(error, LedgerError::NewerSchema { found: 9, known: 8, .. });
        assert!(newer, "{error}");
        match LedgerView::open(&grounds.home, &TenantId::default()) {
            Ok(view) => assert!(may_be_read && view.unwrap().size().unwrap() == 5),
            Err(error) => assert!(!may_be_read, "{error}"),
        }
        let mut after = files(&grounds.place());
        after.retain(|name, _| before.contains_key(name));
        assert_eq!(after, before);
    }
}

#[test]
fn file_that_is_not_a_ledger_is_rejected_unchanged() {
    let other = tempfile::NamedTempFile::new().unwrap();
    let connection = rusqlite::Connection::open(other.path()).unwrap();
    connection.execute_batch("CREATE TABLE notes (text)").unwrap();
    drop(connection);
    for (bytes, message) in [
        (
            b"no database at all, but a text of some length that says so".repeat(40),
            "not an SQLite database",
        ),
        (b"short".to_vec(), "not an SQLite database"),
        (Vec::new(), "the file is empty"),
        (fs::read(other.path()).unwrap(), "belongs to a different program"),
    ] {
        let grounds = Grounds::new();
        fs::write(grounds.place().join(DATABASE), &bytes).unwrap();
        fs::set_permissions(grounds.database(), Permissions::from_mode(0o600)).unwrap();
        for error in [append_fails(&grounds.ledger()), view_fails(&grounds)] {
            assert!(matches!(error, LedgerError::NoLedger { .. }), "{error:?}");
            assert!(error.to_string().contains(message), "{error}");
        }
        assert_eq!(fs::read(grounds.database()).unwrap(), bytes);
    }
}

#[test]
fn symlink_or_directory_in_place_of_the_database_is_rejected() {
    let elsewhere = Grounds::new();
    fill(&elsewhere.ledger(), 0..1);
    let grounds = Grounds::new();
    symlink(elsewhere.database(), grounds.place().join(DATABASE)).unwrap();
    for error in [append_fails(&grounds.ledger()), view_fails(&grounds)] {
        assert!(matches!(error, LedgerError::NoFile { found: "a symbolic link", .. }), "{error}");
    }
    let grounds = Grounds::new();
    fs::create_dir(grounds.place().join(DATABASE)).unwrap();
    for error in [append_fails(&grounds.ledger()), view_fails(&grounds)] {
        assert!(matches!(error, LedgerError::NoFile { found: "a directory", .. }), "{error}");
    }
    assert_eq!(elsewhere.view().size().unwrap(), 3);
}

#[test]
fn locked_database_is_reported_after_a_timeout() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let foreign = grounds.foreign();
    foreign.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(grounds.view().size().unwrap(), 3, "a reader does not wait");
    let error = append_fails(&ledger);
    let locked = matches!(error, LedgerError::Locked { seconds: LOCKED_SECONDS_MAX, .. });
    assert!(locked, "{error}");
    foreign.execute_batch("COMMIT").unwrap();
    fill(&ledger, 1..2);
    assert_eq!(grounds.verify().unwrap().entries, 5);
}

/// AEC-8: a process may be suspended while it holds the lock, or while it waits for it.
#[test]
fn held_append_lock_is_reported_until_released() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..1);
    for (number, lock) in ["ledger.door", "ledger.queue"].into_iter().enumerate() {
        let ledger = patient_for_a_second(&grounds);
        fill(&ledger, 10 + number as u64..11 + number as u64);
        let held = fs::File::options().write(true).open(grounds.place().join(lock)).unwrap();
        held.lock().unwrap();
        let error = append_fails(&ledger);
        assert!(matches!(error, LedgerError::Locked { seconds: 1, .. }), "{error}");
        drop(held);
        fill(&ledger, 20 + number as u64..21 + number as u64);
        fill(&grounds.ledger(), 30 + number as u64..31 + number as u64);
    }
    assert_eq!(grounds.verify().unwrap().entries, 15);
}

/// Opens a ledger that waits up to one second for the lock.
fn patient_for_a_second(grounds: &Grounds) -> Ledger {
    let place = grounds.place();
    let open = move || -> Result<Box<dyn Store>, LedgerError> {
        let options = SqliteOptions { turn_seconds: 1, ..SqliteOptions::default() };
        let mut first = |_| Err(LedgerError::Stopped);
        Ok(Box::new(SqliteStore::open(&place, options, &mut first)?))
    };
    Ledger::over(Box::new(open), Box::new(|| Err(LedgerError::Stopped)))
}

/// FE-14: appends are rejected, because entries in an unlinked file would be lost when the process exits.
#[test]
fn ledger_removed_while_open_rejects_appends() {
    for is_replaced in [false, true] {
        let grounds = Grounds::new();
        let ledger = grounds.ledger();
        fill(&ledger, 0..1);
        let aside = grounds.place().with_file_name("aside");
        fs::rename(grounds.place(), &aside).unwrap();
        if is_replaced {
            fill(&grounds.ledger(), 1..2);
        }
        let error = append_fails(&ledger);
        assert!(matches!(error, LedgerError::Gone { .. }), "{error}");
        assert!(error.to_string().ends_with("while it was open"), "{error}");
        assert_eq!(grounds.verify_at(&aside).unwrap().entries, 3);
    }
}

/// FE-14: an open database without its log or shared index would diverge from other processes.
#[test]
fn ledger_with_a_file_removed_while_open_rejects_appends() {
    for end in ["", "-wal", "-shm"] {
        let grounds = Grounds::new();
        let ledger = grounds.ledger();
        fill(&ledger, 0..1);
        fs::remove_file(grounds.place().join(format!("{DATABASE}{end}"))).unwrap();
        let error = append_fails(&ledger);
        assert!(matches!(error, LedgerError::Gone { .. }), "{end}: {error}");
    }
}

/// FE-14: a leftover log would overwrite a new database, or be overwritten by it.
#[test]
fn wal_without_its_database_is_rejected_until_both_exist() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..13);
    let (database, aside) = (grounds.database(), grounds.place().join("aside"));
    fs::rename(&database, &aside).unwrap();
    let before = files(&grounds.place());
    for error in [append_fails(&grounds.ledger()), view_fails(&grounds)] {
        assert!(matches!(error, LedgerError::NoLedger { .. }), "{error}");
        assert!(
            error.to_string().contains("its write-ahead log `ledger.db-wal` still exists"),
            "{error}"
        );
    }
    assert_eq!(files(&grounds.place()), before);
    fs::rename(&aside, &database).unwrap();
    fill(&grounds.ledger(), 13..14);
    assert_eq!(grounds.verify().unwrap().entries, 29);
}

#[test]
fn reader_does_not_block_appends() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    fill(&ledger, 0..1);
    let view = grounds.view();
    assert_eq!(view.size().unwrap(), 3);
    fill(&ledger, 1..400);
    assert_eq!(view.size().unwrap(), 3, "it stays at what it was");
    assert_eq!(grounds.view().size().unwrap(), 801);
}

/// Reading creates no files, even after the log was merged and removed.
#[test]
fn view_creates_no_files() {
    let grounds = Grounds::new();
    assert!(LedgerView::open(&grounds.home, &TenantId::default()).unwrap().is_none());
    assert!(!grounds.home.path().join("tenants").exists());
    fill(&grounds.ledger(), 0..3);
    let before = files(&grounds.place());
    assert_eq!(grounds.view().size().unwrap(), 7);
    assert_eq!(files(&grounds.place()), before);
}

#[test]
fn partially_created_ledger_is_recreated() {
    let grounds = Grounds::new();
    for end in ["", "-journal", "-wal", "-shm"] {
        let left = grounds.place().join(format!("{DATABASE}.new{end}"));
        fs::write(left, b"left by a process that was killed").unwrap();
    }
    fill(&grounds.ledger(), 0..1);
    assert!(grounds.verify().unwrap().is_sound());
    assert!(!grounds.place().join(format!("{DATABASE}.new")).exists());
}

/// Child process: appends to a ledger that it cannot write.
#[test]
#[ignore = "a child runs it"]
fn child_that_cannot_write() {
    let home = LedgerHome::open_existing(&given_place()).unwrap().unwrap();
    let view = LedgerView::open(&home, &TenantId::default()).unwrap().unwrap();
    println!("\nread {}", view.size().unwrap());
    let place = home.existing_tenant(&TenantId::default()).unwrap().unwrap();
    let mut first = |_| Err(LedgerError::Stopped);
    let options = actum_ledger::sqlite::SqliteOptions::default();
    let error = actum_ledger::SqliteStore::open(place.path(), options, &mut first).unwrap_err();
    println!("\nrefused {error}");
}

#[test]
fn read_only_ledger_directory_can_be_read() {
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    for is_settled in [false, true] {
        let grounds = Grounds::new();
        fill(&grounds.ledger(), 0..2);
        if is_settled {
            grounds.settle();
        }
        let script = "mount --bind \"$ACTUM_TEST_PLACE\" \"$ACTUM_TEST_PLACE\" && \
                      mount -o remount,ro,bind \"$ACTUM_TEST_PLACE\" && exec \"$@\"";
        let script = format!("exec unshare --mount /bin/sh -c '{script}' sh \"$@\"");
        let output =
            child_behind(&script, "places::child_that_cannot_write", grounds.home.path()).output();
        let output = output.unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains("\nread 5\n"), "{stdout}");
        assert!(stdout.contains("\nrefused cannot open `"), "{stdout}");
        assert!(stdout.contains("Read-only file system"), "{stdout}");
        assert_eq!(grounds.view().size().unwrap(), 5);
    }
}

/// Child process: appends until the disk is full and prints the answers, then frees space and continues.
#[test]
#[ignore = "a child runs it"]
fn child_that_fills_the_disk() {
    let ledger = given_ledger();
    let ballast = given_place().join("ballast");
    if std::env::var_os("ACTUM_TEST_BALLAST").is_some() {
        fs::write(&ballast, vec![1; 300 << 10]).unwrap();
    }
    let mut refused = 0;
    for number in 0..2000 {
        let run = SampleRun { label_bytes: 3000, ..SampleRun::numbered(number, 0) };
        match ledger.append(vec![run.started().unwrap()]).wait() {
            Ok(appended) => println!("\nappended {} {number}", appended[0].index),
            Err(LedgerError::OutcomeUnknown { .. }) => println!("\nunknown {number}"),
            Err(error) => {
                println!("\nrefused {number} {error}");
                refused += 1;
                drop(fs::remove_file(&ballast));
                if refused > 3 {
                    break;
                }
            }
        }
    }
}

/// Compares the answers that a child received with the entries in the ledger.
fn compare(grounds: &Grounds, stdout: &str) {
    let view = grounds.view();
    let mut there = 0;
    for line in stdout.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let run = |number: &str| SampleRun::numbered(number.parse().unwrap(), 0).run;
        match words[..] {
            ["appended", index, number] => {
                let row = view.run(run(number)).unwrap().unwrap();
                assert_eq!(row.started.to_string(), index, "{line}");
                there += 1;
            }
            ["refused", number, ..] => {
                assert_eq!(view.run(run(number)).unwrap(), None, "{line}");
            }
            ["unknown", number] => there += u64::from(view.run(run(number)).unwrap().is_some()),
            _ => {}
        }
    }
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!(result.entries, there + 1);
}

/// FE-14
#[test]
fn full_disk_during_an_append_loses_no_acknowledged_entry() {
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..0);
    let place = tempfile::tempdir().unwrap();
    let mounted = place.path().join("small");
    fs::create_dir(&mounted).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        Command::new(program).args(arguments).arg(&mounted).status().unwrap().success()
    };
    assert!(run("mount", &["-t", "tmpfs", "-o", "size=2m,mode=0700", "none"]));
    let home = mounted.join("home");
    let tested = std::panic::catch_unwind(|| {
        let grounds = Grounds::at(&home);
        let child = child_behind("exec \"$@\"", "places::child_that_fills_the_disk", &home)
            .env("ACTUM_TEST_BALLAST", "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&child.stdout).into_owned();
        assert!(child.status.success(), "{stdout}{}", String::from_utf8_lossy(&child.stderr));
        assert!(stdout.contains("there is no space left for the ledger"), "{stdout}");
        let (_, later) = stdout.split_once("\nrefused ").unwrap();
        assert!(later.contains("\nappended "), "nothing came after there was room again");
        compare(&grounds, &stdout);
    });
    assert!(run("umount", &[]));
    tested.unwrap();
}

/// FE-14: a file size limit makes any write fail, as a broken disk would.
#[test]
fn failed_write_during_an_append_loses_no_acknowledged_entry() {
    for blocks in [400, 550, 551, 552, 553] {
        let grounds = Grounds::new();
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$@\"");
        let child = child_behind(&script, "places::child_that_fills_the_disk", grounds.home.path());
        let output = { child }.output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{stdout}{}", String::from_utf8_lossy(&output.stderr));
        assert!(stdout.contains("\nrefused ") || stdout.contains("\nunknown "), "{stdout}");
        compare(&grounds, &stdout);
    }
}

/// FE-14: a ledger that other users can write is rejected, because they could forge entries.
#[test]
fn ledger_writable_by_others_is_rejected() {
    assert!(is_root(), "this test must run as root, as all of `cargo xtask test` that needs it");
    for file in [DATABASE.to_owned(), format!("{DATABASE}-wal")] {
        let grounds = Grounds::new();
        fill(&grounds.ledger(), 0..2);
        let (place, path) = (grounds.place(), grounds.place().join(&file));
        let before = files(&place);
        let refused = |what: &str| {
            assert!(matches!(append_fails(&grounds.ledger()), LedgerError::Home { .. }), "{what}");
            assert!(matches!(view_fails(&grounds), LedgerError::Home { .. }), "{what}");
        };
        fs::set_permissions(&path, Permissions::from_mode(0o666)).unwrap();
        refused("mode");
        fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
        chown(&path, Some(1000), None).unwrap();
        refused("owner");
        chown(&path, Some(0), None).unwrap();
        let elsewhere = place.parent().unwrap().join("second-name");
        fs::hard_link(&path, &elsewhere).unwrap();
        let error = append_fails(&grounds.ledger());
        assert!(matches!(error, LedgerError::NoFile { .. }), "{error}");
        fs::remove_file(&elsewhere).unwrap();
        assert_eq!(files(&place), before);
        fill(&grounds.ledger(), 2..3);
    }
}
