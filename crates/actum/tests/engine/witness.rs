//! Ledgers that lost acknowledged entries. The workspace detects the loss, and no run continues unnoticed.
#![allow(clippy::disallowed_methods, reason = "a ledger lies outside any workspace")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::grounds::{Grounds, mixture, run};
use actum::{Binding, Clock, Done, Engine, Error, Records, Request};
use actum_core::RelPath;
use actum_edit::Operation;
use actum_ledger::{LedgerError, LedgerHome, LedgerView, Log, WAIT_MICROS};
use actum_record::ledger::{Actor, TenantId};
use actum_testkit::SimDisk;
use tempfile::TempDir;

/// Workspace and ledger home on a real disk.
struct Place {
    _directory: TempDir,
    workspace: PathBuf,
    home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (workspace, home) = (directory.path().join("project"), directory.path().join("home"));
        fs::create_dir(&workspace).unwrap();
        Self { _directory: directory, workspace, home }
    }

    fn create(&self, home: &Path, name: &str) -> actum::Result<Done> {
        let mut engine = Engine::open(&self.workspace, records(home)).unwrap();
        engine.run(Request::apply(vec![create(name)]))
    }

    /// Makes the call with which each run starts.
    fn resume(&self) -> actum::Result<()> {
        Engine::open_existing(&self.workspace, records(&self.home))?.resume().map(drop)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.join("tenants/default").join(name)
    }

    fn size(&self) -> Option<u64> {
        let home = LedgerHome::open_existing(&self.home).unwrap()?;
        LedgerView::open(&home, &TenantId::default()).ok()??.size().ok()
    }
}

fn create(name: &str) -> Operation {
    let path = RelPath::new(name).unwrap();
    Operation::Create { path, content: b"text\n".to_vec(), mode: None }
}

fn records(home: &Path) -> Records {
    Records::open(home, &TenantId::default(), Clock::fixed(1_795_000_000_000_000)).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let (from, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if from.is_dir() { copy(&from, &to) } else { assert!(fs::copy(&from, &to).is_ok()) }
    }
}

/// FE-14, AEC-8
#[test]
fn rolled_back_ledger_is_rejected_until_the_operator_intervenes() {
    let place = Place::new();
    place.create(&place.home, "a").unwrap();
    let (before, after) = (place.home.with_extension("before"), place.home.with_extension("after"));
    copy(&place.home, &before);
    place.create(&place.home, "b").unwrap();
    fs::rename(&place.home, &after).unwrap();
    fs::rename(&before, &place.home).unwrap();
    let error = place.create(&place.home, "c").unwrap_err();
    let forgot =
        matches!(error, Error::Ledger { source: LedgerError::Forgot { index: 4, size: 3, .. } });
    assert!(forgot, "{error}");
    assert!(!place.workspace.join("c").exists());
    assert_eq!(place.size(), Some(3), "nothing was appended");
    // The operator restores the newer ledger, or removes the note on purpose.
    fs::rename(&place.home, &before).unwrap();
    fs::rename(&after, &place.home).unwrap();
    place.create(&place.home, "c").unwrap();
    fs::rename(&place.home, &after).unwrap();
    fs::rename(&before, &place.home).unwrap();
    fs::remove_dir_all(place.workspace.join(".actum/recorded")).unwrap();
    place.create(&place.home, "d").unwrap();
    assert_eq!(place.size(), Some(5));
}

/// FE-14, AEC-8: another ledger can adopt a workspace after a day, and then the first ledger is rejected.
#[test]
fn another_ledger_adopts_a_workspace_exclusively_after_a_day() {
    let place = Place::new();
    place.create(&place.home, "a").unwrap();
    let other = place.home.with_extension("other");
    let refused = place.create(&other, "c").unwrap_err();
    assert!(matches!(refused, Error::BoundElsewhere { .. }), "{refused}");
    let by = Actor { user: "ada".to_owned(), uid: 1000, agent: None };
    let adopt = |late| {
        let clock = Clock::fixed(1_795_000_000_000_000 + late);
        let records = Records::open(&other, &TenantId::default(), clock).unwrap();
        Engine::open(&place.workspace, records).unwrap().adopt(&by, None).unwrap()
    };
    assert!(matches!(adopt(0), Binding::Waiting(_)));
    assert!(matches!(adopt(WAIT_MICROS - 1), Binding::Waiting(_)));
    assert_eq!(adopt(WAIT_MICROS), Binding::Adopted);
    assert_eq!(adopt(WAIT_MICROS), Binding::Own);
    place.create(&other, "c").unwrap();
    // Two owners would not notice each other, so this is refused.
    let refused = place.create(&place.home, "d").unwrap_err();
    assert!(matches!(refused, Error::BoundElsewhere { .. }), "{refused}");
}

/// FE-14: ignoring an unreadable note would make the workspace accept any ledger.
#[test]
fn unreadable_note_is_rejected_with_a_way_to_proceed() {
    let spoil: [fn(&Path) -> std::io::Result<()>; 4] = [
        |note| fs::create_dir(note),
        |note| std::os::unix::fs::symlink("/etc/hostname", note),
        |note| fs::write(note, "something else\n"),
        |note| fs::write(note, b"\xff\n"),
    ];
    for (number, make) in spoil.into_iter().enumerate() {
        let place = Place::new();
        place.create(&place.home, "a").unwrap();
        let recorded = place.workspace.join(".actum/recorded");
        let note = fs::read_dir(&recorded).unwrap().next().unwrap().unwrap().path();
        // An empty directory contains no notes, which is not an error.
        for spoilt in [&note, &recorded].into_iter().take(if number == 0 { 1 } else { 2 }) {
            let gone = fs::remove_file(spoilt).or_else(|_| fs::remove_dir_all(spoilt));
            gone.unwrap();
            make(spoilt).unwrap();
            let Err(error) = place.create(&place.home, "b") else { panic!("{spoilt:?}") };
            let error = error.to_string();
            assert!(error.contains("recorded") && error.contains("remove"), "{error}");
        }
        let gone = fs::remove_file(&recorded).or_else(|_| fs::remove_dir_all(&recorded));
        gone.unwrap();
        place.create(&place.home, "b").unwrap();
    }
}

/// FE-14: SQLite silently stops reading its log before a page with a wrong checksum.
#[test]
fn flipped_byte_in_the_database_log_is_reported_or_loses_nothing() {
    let place = Place::new();
    for name in ["a", "b", "c"] {
        place.create(&place.home, name).unwrap();
    }
    let (log, size) = (place.file("ledger.db-wal"), place.size().unwrap());
    assert_eq!(size, 7);
    let sound = fs::read(&log).unwrap();
    let used = sound.iter().rposition(|&byte| byte != 0).unwrap();
    let (mut refused, mut forgot, mut without_effect) = (0, 0, 0);
    let head_of_frame = |at: usize| at < 32 || (at - 32) % (4096 + 24) < 24;
    for at in (0..=used).filter(|&at| head_of_frame(at) || at % 391 == 0) {
        let mut flipped = sound.clone();
        flipped[at] ^= 0x10;
        fs::write(&log, &flipped).unwrap();
        match place.resume() {
            Err(Error::Ledger { source: LedgerError::Forgot { .. } }) => forgot += 1,
            Err(_) => refused += 1,
            Ok(()) => {
                assert_eq!(place.size(), Some(size), "byte {at}: entries were lost, untold");
                without_effect += 1;
            }
        }
        fs::write(&log, &sound).unwrap();
    }
    println!("{refused} refused, {forgot} told, {without_effect} without effect");
    assert!(forgot > 0 && refused + forgot > without_effect);
    place.resume().unwrap();
    assert_eq!(place.size(), Some(size));
}

/// FE-14: after a power cut the note may be older or missing, so it proves less but is never wrong. If the ledger lost
/// entries, the states with the newer note detect it.
#[test]
fn a_power_cut_leaves_no_note_that_the_ledger_contradicts() {
    let grounds = Grounds::new();
    let base: SimDisk = crate::grounds::disk(&grounds);
    run(&base, grounds.records(), Request::apply(mixture())).unwrap();
    let again = || Request::apply(vec![create("again")]);
    let whole = base.clone_deep();
    run(&whole, grounds.records_of(&grounds.store.fork()), again()).unwrap();
    let (mut notes, mut forgot) = (BTreeSet::new(), 0);
    for at in 0..=whole.calls() {
        let (disk, store) = (base.clone_deep(), grounds.store.fork());
        disk.kill_at(at);
        drop(run(&disk, grounds.records_of(&store), again()));
        for state in disk.crash_states(12) {
            notes.insert(note(&state));
            let lost = state.clone_deep();
            let records = grounds.records_of(&store.fork());
            crate::grounds::engine(&state, records).unwrap().resume().unwrap();
            let records = grounds.records_of(&grounds.store.fork());
            let resumed = crate::grounds::engine(&lost, records).unwrap().resume();
            if let Err(Error::Ledger { source: LedgerError::Forgot { .. } }) = resumed {
                forgot += 1;
            }
        }
    }
    assert!(notes.len() > 1, "no state has an older note");
    assert!(forgot > 0, "no state has the newer note");
}

/// Returns the notes on a disk, with their content.
fn note(disk: &SimDisk) -> Vec<(String, Option<Vec<u8>>)> {
    let paths = disk.snapshot().into_keys().filter(|path| path.starts_with(".actum/recorded/"));
    paths.map(|path| (path.clone(), disk.get(&path))).collect()
}
