//! Leases and file tasks in a ledger: lookup, migration of older ledgers, races, and detection of outside changes.

use std::process::Stdio;

use actum_core::Digest;
use actum_gate::verify_lease_granted;
use actum_ledger::conformance::sample::{
    SampleLease, SampleRun, file_task_ended, file_task_started,
};
use actum_ledger::verify::{Checks, Receipts, Subject, Verification, verify};
use actum_ledger::{
    Appended, FileTaskRow, LOG_BYTES_MAX, LeaseRow, Ledger, LedgerError, Log, NewEntry, Prepared,
    Refusal, Store, export,
};
use actum_record::lease::TaskName;
use actum_record::ledger::EntryKind;

use crate::grounds::{Grounds, WITHOUT_AGENT, child, fill, given_ledger};
use crate::memory::MemoryStore;
use crate::tampering::flip_every_byte;

fn lease() -> SampleLease {
    SampleLease::numbered(1, Some(9)).narrowed(2, None)
}

fn under(number: u64, lease: &SampleLease) -> SampleRun {
    SampleRun { lease: Some(lease.clone()), ..SampleRun::numbered(number, 0) }
}

fn put(ledger: &Ledger, entry: NewEntry) -> (u64, Digest) {
    let Appended { index, leaf } = ledger.append(vec![entry]).wait().unwrap().remove(0);
    (index, leaf)
}

fn task(name: &str) -> TaskName {
    name.parse().unwrap()
}

/// Returns entries 1 to 8: a lease is granted, and a run and two file tasks use it, of which one ends. Then a task is rejected and
/// a block is revoked.
fn entries() -> Vec<NewEntry> {
    let first = SampleLease::numbered(1, Some(9));
    let started = file_task_started("move-1", &lease(), &[under(2, &lease())]).unwrap();
    let at = (3, actum_record::merkle::leaf_hash(&started.body));
    vec![
        first.granted().unwrap(),
        under(1, &lease()).started().unwrap(),
        started,
        SampleRun { door: "file task", ..under(2, &lease()) }.started().unwrap(),
        file_task_ended(Some("move-1"), Some(at)).unwrap(),
        file_task_ended(Some("move-2"), None).unwrap(),
        file_task_started("move-3", &first, &[under(3, &first)]).unwrap(),
        lease().narrowed(3, None).revoked().unwrap(),
    ]
}

fn with_leases() -> Grounds {
    let grounds = Grounds::new();
    grounds.make_small();
    let ledger = grounds.ledger();
    for entry in entries() {
        put(&ledger, entry);
    }
    drop(ledger);
    grounds.settle();
    grounds
}

fn messages(result: &Verification) -> String {
    result.findings.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// FE-17, FE-11: lookups use an index and do not depend on the length of the log.
#[test]
fn leases_and_open_file_tasks_are_found_without_a_log_scan() {
    let grounds = with_leases();
    let foreign = grounds.foreign();
    let plan = |sql: &str| -> String {
        foreign.query_row(&format!("EXPLAIN QUERY PLAN {sql}"), (), |row| row.get(3)).unwrap()
    };
    for kind in ["LEASE_GRANTED", "LEASE_REVOKED"] {
        let found = plan(&format!(
            "SELECT seq FROM entry WHERE kind = '{kind}' AND seq < 9 ORDER BY seq DESC LIMIT 9"
        ));
        assert!(found.contains("COVERING INDEX entry_lease (kind=?"), "{found}");
    }
    let found = plan(
        "SELECT task, started, ended FROM file_task \
         WHERE started IS NOT NULL AND ended IS NULL ORDER BY started",
    );
    assert!(found.contains("file_task_open"), "{found}");
    let found = plan("SELECT used FROM lease WHERE lease = x'00'");
    assert!(found.contains("PRIMARY KEY"), "{found}");
    drop(foreign);
    let view = grounds.view();
    let first = SampleLease::numbered(1, None).id();
    let granted = LeaseRow { lease: first, granted: Some(1), revoked: None, used: 3 };
    assert_eq!(view.newest_leases(None, 9).unwrap(), [granted]);
    let second = LeaseRow { lease: lease().id(), granted: None, revoked: None, used: 2 };
    assert_eq!(view.lease(second.lease).unwrap(), Some(second));
    let open = FileTaskRow { task: task("move-3"), started: Some(7), ended: None };
    assert_eq!(view.open_file_tasks().unwrap(), [open]);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{result:?}");
}

/// FE-17, AEC-8: an in-memory store contains the same rows as the database.
#[test]
fn memory_store_has_the_same_lease_rows_as_the_database() {
    let grounds = with_leases();
    let view = grounds.view();
    let mut store = MemoryStore::new();
    for entry in view.entries(0, 99).unwrap() {
        let facts = actum_record::ledger::EntryFacts::parse(entry.kind, &entry.body).unwrap();
        let blobs = facts.blobs.iter().map(|digest| view.blob(digest).unwrap().unwrap()).collect();
        let new = NewEntry { kind: entry.kind, body: entry.body, blobs };
        store.append(&[vec![Prepared::new(new).unwrap()]]).unwrap().remove(0).unwrap();
    }
    for number in 0..5 {
        let id = SampleLease::numbered(number, None).id();
        assert_eq!(store.lease(id).unwrap(), view.lease(id).unwrap());
    }
    for name in ["move-1", "move-2", "move-3", "move-4"].map(task) {
        assert_eq!(store.file_task(&name).unwrap(), view.file_task(&name).unwrap());
    }
    assert_eq!(store.newest_leases(None, 9).unwrap(), view.newest_leases(None, 9).unwrap());
    assert_eq!(store.open_file_tasks().unwrap(), view.open_file_tasks().unwrap());
}

/// FE-17: a ledger without lease tables can be read as it is, and the tables are added on the first write.
#[test]
fn ledger_without_lease_tables_is_read_and_migrated() {
    let grounds = Grounds::new();
    fill(&grounds.ledger(), 0..2);
    let older = "DROP TABLE lease; DROP TABLE file_task; DROP INDEX entry_lease; \
                 PRAGMA user_version = 393222";
    grounds.foreign().execute_batch(&format!("{WITHOUT_AGENT} {older}")).unwrap();
    grounds.settle();
    let before = std::fs::read(grounds.database()).unwrap();
    let view = grounds.view();
    assert_eq!(view.lease(lease().id()).unwrap(), None);
    assert_eq!(view.newest_leases(None, 9).unwrap(), []);
    assert_eq!(view.file_task(&task("move-1")).unwrap(), None);
    assert_eq!(view.open_file_tasks().unwrap(), []);
    drop(view);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 5, "{result:?}");
    assert_eq!(std::fs::read(grounds.database()).unwrap(), before);
    let ledger = grounds.ledger();
    put(&ledger, SampleLease::numbered(1, None).granted().unwrap());
    put(&ledger, under(9, &lease()).started().unwrap());
    drop(ledger);
    assert_eq!(grounds.view().newest_leases(None, 9).unwrap().len(), 1);
    let version = "SELECT user_version FROM pragma_user_version";
    let version = grounds.foreign().query_row(version, (), |row| row.get::<_, u32>(0)).unwrap();
    assert_eq!(version, (8 << 16) | 8);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == 7, "{result:?}");
}

/// FE-17, FE-11, AEC-8
#[test]
fn changed_rows_of_leases_and_file_tasks_are_found() {
    let first = "lease = (SELECT lease FROM lease WHERE granted = 1)";
    for change in [
        format!("UPDATE lease SET used = 0 WHERE {first}"),
        format!("UPDATE lease SET granted = 2 WHERE {first}"),
        format!("UPDATE lease SET granted = NULL WHERE {first}"),
        format!("UPDATE lease SET revoked = 8 WHERE {first}"),
        format!("UPDATE lease SET lease = x'00' WHERE {first}"),
        "UPDATE lease SET revoked = NULL WHERE revoked = 8".to_owned(),
        "DELETE FROM lease WHERE revoked = 8".to_owned(),
        "INSERT INTO lease VALUES (zeroblob(32), 1, NULL, 0)".to_owned(),
        "UPDATE file_task SET started = NULL WHERE task = 'move-1'".to_owned(),
        "UPDATE file_task SET ended = NULL WHERE task = 'move-1'".to_owned(),
        "UPDATE file_task SET started = 2 WHERE task = 'move-3'".to_owned(),
        "UPDATE file_task SET task = 'move 9' WHERE task = 'move-1'".to_owned(),
        "DELETE FROM file_task WHERE task = 'move-2'".to_owned(),
        "INSERT INTO file_task VALUES ('move-9', 1, 2)".to_owned(),
        "DROP INDEX file_task_open; \
         CREATE INDEX file_task_open ON file_task (started) WHERE started IS NOT NULL"
            .to_owned(),
    ] {
        let grounds = with_leases();
        grounds.foreign().execute_batch(&change).unwrap();
        grounds.settle();
        let result = grounds.verify();
        assert!(!result.is_ok_and(|result| result.is_sound()), "{change}");
    }
    let result = {
        let grounds = with_leases();
        grounds.foreign().execute_batch("UPDATE lease SET used = 1 WHERE used = 3").unwrap();
        grounds.verify().unwrap()
    };
    let subjects: Vec<_> = result.findings.iter().map(|it| &it.subject).collect();
    assert_eq!(subjects, [&Subject::Lease(SampleLease::numbered(1, None).id())]);
}

/// AEC-8: every flipped byte is either detected or leaves all stored data unchanged.
#[test]
fn flipped_bytes_in_a_lease_ledger_are_found_or_harmless() {
    // Its small tables consist mostly of empty pages.
    let [refused, reported, _] = flip_every_byte(&with_leases());
    assert!(reported * 2 > refused);
}

/// FE-17, FE-11: an entry that no store would accept is detected, whichever program wrote it.
#[test]
fn out_of_order_lease_entries_are_found() {
    for (index, message) in [
        (1, "was already granted in entry 1"),
        (3, "file task `move-1` already ended in entry 5"),
        (5, "file task `move-1` already ended in entry 5"),
        (6, "file task `move-2` already ended in entry 6"),
        (7, "file task `move-3` was already started in entry 7"),
        (8, "was already revoked in entry 8"),
    ] {
        let grounds = with_leases();
        let replay = format!(
            "INSERT INTO entry SELECT 9, kind, time, run, workspace, request, attempt, status, \
             nodes, body FROM entry WHERE seq = {index}"
        );
        grounds.foreign().execute_batch(&replay).unwrap();
        grounds.settle();
        let reported = messages(&grounds.verify().unwrap());
        assert!(
            reported.lines().any(|it| it.starts_with("entry 9: ") && it.ends_with(message)),
            "{reported}"
        );
    }
}

/// FE-17: signatures of grants and revocations are checked even under a checkpoint, and those of results together with receipts.
#[test]
fn lease_signatures_are_checked_even_under_a_checkpoint() {
    let grounds = with_leases();
    let ledger = grounds.ledger();
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    let checked = |receipts| {
        let mut checked = Vec::new();
        let note = &mut grounds.check();
        let entry = &mut |kind, body: &[u8]| {
            checked.push(kind);
            if kind != EntryKind::LeaseGranted {
                return Ok(());
            }
            let verified = verify_lease_granted(body, grounds.keys.keyring());
            verified.map(drop).map_err(|problem| problem.to_string())
        };
        let mut checks = Checks { note, entry, receipts };
        let result = verify(&grounds.view(), &mut checks, &mut |_| {}).unwrap();
        let subjects: Vec<_> = result.findings.iter().map(|it| it.subject.clone()).collect();
        assert_eq!(subjects, [Subject::Entry(1)], "no key signed the sample");
        checked
    };
    use EntryKind::{FileTaskEnded, LeaseGranted, LeaseRevoked};
    assert_eq!(checked(Receipts::NotCovered), [LeaseGranted, LeaseRevoked]);
    let all = [LeaseGranted, FileTaskEnded, FileTaskEnded, LeaseRevoked];
    assert_eq!(checked(Receipts::All), all);
}

/// FE-14: an export is verified like the log, and a result outside all checkpoints is verified by its own signature.
#[test]
fn export_contains_leases_with_their_documents() {
    let grounds = with_leases();
    let mut bytes = Vec::new();
    export::export(&grounds.view(), &mut bytes).unwrap();
    let (note, mut checked) = (&mut |_: &str| Ok(()), Vec::new());
    let entry = &mut |kind, _: &[u8]| {
        checked.push(kind);
        Ok(())
    };
    let mut checks = Checks { note, entry, receipts: Receipts::NotCovered };
    let result = export::verify(&mut &*bytes, &mut checks, None, &mut |_| {}).unwrap();
    assert!(result.is_sound() && result.entries == 9, "{result:?}");
    assert_eq!(result.receipts, 2);
    checked.sort_unstable();
    use EntryKind::{FileTaskEnded, LeaseGranted, LeaseRevoked};
    assert_eq!(checked, [LeaseGranted, LeaseRevoked, FileTaskEnded, FileTaskEnded]);
}

/// FE-17: a lease can still be revoked when the log accepts nothing new.
#[test]
fn full_log_accepts_revocations_and_task_ends_but_no_grants() {
    let grounds = with_leases();
    let ledger = grounds.ledger();
    ledger.limit(1);
    let first = SampleLease::numbered(1, None);
    for entry in [
        SampleLease::numbered(5, None).granted().unwrap(),
        file_task_started("move-4", &first, &[under(4, &first)]).unwrap(),
        file_task_ended(Some("move-4"), None).unwrap(),
    ] {
        let error = ledger.append(vec![entry]).wait().unwrap_err();
        assert!(matches!(error.refusal(), Some(Refusal::LogFull { .. })), "{error}");
    }
    let started = grounds.view().entry(7).unwrap().unwrap();
    let at = (7, actum_record::merkle::leaf_hash(&started.body));
    put(&ledger, first.revoked().unwrap());
    put(&ledger, file_task_ended(Some("move-3"), Some(at)).unwrap());
    ledger.limit(LOG_BYTES_MAX);
    let error = ledger.append(vec![under(9, &first).started().unwrap()]).wait().unwrap_err();
    assert!(matches!(error.refusal(), Some(Refusal::LeaseRevoked { revoked: 9, .. })), "{error}");
}

/// Child process: uses a lease as often as possible and prints the number of uses.
#[test]
#[ignore = "a child runs it"]
fn child_that_uses_a_lease() {
    let first: u64 = std::env::var("ACTUM_TEST_FIRST").unwrap().parse().unwrap();
    let ledger = given_ledger();
    let lease = SampleLease::numbered(1, Some(USES));
    let mut used = 0;
    for number in first.. {
        match ledger.append(vec![under(number, &lease).started().unwrap()]).wait() {
            Ok(_) => used += 1,
            Err(LedgerError::Refused { refusal: Refusal::LeaseUsedUp { .. } }) => break,
            Err(error) => panic!("{error}"),
        }
    }
    println!("\nused {used}");
}

/// Number of uses of the lease for which the processes compete.
const USES: u64 = 40;

/// FE-17: the ledger counts uses, so that two processes never both get the last one.
#[test]
fn only_one_racing_process_gets_the_last_use_of_a_lease() {
    let grounds = Grounds::new();
    put(&grounds.ledger(), SampleLease::numbered(1, Some(USES)).granted().unwrap());
    let children: Vec<_> = (1..=4u64)
        .map(|process| {
            child("leases::child_that_uses_a_lease", grounds.home.path())
                .env("ACTUM_TEST_FIRST", (process * 1000).to_string())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let used = children.into_iter().map(|child| {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        let stdout = String::from_utf8(output.stdout).unwrap();
        let used = stdout.lines().find_map(|line| line.strip_prefix("used ")).unwrap();
        used.parse::<u64>().unwrap()
    });
    assert_eq!(used.sum::<u64>(), USES);
    let row = grounds.view().lease(SampleLease::numbered(1, None).id()).unwrap().unwrap();
    assert_eq!(row.used, USES);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound() && result.entries == USES + 2, "{result:?}");
}
