//! Changes that another program makes to a ledger are detected.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::grounds::{Grounds, fill, whole};
use actum_core::{Status, Timestamp};
use actum_ledger::conformance::sample::{SampleRun, catalog_changed, log_started};
use actum_ledger::sqlite::DATABASE;
use actum_ledger::verify::{Subject, Verification};
use actum_record::merkle::leaf_hash;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};

/// All rows of all tables.
type Dump = BTreeMap<String, Vec<Vec<Value>>>;

fn dump(path: &Path) -> Dump {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY;
    let connection = Connection::open_with_flags(path, flags).unwrap();
    let tables = [
        "entry",
        "blob",
        "checkpoint",
        "run",
        "plan",
        "lease",
        "file_task",
        "agent_execution_ledger",
        "agent_execution_access_decision_ledger",
        "agent_execution_confirmation_ledger",
        "agent_intake_resolved_ledger",
        "agent_execution_current",
        "agent_slo_minute",
        "sqlite_schema",
    ];
    let rows = |table: &str| {
        let mut select = connection.prepare(&format!("SELECT * FROM {table} ORDER BY 1")).unwrap();
        // The root page number of a table is not content.
        let columns = if table == "sqlite_schema" { 3 } else { select.column_count() };
        let row = |row: &rusqlite::Row<'_>| (0..columns).map(|column| row.get(column)).collect();
        select.query_map((), row).unwrap().map(Result::unwrap).collect()
    };
    tables.iter().map(|&table| (table.to_owned(), rows(table))).collect()
}

/// Creates a ledger without a write-ahead log, with small pages and with checkpoints over most entries.
fn small() -> Grounds {
    let grounds = Grounds::new();
    grounds.make_small();
    let ledger = grounds.ledger();
    fill(&ledger, 0..3);
    ledger.checkpoint().wait().unwrap();
    ledger.append(whole(3, 7).into_iter().take(1).collect()).wait().unwrap();
    let run = SampleRun::numbered(4, 0);
    let request = Some(("T-1".parse().unwrap(), 1));
    let asked = SampleRun { request, ..run };
    ledger.append(vec![asked.started().unwrap()]).wait().unwrap();
    ledger.checkpoint().wait().unwrap();
    let beginning = (0, leaf_hash(&log_started().unwrap().body));
    // They use the document of an earlier run, so that no new document is stored.
    let bundle = SampleRun::numbered(0, 0).bundle;
    let changed = catalog_changed(beginning, &bundle).unwrap();
    let ended = SampleRun::numbered(1, 1).action_ended(Status::Succeeded).unwrap();
    let open = SampleRun { bundle, ..SampleRun::numbered(5, 0) }.started().unwrap();
    ledger.append(vec![ended, changed, open]).wait().unwrap();
    drop(ledger);
    grounds.settle();
    grounds
}

/// AEC-8: every flipped byte is either detected or leaves all stored data unchanged.
#[test]
fn flipped_bytes_in_a_small_ledger_are_found_or_harmless() {
    let [refused, reported, harmless] = flip_every_byte(&small());
    println!("{refused} flips refused, {reported} told, {harmless} without any meaning");
    assert!(reported > refused && reported > harmless);
}

/// Flips each byte of a ledger without agent steps, and panics if a flip that changed a row is not detected. Counts the flips that
/// made it unreadable, those that were detected, and those without effect. Empty pages of the agent core are skipped.
pub(crate) fn flip_every_byte(grounds: &Grounds) -> [u32; 3] {
    flip_bytes(grounds, |table| !table.starts_with("agent_"))
}

/// Like [`flip_every_byte`], but only for the pages of selected tables and indexes.
pub(crate) fn flip_bytes(grounds: &Grounds, is_wanted: impl Fn(&str) -> bool) -> [u32; 3] {
    let sound = fs::read(grounds.database()).unwrap();
    let before = dump(&grounds.database());
    let bytes = bytes_of(&grounds.database(), is_wanted);
    assert!(grounds.verify().unwrap().is_sound());
    const THREADS: usize = 2;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (sound, before, bytes) = (&sound, &before, &bytes);
                scope.spawn(move || {
                    let bytes = bytes.iter().skip(thread).step_by(THREADS);
                    bytes.fold([0; 3], |[refused, reported, harmless], &at| {
                        match flipped(grounds, sound, before, thread, at) {
                            None => [refused + 1, reported, harmless],
                            Some(false) => [refused, reported + 1, harmless],
                            Some(true) => [refused, reported, harmless + 1],
                        }
                    })
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .fold([0; 3], |[a, b, c], [x, y, z]| [a + x, b + y, c + z])
    })
}

/// Returns the offsets of all bytes in the pages of selected tables and indexes.
fn bytes_of(path: &Path, is_wanted: impl Fn(&str) -> bool) -> Vec<usize> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
    let mut select =
        connection.prepare("SELECT name, pgoffset, pgsize FROM dbstat ORDER BY pgoffset").unwrap();
    let page = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let pages = select.query_map((), page).unwrap().map(Result::unwrap);
    let wanted = pages.filter(|(name, ..): &(String, usize, usize)| is_wanted(name));
    wanted.flat_map(|(_, offset, size)| offset..offset + size).collect()
}

/// Returns whether the ledger verifies with one byte flipped, or `None` if it cannot be read.
fn flipped(
    grounds: &Grounds,
    sound: &[u8],
    before: &Dump,
    thread: usize,
    at: usize,
) -> Option<bool> {
    let copy = grounds.home.path().join(format!("copy-{thread}"));
    drop(fs::create_dir(&copy));
    let path = copy.join(DATABASE);
    let mut bytes = sound.to_vec();
    *bytes.get_mut(at).unwrap() ^= 1 << (at % 8);
    // Remove the old files first, because closing a rewritten file waits for the disk.
    for end in ["", "-wal", "-shm"] {
        drop(fs::remove_file(copy.join(format!("{DATABASE}{end}"))));
    }
    fs::write(&path, &bytes).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let is_sound = grounds.verify_at(&copy).ok()?.is_sound();
    if is_sound {
        assert_eq!(dump(&path), *before, "byte {at} was flipped and not found");
    }
    Some(is_sound)
}

/// Returns the verification result after a change for which the triggers were removed.
fn after(change: &str) -> Verification {
    let grounds = small();
    let connection = grounds.foreign();
    let triggers: Vec<String> = connection
        .prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'")
        .unwrap()
        .query_map((), |row| {
            let (name, sql): (String, String) = (row.get(0)?, row.get(1)?);
            connection.execute_batch(&format!("DROP TRIGGER {name}"))?;
            Ok(sql)
        })
        .unwrap()
        .map(Result::unwrap)
        .collect();
    connection.execute_batch(change).unwrap();
    for sql in triggers {
        connection.execute_batch(&sql).unwrap();
    }
    drop(connection);
    grounds.verify().unwrap()
}

fn subjects(result: &Verification) -> Vec<&Subject> {
    result.findings.iter().map(|finding| &finding.subject).collect()
}

/// AEC-8
#[test]
fn change_of_any_entry_column_is_found() {
    assert!(after("SELECT 1").is_sound());
    for (column, value) in [
        ("kind", "'EFFECT_DONE'"),
        ("kind", "'NOTHING'"),
        ("time", "time + 1"),
        ("run", "run + 1"),
        ("run", "NULL"),
        ("workspace", "1"),
        ("request", "'T-2'"),
        ("attempt", "2"),
        ("status", "'failed'"),
        ("nodes", "zeroblob(32)"),
        ("nodes", "CAST(nodes || nodes AS BLOB)"),
        ("nodes", "x''"),
        ("body", "CAST(body || x'20' AS BLOB)"),
        ("body", "x''"),
    ] {
        let result = after(&format!("UPDATE entry SET {column} = {value} WHERE seq = 3"));
        assert!(subjects(&result).contains(&&Subject::Entry(3)), "{column} {value}: {result:?}");
    }
    for (column, value) in [
        ("workspace", "1"),
        ("request", "'T-9'"),
        ("attempt", "2"),
        ("started", "1"),
        ("done", "NULL"),
        ("status", "'failed'"),
        ("run", "run + 1"),
    ] {
        let result = after(&format!("UPDATE run SET {column} = {value} WHERE started = 3"));
        let is_run = |subject: &&Subject| matches!(subject, Subject::Run(_));
        assert!(subjects(&result).iter().any(is_run), "{column} {value}: {result:?}");
    }
}

/// AEC-8
#[test]
fn removed_added_or_swapped_rows_are_found() {
    let last = "(SELECT max(seq) FROM entry)";
    for change in [
        "DELETE FROM entry WHERE seq = 0",
        "DELETE FROM entry WHERE seq = 4",
        &format!("DELETE FROM entry WHERE seq = {last}"),
        "DELETE FROM entry",
        "UPDATE entry SET seq = -1 WHERE seq = 2",
        "UPDATE entry SET seq = 100 WHERE seq = 8",
        "UPDATE entry SET seq = 1152921504606846976 WHERE seq = 8",
        "UPDATE entry SET seq = -1 WHERE seq = 2; UPDATE entry SET seq = 2 WHERE seq = 4; \
         UPDATE entry SET seq = 4 WHERE seq = -1",
        "INSERT INTO entry SELECT -5, kind, time, run, workspace, request, attempt, status, nodes, \
         body FROM entry WHERE seq = 1",
        &format!(
            "INSERT INTO entry SELECT {last} + 1, kind, time, run, workspace, request, attempt, \
             status, nodes, body FROM entry WHERE seq = 1"
        ),
        "DELETE FROM blob WHERE number = 1",
        "DELETE FROM blob WHERE number = (SELECT max(number) FROM blob)",
        "UPDATE blob SET bytes = CAST(bytes || x'20' AS BLOB) WHERE number = 1",
        "UPDATE blob SET digest = zeroblob(32) WHERE number = 1",
        "UPDATE blob SET number = 77 WHERE number = 1",
        "INSERT INTO blob VALUES (9, zeroblob(32), x'00')",
        "DELETE FROM run WHERE started = 1",
        "INSERT INTO run SELECT run + 1, workspace, NULL, 1, started, done, status FROM run LIMIT 1",
        "UPDATE checkpoint SET note = replace(note, 'actum', 'octum')",
        "UPDATE checkpoint SET size = 6 WHERE size = 7",
        "UPDATE checkpoint SET size = 99 WHERE size = 9",
        "DELETE FROM checkpoint WHERE size = 7; UPDATE checkpoint SET size = 7",
        "INSERT INTO checkpoint SELECT 8, note FROM checkpoint WHERE size = 7",
        "CREATE INDEX more ON entry (time)",
        "DROP INDEX entry_kind",
        "DROP INDEX entry_alert",
        "DROP INDEX entry_forgotten",
        "DROP INDEX entry_lease",
        "DROP INDEX entry_slo_waived",
        "DROP INDEX file_task_open",
        "DROP INDEX agent_execution_ledger_idempotency",
        "DROP INDEX agent_execution_current_open",
        "DROP INDEX entry_kind; CREATE INDEX entry_kind ON entry (kind) WHERE kind = 'ACTION_ENDED'",
        "DROP INDEX run_open; CREATE INDEX run_open ON run (started) WHERE done IS NULL",
    ] {
        let grounds = std::panic::catch_unwind(|| after(change));
        match grounds {
            Ok(result) => assert!(!result.is_sound(), "{change}"),
            Err(_) => assert!(change.contains("DROP INDEX"), "{change}"),
        }
    }
}

/// AEC-8: removed entries are detected by a checkpoint that was kept in the ledger or in another place.
#[test]
fn truncated_log_contradicts_its_checkpoint() {
    let result = after(
        "DELETE FROM entry WHERE seq >= 8; DELETE FROM run WHERE started >= 8; \
         DELETE FROM blob WHERE number = (SELECT max(number) FROM blob)",
    );
    assert_eq!(subjects(&result), [&Subject::Checkpoint(9)]);
}

/// A log rewritten with different entries contradicts its earlier checkpoint.
#[test]
fn rewritten_log_contradicts_its_checkpoint() {
    let (old, new) = (small(), small());
    let note = |grounds: &Grounds| {
        let row =
            grounds.foreign().query_row("SELECT note FROM checkpoint WHERE size = 9", (), |row| {
                row.get::<_, String>(0)
            });
        row.unwrap()
    };
    let foreign = new.foreign();
    foreign.execute_batch("DROP TRIGGER checkpoint_update").unwrap();
    foreign.execute("UPDATE checkpoint SET note = ? WHERE size = 9", [note(&old)]).unwrap();
    let result = new.verify().unwrap();
    assert!(subjects(&result).contains(&&Subject::Checkpoint(9)), "{result:?}");
}

/// AEC-8: threads verify sections of 1,024 entries each.
#[test]
fn damage_in_a_long_log_is_found_within_and_between_stretches() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    for first in (0..1600).step_by(100) {
        let entries: Vec<_> =
            (first..first + 100).flat_map(|number| whole(number, 1 + 2 * number)).collect();
        assert_eq!(ledger.append(entries).wait().unwrap().len(), 200);
    }
    ledger.checkpoint().wait().unwrap();
    drop(ledger);
    let result = grounds.verify().unwrap();
    assert!(result.is_sound(), "{:?}", result.findings);
    assert_eq!((result.entries, result.runs, result.documents), (3201, 1600, 1601));
    let foreign = grounds.foreign();
    foreign.execute_batch("DROP TRIGGER entry_update; DROP TRIGGER entry_delete; BEGIN").unwrap();
    for (change, subject) in [
        ("UPDATE entry SET body = CAST(body || x'20' AS BLOB) WHERE seq = 1500", 1500),
        ("UPDATE entry SET nodes = substr(nodes, 1, 352) WHERE seq = 2047", 2047),
        ("UPDATE entry SET nodes = CAST(nodes || zeroblob(32) AS BLOB) WHERE seq = 1023", 1023),
        ("UPDATE entry SET nodes = CAST(nodes || zeroblob(32) AS BLOB) WHERE seq = 3200", 3200),
        ("DELETE FROM entry WHERE seq = 1024", 1024),
        ("DELETE FROM entry WHERE seq = 3071", 3071),
        ("UPDATE entry SET time = 5 WHERE seq = 3072", 3072),
    ] {
        foreign.execute_batch(&format!("{change}; COMMIT")).unwrap();
        let result = grounds.verify().unwrap();
        assert!(subjects(&result).contains(&&Subject::Entry(subject)), "{change}: {result:?}");
        foreign.execute_batch("BEGIN").unwrap();
    }
}

/// Entry times only show what the clock was.
#[test]
fn backward_clock_step_is_reported_but_not_a_finding() {
    let grounds = Grounds::new();
    let ledger = grounds.ledger();
    // A difference of up to one minute is not reported, because an entry may wait that long for its turn.
    for (number, second) in [(0, 500), (1, 400), (2, 340), (3, 900), (4, 0)] {
        let run = SampleRun::numbered(number, 0);
        let time = Timestamp::from_micros(run.time.micros() + second * 1_000_000);
        ledger.append(vec![SampleRun { time, ..run }.started().unwrap()]).wait().unwrap();
    }
    let result = grounds.verify().unwrap();
    assert_eq!((result.is_sound(), result.steps_back, result.open_runs), (true, 2, 5));
}
